"""os.wait and its kin, which leave out the copies of the process.

A copy is a child process that the user's code has not started: a loop of
os.wait() must end with ChildProcessError when the code's own children are gone.
"""

import errno
import os

from pyworker import late

from . import kin

_wait4, _waitid, _waitpid = (getattr(os, name, None) for name in ("wait4", "waitid", "waitpid"))


def install(copies):
    """Puts our functions in the place of the module's; copies is a set of process ids."""

    def wait():
        return waitpid(-1, 0)

    def waitpid(pid, options, /):
        if pid != -1 or not copies:
            return _waitpid(pid, options)
        return _first(copies, options, _waitpid) or (0, 0)

    def wait3(options):
        return wait4(-1, options)

    def wait4(pid, options):
        if pid != -1 or not copies:
            return _wait4(pid, options)
        return _first(copies, options, _wait4) or (0, 0, _no_usage())

    def waitid(idtype, id, options, /):
        if idtype != os.P_ALL or not copies:
            return _waitid(idtype, id, options)
        return _first(copies, options, lambda pid, how: _waitid(os.P_PID, pid, how), options)

    for function in (wait, waitpid, wait3, wait4, waitid):
        function.__doc__ = getattr(os, function.__name__).__doc__
        function.__module__, function.__qualname__ = "os", function.__name__
        setattr(os, function.__name__, function)


def _first(copies, options, wait, events=None):
    """Waits for any child but a copy and returns what wait(pid, options) says of it.

    Returns None when there is nothing to tell yet and options hold WNOHANG.
    events are those that waitid waits for, if they aren't those of waitpid.
    """
    if events is None:
        events = os.WEXITED | options & os.WNOHANG
        events |= os.WSTOPPED if options & os.WUNTRACED else 0
        events |= options & os.WCONTINUED
    while True:
        if not any(pid not in copies for pid in kin.children()):
            raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))
        found = _waitid(os.P_ALL, 0, events | os.WNOWAIT)
        if found is None:
            return None
        try:
            if found.si_pid not in copies:
                return wait(found.si_pid, options)
            _take(found.si_pid, events, copies)
        except ChildProcessError:
            copies.discard(found.si_pid)  # or another thread was faster


def _take(copy, events, copies):
    """Takes an event of a copy's, which is nobody's business."""
    found = _waitid(os.P_PID, copy, events & ~os.WNOWAIT | os.WNOHANG)
    if found is not None and found.si_code not in (os.CLD_STOPPED, os.CLD_CONTINUED):
        copies.discard(copy)


def _no_usage():
    resource = late.load("resource")
    return resource.struct_rusage((0.0,) * 2 + (0,) * 14)
