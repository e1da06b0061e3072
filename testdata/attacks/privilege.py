"""Privilege: other users, root, namespaces, mounts, devices, capabilities."""

import ctypes
import fcntl
import os
import subprocess

from attempting import (
    ALWAYS,
    Beside,
    Stopped,
    T,
    any_opened,
    attempt,
    attempts,
    checked,
    fields_of_status,
    holds,
    in_child,
    libc,
    made,
    opened,
    reaches,
    syscall,
)

EINVAL, ENOENT, ENOTTY = 22, 2, 25
PIDFD_OPEN, PIDFD_GET_INFO = 434, 0xC040FF0B
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
STRANGER = T["pids"]["stranger"]


def unshare(flags):
    return in_child(lambda: checked(libc.unshare(flags)))


def enter(namespace):
    """Enters a namespace of a process of the host's."""
    path = f"/proc/{STRANGER}/ns/{namespace}"
    return in_child(lambda: checked(libc.setns(os.open(path, os.O_RDONLY), 0)))


def clone(number, *arguments):
    """Clones itself into a user namespace, which is another call than unshare."""

    def call():
        child = syscall(number, *arguments)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return in_child(call)


def mount(source, name, kind, flags):
    """Mounts something in its own directory, and returns what is there then."""
    os.makedirs(name, exist_ok=True)
    checked(libc.mount(source, name.encode(), kind, flags, None))
    try:
        return " ".join(os.listdir(name))
    finally:
        checked(libc.umount2(name.encode(), 2))


def make_device(name, mode, device):
    os.mknod(name, 0o600 | mode, device)
    os.unlink(name)


# The flags of clone3 are where no seccomp filter can look at them.
CLONE3 = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, 17)

attempts(
    {
        "uid": {
            "become root": lambda: in_child(lambda: os.setresuid(0, 0, 0)),
            "join root's group": lambda: in_child(lambda: os.setresgid(0, 0, 0)),
            "take other groups": lambda: in_child(lambda: os.setgroups([0, 4, 6])),
        },
        "seccomp": {
            "unshare a user namespace": lambda: unshare(CLONE_NEWUSER),
            "clone into a user namespace": lambda: clone(56, CLONE_NEWUSER | 17, 0, 0, 0, 0),
            "clone3 into a user namespace": lambda: clone(435, CLONE3, ctypes.sizeof(CLONE3)),
        },
        "seccomp | uid": {
            "unshare a mount namespace": lambda: unshare(CLONE_NEWNS),
            "unshare a network namespace": lambda: unshare(CLONE_NEWNET),
            "enter a stranger's namespaces by its pidfd": lambda: in_child(
                lambda: checked(libc.setns(syscall(PIDFD_OPEN, STRANGER, 0), CLONE_NEWUTS))
            ),
        },
        "landlock | own_uid | seccomp": {
            "enter a stranger's mount namespace": lambda: enter("mnt"),
            "enter a stranger's network namespace": lambda: enter("net"),
        },
        "seccomp | uid | landlock": {
            "mount a file system": lambda: mount(b"none", "mounted", b"tmpfs", 0),
            "mount a sibling's directory": lambda: holds(
                mount(T["sibling"].encode(), "bound", None, 0x1000), "secret.txt"
            ),
            # It asks for no change.
            "make mounts writable by mount_setattr": lambda: syscall(
                442, -100, b".", 0, (ctypes.c_uint64 * 4)(), 32
            ),
            "open a file system by fsopen": lambda: made(syscall(430, b"tmpfs", 0)),
            "copy a tree of mounts": lambda: made(syscall(428, -100, b".", 1)),
            "change the root by chroot": lambda: in_child(lambda: os.chroot(".")),
            "change the root by pivot_root, with paths that can't be": lambda: reaches(
                155, b"no-such", b"no-such", allowed=(ENOENT,)
            ),
        },
        "seccomp | uid | landlock | namespaces": {
            "make a device for the machine's memory": lambda: make_device(
                "device", 0o020000, os.makedev(1, 1)
            ),
            "make a device for a disk": lambda: make_device("disk", 0o060000, os.makedev(254, 0)),
        },
    }
)


