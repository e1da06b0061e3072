"""The order of stdout and stderr: two pipes that one reader empties.

The reader keeps the order in which it finds the pipes filled, not that in which
they were written to within the same moment. So whoever turns from one stream to
the other waits until the server has taken what the first one said.
"""

import os
import sys

from . import late

# How long one wait may last, in seconds. On a busy machine the server may not run for a
# tenth of one. If it takes longer than this it is stopped or overloaded: it is not waited
# for again in the same execution.
PATIENCE = 1

_YIELDS = 50  # looks with nothing but a sched_yield between
_NAP = 50e-6  # seconds between later looks


def wait_until(holds):
    """Waits until holds() is true, as long as PATIENCE goes; says whether it is."""
    for _ in range(_YIELDS):
        if holds():
            return True
        os.sched_yield()
    time = late.load("time")
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(_NAP)
    return True


class Order:
    """Knows which of the two raw streams wrote last."""

    def __init__(self, pipes):
        self.last = None  # the raw stream, None at the start of an execution
        self._pipes = pipes  # by descriptor: copies of the pipes of 1 and 2
        self._waits = False

    def begin(self):
        """Begins an execution: the server has all that was printed before it."""
        self.last = None
        self._waits = sys.platform == "linux"  # elsewhere a pipe's writer can't see what is in it

    def turn_to(self, raw):
        """Lets raw write after the other stream, or for the first time."""
        last, self.last = self.last, raw
        if last is not None and self._waits:
            self._waits = wait_until(lambda: self._is_empty(last))

    def _is_empty(self, raw):
        termios = late.load("termios")
        size = late.load("fcntl").ioctl(self._pipes[raw.number], termios.FIONREAD, b"\0\0\0\0")
        return not any(size)
