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
    attempt,
    checked,
    fields_of_status,
    holds,
    in_child,
    libc,
    opened,
    reaches,
    syscall,
)

EINVAL, EFAULT, ENOENT, ENOTTY = 22, 14, 2, 25
PIDFD_GET_INFO = 0xC040FF0B
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x20000, 0x2000000, 0x4000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)


def unshare(flags):
    return in_child(lambda: checked(libc.unshare(flags)))


@attempt("uid")
def become_root():
    """Becomes root by setuid(0)."""

    def become():
        os.setresuid(0, 0, 0)
        return f"user {os.getuid()}"

    return in_child(become)


@attempt("uid")
def become_the_siblings_user():
    """Becomes the user that another session runs as."""

    def become():
        if T["sibling_uid"] == os.getuid() != 0:
            raise Beside("both sessions have the same user")
        os.setuid(T["sibling_uid"])
        return f"user {os.getuid()}"

    return in_child(become)


@attempt("uid")
def join_roots_group():
    """Joins group 0."""

    def join():
        os.setresgid(0, 0, 0)
        return f"group {os.getgid()}"

    return in_child(join)


@attempt("uid")
def take_other_groups():
    """Takes other supplementary groups."""

    def take():
        os.setgroups([0, 4, 6])
        return str(os.getgroups())

    return in_child(take)


@attempt("uid")
def keep_roots_groups():
    """Looks whether it is still in a group of root's."""
    if 0 not in os.getgroups() and os.getgid() != 0:
        raise Stopped(f"its groups are {os.getgid()}, {os.getgroups()}")
    return str(os.getgroups())


@attempt(ALWAYS, control=False)
def run_a_set_user_id_program():
    """Runs a program of root's with the set-user-ID bit, in its own directory."""
    if not os.path.exists("setuid-id"):
        raise Beside("only root can make such a program")
    ran = subprocess.run(["./setuid-id", "-u"], capture_output=True, text=True, check=False)
    if ran.stdout.strip() != "0":
        raise Stopped(f"it ran as user {ran.stdout.strip() or ran.stderr.strip()}")
    return "it ran as root"


@attempt(ALWAYS, control=False)
def run_su():
    """Asks su and sudo for a shell of root's."""
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
    """Looks for capabilities that it has."""
    status = fields_of_status()
    for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(status[field], 16):
            return f"{field} is {status[field]}"
    raise Stopped("it has none")


@attempt("uid")
def raise_an_ambient_capability():
    """Makes a capability ambient, so that programs it runs have it."""
    # PR_CAPBSET_READ says it is in the bounding set; PR_CAP_AMBIENT_RAISE CAP_CHOWN needs
    # it to be permitted and inheritable.
    header = (ctypes.c_uint * 2)(0x20080522, 0)
    data = (ctypes.c_uint * 6)(1, 1, 1, 0, 0, 0)

    def take():
        checked(libc.capset(header, data))
        return checked(libc.prctl(47, 2, 0, 0, 0))

    return in_child(take)


@attempt("seccomp")
def unshare_a_user_namespace():
    """Makes a user namespace, in which it would have all capabilities."""
    return unshare(CLONE_NEWUSER)


@attempt("seccomp | uid")
def unshare_a_mount_namespace():
    """Makes a mount namespace."""
    return unshare(CLONE_NEWNS)


@attempt("seccomp | uid")
def unshare_a_network_namespace():
    """Makes a network namespace, to be the administrator of it."""
    return unshare(CLONE_NEWNET)


@attempt("seccomp | uid")
def unshare_the_other_namespaces():
    """Makes a namespace of each other kind."""
    for flag in (CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP):
        try:
            return unshare(flag)
        except (Stopped, OSError) as error:
            last = error
    raise last


@attempt("seccomp")
def clone_into_a_user_namespace():
    """Clones itself into a user namespace, which is another call than unshare."""

    def clone():
        child = syscall(56, CLONE_NEWUSER | 17, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return "it was made"

    return in_child(clone)


@attempt("seccomp")
def clone3_into_a_user_namespace():
    """Clones itself by clone3, whose flags no seccomp filter can look at."""
    arguments = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, 17)

    def clone():
        child = syscall(435, arguments, ctypes.sizeof(arguments))
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return "it was made"

    return in_child(clone)


@attempt("seccomp")
def loosen_the_filter():
    """Installs a seccomp filter that allows all, and makes a user namespace then."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    code = (ctypes.c_uint64 * 1)(0x7FFF000000000006)  # return SECCOMP_RET_ALLOW
    program = Program(1, ctypes.addressof(code))

    def loosen():
        checked(libc.prctl(38, 1, 0, 0, 0))
        checked(libc.prctl(22, 2, ctypes.byref(program), 0, 0))
        return checked(libc.unshare(CLONE_NEWUSER))

    return in_child(loosen)


@attempt("landlock | own_uid | seccomp")
def enter_the_strangers_namespaces():
    """Enters the mount namespace of a process of the host's."""

    def enter():
        namespace = os.open(f"/proc/{T['pids']['stranger']}/ns/mnt", os.O_RDONLY)
        return checked(libc.setns(namespace, 0))

    return in_child(enter)


