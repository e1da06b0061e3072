"""How a copy is forked and sleeps: everything is put off until it is woken.

After os.fork Python has every library set itself up anew in the child. That
takes a millisecond or two and touches a megabyte that parent and child would go
on sharing, once after each execution, for a copy that is most often never
woken. So the fork is C's own, between Python's two halves of os.fork, and the
child comes to its half when there is something to read for it. Till then it
never lets go of the GIL, whose state is settled there, and calls nothing but a
few functions of C.
"""

import _socket
import os
import sys

from pyworker import lazy_import
from pyworker.protocol import encode

_POLLIN = 1
_PEEK = 0x2 | 0x40  # MSG_PEEK and MSG_DONTWAIT of Linux
_STAND_IN = 1 << 30  # a process id with as many digits as any has at most

_sleep = None  # made once, in a forker before there is a worker


def get(hello_fields):
    """Returns the Sleep of this process, None where there can't be one.

    hello_fields are those of the frame in which a copy says that it is ready. It takes
    Linux, ctypes, and a CPython with a GIL.
    """
    global _sleep
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if _sleep is None and (sys.platform, sys.implementation.name) == ("linux", "cpython"):
        try:
            _sleep = Sleep(hello_fields) if has_gil else None
        except ImportError:
            pass
    return _sleep


class Sleep:
    """Forks processes that sleep."""

    def __init__(self, hello_fields):
        ctypes = lazy_import.load("ctypes")
        self._errno = ctypes.get_errno
        # Unlike CDLL this holds the GIL during calls.
        self._c = c = ctypes.PyDLL(None, use_errno=True)
        for _ in (c.PyOS_BeforeFork, c.PyOS_AfterFork_Parent, c.PyOS_AfterFork_Child, c.fork):
            pass  # is looked up here, once
        frame = b"".join(encode({**hello_fields, "pid": _STAND_IN}))
        self._hello = frame.split(b"%d" % _STAND_IN)  # what is before the id, and behind
        self._poll = (ctypes.c_int * 2)()  # struct pollfd: the descriptor, and two shorts
        self._pair = (ctypes.c_int * 2)()
        self._byte = ctypes.create_string_buffer(1)

    def fork(self, fd, leave, hung_up, detached, on_waking):
        """Forks; returns the child's id, and in the child 0 when fd can be read.

        The child leads a group, closes the descriptor leave, hangs up others and says
        hello to fd. It ends when the other side of fd closes. If it is detached it is a
        child of nobody's but whoever adopts orphans, and lives on without this process.
        on_waking is called before the hooks of Python's fork.
        """
        sys.audit("os.fork")
        self._poll[0], self._poll[1] = fd, _POLLIN
        hung_up = [(each, 0 if os.get_inheritable(each) else os.O_CLOEXEC) for each in hung_up]
        c = self._c
        c.PyOS_BeforeFork()
        pid = c.fork()
        if pid:
            failure = self._errno() if pid < 0 else 0
            c.setpgid(pid, pid)
            c.PyOS_AfterFork_Parent()
            failure = failure or (detached and _failure_of(pid))
            if failure:
                raise OSError(failure, os.strerror(failure))
            return pid
        try:
            if detached and (second := c.fork()):
                os._exit(self._errno() if second < 0 else 0)
            c.setpgid(0, 0)
            c.close(leave)
            if hung_up:
                self._hang_up(hung_up)
            self._sleep(fd)
            on_waking()
            c.PyOS_AfterFork_Child()
        except BaseException:
            os._exit(1)
        return 0

    def _hang_up(self, fds):
        """Hangs up what leads to other processes.

        A pipe or a connection ends when nobody has its end open. If a sleeping copy
        had, a close in the original would never be seen at the other end: a child
        would wait for more input, a port stay taken. Each becomes a socket whose
        peer has gone.
        """
        c = self._c
        if c.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, self._pair):
            os._exit(1)  # too many files are open
        dead, peer = self._pair
        c.close(peer)
        for fd, flags in fds:
            c.dup3(dead, fd, flags)
        c.close(dead)

    def _sleep(self, fd):
        c, hello = self._c, (b"%10d" % self._c.getpid()).join(self._hello)  # JSON allows spaces
        if c.write(fd, hello, len(hello)) != len(hello):
            os._exit(1)
        while c.poll(self._poll, 1, -1) < 0:
            pass  # a signal
        if c.recv(fd, self._byte, 1, _PEEK) <= 0:
            os._exit(0)


def _failure_of(pid):
    """Waits for the first of two forks; its exit code is the errno of the second."""
    try:
        return abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    except ChildProcessError:  # SIGCHLD is ignored: the copy itself will show it
        return 0
