"""Tables as CSV, and how one is previewed: extent, columns, first rows."""

import sys

from .pages import counted

_ROWS = 5
_COLUMNS = 30  # whose types are named
_SHOWN = 12  # of which values are shown
_WIDTH = 40  # characters of a value


def writer(value):
    """Returns what writes a table as CSV into a file, None for what is no table."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if isinstance(value, _classes(pandas)):
        frame = value.to_frame() if isinstance(value, pandas.Series) else value
        indexed = type(frame.index).__name__ != "RangeIndex" or frame.index.name is not None
        return lambda file: frame.to_csv(file, index=indexed)
    if isinstance(value, _classes(polars)):
        frame = value.to_frame() if isinstance(value, polars.Series) else value
        return lambda file: file.write(frame.write_csv())
    return None


def preview(value):
    """Returns the extent of a table, its columns with their types, its first rows."""
    pandas = sys.modules.get("pandas")
    if not isinstance(value, _classes(pandas)):
        return _of_polars(value)
    frame = value.to_frame() if isinstance(value, pandas.Series) else value
    head = frame.iloc[:_ROWS, :_SHOWN].to_string(max_colwidth=_WIDTH)
    pairs = zip(frame.columns[:_COLUMNS].tolist(), frame.dtypes.iloc[:_COLUMNS].tolist())
    return _describe(frame.shape, pairs, head)


def _of_polars(value):
    frame = value.to_frame() if isinstance(value, sys.modules["polars"].Series) else value
    pairs = list(frame.schema.items())[:_COLUMNS]
    return _describe(frame.shape, pairs, str(frame.head(_ROWS)))


def _describe(shape, pairs, head):
    rows, columns = shape
    listed = ", ".join(f"{_short(name)} ({_short(kind)})" for name, kind in pairs)
    more = f" and {columns - _COLUMNS} more" if columns > _COLUMNS else ""
    rest = f"\n… {counted(rows - _ROWS, 'more row')}" if rows > _ROWS else ""
    extent = f"{counted(rows, 'row')} × {counted(columns, 'column')}"
    return f"{extent}: {listed}{more}\n{head}{rest}"


def _short(value):
    text = str(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _classes(module):
    """Returns the classes of a library that are tables; an import may be under way."""
    found = (getattr(module, name, None) for name in ("DataFrame", "Series"))
    return tuple(kind for kind in found if isinstance(kind, type))
