"""Tables as CSV, and how one is previewed: extent, columns, first rows."""

import sys

from .pages import counted, shorten

_ROWS = 5
_COLUMNS = 30  # whose types are named
_SHOWN = 12  # of which values are shown
_WIDTH = 40  # characters of a value


def frame_of(value):
    """Returns a table or a column of pandas or polars as a DataFrame, None for what is none."""
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)  # whose import may be under way
        if isinstance(value, getattr(module, "Series", ())):
            return value.to_frame()
        if isinstance(value, getattr(module, "DataFrame", ())):
            return value
    return None


def write(frame, file):
    """Writes a table as CSV, with its index if that has something to say."""
    if not hasattr(frame, "to_csv"):  # polars
        file.write(frame.write_csv())
        return
    plain = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    frame.to_csv(file, index=not plain)


def preview(frame):
    """Returns the extent of a table, its columns with their types, its first rows."""
    if hasattr(frame, "iloc"):
        head = frame.iloc[:_ROWS, :_SHOWN].to_string(max_colwidth=_WIDTH)
    else:
        head = str(frame.head(_ROWS))
    rows, columns = frame.shape
    pairs = list(zip(frame.columns, frame.dtypes))[:_COLUMNS]
    listed = ", ".join(f"{shorten(str(n), _WIDTH)} ({shorten(str(t), _WIDTH)})" for n, t in pairs)
    more = f" and {columns - _COLUMNS} more" if columns > _COLUMNS else ""
    rest = f"\n… {counted(rows - _ROWS, 'more row')}" if rows > _ROWS else ""
    extent = f"{counted(rows, 'row')} × {counted(columns, 'column')}"
    return f"{extent}: {listed}{more}\n{head}{rest}"
