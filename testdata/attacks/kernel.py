"""System calls that a session has no use for, and other ways to make them."""

import ctypes
import fcntl
import mmap
import os
import pty
import socket
import termios

from attempting import Beside, Stopped, attempt, attempts, in_child, made, reaches, syscall

EPERM, ENOENT, ENOEXEC, EACCES, EFAULT, EINVAL, ENOSYS, ENOKEY = 1, 2, 8, 13, 14, 22, 38, 126


def make_socket(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()


def run_machine_code(code):
    """Runs machine code, and returns what it returns."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def by_machine_code(code, wanted=lambda: 0):
    """Makes a system call by machine code of its own, in a child, which is to return that."""

    def call():
        got = run_machine_code(code)
        if got != wanted():
            raise Stopped(f"it returned {got}")

    return in_child(call)


attempts(
    {
        "seccomp": {
            # No seccomp filter sees its operations.
            "set up an io_uring": lambda: made(syscall(425, 4, (ctypes.c_ubyte * 256)())),
            # Keyrings know no namespaces.
            "ask for the keys of its session": lambda: syscall(250, 0, -3, 1),
            "add a key to the kernel's": lambda: syscall(248, b"user", b"attempt", b"x", 1, -2),
            # The kernel may start a program for it.
            "ask for a key": lambda: reaches(
                249, b"user", b"no-such-key", None, 0, allowed=(ENOKEY,)
            ),
            # It would hold the kernel at a chosen moment.
            "make a userfaultfd": lambda: made(syscall(323, 1)),
            "run with a personality without protections of memory": lambda: in_child(
                lambda: syscall(135, 0x0400000)
            ),
            "make a socket of the kernel's crypto": lambda: make_socket(38, socket.SOCK_SEQPACKET),
            # mov eax, 272 (unshare); mov edi, CLONE_NEWUSER; syscall; ret
            "make a user namespace without the C library": lambda: by_machine_code(
                "b810010000bf000000100f05c3"
            ),
        },
        "seccomp | uid": {
            "make a map of BPF": lambda: made(
                syscall(321, 0, (ctypes.c_uint * 32)(2, 4, 4, 1), 128)
            ),
            "be told of every file that is opened": lambda: made(syscall(300, 0, 0)),
            "restart the machine, with words that are refused": lambda: reaches(
                169, 0, 0, 0, None, allowed=(EINVAL,)
            ),
            "load an empty module": lambda: reaches(175, None, 0, b"", allowed=(EFAULT, ENOEXEC)),
            "unload a module that there is not": lambda: reaches(
                176, b"no_such_module", 0, allowed=(ENOENT,)
            ),
            "swap to a file that there is not": lambda: reaches(
                167, b"no-such-file", 0, allowed=(ENOENT,)
            ),
            "keep accounts in a file that there is not": lambda: reaches(
                163, b"no-such-file", allowed=(ENOENT,)
            ),
            "set the clock to nothing": lambda: syscall(164, None, None),
            "give the machine its own name": lambda: syscall(
                170, socket.gethostname().encode(), len(socket.gethostname())
            ),
            "reach ports of the hardware": lambda: in_child(lambda: syscall(173, 0x80, 1, 1)),
        },
    }
)
attempts(
    {
        "seccomp": {
            "count events of the processor": lambda: made(
                syscall(298, (ctypes.c_uint * 32)(1, 128, 0), 0, -1, -1, 0)
            ),
            "make a socket to what the machine runs on": lambda: make_socket(
                40, socket.SOCK_STREAM
            ),
            # mov eax, 20 (getpid of 32 bits); int 0x80; ret
            "make a call of 32 bits": lambda: by_machine_code("b814000000cd80c3", os.getpid),
            # push rbx; mov eax, 310 (unshare); mov ebx, CLONE_NEWUSER; int 0x80; pop rbx; ret
            "make a user namespace by a call of 32 bits": lambda: by_machine_code(
                "53b836010000bb00000010cd805bc3"
            ),
            "make a call of x32": lambda: in_child(lambda: syscall(0x40000000 + 272, 0x10000000)),
        },
        "seccomp | uid": {
            "read the kernel's log": lambda: syscall(
                103, 3, ctypes.create_string_buffer(4096), 4096
            ),
            "load no kernel, with flags that there are not": lambda: reaches(
                246, 0, 0, None, 0xFFFF, allowed=(EINVAL,)
            ),
        },
    },
    control=False,
)


@attempt("seccomp")
def make_sockets_of_the_kernels_settings():
    for protocol in (9, 12, 15):  # audit, netfilter, events of devices
        try:
            make_socket(16, socket.SOCK_RAW, protocol)
        except OSError as error:
            last = error
            continue
        return f"one of protocol {protocol} was made"
    raise last


@attempt("seccomp", control=False)
def make_sockets_of_seldom_kinds_that_had_many_holes():
    refused = None
    for family in (3, 4, 5, 6, 9, 15, 21, 29, 30, 31, 41, 44):
        try:
            make_socket(family, socket.SOCK_DGRAM)
        except OSError as error:
            if error.errno in (EPERM, EACCES):
                refused = error
            continue
        return f"one of family {family} was made"
    raise refused or Stopped("the kernel has none of them")


@attempt("seccomp", control=False)
def call_numbers_beyond_the_table():
    for number in (178, 180, 183, 600, 1000, 0x7FFFFFFF):
        try:
            return f"{number} returned {syscall(number, 0, 0, 0)}"
        except OSError as error:
            if error.errno not in (EPERM, ENOSYS):
                return f"{number} was looked at: {error}"
    raise Stopped("EPERM or ENOSYS")


@attempt("seccomp")
def type_for_others_at_a_terminal():
    try:
        master, slave = pty.openpty()
    except OSError:
        raise Beside("there are no terminals") from None

    def push():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        fcntl.ioctl(slave, termios.TIOCSTI, b"x")

    try:
        return in_child(push)
    finally:
        os.close(master)
        os.close(slave)
