"""Processes: memory, signals, environment and descriptors of those of others."""

import ctypes
import os
import resource
import signal
import socket
import stat

from attempting import (
    ALWAYS,
    Beside,
    Stopped,
    T,
    attempt,
    checked,
    fields_of_status,
    holds,
    holds_environment,
    in_child,
    libc,
    opened,
    syscall,
)

PIDS = T["pids"]
# What parts the processes of one user: a domain of Landlock may look at none outside.
PARTED = "landlock | own_uid"
# Landlock keeps signals in since ABI 6.
NO_SIGNALS = "landlock6 | own_uid"

PIDFD_SEND_SIGNAL, PIDFD_OPEN, PIDFD_GETFD, KCMP, PROCESS_MADVISE = 424, 434, 438, 312, 440
MOVE_PAGES, IOPRIO_SET = 279, 251
PTRACE_SEIZE = 0x4206


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def vectors(buffer):
    """Returns what process_vm_readv wants to know: here, and in the other session."""
    here = Vector(ctypes.addressof(buffer), len(buffer))
    return here, Vector(T["sibling_address"], len(buffer))


@attempt(PARTED)
def read_memory_by_proc():
    """Reads another session's memory by /proc/PID/mem."""
    with open(f"/proc/{PIDS['sibling']}/mem", "rb", buffering=0) as memory:
        memory.seek(T["sibling_address"])
        return holds(memory.read(200), T["memory_secret"])


