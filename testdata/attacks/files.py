"""Files: of the other session, of the server, of its user, of the system."""

import ctypes
import os
import sysconfig

from attempting import (
    ALWAYS,
    Beside,
    Stopped,
    T,
    any_opened,
    attempt,
    attempts,
    checked,
    holds,
    libc,
    listed,
    made,
    opened,
    planted,
    read,
)

import pyworker

SECRET = os.path.join(T["sibling"], "secret.txt")


def put_in_place(name):
    open("mine", "w").close()
    os.rename("mine", os.path.join(T["sibling"], name))


def link(make, name):
    make(SECRET, name)
    try:
        return holds(read(name))
    finally:
        os.unlink(name)


attempts(
    {
        # What hides a file or refuses it. The files are their owner's alone, so another
        # user is enough.
        "landlock | namespaces | own_uid": {
            "read a sibling's file": lambda: holds(read(SECRET)),
            "list a sibling's directory": lambda: holds(listed(T["sibling"]), "secret.txt"),
            "make a file at a sibling's": lambda: planted(T["sibling"]),
            "overwrite a sibling's file": lambda: opened(SECRET, os.O_WRONLY),
            "delete a sibling's file": lambda: os.unlink(os.path.join(T["sibling"], "to-delete")),
            "replace a sibling's file": lambda: put_in_place("to-replace"),
            "empty a sibling's file": lambda: os.truncate(
                os.path.join(T["sibling"], "to-truncate"), 0
            ),
            "make a hard link to a sibling's file": lambda: link(os.link, "hard"),
            "read a sibling's file through a link": lambda: link(os.symlink, "soft"),
            "read a sibling's file by way of its cwd": lambda: holds(
                read(f"/proc/{T['pids']['sibling']}/cwd/secret.txt")
            ),
            "read a sibling's file by way of the server's root": lambda: holds(
                read(f"/proc/{T['pids']['server']}/root{SECRET}")
            ),
            "read a key at home": lambda: holds(read(T["home"], ".ssh", "id_ed25519")),
            "list the home directory": lambda: holds(listed(T["home"]), ".ssh"),
            "leave a .profile at home": lambda: planted(T["home"], ".profile", ".ssh"),
            "read the tokens of all clients": lambda: opened(T["tokens"]),
            "add a token": lambda: opened(T["tokens"], os.O_WRONLY | os.O_APPEND),
            "read the journal": lambda: opened(T["journal"]),
            "write to the journal": lambda: opened(T["journal"], os.O_RDWR),
            "list the data directory": lambda: holds(listed(T["data"]), "canary"),
            "write to the data directory": lambda: planted(T["data"], beside="canary"),
            "replace the server's program": lambda: planted(
                os.path.dirname(T["program"]), beside="understudy"
            ),
            "change the worker's own code": lambda: opened(pyworker.__file__, os.O_RDWR),
            "add to the worker's own code": lambda: planted(
                os.path.dirname(pyworker.__file__), "planted.py"
            ),
            "change the standard library": lambda: opened(os.__file__, os.O_RDWR),
            "leave code in site-packages that every Python runs": lambda: planted(
                sysconfig.get_path("purelib"), "planted.pth"
            ),
            "add to bytecode that others import": lambda: planted(
                os.path.join(os.path.dirname(os.__file__), "__pycache__")
            ),
            "change a plugin": lambda: opened(os.path.join(T["plugins"], "greet.py"), os.O_WRONLY),
            "read another file of the host's": lambda: holds(read(T["open"], "secret.txt")),
            "write another file of the host's": lambda: opened(
                os.path.join(T["open"], "writable"), os.O_WRONLY
            ),
        },
        # What Landlock has no rule for.
        "namespaces | own_uid": {
            "change the mode of a sibling's file": lambda: os.chmod(SECRET, 0o666),
            "change the times of a sibling's file": lambda: os.utime(SECRET),
            "give a sibling's file an attribute": lambda: os.setxattr(SECRET, "user.attempt", b"x"),
            "ask for the size of a sibling's file": lambda: os.stat(SECRET).st_size,
        },
        "landlock | namespaces": {
            "write to a directory of everybody's": lambda: planted(T["open"], beside="secret.txt"),
            "find files in the host's /tmp": lambda: holds(listed("/tmp"), T["in_tmp"]),
            "leave a file in /var/tmp": lambda: planted("/var/tmp"),
        },
        "landlock | namespaces | uid": {
            "write to /etc": lambda: planted("/etc"),
            "change the users": lambda: opened("/etc/passwd", os.O_WRONLY),
            "leave a program in /usr/bin": lambda: planted("/usr/bin"),
            "change a setting of the kernel": lambda: opened(
                "/proc/sys/kernel/core_pattern", os.O_WRONLY
            ),
        },
    }
)
attempts(
    {
        "landlock | namespaces | uid": {
            "open the passwords": lambda: opened("/etc/shadow"),
            "reach the magic request": lambda: opened("/proc/sysrq-trigger", os.O_WRONLY),
            "open the machine's memory": lambda: any_opened(
                ("/dev/mem", "/dev/kmsg", "/dev/port", "/proc/kcore")
            ),
        }
    },
    control=False,
)


