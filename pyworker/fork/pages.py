"""Memory that the next call will write to, made this process's own ahead.

After a fork the first write to a page has the kernel stop the process and copy
the page: some hundreds of times in a call that does little. Linux does the same
on request, without a write, at a moment when nobody waits (MADV_POPULATE_WRITE,
since 5.14). Which pages it will be is known from the calls before.
"""

import functools
import math
import mmap
import os
import re
import sys
import time

from pyworker import lazy_import

# Seconds between two calls up to which the session counts as busy. In others
# the pages stay shared with the copy until they are written to, if ever.
OFTEN = 1.0

_POPULATE_WRITE = 23  # for madvise(2)
_MAPPING = re.compile(rb"^(\w+)-(\w+) rw.p \w+ \w+:\w+ \d+ *(.*)$", re.MULTILINE)
# Of the entry that a page has in /proc/self/pagemap, the highest byte: present,
# no page of a file, and mapped by this process alone.
_OURS = re.compile(b"\x81+")
_SHARED = re.compile(b"\x80+")  # as above, but mapped by another one, too
_ENTRY = 8  # bytes of an entry, the lowest first
_LONGEST = 64 << 20  # bytes: a longer mapping holds data, and takes long to look at
_MOST = 8 << 20  # bytes that are made ours at once at most
_ASK = 64 << 10  # bytes between two looks at whether somebody waits: a system call
_FORKS = 32  # after as many the pages are looked at again

_monotonic = time.monotonic


@functools.cache
def _madvise():
    """Returns the function of C, None when this system can't do what is asked of it."""
    if sys.platform != "linux":
        return None
    try:
        ctypes = lazy_import.load("ctypes")
        # PyDLL: unlike CDLL it holds the GIL, which nobody waits for.
        function = ctypes.PyDLL(None).madvise
    except (ImportError, OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
    pages = ctypes.create_string_buffer(2 * mmap.PAGESIZE)
    whole = -(-ctypes.addressof(pages) // mmap.PAGESIZE) * mmap.PAGESIZE
    return None if function(whole, mmap.PAGESIZE, _POPULATE_WRITE) else function


class Foresight:
    """What a session's calls write to, as far as it is called often."""

    def __init__(self):
        self._often = False  # the pause before the last call was short
        self._answered = -math.inf  # when the last call ended
        self._pages = ()  # that a call and a fork write to, as _ours gives them
        self._age = _FORKS  # forks since they were looked at

    def __enter__(self):
        """Is called when a call begins."""
        self._often = _monotonic() - self._answered < OFTEN

    def __exit__(self, *_):
        """Is called when it has ended."""
        self._answered = _monotonic()

    def look(self):
        """Sees what was written to since the last fork, whose child lives: before the next."""
        self._age += 1
        if self._often and self._age > _FORKS:
            self._age, self._pages = 0, ()
            try:
                self._pages = _ours() if _madvise() else ()
            except Exception:  # no descriptor is left, or a module was tampered with
                pass

    def act(self, stop):
        """Makes those pages ours again, after the fork, until stop() is true."""
        # Pages that were made ours can't be told from those that a call writes to.
        if self._often and self._pages and self._age < _FORKS:
            try:
                _make_ours(self._pages, stop)
            except Exception:  # as above
                self._pages = ()


def _ours():
    """Returns the pages that this process shares with no other, as [(address, bytes)].

    Short runs come first: what the interpreter itself writes to, then data.
    """
    with open("/proc/self/maps", "rb", buffering=0) as file:
        mappings = file.readall()
    found = []
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        for start, end, name in _MAPPING.findall(mappings):
            start, size = int(start, 16), int(end, 16) - int(start, 16)
            if size <= _LONGEST and _is_interpreters(name):
                found += _runs(_OURS, start, _entries(file.fileno(), start, size))
    found.sort(key=lambda run: run[1])
    return found


def _is_interpreters(name):
    """Says whether running Python code writes to a mapping much: no library's."""
    return not name.startswith(b"/") or b"python" in name.rpartition(b"/")[2]


def _entries(pagemap, start, size):
    """Returns the highest byte of each page's entry."""
    page = mmap.PAGESIZE
    return os.pread(pagemap, size // page * _ENTRY, start // page * _ENTRY)[_ENTRY - 1 :: _ENTRY]


def _runs(kind, start, entries):
    page = mmap.PAGESIZE
    for run in kind.finditer(entries):
        yield start + run.start() * page, (run.end() - run.start()) * page


def _make_ours(runs, stop):
    left, ask, advise = _MOST, _MOST, _madvise()
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        for address, size in runs:
            left -= size
            if left < 0:
                return
            if left <= ask:
                if stop():
                    return
                ask = left - _ASK
            # What was found some forks ago may be another mapping by now, of a
            # file that others see.
            for run in _runs(_SHARED, address, _entries(file.fileno(), address, size)):
                advise(*run, _POPULATE_WRITE)
