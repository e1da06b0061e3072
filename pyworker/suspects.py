"""Modules whose import ends the zygote: the next one leaves them out.

Root shares a page of memory with each zygote, in which that notes what it is
about to import. When it has died in the midst, root can tell of what.
"""

import _signal
import os

from . import late

_NUMBER = 4  # bytes of a number in the page

# Deaths that need not be the module's fault, as when memory was short: it takes two.
_FROM_OUTSIDE = frozenset((_signal.SIGHUP, _signal.SIGINT, _signal.SIGKILL, _signal.SIGTERM))


class Suspects:
    """What root knows about the imports of its zygotes."""

    def __init__(self):
        self._trials = {}  # process id of a living zygote -> its Trial
        self._suspected = set()  # names of modules under import at one such death
        self._reasons = {}  # name of a module that is left out -> why

    def trial(self, names):
        """Returns a Trial for a zygote that is to be forked."""
        return Trial(names, dict(self._reasons))

    def watch(self, pid, trial):
        """Notes which process a trial is for."""
        self._trials[pid] = trial

    def judge(self, pid, status):
        """Learns from a death, told as os.waitpid does."""
        trial = self._trials.pop(pid, None)
        if trial is None:
            return
        name = trial.under_import()
        trial.drop()
        if name is None:
            return
        code = os.waitstatus_to_exitcode(status)
        if -code in _FROM_OUTSIDE and name not in self._suspected:
            self._suspected.add(name)
        else:
            self._reasons[name] = _reason(code)

    def leave(self):
        """Lets go of the pages of others, in a fork."""
        for trial in self._trials.values():
            trial.drop()
        self._trials.clear()


class Trial:
    """The imports of one zygote."""

    def __init__(self, names, left_out):
        self.names = names
        self.left_out = left_out  # name -> why it is not imported
        self._page = late.load("mmap").mmap(-1, _NUMBER)  # shared with forks

    def begin(self, position):
        """Notes in the zygote which of the names is imported now."""
        self._page[:] = (position + 1).to_bytes(_NUMBER, "little")

    def under_import(self):
        """Returns the name that was noted last, None before the first import."""
        number = int.from_bytes(self._page[:], "little")
        return self.names[number - 1] if number else None

    def end(self):
        """Notes in the zygote that all is imported."""
        self._page[:] = bytes(_NUMBER)
        self.drop()

    def drop(self):
        """Lets go of the page, in this process."""
        self._page.close()


def _reason(code):
    if code < 0:
        return f"killed its process (signal {-code}) when it was imported"
    return f"ended its process (exit code {code}) when it was imported"
