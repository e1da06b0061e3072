"""Previews of texts, pages and files, and what kind of file some bytes begin."""

import re

_LINES = 12
_WIDTH = 200  # characters of a line

# Control characters but tab and line feed, and those of Unicode for lines and directions.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", ".png", "image/png"),
    (b"\xff\xd8\xff", ".jpg", "image/jpeg"),
    (b"GIF8", ".gif", "image/gif"),
    (b"BM", ".bmp", "image/bmp"),
    (b"%PDF-", ".pdf", "application/pdf"),
    (b"PK\x03\x04", ".zip", "application/zip"),
    (b"PAR1", ".parquet", "application/vnd.apache.parquet"),
    (b"\x93NUMPY", ".npy", "application/octet-stream"),
)


def sniff(start):
    """Returns (ending, MIME type) of a file that begins so."""
    for magic, ending, mime_type in _BEGINNINGS:
        if start.startswith(magic):
            return ending, mime_type
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return ".webp", "image/webp"
    if _text(start) is not None:
        return ".txt", "text/plain"
    return ".bin", "application/octet-stream"


def head(text):
    """Returns the first lines of a text, and how much there is in all."""
    lines = text[: _LINES * _WIDTH * 4].splitlines()
    shown = [line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines[:_LINES]]
    if len(lines) > _LINES or len(text) > _LINES * _WIDTH * 4:
        extent = f"{counted(text.count(chr(10)) + 1, 'line')}, {counted(len(text), 'character')}"
        shown.append(f"… ({extent} in all)")
    return "\n".join(shown)


def head_of_bytes(start, size):
    """Returns the first lines of a file that begins so, "" if it is no text."""
    text = _text(start)
    if text is None:
        return ""
    if size <= len(start):
        return head(text)
    shown = head(text.rpartition("\n")[0] or text).splitlines()
    return "\n".join([*shown[:_LINES], "…"])


def _text(start):
    """Decodes the beginning of a file, whose last character may be cut; None if it is no text."""
    if b"\0" in start:
        return None
    for cut in range(4):
        try:
            return start[: len(start) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None


def plain(text):
    """Returns a text without what moves a terminal's cursor or turns the text around."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def counted(number, noun):
    """Returns a number with its noun, as "1 row" and "1,000 rows"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
