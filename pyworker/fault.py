"""Where faulthandler writes the Python lines of a crash."""

import faulthandler
import os

from . import channel
from .openfiles import identity


class Fault:
    """The descriptor for it: the server's pipe, or stderr without one."""

    def __init__(self, fd):
        self._fd = 2 if fd is None else channel.move_high(fd)

    def enable(self):
        """Has crashes written there, from all threads."""
        faulthandler.enable(self._fd, all_threads=True)

    def identity(self):
        """Returns what tells the server's pipe from others."""
        return identity(self._fd)

    def replace(self, fd):
        """Puts another pipe in the place of the first."""
        if self._fd == 2:
            self._fd = channel.move_high(fd)
        else:
            os.dup2(fd, self._fd, inheritable=False)
            os.close(fd)
        self.enable()
