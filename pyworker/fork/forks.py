"""Copies of a worker: forks that sleep until they are woken.

One that stands by (an understudy) is a child of the worker: that costs the
worker one fork. It sleeps as sleep.py says, unless it has to do something
before. One for a branch is forked twice, so that it is no child of the worker's
but of whoever adopts orphans, and lives on without it.
"""

import os
import sys

from pyworker import late, openfiles
from pyworker.protocol import EXIT_BROKEN_FRAME

from . import children, deaths, obstacles, pages, randomness, sleep, waiting
from .oom import Score

_TURNED_OFF = "copies of this interpreter are turned off"
_NOT_HERE = "this system can't copy a process"
_NO_ROOM = "too many files are open in the session"

# Python 3.12 warns of a fork beside threads; obstacles.py has looked at them.
_NO_WARNING = ("ignore", None, DeprecationWarning, None, 0)

_fork, _waitpid = getattr(os, "fork", None), getattr(os, "waitpid", None)


class Forks:
    """Makes copies of this process, and knows whether it is one."""

    def __init__(self, limit, frames, streams, fault, user_forks):
        self._limit = limit  # bytes of private memory; 0: there are no copies
        self._frames = frames
        self._streams = streams
        self._fault = fault
        self._user_forks = user_forks
        self._copies = set()  # ids of understudies that were not reaped yet
        self._score = Score()
        self.deaths = deaths.Deaths(self._copies if self.is_possible() else None)
        self.asleep = False  # this is a copy that was not woken yet
        self.silent = False  # it has said that it is ready
        self.foresight = pages.Foresight()
        self._sleep = None
        self._random = None  # in a copy, the state from before the fork
        self._left_children = {}  # in a copy, the original's
        self._hung_up = []  # in a copy, descriptors: see openfiles.hang_up
        self._listeners = []  # in a copy, where the original listened: see openfiles.listeners
        self.own = set()  # identities of what a copy may have open too, and replaces
        if self.is_possible():
            obstacles.begin()
            self._score.expose()
            waiting.install(self._copies)

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
        """Says that this copy is a worker from now on."""
        self.asleep = False
        self._score.expose()

    def take_children(self):
        """Returns the children that the original had: see children.present."""
        left, self._left_children = self._left_children, {}
        return left

    def take_hung_up(self):
        """Returns the descriptors of pipes and connections that stay with the original."""
        fds, self._hung_up = self._hung_up, []
        return fds

    def take_listeners(self):
        """Returns the sockets at which the original listened."""
        found, self._listeners = self._listeners, []
        return found

    def _refusal(self, fds):
        if not self.is_possible():
            return _TURNED_OFF if sys.platform == "linux" else _NOT_HERE
        return self.obstacle() or ("" if len(fds) == 1 else _NO_ROOM)

    def _copy(self, detached, frames_fd):
        self._reap()
        if self._copies:
            self.foresight.look()
        if detached:
            openfiles.flush()
        left = children.present(self._copies)
        ours = {self._frames.identity(), self._fault.identity(), *self._streams.identities()}
        ours |= {*self.own, openfiles.identity(frames_fd)}
        elsewhere = openfiles.leading_elsewhere(ours)
        pid = self._fork_as(detached, frames_fd, idle=not elsewhere)
        if not pid:
            self._begin_copy(frames_fd, left, elsewhere)
        elif not detached:
            self._copies.add(pid)
            _lead_group(pid)

    def _fork_as(self, detached, frames_fd, idle):
        self.silent = False
        if detached or self._sleep is None or not idle:
            self._keep_random()
            return self._fork_twice() if detached else self._fork()
        self._user_forks.ours = True
        try:
            leave, score = self._frames.fileno(), self._score.sheltered()
            pid = self._sleep.fork(frames_fd, leave, score, self._keep_random)
        finally:
            self._user_forks.ours = False
        self.silent = not pid
        return pid

    def _keep_random(self):
        self._random = randomness.Kept()

    def _begin_copy(self, frames_fd, left, elsewhere):
        try:
            _lead_group(0)
            self.asleep = True
            self._frames.change_over(frames_fd)
            self._score.shelter()
            self._random.restore()
            self._copies.clear()
            self._left_children = left
            self._listeners = openfiles.listeners(elsewhere)
            openfiles.hang_up(elsewhere)
            self._hung_up = elsewhere
        except BaseException:
            os._exit(EXIT_BROKEN_FRAME)

    def _fork(self):
        """Forks without what the user's forks bring with them, and without a warning."""
        filters = late.load("warnings").filters
        self._user_forks.ours = True
        filters.insert(0, _NO_WARNING)
        try:
            return _fork()
        finally:
            filters.remove(_NO_WARNING)
            self._user_forks.ours = False

    def _fork_twice(self):
        """Returns 0 in the fork of the fork."""
        pid = self._fork()
        if pid:
            return _wait_for(pid)
        code = EXIT_BROKEN_FRAME
        try:
            if not self._fork():
                code = None
                return 0
            code = 0
        except OSError as error:
            code = error.errno
        finally:
            if code is not None:
                os._exit(code)

    def _reap(self):
        """Takes notice of the understudies that have ended."""
        for pid in list(self._copies):
            try:
                if _waitpid(pid, os.WNOHANG)[0]:
                    self._copies.discard(pid)
            except ChildProcessError:  # the user's code ignores SIGCHLD, say
                self._copies.discard(pid)


def _wait_for(pid):
    """Waits for the first of two forks; its exit code is the errno of the second."""
    try:
        code = os.waitstatus_to_exitcode(_waitpid(pid, 0)[1])
    except ChildProcessError:
        code = 0  # the copy itself will show it
    if code:
        raise OSError(abs(code), os.strerror(code) if code > 0 else f"signal {-code}")
    return pid


def _lead_group(pid):
    """Makes a process the leader of a group; both it and its parent do so."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has ended