@attempt("landlock | own_uid | seccomp")
def enter_the_strangers_network():
    """Enters the network namespace of a process of the host's."""

    def enter():
        namespace = os.open(f"/proc/{T['pids']['stranger']}/ns/net", os.O_RDONLY)
        return checked(libc.setns(namespace, 0))

    return in_child(enter)


@attempt("seccomp | uid")
def enter_by_pidfd():
    """Enters the namespaces of a process of the host's by its pidfd."""

    def enter():
        return checked(libc.setns(syscall(434, T["pids"]["stranger"], 0), CLONE_NEWUTS))

    return in_child(enter)


@attempt("seccomp")
def ask_a_pidfd():
    """Asks a pidfd who is the parent, and the user, of a process of the host's."""
    stranger = syscall(434, T["pids"]["stranger"], 0)
    try:
        told = fcntl.ioctl(stranger, PIDFD_GET_INFO, bytes(64))
    except OSError as error:
        if error.errno == ENOTTY:
            raise Beside("this kernel can't be asked") from None
        raise
    finally:
        os.close(stranger)
    return f"it was told: {told.hex()}"


@attempt("seccomp | uid | landlock")
def mount_a_file_system():
    """Mounts a tmpfs in its own directory."""
    os.makedirs("mounted", exist_ok=True)
    checked(libc.mount(b"none", b"mounted", b"tmpfs", 0, None))
    checked(libc.umount2(b"mounted", 2))
    return "it was mounted"


@attempt("seccomp | uid | landlock")
def bind_a_directory():
    """Mounts another session's directory in its own."""
    os.makedirs("bound", exist_ok=True)
    checked(libc.mount(T["sibling"].encode(), b"bound", None, 0x1000, None))
    try:
        return holds(" ".join(os.listdir("bound")), "secret.txt")
    finally:
        checked(libc.umount2(b"bound", 2))


@attempt("seccomp | uid | landlock")
def unmount_what_hides():
    """Unmounts, by which what is beneath would be seen (its own directory: no mount)."""
    os.makedirs("no-mount", exist_ok=True)
    try:
        checked(libc.umount2(b"no-mount", 0))
    except OSError as error:
        if error.errno != EINVAL:
            raise
    return "it may unmount"


@attempt("seccomp | uid | landlock")
def make_mounts_writable():
    """Takes "read-only" from a mount by mount_setattr (asks for no change)."""
    return syscall(442, -100, b".", 0, (ctypes.c_uint64 * 4)(), 32)


@attempt("seccomp | uid | landlock")
def mount_by_the_new_calls():
    """Opens a file system by fsopen, which needs no mount(2)."""
    os.close(syscall(430, b"tmpfs", 0))
    return "it was opened"


@attempt("seccomp | uid | landlock")
def copy_a_tree_of_mounts():
    """Copies the tree of mounts by open_tree."""
    os.close(syscall(428, -100, b".", 1))
    return "it was copied"


@attempt("seccomp | uid | landlock")
def change_the_root():
    """Changes its root directory by chroot, the first step out of one."""

    def change():
        os.chroot(".")
        return "it was changed"

    return in_child(change)


@attempt("seccomp | uid | landlock")
def pivot_the_root():
    """Changes the root of all by pivot_root (with paths that can't be)."""
    return reaches(155, b"no-such", b"no-such", allowed=(ENOENT,))


@attempt("seccomp | uid | landlock | namespaces")
def make_a_device():
    """Makes a device file for the machine's memory in its own directory."""
    os.mknod("device", 0o600 | 0o020000, os.makedev(1, 1))
    os.unlink("device")
    return "it was made"


@attempt("seccomp | uid | landlock | namespaces")
def make_a_disk():
    """Makes a device file for a disk in its own directory."""
    os.mknod("disk", 0o600 | 0o060000, os.makedev(254, 0))
    os.unlink("disk")
    return "it was made"


@attempt("landlock | namespaces | uid")
def open_a_fuse_device():
    """Opens /dev/fuse, by which it would be a file system."""
    if not os.path.exists("/dev/fuse"):
        raise Stopped("there is none")
    return opened("/dev/fuse", os.O_RDWR)


@attempt("landlock | namespaces | uid", control=False)
def open_a_virtual_machine():
    """Opens /dev/kvm, /dev/vhost-net, /dev/net/tun and /dev/loop-control."""
    for path in ("/dev/kvm", "/dev/vhost-net", "/dev/net/tun", "/dev/loop-control"):
        try:
            return opened(path, os.O_RDWR)
        except OSError:
            pass
    raise Stopped("none can be opened")
