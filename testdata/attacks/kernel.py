"""System calls that a session has no use for, and other ways to make them."""

import ctypes
import mmap
import os
import socket

from attempting import Beside, Stopped, attempt, in_child, reaches, syscall

EPERM, ENOENT, ENOEXEC, EACCES, EFAULT, EINVAL, ENOSYS, ENOKEY = 1, 2, 8, 13, 14, 22, 38, 126


@attempt("seccomp")
def io_uring():
    """Sets up an io_uring, whose operations no seccomp filter sees."""
    os.close(syscall(425, 4, (ctypes.c_ubyte * 256)()))
    return "it was set up"


@attempt("seccomp")
def keyctl():
    """Asks for the keys of its session by keyctl; keyrings know no namespaces."""
    return syscall(250, 0, -3, 1)


@attempt("seccomp")
def add_key():
    """Adds a key to the kernel's."""
    return syscall(248, b"user", b"attempt", b"x", 1, -2)


@attempt("seccomp")
def request_key():
    """Asks for a key, for which the kernel may start a program."""
    return reaches(249, b"user", b"no-such-key", None, 0, allowed=(ENOKEY,))


@attempt("seccomp | uid")
def bpf():
    """Makes a map of BPF."""
    os.close(syscall(321, 0, (ctypes.c_uint * 32)(2, 4, 4, 1), 128))
    return "it was made"


@attempt("seccomp")
def userfaultfd():
    """Makes a userfaultfd, by which it would hold the kernel at a chosen moment."""
    os.close(syscall(323, 1))
    return "it was made"


@attempt("seccomp", control=False)
def perf_event_open():
    """Counts events of the processor by perf_event_open."""
    attributes = (ctypes.c_uint * 32)(1, 128, 0)
    os.close(syscall(298, attributes, 0, -1, -1, 0))
    return "it counts"


@attempt("seccomp | uid")
def fanotify():
    """Sets up fanotify, which tells of every file that anybody opens."""
    os.close(syscall(300, 0, 0))
    return "it was set up"


@attempt("seccomp | uid", control=False)
def read_the_kernels_log():
    """Reads the kernel's log, which has addresses of the kernel's."""
    return syscall(103, 3, ctypes.create_string_buffer(4096), 4096)


@attempt("seccomp | uid")
def reboot():
    """Restarts the machine (with words that the kernel refuses)."""
    return reaches(169, 0, 0, 0, None, allowed=(EINVAL,))


@attempt("seccomp | uid")
def load_a_module():
    """Loads a module into the kernel (an empty one)."""
    return reaches(175, None, 0, b"", allowed=(EFAULT, ENOEXEC))


@attempt("seccomp | uid")
def unload_a_module():
    """Removes a module from the kernel (one that there is not)."""
    return reaches(176, b"no_such_module", 0, allowed=(ENOENT,))


@attempt("seccomp | uid", control=False)
def load_a_kernel():
    """Loads another kernel (none, with flags that there are not)."""
    return reaches(246, 0, 0, None, 0xFFFF, allowed=(EINVAL,))


@attempt("seccomp | uid")
def swap_on():
    """Has the kernel swap to a file (that there is not)."""
    return reaches(167, b"no-such-file", 0, allowed=(ENOENT,))


@attempt("seccomp | uid")
def set_the_clock():
    """Sets the machine's clock (to nothing)."""
    return syscall(164, None, None)


@attempt("seccomp | uid")
def name_the_machine():
    """Gives the machine another name (its own)."""
    name = socket.gethostname().encode()
    return syscall(170, name, len(name))


@attempt("seccomp | uid")
def reach_ports():
    """Gets a port of the hardware by ioperm."""
    return in_child(lambda: syscall(173, 0x80, 1, 1))


@attempt("seccomp")
def another_personality():
    """Runs with a personality that switches protections of memory off."""
    return in_child(lambda: syscall(135, 0x0400000))


@attempt("seccomp")
def socket_of_the_kernels_crypto():
    """Makes a socket of AF_ALG, the kernel's cryptography."""
    socket.socket(38, socket.SOCK_SEQPACKET, 0).close()
    return "it was made"


