"""The text of a page, as a reader would see it: a row of a table in a line, nothing of scripts."""

import re

from pyworker import lazy_import

_LARGEST = 2_000_000  # characters of a page that are read
_UNSEEN = frozenset(("script", "style", "template", "svg", "noscript"))
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|caption|d[dlt]|details|div|figure|footer|form|h[1-6]"
    r"|header|hr|li|main|nav|[ou]l|p|pre|section|summary|table|title|tr"
)
# What text can't carry: a page that has none of these is its text.
_LIVE = r"script|iframe|canvas|video|audio|embed|object"
_RICH = re.compile(rf"<(table|img[^>]+data:|svg|style|{_LIVE})\b", re.IGNORECASE)


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


class _Reader(lazy_import.load("html.parser").HTMLParser):
    """Collects the pieces of a text while a page is parsed."""

    def __init__(self):
        super().__init__()
        self.pieces = []
        self._hidden = 0  # how many tags deep in what is not seen
        self._pre = 0

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in _UNSEEN:
            self._hidden += 1
        elif tag in ("td", "th"):  # an empty one counts too: what follows is in its column
            self._begin(" ")
            self.pieces.append("| ")
        elif tag == "img":
            source = attributes.get("src") or ""
            words = ["image", attributes.get("alt"), "" if source[:5] == "data:" else source]
            self.handle_data(f"[{' '.join(filter(None, words))}]")
        elif _BLOCKS.fullmatch(tag):
            self._pre += tag == "pre"
            self._begin("\n")
            if tag == "li":
                self.handle_data("- ")

    def handle_endtag(self, tag):
        if tag in _UNSEEN:
            self._hidden = max(0, self._hidden - 1)
        elif _BLOCKS.fullmatch(tag):
            self._pre = max(0, self._pre - (tag == "pre"))
            self._begin("\n")

    def handle_data(self, data):
        if self._hidden:
            return
        if not self._pre:
            data = re.sub(r"\s+", " ", data)
            if not self.pieces or self.pieces[-1].endswith(("\n", " ")):
                data = data.lstrip()
        if data:
            self.pieces.append(data)

    def _begin(self, space):
        """Begins a line or a cell, unless one has just begun."""
        if self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append(space)
