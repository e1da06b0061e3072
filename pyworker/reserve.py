"""Memory that code can't have, so that some is left for our own work after it.

Code that meets its limit (RLIMIT_DATA) and catches the MemoryError may have left no
byte: the answer could not be sent, the next request not be read. So a piece of the
address space is taken before each run and let go after it. Nobody touches it: it
counts for the limit and costs no memory.
"""

from . import lazy_import

SIZE = 8 << 20  # bytes


class Reserve:
    """What is kept while code runs."""

    def __init__(self):
        self._held = None

    def take(self):
        """Takes what there is room for; code that must delete something finds a little."""
        resource = lazy_import.load("resource")
        if resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY:
            return
        mmap = lazy_import.load("mmap")
        size = SIZE
        while self._held is None and size >= SIZE // 4:
            try:
                self._held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            except OSError:
                size //= 2

    def release(self):
        held, self._held = self._held, None
        if held is not None:
            held.close()