@attempt("seccomp", control=False)
def socket_of_the_virtual_machine():
    """Makes a socket of AF_VSOCK, which leads to what the machine runs on."""
    socket.socket(40, socket.SOCK_STREAM, 0).close()
    return "it was made"


@attempt("seccomp")
def socket_of_the_kernels_settings():
    """Makes sockets of AF_NETLINK: audit, netfilter, events of devices."""
    for protocol in (9, 12, 15):
        try:
            socket.socket(16, socket.SOCK_RAW, protocol).close()
        except OSError as error:
            last = error
            continue
        return f"one of protocol {protocol} was made"
    raise last


@attempt("seccomp", control=False)
def sockets_of_seldom_kinds():
    """Makes sockets of kinds that nobody uses and that had many holes."""
    refused = None
    for family in (3, 4, 5, 6, 9, 15, 21, 29, 30, 31, 41, 44):
        try:
            socket.socket(family, socket.SOCK_DGRAM, 0).close()
        except OSError as error:
            if error.errno in (EPERM, EACCES):
                refused = error
            continue
        return f"one of family {family} was made"
    raise refused or Stopped("the kernel has none of them")


def run_machine_code(code):
    """Runs machine code, and returns what it returns."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()


# mov eax, 20 (getpid of 32 bits); int 0x80; ret
GETPID_OF_32_BITS = bytes.fromhex("b814000000cd80c3")


@attempt("seccomp", control=False)
def calls_of_32_bits():
    """Makes a system call by int 0x80, with the numbers of 32 bits."""

    def call():
        got = run_machine_code(GETPID_OF_32_BITS)
        if got != os.getpid():
            raise Stopped(f"it returned {got}")
        return "it was made"

    return in_child(call)


@attempt("seccomp", control=False)
def unshare_by_32_bits():
    """Makes a user namespace by int 0x80, where unshare has another number."""
    # push rbx; mov eax, 310 (unshare); mov ebx, CLONE_NEWUSER; int 0x80; pop rbx; ret
    code = bytes.fromhex("53b836010000bb00000010cd805bc3")

    def call():
        got = run_machine_code(code)
        if got != 0:
            raise Stopped(f"it returned {got}")
        return "it was made"

    return in_child(call)


@attempt("seccomp", control=False)
def calls_of_x32():
    """Makes a system call with the numbers of x32, another ABI of the processor."""
    return in_child(lambda: syscall(0x40000000 + 272, 0x10000000))


@attempt("seccomp")
def call_without_the_library():
    """Makes a user namespace by machine code of its own, past the C library."""
    # mov eax, 272 (unshare); mov edi, CLONE_NEWUSER; syscall; ret
    code = bytes.fromhex("b810010000bf000000100f05c3")

    def call():
        got = run_machine_code(code)
        if got != 0:
            raise OSError(-got, os.strerror(-got))
        return "it was made"

    return in_child(call)


@attempt("seccomp", control=False)
def numbers_beyond_the_table():
    """Makes system calls with numbers that are new, old or beyond the table."""
    for number in (178, 180, 183, 600, 1000, 0x7FFFFFFF):
        try:
            return f"{number} returned {syscall(number, 0, 0, 0)}"
        except OSError as error:
            if error.errno not in (EPERM, ENOSYS):
                return f"{number} was looked at: {error}"
    raise Stopped("EPERM or ENOSYS")


@attempt("seccomp | uid")
def keep_accounts():
    """Has the kernel write down every process that ends (in a file that there is not)."""
    return reaches(163, b"no-such-file", allowed=(ENOENT,))


@attempt("seccomp")
def type_for_others():
    """Pushes a character into a terminal's input (TIOCSTI)."""
    import fcntl
    import pty
    import termios

    try:
        master, slave = pty.openpty()
    except OSError:
        raise Beside("there are no terminals") from None
    try:

        def push():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            fcntl.ioctl(slave, termios.TIOCSTI, b"x")
            return "it was pushed"

        return in_child(push)
    finally:
        os.close(master)
        os.close(slave)
