"""Processes: memory, signals, environment and descriptors of those of others."""

import ctypes
import fcntl
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
    attempts,
    checked,
    environment,
    fields_of_status,
    holds,
    holds_environment,
    in_child,
    libc,
    made,
    opened,
    read,
    syscall,
)

PIDS = T["pids"]
SIBLING = PIDS["sibling"]
# Landlock keeps signals in since ABI 6.
NO_SIGNALS = "landlock6 | own_uid"

PIDFD_SEND_SIGNAL, PIDFD_OPEN, PIDFD_GETFD, KCMP = 424, 434, 438, 312
MOVE_PAGES, IOPRIO_SET, TGKILL = 279, 251, 234
PTRACE, PTRACE_SEIZE = 101, 0x4206


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def move_memory(call, buffer):
    """Copies memory by process_vm_readv or process_vm_writev."""
    here = Vector(ctypes.addressof(buffer), len(buffer))
    there = Vector(T["sibling_address"], len(buffer))
    checked(call(SIBLING, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
    return holds(buffer.raw, T["memory_secret"])


def trace(pid):
    return in_child(lambda: syscall(PTRACE, PTRACE_SEIZE, pid, 0, 0))


def by_pidfd(pid, use):
    pidfd = syscall(PIDFD_OPEN, pid, 0)
    try:
        return use(pidfd)
    finally:
        os.close(pidfd)


def take_descriptor(pidfd):
    with open(syscall(PIDFD_GETFD, pidfd, T["sibling_fd"], 0)) as file:
        file.seek(0)
        return holds(file.read())


def where_pages_are():
    page = (ctypes.c_void_p * 1)(T["sibling_address"] & ~4095)
    return syscall(MOVE_PAGES, SIBLING, 1, page, None, (ctypes.c_int * 1)(), 0)


def run_in_real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


attempts(
    {
        # What parts the processes of one user: a domain of Landlock may look at none outside.
        "landlock | own_uid": {
            "read a sibling's memory by process_vm_readv": lambda: move_memory(
                libc.process_vm_readv, ctypes.create_string_buffer(len(T["memory_secret"]))
            ),
            "write into a sibling's memory what is there": lambda: move_memory(
                libc.process_vm_writev, ctypes.create_string_buffer(T["memory_secret"].encode())
            ),
            "read the map of a sibling's memory": lambda: holds(
                read(f"/proc/{SIBLING}/maps"), "libc"
            ),
            "read the server's environment": lambda: environment(PIDS["server"]),
            "list the server's descriptors": lambda: os.readlink(f"/proc/{PIDS['server']}/fd/1"),
            "open a sibling's descriptor": lambda: holds(
                read(f"/proc/{SIBLING}/fd/{T['sibling_fd']}")
            ),
            "offer a sibling to the killer": lambda: opened(
                f"/proc/{SIBLING}/oom_score_adj", os.O_WRONLY
            ),
            "offer the server to the killer": lambda: opened(
                f"/proc/{PIDS['server']}/oom_score_adj", os.O_WRONLY
            ),
        },
        "landlock | own_uid | seccomp": {
            "trace a sibling": lambda: trace(SIBLING),
            "trace the server": lambda: trace(PIDS["server"]),
            "take over a sibling's descriptor": lambda: by_pidfd(SIBLING, take_descriptor),
            "take over the server's descriptor": lambda: by_pidfd(
                PIDS["server"], lambda pidfd: made(syscall(PIDFD_GETFD, pidfd, 2, 0))
            ),
            "ask where a sibling's pages are": where_pages_are,
            "compare a sibling's kernel objects with its own": lambda: syscall(
                KCMP, os.getpid(), SIBLING, 1, 0, 0
            ),
        },
        NO_SIGNALS: {
            **{
                f"send a signal to the {who}": lambda who=who: os.kill(PIDS[who], 0)
                for who in ("sibling", "server", "root", "stranger")
            },
            "send a signal to a sibling's group": lambda: os.killpg(os.getpgid(SIBLING), 0),
            "send a signal by a pidfd": lambda: by_pidfd(
                SIBLING, lambda pidfd: syscall(PIDFD_SEND_SIGNAL, pidfd, 0, None, 0)
            ),
            "send a signal to a thread of the server's": lambda: syscall(
                TGKILL, PIDS["server"], PIDS["server"], 0
            ),
        },
        ALWAYS: {
            "read the server's secret in its own initial environment": lambda: environment("self"),
            "find the server's secret in os.environ": lambda: holds_environment(
                b" ".join(os.environb.values())
            ),
        },
        "own_uid": {
            "ask for a sibling's limits, which could be changed by it": lambda: resource.prlimit(
                SIBLING, resource.RLIMIT_NOFILE
            ),
            "change a sibling's processors": lambda: os.sched_setaffinity(
                SIBLING, os.sched_getaffinity(SIBLING)
            ),
        },
        "own_uid | seccomp": {
            "change a sibling's priority": lambda: os.setpriority(
                os.PRIO_PROCESS, SIBLING, os.getpriority(os.PRIO_PROCESS, SIBLING)
            ),
            "slow a sibling's input and output down": lambda: syscall(
                IOPRIO_SET, 1, SIBLING, (2 << 13) | 4
            ),
        },
        "uid": {
            "take a negative nice value": lambda: in_child(lambda: os.nice(-5)),
            "take a real-time priority": lambda: in_child(run_in_real_time),
        },
        "own_uid+namespaces": {
            "read the server's command line": lambda: holds(
                read(f"/proc/{PIDS['server']}/cmdline"), "serve"
            )
        },
    }
)


@attempt("landlock | own_uid")
def read_a_siblings_memory_by_proc():
    with open(f"/proc/{SIBLING}/mem", "rb", buffering=0) as memory:
        memory.seek(T["sibling_address"])
        return holds(memory.read(200), T["memory_secret"])


@attempt("landlock | own_uid")
def read_what_the_servers_children_have_inherited():
    for who in ("root", "zygote"):
        try:
            return environment(PIDS[who])
        except (OSError, Stopped) as error:
            last = error
    raise last


@attempt(ALWAYS, control=False)
def find_the_servers_secret_in_its_own_memory_a_copy_of_the_zygotes():
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


@attempt(ALWAYS, control=False)
def find_descriptors_of_the_servers_left_over():
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


@attempt("uid", control=False)
def hide_from_the_killer():
    def hide():
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("-1000")

    return in_child(hide)


@attempt("uid", control=False)
def raise_its_own_limits():
    def raise_it():
        _, hard = resource.getrlimit(resource.RLIMIT_NICE)
        if hard >= 40:
            raise Beside("the limit is the highest already")
        try:
            resource.setrlimit(resource.RLIMIT_NICE, (hard + 1, hard + 1))
        except ValueError as error:  # how Python says EPERM here
            raise Stopped(str(error)) from None

    return in_child(raise_it)


@attempt("own_uid+namespaces")
def see_other_processes():
    seen = [pid for pid in map(str, PIDS.values()) if pid in os.listdir("/proc")]
    if not seen:
        raise Stopped("none of them is in /proc")
    return f"{len(seen)} of {len(PIDS)} are in /proc"


@attempt(ALWAYS)
def keep_the_right_to_gain_privileges():
    if fields_of_status()["NoNewPrivs"] != "0":
        raise Stopped("no_new_privs is set")


@attempt(NO_SIGNALS)
def send_a_signal_to_all():
    def send():
        # In a process group and session of its own. What is left that may be
        # signalled is its own session's.
        os.setsid()
        os.kill(-1, 0)
        for name, pid in PIDS.items():
            try:
                os.kill(pid, 0)
            except OSError:
                continue
            return f"the {name} (as user {os.getuid()})"
        raise Stopped("only its own processes")

    return in_child(send)


@attempt(NO_SIGNALS)
def have_a_signal_sent_by_input():
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, 10, signal.SIGURG)  # F_SETSIG: one that Python ignores
        fcntl.fcntl(reader, fcntl.F_SETOWN, SIBLING)
        owner = fcntl.fcntl(reader, fcntl.F_GETOWN)
    finally:
        os.close(reader)
        os.close(writer)
    if owner != SIBLING:
        raise Stopped("the kernel has not taken it")
    # Whether it is sent is decided when it is: as for any other signal.
    return os.kill(SIBLING, 0)


@attempt("seccomp + tag")  # the server knows the processes of a session by this limit
def forget_whose_it_is():
    def forget():
        try:
            resource.setrlimit(10, (1, 1))  # RLIMIT_LOCKS
        except ValueError:
            raise Stopped("EPERM") from None

    return in_child(forget)


@attempt(ALWAYS, control=False)
def open_the_terminal_that_the_server_was_started_from():
    return opened("/dev/tty", os.O_RDWR)


@attempt("landlock | namespaces | own_uid")
def read_what_the_user_has_typed_at_a_terminal():
    # Without a session of its own that could become its own terminal.
    fd = os.open(T["terminal"], os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return holds(os.read(fd, 1000))
    finally:
        os.close(fd)
