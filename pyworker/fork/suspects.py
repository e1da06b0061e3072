"""Modules whose import ends the zygote, or their rehearsal: the next one leaves them out.

Root shares a page of memory with each zygote, in which that notes what it is
about to import or to use. When it has died in the midst, root can tell of what.
"""

import _signal
import os

from pyworker import late

_NUMBER = 4  # bytes of a number in the page

# Deaths that need not be the module's fault, as when memory was short: it takes two.
_FROM_OUTSIDE = frozenset((_signal.SIGHUP, _signal.SIGINT, _signal.SIGKILL, _signal.SIGTERM))


class Suspects:
    """What root knows about the imports of its zygotes."""

    def __init__(self):
        self._trials = {}  # process id of a living zygote -> its Trial
        self._suspected = set()  # names of modules noted at one such death
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
        name, act = trial.under_way()
        trial.drop()
        if name is None:
            return
        code = os.waitstatus_to_exitcode(status)
        if -code in _FROM_OUTSIDE and name not in self._suspected:
            self._suspected.add(name)
        else:
            self._reasons[name] = f"{_ending(code)} when it was {act}"

    def leave(self):
        """Lets go of the pages of others, in a fork."""
        for trial in self._trials.values():
            trial.drop()
        self._trials.clear()


class Trial:
    """The imports of one zygote, and the first use of what was imported."""

    def __init__(self, names, left_out):
        self.names = names
        self.left_out = left_out  # name -> why it is not imported
        self._page = late.load("mmap").mmap(-1, _NUMBER)  # shared with forks

    def begin(self, position):
        """Notes in the zygote which of the names is imported now."""
        self._note(position + 1)

    def begin_use(self, name):
        """Notes that a module is used on trial; False if it can't be blamed, or was before."""
        if name not in self.names or name in self.left_out:
            return False
        self._note(len(self.names) + self.names.index(name) + 1)
        return True

    def pause(self):
        """Notes that no module is to blame for what comes now."""
        self._note(0)

    def _note(self, number):
        self._page[:] = number.to_bytes(_NUMBER, "little")

    def under_way(self):
        """Returns what was noted last: (name, what was done), (None, "") if there is nothing."""
        number = int.from_bytes(self._page[:], "little")
        if not number:
            return None, ""
        act, position = divmod(number - 1, len(self.names))
        return self.names[position], ("imported", "used on trial")[act]

    def end(self):
        """Notes in the zygote that all is done."""
        self._page[:] = bytes(_NUMBER)
        self.drop()

    def drop(self):
        """Lets go of the page, in this process."""
        self._page.close()


def _ending(code):
    if code < 0:
        return f"killed its process (signal {-code})"
    return f"ended its process (exit code {code})"
