"""The source lines of cells, where tracebacks and warnings look for them.

Every cell has a file name of its own, "<cell 3>", so that a function defined
calls ago still shows its own lines.
"""

import linecache

NEWEST_CELLS = 10_000  # cells whose source is kept
NEWEST_BYTES = 64 << 20  # characters of source that are kept in all


class _Lines(dict):
    """linecache's cache, in which cells survive linecache.clearcache()."""

    def __init__(self, *args):
        super().__init__(*args)
        self.cells = {}  # file name -> entry, oldest first
        self.size = 0

    def clear(self):
        super().clear()
        self.update(self.cells)

    def keep(self, name, code):
        """Adds a cell and drops the oldest ones over the limits."""
        entry = (len(code), None, _split(code), name)
        old = self.cells.pop(name, None)
        self.size += len(code) - (old[0] if old else 0)
        self[name] = self.cells[name] = entry
        while len(self.cells) > NEWEST_CELLS or (self.size > NEWEST_BYTES and len(self.cells) > 1):
            oldest = next(iter(self.cells))
            self.size -= self.cells.pop(oldest)[0]
            self.pop(oldest, None)


def _split(code):
    """Splits into lines as Python's tokenizer does, not at every Unicode line break."""
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines]


def install():
    """Puts our cache in the place of linecache's."""
    linecache.cache = _lines


def add(name, code):
    """Makes a cell's source known under its file name."""
    if linecache.cache is not _lines:  # the user has put another in its place
        _lines.update(linecache.cache)
        linecache.cache = _lines
    _lines.keep(name, code)


def find(pattern):
    """Returns the name of the newest cell with a line that matches, "" if there is none."""
    for name, entry in reversed(_lines.cells.items()):
        if any(pattern.match(text) for text in entry[2]):
            return name
    return ""


def text(name):
    """Returns the source of a cell, "" when there is none."""
    entry = _lines.cells.get(name)
    return "".join(entry[2]).rstrip("\n") if entry else ""


_lines = _Lines(linecache.cache)
