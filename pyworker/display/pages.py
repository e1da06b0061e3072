"""Previews of texts and files, and what kind of file some bytes begin."""

import codecs
import re

_LINES = 12
_WIDTH = 200  # characters of a line
_LOOKED_AT = _LINES * _WIDTH * 4  # characters of a text

# Control characters but tab and line feed, and those of Unicode for lines and directions.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"BM", ".bmp"),
    (b"%PDF-", ".pdf"),
    (b"PK\x03\x04", ".zip"),
    (b"PAR1", ".parquet"),
    (b"\x93NUMPY", ".npy"),
)


def sniff(start):
    """Returns the ending of a file that begins so."""
    for magic, ending in _BEGINNINGS:
        if start.startswith(magic):
            return ending
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return ".webp"
    return ".bin" if _text(start) is None else ".txt"


def head(text):
    """Returns the first lines of a text, and how much there is in all."""
    lines = [shorten(line, _WIDTH) for line in text[:_LOOKED_AT].splitlines()]
    if len(lines) > _LINES or len(text) > _LOOKED_AT:
        extent = f"{counted(text.count(chr(10)) + 1, 'line')}, {counted(len(text), 'character')}"
        lines[_LINES:] = [f"… ({extent} in all)"]
    return "\n".join(lines)


def head_of_bytes(start, size):
    """Returns the first lines of a file that begins so, "" if it is no text."""
    text = _text(start) or ""
    if size <= len(start) or not text:
        return head(text)
    lines = head(text.rpartition("\n")[0] or text).splitlines()
    return "\n".join([*lines[:_LINES], "…"])


def _text(start):
    """Decodes the beginning of a file, whose last character may be cut; None if it is no text."""
    try:
        return None if b"\0" in start else codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return None


def plain(text):
    """Returns a text without what moves a terminal's cursor or turns the text around."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def shorten(text, most):
    """Returns a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(number, noun):
    """Returns a number with its noun, as "1 row" and "1,000 rows"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
