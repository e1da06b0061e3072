"""Files: of the other session, of the server, of its user, of the system."""

import ctypes
import os

from attempting import ALWAYS, Beside, Stopped, T, attempt, checked, holds, libc, opened, planted

# What hides a file or refuses it. The files are their owner's alone, so another user
# is enough.
HIDDEN = "landlock | namespaces | own_uid"
# What Landlock has no rule for.
NOT_LANDLOCK = "namespaces | own_uid"


def sibling(name):
    return os.path.join(T["sibling"], name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


@attempt(HIDDEN)
def read_a_siblings_file():
    """Reads a file in the working directory of another client's session by its path."""
    return holds(read(sibling("secret.txt")))


@attempt(HIDDEN)
def list_a_siblings_directory():
    """Lists the working directory of another client's session."""
    return holds(" ".join(os.listdir(T["sibling"])), "secret.txt")


@attempt(HIDDEN)
def make_a_file_at_a_siblings():
    """Makes a file in the working directory of another client's session."""
    return planted(T["sibling"])


@attempt(HIDDEN)
def overwrite_a_siblings_file():
    """Opens a file of another client's session to write to it."""
    return opened(sibling("secret.txt"), os.O_WRONLY)


@attempt(HIDDEN)
def delete_a_siblings_file():
    """Deletes a file of another client's session."""
    os.unlink(sibling("to-delete"))
    return "it is deleted"


@attempt(HIDDEN)
def replace_a_siblings_file():
    """Puts a file of its own in the place of another session's by renaming."""
    open("mine", "w").close()
    os.rename("mine", sibling("to-replace"))
    return "it is replaced"


@attempt(HIDDEN)
def truncate_a_siblings_file():
    """Empties a file of another session by truncate(2)."""
    os.truncate(sibling("to-truncate"), 0)
    return "it is empty"


@attempt(NOT_LANDLOCK)
def chmod_a_siblings_file():
    """Changes the mode of another session's file, which no rule of Landlock is about."""
    os.chmod(sibling("secret.txt"), 0o666)
    return "it is changed"


@attempt(NOT_LANDLOCK)
def utime_a_siblings_file():
    """Changes the times of another session's file."""
    os.utime(sibling("secret.txt"))
    return "they are changed"


@attempt(NOT_LANDLOCK)
def setxattr_a_siblings_file():
    """Gives another session's file an extended attribute."""
    os.setxattr(sibling("secret.txt"), "user.attempt", b"x")
    return "it has it"


@attempt(NOT_LANDLOCK)
def stat_a_siblings_file():
    """Asks for size and times of another session's file."""
    return os.stat(sibling("secret.txt")).st_size


@attempt(NOT_LANDLOCK)
def watch_a_siblings_directory():
    """Has inotify tell of what another session does in its working directory."""
    watcher = checked(libc.inotify_init())
    try:
        checked(libc.inotify_add_watch(watcher, T["sibling"].encode(), 0xFFF))
    finally:
        os.close(watcher)
    return "it is told"


@attempt(HIDDEN)
def link_to_a_siblings_file():
    """Makes a hard link to another session's file in its own directory, and reads it."""
    os.link(sibling("secret.txt"), "hard")
    try:
        return holds(read("hard"))
    finally:
        os.unlink("hard")


@attempt(HIDDEN)
def read_a_siblings_file_through_a_link():
    """Reads another session's file through a symbolic link of its own."""
    os.symlink(sibling("secret.txt"), "soft")
    try:
        return holds(read("soft"))
    finally:
        os.unlink("soft")


@attempt(HIDDEN)
def climb_to_the_siblings():
    """Climbs out of its directory with openat("..") and lists what it meets."""
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


@attempt(HIDDEN)
def read_through_a_siblings_cwd():
    """Reads another session's file by way of /proc/PID/cwd."""
    return holds(read(f"/proc/{T['pids']['sibling']}/cwd/secret.txt"))


@attempt(HIDDEN)
def read_through_the_servers_root():
    """Reads another session's file by way of /proc/PID/root of the server."""
    return holds(read(f"/proc/{T['pids']['server']}/root{sibling('secret.txt')}"))


@attempt("seccomp | uid")
def open_by_handle():
    """Opens a file by its handle, which knows no paths and no directories in between."""

    class Handle(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]

    handle, mount = Handle(128), ctypes.c_int()
    open("own", "w").close()
    here = os.open(".", os.O_RDONLY)
    try:
        at = (-100, b"own", ctypes.byref(handle), ctypes.byref(mount), 0)
        checked(libc.name_to_handle_at(*at))
        os.close(checked(libc.open_by_handle_at(here, ctypes.byref(handle), os.O_RDONLY)))
    finally:
        os.close(here)
    return "it was opened"


@attempt(HIDDEN)
def read_a_key_at_home():
    """Reads a private key in the home directory of the server's user."""
    return holds(read(os.path.join(T["home"], ".ssh", "id_ed25519")))


@attempt(HIDDEN)
def list_the_home_directory():
    """Lists the home directory of the server's user."""
    return holds(" ".join(os.listdir(T["home"])), ".ssh")


@attempt(HIDDEN)
def write_at_home():
    """Leaves a file in the home directory of the server's user, as a .profile."""
    return planted(T["home"], ".profile", ".ssh")


@attempt(HIDDEN)
def read_the_tokens():
    """Reads the file with the tokens of all clients."""
    return opened(T["tokens"])


@attempt(HIDDEN)
def add_a_token():
    """Opens the file with the tokens to add one."""
    return opened(T["tokens"], os.O_WRONLY | os.O_APPEND)


@attempt(HIDDEN)
def read_the_journal():
    """Opens the journal, which has what all clients ran."""
    return opened(T["journal"])


@attempt(HIDDEN)
def write_to_the_journal():
    """Opens the journal to write to it."""
    return opened(T["journal"], os.O_RDWR)


@attempt(HIDDEN)
def list_the_data_directory():
    """Lists the server's data directory."""
    return holds(" ".join(os.listdir(T["data"])), "canary")


@attempt(HIDDEN)
def write_to_the_data_directory():
    """Makes a file in the server's data directory."""
    return planted(T["data"], beside="canary")


@attempt(HIDDEN)
def replace_the_servers_program():
    """Makes a file beside the server's program, as somebody does who replaces it."""
    return planted(os.path.dirname(T["program"]), beside="understudy")


@attempt(HIDDEN)
def write_into_the_workers_library():
    """Opens a file of the worker's own Python code to write to it: the next session's."""
    import pyworker

    return opened(pyworker.__file__, os.O_RDWR)


@attempt(HIDDEN)
def add_to_the_workers_library():
    """Adds a module to the worker's own Python code."""
    import pyworker

    return planted(os.path.dirname(pyworker.__file__), "planted.py")


@attempt(HIDDEN)
def write_into_the_standard_library():
    """Opens a module of Python's standard library to write to it."""
    return opened(os.__file__, os.O_RDWR)


@attempt(HIDDEN)
def plant_code_in_site_packages():
    """Makes a .pth file in site-packages, which every Python that starts runs."""
    import sysconfig

    return planted(sysconfig.get_path("purelib"), "planted.pth")


@attempt(HIDDEN)
def write_into_bytecode():
    """Adds to a __pycache__ that other sessions import from."""
    return planted(os.path.join(os.path.dirname(os.__file__), "__pycache__"))


@attempt(HIDDEN)
def change_a_plugin():
    """Opens a plugin of the operator's to write to it."""
    return opened(os.path.join(T["plugins"], "greet.py"), os.O_WRONLY)


@attempt(HIDDEN)
def read_another_file_of_the_host():
    """Reads a file that anybody may read, in a directory that nothing speaks of."""
    return holds(read(os.path.join(T["open"], "secret.txt")))


@attempt(HIDDEN)
def write_another_file_of_the_host():
    """Writes to a file that anybody may write to, in a directory that nothing speaks of."""
    return opened(os.path.join(T["open"], "writable"), os.O_WRONLY)


@attempt("landlock | namespaces")
def write_to_a_directory_of_everybody():
    """Makes a file in a directory that anybody may write to."""
    return planted(T["open"], beside="secret.txt")


@attempt("landlock | namespaces")
def find_files_in_the_hosts_tmp():
    """Looks into /tmp for what other programs have there."""
    return holds(" ".join(os.listdir("/tmp")), T["in_tmp"])


@attempt("landlock | namespaces")
def leave_a_file_in_var_tmp():
    """Leaves a file in /var/tmp, where other programs find it."""
    return planted("/var/tmp")


@attempt("landlock | namespaces | uid")
def write_to_etc():
    """Makes a file in /etc."""
    return planted("/etc")


@attempt("landlock | namespaces | uid")
def change_the_users():
    """Opens /etc/passwd to write to it."""
    return opened("/etc/passwd", os.O_WRONLY)


@attempt("landlock | namespaces | uid", control=False)
def open_the_passwords():
    """Opens /etc/shadow."""
    return opened("/etc/shadow")


@attempt("landlock | namespaces | uid")
def plant_a_program():
    """Makes a file in /usr/bin."""
    return planted("/usr/bin")


@attempt("landlock | namespaces | uid")
def change_a_setting_of_the_kernel():
    """Opens a setting below /proc/sys to write to it."""
    return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attempt("landlock | namespaces | uid", control=False)
def reach_the_magic_request():
    """Opens /proc/sysrq-trigger to write to it."""
    return opened("/proc/sysrq-trigger", os.O_WRONLY)


@attempt("landlock | namespaces | uid", control=False)
def write_below_sys():
    """Looks below /sys for a directory or file that it may write to."""
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
def make_a_cgroup():
    """Makes a cgroup of its own to leave that with its limits."""
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
    """Opens the machine's disks past their file systems."""
    with open("/proc/partitions") as partitions:
        names = [line.split()[3] for line in partitions.readlines()[2:] if line.strip()]
    if not names:
        raise Beside("this machine has no disks")
    for name in names:
        try:
            return opened(f"/dev/{name}")
        except OSError:
            pass
    raise Stopped("none can be opened")


@attempt("landlock | namespaces | uid", control=False)
def open_the_machines_memory():
    """Opens /dev/mem, /dev/kmsg, /dev/port and /proc/kcore."""
    for path in ("/dev/mem", "/dev/kmsg", "/dev/port", "/proc/kcore"):
        try:
            return opened(path)
        except OSError:
            pass
    raise Stopped("none can be opened")


@attempt(ALWAYS, control=False)
def write_with_another_modes_bits():
    """Makes a set-user-ID file of its own and gives it to root."""
    open("gift", "w").close()
    os.chmod("gift", 0o4755)
    os.chown("gift", 0, 0)
    return "it is root's"


@attempt(ALWAYS, control=False)
def give_a_file_to_a_sibling():
    """Gives a file of its own to the other session's user."""
    open("gift2", "w").close()
    owner = T["sibling_uid"]
    if owner == os.getuid():
        raise Beside("both sessions have the same user")
    os.chown("gift2", owner, -1)
    return "it is the other's"
