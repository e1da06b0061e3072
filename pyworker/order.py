"""The order of stdout and stderr: two pipes that one reader empties.

The reader keeps the order in which it finds the pipes filled, not that in which
they were written to within the same moment. So whoever turns from one stream to
the other waits until the server has taken what the first one said.
"""

import sys

from . import lazy_import

# How long one wait may last, in seconds. On a busy machine the server may not run for a
# tenth of one. If it takes longer than this it is stopped or overloaded: it is not waited
# for again in the same execution.
PATIENCE = 1

_NAP = 20e-6  # seconds between two looks


class Order:
    """Knows which of the two descriptors was written to last."""

    def __init__(self, pipes):
        self.last = 0  # the descriptor, 0 at the start of an execution
        self._pipes = pipes  # by descriptor: copies of the pipes of 1 and 2
        self._waits = False

    def begin(self):
        """Begins an execution: the server has all that was printed before it."""
        self.last = 0
        self._waits = sys.platform == "linux"  # elsewhere a pipe's writer can't see what is in it

    def turn_to(self, fd):
        """Lets one be written to after the other, or for the first time."""
        last, self.last = self.last, fd
        if last and self._waits:
            self._waits = self._is_taken(self._pipes[last])

    def _is_taken(self, pipe):
        """Waits until a pipe is empty, as long as PATIENCE goes; says whether it is."""
        ioctl, query = lazy_import.load("fcntl").ioctl, lazy_import.load("termios").FIONREAD
        time = lazy_import.load("time")
        end = time.monotonic() + PATIENCE
        while any(ioctl(pipe, query, b"\0\0\0\0")):
            if time.monotonic() > end:
                return False
            time.sleep(_NAP)
        return True
