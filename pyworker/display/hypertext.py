"""The text of a page, as a reader would see it: tables as tables, nothing of scripts."""

import re
from itertools import zip_longest

from pyworker import late

from .pages import shorten

_LARGEST = 2_000_000  # characters of a page that are read
_ROWS = 60  # of a table
_CELL = 60  # characters of a cell
_COLUMNS = 100  # that one cell may take
_UNSEEN = frozenset(("script", "style", "template", "svg", "noscript"))
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|caption|d[dlt]|details|div|figure|footer|form|h[1-6]"
    r"|header|hr|li|main|nav|[ou]l|p|pre|section|summary|table|title|tr"
)
# What text can't carry: a page that has none of these is its text.
_LIVE = r"script|iframe|canvas|video|audio|embed|object"
_RICH = re.compile(rf"<(table|img[^>]+data:|svg|style|{_LIVE})\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-+−]?[\d.,]+(e[-+]?\d+)?\s?%?")


def is_rich(page):
    """Says whether a page is more than its text."""
    return _RICH.search(page) is not None


def is_live(page):
    """Says whether a page needs a browser to be seen."""
    return re.search(rf"<({_LIVE})\b", page, re.IGNORECASE) is not None


def text(page):
    """Returns the visible text of a page."""
    reader = _Reader()
    reader.feed(page[:_LARGEST])
    reader.close()
    lines = "".join(reader.pieces).split("\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


class _Reader(late.load("html.parser").HTMLParser):
    """Collects the pieces of a text while a page is parsed."""

    def __init__(self):
        super().__init__()
        self.pieces = []
        self._hidden = 0  # how many tags deep in what is not seen
        self._pre = 0
        self._rows = None  # of the table, while there is one: lists of cells
        self._cell = 0  # of the last row, which is being read

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in _UNSEEN:
            self._hidden += 1
        elif tag == "table" and self._rows is None:
            self._end_line()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            wide = attributes.get("colspan") or ""
            self._cell = len(self._rows[-1])
            self._rows[-1] += [""] * max(1, min(int(wide if wide.isdecimal() else 1), _COLUMNS))
        elif tag == "img":
            source = attributes.get("src") or ""
            words = ["image", attributes.get("alt"), "" if source[:5] == "data:" else source]
            self.handle_data(f"[{' '.join(filter(None, words))}]")
        elif _BLOCKS.fullmatch(tag):
            self._pre += tag == "pre"
            self._end_line()
            if tag == "li":
                self.handle_data("- ")

    def handle_endtag(self, tag):
        if tag in _UNSEEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == "table" and self._rows is not None:
            rows, self._rows = self._rows, None
            self.pieces.append(_table(rows))
        elif _BLOCKS.fullmatch(tag):
            self._pre = max(0, self._pre - (tag == "pre"))
            self._end_line()

    def handle_data(self, data):
        if self._hidden:
            return
        if self._rows is not None:
            if self._rows and self._rows[-1]:
                self._rows[-1][self._cell] += data
            return
        if not self._pre:
            data = re.sub(r"\s+", " ", data)
            if not self.pieces or self.pieces[-1].endswith(("\n", " ")):
                data = data.lstrip()
        if data:
            self.pieces.append(data)

    def _end_line(self):
        if self._rows is not None:
            self.handle_data(" ")
        elif self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append("\n")


def _table(rows):
    """Returns rows of cells with their columns beneath each other."""
    rows = [[shorten(" ".join(cell.split()), _CELL) for cell in row] for row in rows if row]
    if (left := len(rows) - _ROWS) > 0:
        rows[_ROWS - 5 : -5] = [[f"… {left:,} more"]]
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = []
    for row in rows:
        pairs = zip(row, widths)
        cells = [c.rjust(w) if _NUMBER.fullmatch(c) else c.ljust(w) for c, w in pairs]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"
