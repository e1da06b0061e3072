"""Child processes: those that the user's code has started, and the copies beside them.

A copy is a child that the user's code has not started. A loop of os.wait() must end
with ChildProcessError when the code's own children are gone, and a handler for SIGCHLD
is not to be called for a copy's end. In a copy it is the other way round: the original's
children are not its own, it can't wait for them.
"""

import _signal
import errno
import functools
import os
import sys

from pyworker import lazy_import

from . import kin

# What the objects say of a process in the original, which lives on. poll()
# must not find out by itself: for it a child that it can't wait for has ended well.
# asyncio says the same of a child whose end it can't know; no signal has that number.
ELSEWHERE = 255
KILLED = -9  # ended with the dead process that has started it

_SIGNALS = {_signal.SIGCHLD} if hasattr(_signal, "SIGCHLD") else set()

_wait4, _waitid = getattr(os, "wait4", None), getattr(os, "waitid", None)


def present(copies):
    """Returns the children but for copies, with the returncodes of those that have ended."""
    return {pid: _returncode(pid) for pid in kin.children() if pid not in copies}


def _returncode(pid):
    """Returns what Popen would of a child, without reaping it: None if it lives."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def settle(children, returncode):
    """Settles the objects that stand for the children that the original had.

    Those of children that were alive get the returncode.
    """
    stand_ins, module = [], sys.modules.get("multiprocessing.process")
    if module is not None and children:
        for process in module._children:
            stand_ins.append(process._popen)
            process._parent_pid = os.getpid()  # join and is_alive may be asked here
        module._children.clear()
    if "subprocess" in sys.modules and children:
        popen = sys.modules["subprocess"].Popen
        stand_ins += [
            it for it in lazy_import.load("gc").get_objects() if issubclass(type(it), popen)
        ]
    for fields in map(vars, stand_ins):
        if fields.get("returncode", 0) is None:
            ended = children.get(fields.get("pid"))
            fields["returncode"] = returncode if ended is None else ended


class Deaths:
    """Blocks the signal of a child's death while no code of the user's runs.

    That is when copies end. Before the next execution it is taken back, unless a child
    of the user's has ended too.
    """

    def __init__(self, copies):
        self._copies = copies  # a set of process ids, None where there can't be any
        self._held = False

    def hold(self):
        """Ends an execution."""
        if self._copies is not None and callable(_signal.getsignal(_signal.SIGCHLD)):
            before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _SIGNALS)
            self._held = not before & _SIGNALS  # else the user has blocked it

    def release(self):
        """Begins one. The user's handler may run here, and raise."""
        if not self._held:
            return
        self._held = False
        if all(code is None for code in present(self._copies).values()):
            _signal.sigtimedwait(_SIGNALS, 0)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _SIGNALS)


def hide(copies):
    """Has os.wait and its kin leave out copies, a set of process ids."""

    def waitid(idtype, id, options, /):
        if idtype != os.P_ALL or not copies:
            return _waitid(idtype, id, options)
        return _first(copies, options, lambda pid: _waitid(os.P_PID, pid, options))

    def wait4(pid, options):
        if pid != -1 or not copies:
            return _wait4(pid, options)
        # waitid's events are the same bits, but for the one that waitpid always waits for.
        found = _first(copies, os.WEXITED | options, lambda pid: _wait4(pid, options))
        return found or (0, 0, lazy_import.load("resource").struct_rusage((0.0,) * 2 + (0,) * 14))

    def wait3(options):
        return wait4(-1, options)

    def waitpid(pid, options, /):
        return wait4(pid, options)[:2]

    def wait():
        return waitpid(-1, 0)

    for function in (wait, waitpid, wait3, wait4, waitid):
        original = getattr(os, function.__name__)
        setattr(os, function.__name__, functools.wraps(original, updated=())(function))


def _first(copies, events, wait):
    """Waits for any child but a copy and returns what wait(pid) says of it.

    Returns None when there is nothing to tell yet and events hold WNOHANG.
    """
    while any(pid not in copies for pid in kin.children()):
        found = _waitid(os.P_ALL, 0, events | os.WNOWAIT)
        if found is None:
            return None
        pid = found.si_pid
        try:
            if pid not in copies:
                return wait(pid)
            # What a copy does is nobody's business.
            found = _waitid(os.P_PID, pid, events & ~os.WNOWAIT | os.WNOHANG)
            if found and found.si_code not in (os.CLD_STOPPED, os.CLD_CONTINUED):
                copies.discard(pid)
        except ChildProcessError:
            copies.discard(pid)  # or another thread was faster
    raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))
