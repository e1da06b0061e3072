"""A copy that sleeps: a fork in which everything is put off until it is woken.

After os.fork Python has every library set itself up anew in the child. That
takes a millisecond or two and touches a megabyte that parent and child would go
on sharing, once after each execution, for a copy that is most often never
woken. So the fork is C's own, between Python's two halves of os.fork, and the
child comes to its half when there is something to read for it. Till then it
never lets go of the GIL, whose state is settled there, and calls nothing but a
few functions of C.
"""

import os
import sys

from pyworker import late

_POLLIN = 1
_PEEK = 0x2 | 0x40  # MSG_PEEK and MSG_DONTWAIT of Linux


def is_possible():
    """Says whether this interpreter has what it takes: Linux, a GIL, and ctypes."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)
    if sys.platform != "linux" or sys.implementation.name != "cpython" or not has_gil():
        return False
    try:
        late.load("ctypes")
    except ImportError:
        return False
    return True


_sleep = None  # made once, in a forker before there is a worker


def get(hello_fields):
    """Returns the Sleep of this process, None where there can't be one.

    hello_fields are those of the frame in which a copy says that it is ready.
    """
    global _sleep
    if _sleep is None and is_possible():
        _sleep = Sleep(_hello_of(hello_fields))
    return _sleep


class Sleep:
    """Forks processes that sleep."""

    def __init__(self, hello):
        """hello is a frame in which a 0 stands for the copy's own process id."""
        ctypes = late.load("ctypes")
        self._errno = ctypes.get_errno
        # Unlike CDLL this holds the GIL during calls.
        self._c = c = ctypes.PyDLL(None, use_errno=True)
        for _ in (c.PyOS_BeforeFork, c.PyOS_AfterFork_Parent, c.PyOS_AfterFork_Child, c.fork):
            pass  # is looked up here, once
        self._hello = hello
        self._poll = (ctypes.c_int * 2)()  # struct pollfd: the descriptor, and two shorts
        self._byte = ctypes.create_string_buffer(1)

    def fork(self, fd, leave, score, on_waking):
        """Forks; returns the child's id, and in the child 0 when fd can be read.

        The child leads a group, closes the descriptor leave, writes what score
        says, (path, content) or None, and hello to fd. It ends when the other
        side of fd closes. on_waking is called before the hooks of Python's fork.
        """
        sys.audit("os.fork")
        self._poll[0], self._poll[1] = fd, _POLLIN
        c = self._c
        c.PyOS_BeforeFork()
        pid = c.fork()
        if pid:
            failure = self._errno()
            c.PyOS_AfterFork_Parent()
            if pid < 0:
                raise OSError(failure, os.strerror(failure))
            return pid
        try:
            self._sleep(fd, leave, score)
            on_waking()
            c.PyOS_AfterFork_Child()
        except BaseException:
            os._exit(1)
        return 0

    def _sleep(self, fd, leave, score):
        c = self._c
        c.setpgid(0, 0)
        c.close(leave)
        if score is not None:
            self._write_file(*score)
        hello = self._hello % c.getpid()
        if c.write(fd, hello, len(hello)) != len(hello):
            os._exit(1)
        while c.poll(self._poll, 1, -1) < 0:
            pass  # a signal
        if c.recv(fd, self._byte, 1, _PEEK) <= 0:
            os._exit(0)

    def _write_file(self, path, content):
        fd = self._c.open(path, os.O_WRONLY | os.O_CLOEXEC)
        if fd >= 0:
            self._c.write(fd, content, len(content))
            self._c.close(fd)


def _hello_of(header):
    """Returns a frame as Sleep takes it, of a header whose pid is not known yet."""
    from pyworker.protocol import encode

    stand_in = 1 << 30  # as many digits as any id has at most
    (frame,) = encode({**header, "pid": stand_in})
    digits = str(stand_in).encode()
    before, after = (part.replace(b"%", b"%%") for part in frame.split(digits))
    # JSON allows spaces before a number; the frame's length is known.
    return before + b"%%%dd" % len(digits) + after