@attempt("uid")
def become_the_siblings_user():
    if T["sibling_uid"] == os.getuid() != 0:
        raise Beside("both sessions have the same user")
    return in_child(lambda: os.setuid(T["sibling_uid"]))


@attempt("uid")
def be_in_a_group_of_roots_still():
    if 0 not in os.getgroups() and os.getgid() != 0:
        raise Stopped(f"its groups are {os.getgid()}, {os.getgroups()}")


@attempt(ALWAYS, control=False)
def run_a_set_user_id_program_of_roots():
    if not os.path.exists("setuid-id"):
        raise Beside("only root can make such a program")
    ran = subprocess.run(["./setuid-id", "-u"], capture_output=True, text=True, check=False)
    if ran.stdout.strip() != "0":
        raise Stopped(f"it ran as user {ran.stdout.strip() or ran.stderr.strip()}")


@attempt(ALWAYS, control=False)
def ask_su_and_sudo_for_a_shell_of_roots():
    for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"]):
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
            )
        except OSError:
            continue
        if ran.stdout.strip() == "0":
            return f"{command[0]} did it"
    raise Stopped("neither did it")


@attempt("uid")
def have_capabilities():
    status = fields_of_status()
    for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(status[field], 16):
            return f"{field} is {status[field]}"
    raise Stopped("it has none")


@attempt("uid")
def make_a_capability_ambient():
    # PR_CAP_AMBIENT_RAISE CAP_CHOWN needs it to be permitted and inheritable.
    header = (ctypes.c_uint * 2)(0x20080522, 0)
    data = (ctypes.c_uint * 6)(1, 1, 1, 0, 0, 0)

    def take():
        checked(libc.capset(header, data))
        return checked(libc.prctl(47, 2, 0, 0, 0))

    return in_child(take)


@attempt("seccomp | uid")
def unshare_the_other_namespaces():
    for flag in (CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP):
        try:
            return unshare(flag)
        except (Stopped, OSError) as error:
            last = error
    raise last


@attempt("seccomp")
def loosen_the_filter():
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    code = (ctypes.c_uint64 * 1)(0x7FFF000000000006)  # return SECCOMP_RET_ALLOW
    program = Program(1, ctypes.addressof(code))

    def loosen():
        checked(libc.prctl(38, 1, 0, 0, 0))
        checked(libc.prctl(22, 2, ctypes.byref(program), 0, 0))
        return checked(libc.unshare(CLONE_NEWUSER))

    return in_child(loosen)


@attempt("seccomp")
def ask_a_pidfd_for_a_strangers_parent_and_user():
    stranger = syscall(PIDFD_OPEN, STRANGER, 0)
    try:
        return fcntl.ioctl(stranger, PIDFD_GET_INFO, bytes(64)).hex()
    except OSError as error:
        if error.errno == ENOTTY:
            raise Beside("this kernel can't be asked") from None
        raise
    finally:
        os.close(stranger)


@attempt("seccomp | uid | landlock")
def unmount_what_hides():
    # Its own directory, which is no mount.
    os.makedirs("no-mount", exist_ok=True)
    try:
        checked(libc.umount2(b"no-mount", 0))
    except OSError as error:
        if error.errno != EINVAL:
            raise


@attempt("landlock | namespaces | uid")
def open_a_fuse_device_by_which_it_would_be_a_file_system():
    if not os.path.exists("/dev/fuse"):
        raise Stopped("there is none")
    return opened("/dev/fuse", os.O_RDWR)


@attempt("landlock | namespaces | uid", control=False)
def open_a_virtual_machine():
    paths = ("/dev/kvm", "/dev/vhost-net", "/dev/net/tun", "/dev/loop-control")
    return any_opened(paths, os.O_RDWR)
