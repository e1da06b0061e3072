"""Copies of a worker: forks that sleep until they are woken.

One that stands by (an understudy) is a child of the worker: that costs the
worker one fork. One for a branch is forked twice, so that it is no child of the
worker's. How both sleep is in sleep.py.
"""

import os
import sys

from pyworker import openfiles
from pyworker.protocol import EXIT_BROKEN_FRAME

from . import children, obstacles, pages, sleep

_TURNED_OFF = "copies of this interpreter are turned off"
_NOT_HERE = "this system can't copy a process"
_NO_ROOM = "too many files are open in the session"

# A session and its copy share their memory, so either would do for the kernel when it
# kills for want of memory. The session is made the likelier one: its code is at fault,
# and the copy has the state from before.
_MORE = 300  # thousandths of the machine's memory that a session seems to use more
_MOST = 1000


class Forks:
    """Makes copies of this process, and knows whether it is one."""

    def __init__(self, limit, frames, streams, fault, user_forks):
        self._limit = limit  # bytes of private memory; 0: there are no copies
        self._frames = frames
        self._streams = streams
        self._fault = fault
        self._user_forks = user_forks
        self._copies = set()  # ids of understudies that were not reaped yet
        self.deaths = children.Deaths(self._copies if self.is_possible() else None)
        self.asleep = False  # this is a copy that was not told yet what it is to be
        self.foresight = pages.Foresight()
        self._sleep = None
        self._left = None  # in a copy, see wake
        self.door = None  # the identity of the way to other servers' tools: a copy gets its own
        self.own = set()  # identities of what a copy may have open too, and replaces
        if self.is_possible():
            obstacles.begin()
            self._score = _oom_score()  # as at the start, and of a copy that sleeps
            self._expose()
            children.hide(self._copies)

    def is_possible(self):
        """Says whether this process may be copied at all."""
        return self._limit > 0 and sys.platform == "linux"

    def obstacle(self):
        """Returns a clause that says why this process can't be copied, "" if it can.

        There is no obstacle where nobody wants a copy.
        """
        if not self.is_possible():
            return ""
        try:
            return obstacles.why_not(self._limit)
        except Exception as error:  # no /proc, a module that was tampered with
            return f"its state could not be examined ({type(error).__name__}: {error})"

    def fork(self, detached, fds):
        """Copies the process. Returns a reason if that fails, and "" in both processes.

        fds holds the copy's frames socket; it is empty when it could not be received.
        """
        reason = self._refusal(fds)
        if not reason:
            try:
                self._copy(detached, *fds)
            except Exception as error:  # also of an audit hook of the user's
                reason = f"fork failed: {getattr(error, 'strerror', None) or error}"
        if not self.asleep:
            for fd in fds:
                os.close(fd)
        return reason

    def prepare(self, ready):
        """Makes ready for copies, which say so with the fields of ready."""
        if self.is_possible():
            self._sleep = sleep.get(ready)

    def wake(self):
        """Makes this copy a worker; returns what the original had that is not its own.

        That is its children (see children.present), how many pipes and connections, and
        the sockets at which it listened (see openfiles.listeners).
        """
        self.asleep = False
        self._expose()
        return self._left

    def _expose(self):
        _set_oom_score("self", min(self._score + _MORE, _MOST))

    def _refusal(self, fds):
        if self._sleep is None:
            return _NOT_HERE if self._limit > 0 or sys.platform != "linux" else _TURNED_OFF
        return self.obstacle() or ("" if len(fds) == 1 else _NO_ROOM)

    def _copy(self, detached, frames_fd):
        self._reap()
        if self._copies:
            self.foresight.look()
        if detached:
            openfiles.flush()
        ours = {self._frames.identity(), self._fault.identity(), *self._streams.identities()}
        ours |= {*self.own, self.door, openfiles.identity(frames_fd)}
        elsewhere = openfiles.leading_elsewhere(ours)
        left = children.present(self._copies), len(elsewhere), openfiles.listeners(elsewhere)
        random = []  # what restores it
        self._user_forks.ours = True
        try:
            leave, keep = self._frames.fileno(), lambda: random.append(_keep_random())
            pid = self._sleep.fork(frames_fd, leave, elsewhere, detached, keep)
        finally:
            self._user_forks.ours = False
        if not pid:
            self._begin_copy(frames_fd, left, *random)
        elif not detached:
            self._copies.add(pid)
            _set_oom_score(pid, self._score)

    def _begin_copy(self, frames_fd, left, restore_random):
        try:
            self.asleep = True
            self._frames.change_over(frames_fd)
            restore_random()
            self._copies.clear()
            self._left = left
        except BaseException:
            os._exit(EXIT_BROKEN_FRAME)

    def _reap(self):
        """Takes notice of the understudies that have ended."""
        for pid in list(self._copies):
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._copies.discard(pid)
            except ChildProcessError:  # the user's code ignores SIGCHLD, say
                self._copies.discard(pid)


def _keep_random():
    """Returns what restores the state of the module random, which seeds itself in every fork."""
    instance = getattr(sys.modules.get("random"), "_inst", None)
    try:
        state = instance.getstate()
    except Exception:  # not imported, or a random.py of the user's
        return lambda: None
    return lambda: instance.setstate(state)


def _oom_score():
    try:
        with open("/proc/self/oom_score_adj", "rb", buffering=0) as file:
            return int(file.readall())
    except OSError:
        return 0  # nor can it be set


def _set_oom_score(pid, score):
    try:
        with open(f"/proc/{pid}/oom_score_adj", "wb", buffering=0) as file:
            file.write(b"%d" % score)
    except OSError:
        pass  # not allowed here: the kernel's own choice must do
