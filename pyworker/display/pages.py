"""Previews of texts, tables and files, and what kind of file some bytes begin."""

import codecs
import re
import sys

_LINES = 12
_WIDTH = 200  # characters of a line
_TABLE_ROWS = 5
_COLUMNS = 30  # whose types are named
_SHOWN = 12  # of which values are shown
_VALUE = 40  # characters of a value
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


def head(text, whole=True):
    """Returns the first lines of a text, and how much there is in all if it is the whole."""
    lines = [shorten(line, _WIDTH) for line in text[:_LOOKED_AT].splitlines()]
    if not whole:
        lines[_LINES:] = ["…"]
    elif len(lines) > _LINES or len(text) > _LOOKED_AT:
        extent = f"{counted(text.count(chr(10)) + 1, 'line')}, {counted(len(text), 'character')}"
        lines[_LINES:] = [f"… ({extent} in all)"]
    return "\n".join(lines)


def head_of_bytes(start, size):
    """Returns the first lines of a file that begins so, "" if it is no text."""
    text = _text(start)
    return head(text, size <= len(start)) if text else ""


def _text(start):
    """Decodes the beginning of a file, whose last character may be cut; None if it is no text."""
    try:
        return None if b"\0" in start else codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return None


def frame_of(value):
    """Returns a table or a column of pandas or polars as a DataFrame, None for what is none."""
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)  # whose import may be under way
        if isinstance(value, getattr(module, "Series", ())):
            return value.to_frame()
        if isinstance(value, getattr(module, "DataFrame", ())):
            return value
    return None


def write_table(frame, path):
    """Writes a table as CSV, with its index if that has something to say."""
    if not hasattr(frame, "to_csv"):  # polars
        frame.write_csv(path)
        return
    plain = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    frame.to_csv(path, index=not plain, errors="backslashreplace")


def head_of_table(frame):
    """Returns the extent of a table, its columns with their types, its first rows."""
    if hasattr(frame, "iloc"):
        head = frame.iloc[:_TABLE_ROWS, :_SHOWN].to_string(max_colwidth=_VALUE)
    else:
        head = str(frame.head(_TABLE_ROWS))
    rows, columns = frame.shape
    pairs = list(zip(frame.columns, frame.dtypes))[:_COLUMNS]
    listed = ", ".join(f"{shorten(str(n), _VALUE)} ({shorten(str(t), _VALUE)})" for n, t in pairs)
    more = f" and {columns - _COLUMNS} more" if columns > _COLUMNS else ""
    rest = f"\n… {counted(rows - _TABLE_ROWS, 'more row')}" if rows > _TABLE_ROWS else ""
    extent = f"{counted(rows, 'row')} × {counted(columns, 'column')}"
    return f"{extent}: {listed}{more}\n{head}{rest}"


def plain(text):
    """Returns a text without what moves a terminal's cursor or turns the text around."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def shorten(text, most):
    """Returns a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(number, noun):
    """Returns a number with its noun, as "1 row" and "1,000 rows"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
