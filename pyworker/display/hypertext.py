"""The text of a page, as a reader would see it: tables as tables, nothing of scripts."""

import re

from pyworker import late

LARGEST = 2_000_000  # characters of a page that are read
_ROWS = 60  # of a table
_CELL = 60  # characters of a cell
_BEGINNING = 400  # characters of a page that are its preview
_LOOKED_AT = 100_000  # characters of a page that are looked at for it
_UNSEEN = frozenset(("script", "style", "head", "template", "svg", "noscript", "title"))
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|caption|d[dlt]|details|div|figure|footer|form|h[1-6]"
    r"|header|hr|li|main|nav|[ou]l|p|pre|section|summary|table|tr"
)
# What text can't carry: a page that has none of these is its text.
_RICH = re.compile(
    r"<(table|img[^>]+data:|svg|script|iframe|style|canvas|video|audio|embed|object)\b", re.I
)
_LIVE = re.compile(r"<(script|iframe|canvas|video|audio|embed|object)\b", re.I)


def is_rich(page):
    """Says whether a page is more than its text."""
    return _RICH.search(page) is not None


def is_live(page):
    """Says whether a page needs a browser to be seen."""
    return _LIVE.search(page) is not None


def text(page):
    """Returns the visible text of a page."""
    reader = _reader()
    reader.feed(page[:LARGEST])
    reader.close()
    lines = "".join(reader.pieces).split("\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


def beginning(page):
    """Returns how the text of a page begins, with its title before it."""
    title = re.search(r"<title>(.*?)</title>", page[:_LOOKED_AT], re.I | re.S)
    words = f"{title[1] if title else ''} {text(page[:_LOOKED_AT])}".split()
    shown = " ".join(words)
    return shown if len(shown) <= _BEGINNING else shown[: _BEGINNING - 1] + "…"


def _reader():
    class Reader(_Reading, late.load("html.parser").HTMLParser):
        pass

    return Reader()


class _Reading:
    """Collects the pieces of a text while a page is parsed."""

    def __init__(self):
        super().__init__()
        self.pieces = []
        self._hidden = 0  # how many tags deep in what is not seen
        self._pre = 0
        self._rows = None  # of the table, while there is one
        self._cell = None  # pieces of its present cell
        self._wide = 1  # columns that the cell takes

    def handle_starttag(self, tag, attrs):
        if tag in _UNSEEN:
            self._hidden += 1
        elif self._hidden:
            return
        elif tag == "table" and self._rows is None:
            self._newline()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._end_cell()
            self._cell, self._wide = [], _number(dict(attrs).get("colspan"))
        elif tag == "img":
            self._add(_image(dict(attrs)))
        elif _BLOCKS.fullmatch(tag):
            self._pre += tag == "pre"
            self._newline()
            if tag == "li":
                self._add("- ")

    def handle_endtag(self, tag):
        if tag in _UNSEEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag == "table" and self._rows is not None:
            self._end_cell()
            rows, self._rows = self._rows, None
            self.pieces.append(_table([row for row in rows if row]))
        elif tag in ("td", "th"):
            self._end_cell()
        elif _BLOCKS.fullmatch(tag) and tag not in ("br", "hr"):
            self._pre = max(0, self._pre - (tag == "pre"))
            self._newline()

    def handle_data(self, data):
        if self._hidden or (self._rows is not None and self._cell is None):
            return
        if not self._pre or self._cell is not None:
            data = re.sub(r"\s+", " ", data)
            if data == " " and (not self.pieces or self.pieces[-1].endswith(("\n", " "))):
                return
            if self._cell is None and self.pieces and self.pieces[-1].endswith("\n"):
                data = data.lstrip()
        self._add(data)

    def _add(self, piece):
        (self.pieces if self._cell is None else self._cell).append(piece)

    def _newline(self):
        if self._cell is not None:
            self._cell.append(" ")
        elif self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append("\n")

    def _end_cell(self):
        if self._cell is not None:
            shown = " ".join("".join(self._cell).split())
            shown = shown if len(shown) <= _CELL else shown[: _CELL - 1] + "…"
            self._rows[-1] += [shown] + [""] * (self._wide - 1)
            self._cell = None


def _image(attributes):
    source = attributes.get("src") or ""
    words = attributes.get("alt"), "" if source.startswith("data:") else source
    return f"[{' '.join(filter(None, ['image', *words]))}]"


def _number(text):
    return min(int(text), 100) if text and text.isdigit() and int(text) else 1


def _table(rows):
    """Returns rows of cells with their columns beneath each other."""
    left = len(rows) - _ROWS
    shown = rows if left <= 0 else [*rows[: _ROWS - 5], [f"… {left:,} more"], *rows[-5:]]
    widths = [0] * max(map(len, shown), default=0)
    for row in shown:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    lines = []
    for row in shown:
        cells = [
            cell.rjust(width) if _is_number(cell) else cell.ljust(width)
            for cell, width in zip(row, widths)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _is_number(cell):
    return bool(re.fullmatch(r"[-+−]?[\d.,]+(e[-+]?\d+)?\s?%?", cell))