@attempt(PARTED)
def read_memory_by_system_call():
    """Reads another session's memory by process_vm_readv."""
    buffer = ctypes.create_string_buffer(len(T["memory_secret"]))
    here, there = vectors(buffer)
    pid = PIDS["sibling"]
    checked(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    return holds(buffer.raw, T["memory_secret"])


@attempt(PARTED)
def write_memory():
    """Writes into another session's memory by process_vm_writev (what is there already)."""
    buffer = ctypes.create_string_buffer(T["memory_secret"].encode())
    here, there = vectors(buffer)
    pid = PIDS["sibling"]
    checked(libc.process_vm_writev(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    return "it was written"


@attempt(PARTED)
def read_the_map_of_memory():
    """Reads where another session's memory is, in /proc/PID/maps."""
    with open(f"/proc/{PIDS['sibling']}/maps") as maps:
        return holds(maps.read(), "libc")


@attempt("landlock | own_uid | seccomp")
def trace_a_sibling():
    """Becomes the tracer of another session's process."""
    return in_child(lambda: syscall(101, PTRACE_SEIZE, PIDS["sibling"], 0, 0))


@attempt("landlock | own_uid | seccomp")
def trace_the_server():
    """Becomes the tracer of a thread of the server's."""
    return in_child(lambda: syscall(101, PTRACE_SEIZE, PIDS["server"], 0, 0))


def may_signal(who):
    os.kill(PIDS[who], 0)
    return "a signal may be sent"


@attempt(NO_SIGNALS)
def signal_a_sibling():
    """Sends a signal to another session's process."""
    return may_signal("sibling")


@attempt(NO_SIGNALS)
def signal_the_server():
    """Sends a signal to the server."""
    return may_signal("server")


@attempt(NO_SIGNALS)
def signal_the_root():
    """Sends a signal to the process that all sessions are forked from."""
    return may_signal("root")


@attempt(NO_SIGNALS)
def signal_a_stranger():
    """Sends a signal to a process that has nothing to do with the server."""
    return may_signal("stranger")


@attempt(NO_SIGNALS)
def signal_a_siblings_group():
    """Sends a signal to another session's process group."""
    os.killpg(os.getpgid(PIDS["sibling"]), 0)
    return "a signal may be sent"


@attempt(NO_SIGNALS)
def signal_by_descriptor():
    """Sends a signal to another session's process by a pidfd."""
    pidfd = syscall(PIDFD_OPEN, PIDS["sibling"], 0)
    try:
        return syscall(PIDFD_SEND_SIGNAL, pidfd, 0, None, 0)
    finally:
        os.close(pidfd)


@attempt(NO_SIGNALS)
def signal_a_thread():
    """Sends a signal to a thread of the server's by tgkill."""
    return syscall(234, PIDS["server"], PIDS["server"], 0)


def environment(who):
    with open(f"/proc/{who}/environ", "rb") as environ:
        return holds_environment(environ.read())


@attempt(PARTED)
def read_the_servers_environment():
    """Reads a secret in the server's environment, in /proc/PID/environ."""
    return environment(PIDS["server"])


@attempt(PARTED)
def read_the_environment_of_the_root():
    """Reads the server's secret in what its child processes have inherited of it."""
    for who in ("root", "zygote"):
        try:
            return environment(PIDS[who])
        except (OSError, Stopped) as error:
            last = error
    raise last


@attempt(ALWAYS)
def read_its_own_initial_environment():
    """Reads the server's secret in /proc/self/environ, which no os.environ changes."""
    return environment("self")


@attempt(ALWAYS)
def find_the_secret_in_its_own_environment():
    """Looks for the server's secret in os.environ."""
    return holds_environment(b" ".join(os.environb.values()))


@attempt(ALWAYS, control=False)
def find_the_secret_in_its_own_memory():
    """Searches its own memory, a copy of the zygote's, for the server's secret."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.readlines():
            begin, end = (int(n, 16) for n in line.split()[0].split("-"))
            if not line.split()[1].startswith("rw") or end - begin > 1 << 28:
                continue
            try:
                memory.seek(begin)
                text = memory.read(end - begin)
            except (OSError, ValueError):
                continue
            try:
                holds_environment(text)
            except Stopped:
                continue
            return f"it is in {line.strip()}"
    raise Stopped("it is not there")


@attempt(PARTED)
def list_the_servers_descriptors():
    """Reads which files the server has open, in /proc/PID/fd."""
    return os.readlink(f"/proc/{PIDS['server']}/fd/1")


@attempt(PARTED)
def open_a_siblings_descriptor():
    """Opens what another session has open, by /proc/PID/fd."""
    path = f"/proc/{PIDS['sibling']}/fd/{T['sibling_fd']}"
    with open(path) as file:
        return holds(file.read())


@attempt("landlock | own_uid | seccomp")
def take_a_siblings_descriptor():
    """Takes over what another session has open, by pidfd_getfd."""
    pidfd = syscall(PIDFD_OPEN, PIDS["sibling"], 0)
    try:
        with open(syscall(PIDFD_GETFD, pidfd, T["sibling_fd"], 0)) as file:
            file.seek(0)
            return holds(file.read())
    finally:
        os.close(pidfd)


@attempt("landlock | own_uid | seccomp")
def take_the_servers_descriptor():
    """Takes over a descriptor of the server's, by pidfd_getfd."""
    pidfd = syscall(PIDFD_OPEN, PIDS["server"], 0)
    try:
        os.close(syscall(PIDFD_GETFD, pidfd, 2, 0))
        return "it was taken over"
    finally:
        os.close(pidfd)


@attempt(ALWAYS, control=False)
def find_descriptors_left_over():
    """Looks for descriptors that lead to files, directories or sockets of the server's."""
    for name in os.listdir("/proc/self/fd"):
        try:
            mode = os.fstat(int(name)).st_mode
            path = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if (path.startswith("/memfd:") and stat.S_ISREG(mode)) or path == "/dev/null":
            continue  # standard input
        if stat.S_ISSOCK(mode):
            with socket.socket(fileno=os.dup(int(name))) as found:
                if found.family != socket.AF_UNIX or found.getsockopt(socket.SOL_SOCKET, 30):
                    return f"{name} is a socket of {found.family} that listens or connects"
        elif stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISBLK(mode):
            if not path.startswith(os.getcwd()):
                return f"{name} is {path}"
        elif path.startswith("anon_inode:[pidfd"):
            return f"{name} is {path}"
    raise Stopped("there is none")


@attempt("own_uid")
def read_a_siblings_limits():
    """Asks for another session's limits by prlimit, by which they could be changed, too."""
    return resource.prlimit(PIDS["sibling"], resource.RLIMIT_NOFILE)


@attempt("own_uid | seccomp")
def slow_a_sibling_down():
    """Changes the priority of another session's process."""
    now = os.getpriority(os.PRIO_PROCESS, PIDS["sibling"])
    os.setpriority(os.PRIO_PROCESS, PIDS["sibling"], now)
    return "it was changed"


@attempt("own_uid")
def pin_a_sibling():
    """Changes the processors that another session's process may use."""
    os.sched_setaffinity(PIDS["sibling"], os.sched_getaffinity(PIDS["sibling"]))
    return "they were changed"


@attempt("own_uid | seccomp")
def slow_down_a_siblings_disk():
    """Changes the priority of another session's input and output."""
    return syscall(IOPRIO_SET, 1, PIDS["sibling"], (2 << 13) | 4)


@attempt("landlock | own_uid | seccomp")
def move_a_siblings_pages():
    """Asks where the pages of another session's memory are, by move_pages."""
    page = (ctypes.c_void_p * 1)(T["sibling_address"] & ~4095)
    place = (ctypes.c_int * 1)()
    return syscall(MOVE_PAGES, PIDS["sibling"], 1, page, None, place, 0)


@attempt("landlock | own_uid | seccomp")
def compare_with_a_sibling():
    """Compares kernel objects of another session with its own, by kcmp."""
    return syscall(KCMP, os.getpid(), PIDS["sibling"], 1, 0, 0)


@attempt("landlock | own_uid")
def offer_a_sibling_to_the_killer():
    """Opens another session's oom_score_adj to have it killed first."""
    return opened(f"/proc/{PIDS['sibling']}/oom_score_adj", os.O_WRONLY)


@attempt("landlock | own_uid")
def offer_the_server_to_the_killer():
    """Opens the server's oom_score_adj to have it killed first."""
    return opened(f"/proc/{PIDS['server']}/oom_score_adj", os.O_WRONLY)


@attempt("uid", control=False)
def hide_from_the_killer():
    """Makes itself the last to be killed when memory is short."""

    def hide():
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("-1000")
        return "it is"

    return in_child(hide)


@attempt("uid", control=False)
def raise_its_own_limits():
    """Raises a hard limit of its own."""

    def raise_it():
        _, hard = resource.getrlimit(resource.RLIMIT_NICE)
        if hard >= 40:
            raise Beside("the limit is the highest already")
        try:
            resource.setrlimit(resource.RLIMIT_NICE, (hard + 1, hard + 1))
        except ValueError as error:  # how Python says EPERM here
            raise Stopped(str(error)) from None
        return "it is higher"

    return in_child(raise_it)


@attempt("uid")
def run_before_all_others():
    """Takes a negative nice value."""
    return in_child(lambda: os.nice(-5))


@attempt("uid")
def run_in_real_time():
    """Takes a real-time priority, by which it could keep a processor for ever."""

    def take():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        return "it has it"

    return in_child(take)


@attempt("own_uid+namespaces")
def see_other_processes():
    """Sees which processes there are on the machine."""
    seen = [pid for pid in map(str, PIDS.values()) if pid in os.listdir("/proc")]
    if not seen:
        raise Stopped("none of them is in /proc")
    return f"{len(seen)} of {len(PIDS)} are in /proc"


@attempt("own_uid+namespaces")
def read_the_servers_command_line():
    """Reads the server's command line, which may have secrets in it."""
    with open(f"/proc/{PIDS['server']}/cmdline") as command:
        return holds(command.read(), "serve")


@attempt(ALWAYS)
def keep_the_right_to_gain_privileges():
    """Hopes for a process that may still gain privileges by exec."""
    if fields_of_status()["NoNewPrivs"] != "0":
        raise Stopped("no_new_privs is set")
    return "no_new_privs is not set"


@attempt(NO_SIGNALS)
def signal_all():
    """Sends a signal to every process there is (signal 0, which does nothing)."""

    def send():
        # In a process group and session of its own. What is left that may be
        # signalled is its own session's.
        os.setsid()
        uid = str(os.getuid())
        os.kill(-1, 0)
        for name, pid in PIDS.items():
            try:
                os.kill(pid, 0)
            except OSError:
                continue
            return f"the {name} (as user {uid})"
        raise Stopped("only its own processes")

    return in_child(send)


@attempt(NO_SIGNALS)
def have_a_signal_sent_by_input():
    """Has the kernel send a sibling a signal when there is input (F_SETOWN)."""
    import fcntl

    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, 10, signal.SIGURG)  # F_SETSIG: one that Python ignores
        fcntl.fcntl(reader, fcntl.F_SETOWN, PIDS["sibling"])
        owner = fcntl.fcntl(reader, fcntl.F_GETOWN)
    finally:
        os.close(reader)
        os.close(writer)
    if owner != PIDS["sibling"]:
        raise Stopped("the kernel has not taken it")
    # Whether it is sent is decided when it is: as for any other signal.
    return may_signal("sibling")


@attempt("seccomp + tag")
def forget_whose_it_is():
    """Changes the limit by which the server knows the processes of a session."""

    def forget():
        try:
            resource.setrlimit(10, (1, 1))  # RLIMIT_LOCKS
        except ValueError:
            raise Stopped("EPERM") from None
        return "it was changed"

    return in_child(forget)


@attempt(ALWAYS, control=False)
def take_the_terminal():
    """Opens the terminal that the server was started from, by the name of one's own."""
    return opened("/dev/tty", os.O_RDWR)


@attempt("landlock | namespaces | own_uid")
def read_a_terminal():
    """Reads what the server's user has typed at a terminal."""
    # Without a session of its own that could become its own terminal.
    fd = os.open(T["terminal"], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return holds(os.read(fd, 1000))
    finally:
        os.close(fd)