@attempt("namespaces | own_uid")
def watch_a_siblings_directory():
    watcher = checked(libc.inotify_init())
    try:
        checked(libc.inotify_add_watch(watcher, T["sibling"].encode(), 0xFFF))
    finally:
        os.close(watcher)


@attempt("landlock | namespaces | own_uid")
def climb_to_the_siblings_by_openat():
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    seen = []
    try:
        for _ in range(4):
            up = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = up
            seen += os.listdir(here)
    finally:
        os.close(here)
    names = T["sibling"].split("/")
    return holds(" ".join(seen), names[-1] if names[-1] in seen else names[-2])


@attempt("seccomp | uid")
def open_by_a_handle_which_knows_no_paths():
    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    handle, mount = Handle(128), ctypes.c_int()
    open("own", "w").close()
    here = os.open(".", os.O_RDONLY)
    try:
        at = (-100, b"own", ctypes.byref(handle), ctypes.byref(mount), 0)
        checked(libc.name_to_handle_at(*at))
        made(checked(libc.open_by_handle_at(here, ctypes.byref(handle), os.O_RDONLY)))
    finally:
        os.close(here)


@attempt("landlock | namespaces | uid", control=False)
def write_below_sys():
    for directory, _, files in os.walk("/sys"):
        if directory.count("/") > 4:
            continue
        for name in files:
            path = os.path.join(directory, name)
            if os.stat(path, follow_symlinks=False).st_mode & 0o222:
                try:
                    return opened(path, os.O_WRONLY)
                except OSError:
                    pass
    raise Stopped("nothing below /sys can be opened for writing")


@attempt("landlock | namespaces | uid", control=False)
def leave_its_limits_for_a_cgroup_of_its_own():
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"):
        path = os.path.join(root, "planted-by-an-attempt")
        try:
            os.mkdir(path)
        except OSError:
            continue
        os.rmdir(path)
        return f"{path} was made"
    raise Stopped("none could be made")


@attempt("landlock | namespaces | uid", control=False)
def open_a_disk():
    with open("/proc/partitions") as partitions:
        names = [line.split()[3] for line in partitions.readlines()[2:] if line.strip()]
    if not names:
        raise Beside("this machine has no disks")
    return any_opened(f"/dev/{name}" for name in names)


@attempt(ALWAYS, control=False)
def make_a_set_user_id_file_of_roots():
    open("gift", "w").close()
    os.chmod("gift", 0o4755)
    os.chown("gift", 0, 0)


@attempt(ALWAYS, control=False)
def give_a_file_to_a_sibling():
    open("gift2", "w").close()
    if T["sibling_uid"] == os.getuid():
        raise Beside("both sessions have the same user")
    os.chown("gift2", T["sibling_uid"], -1)
