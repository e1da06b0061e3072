"""The JSON forms of pandas' values.

    DataFrame   {"columns": [...], "index": [...], "data": [[row], ...], "shape": [r, c]}
    Series      {"name": ..., "index": [...], "data": [...], "shape": [n]}
    Index, Categorical and other arrays      array
    Timestamp   ISO 8601                     Timedelta   seconds
    NaT, NA     null                         Interval, Period   string

A frame or a series that is too large keeps its first rows and "truncated": true.
Nothing here imports pandas: it is called when one of its values is met.
"""

import sys

COLUMN_SIZE = 40  # bytes of JSON, at least, for a column worth showing
CELL_SIZE = 4  # bytes of JSON, at least, for one cell


def find(kind):
    """Returns the form of a class of pandas', or None."""
    pandas = sys.modules["pandas"]
    if kind.__name__ in ("NaTType", "NAType"):
        return _null
    for names, form in _FORMS:
        if issubclass(kind, tuple(_classes(pandas, names))):
            return form
    return None


def _classes(pandas, names):
    for name in names.split():
        found = getattr(pandas, name, None) or getattr(pandas.api.extensions, name, None)
        if isinstance(found, type):
            yield found


def _null(encoder, _):
    encoder.room -= 5
    return None


def _text(encoder, value):
    return encoder.text(str(value))


def _iso(encoder, value):
    return encoder.text(value.isoformat())


def _seconds(encoder, value):
    return encoder.value(float(value.total_seconds()))


def _frame(encoder, value):
    rows, columns = value.shape
    wide = min(columns, max(1, encoder.room // COLUMN_SIZE))
    head = value.iloc[: _fitting(encoder, wide + 1), :wide]
    names = encoder.at("columns", head.columns.tolist())
    cells = [head.iloc[:, i].tolist() for i in range(wide)]
    index, data = _rows(encoder, head.index.tolist(), zip(*cells) if cells else [()] * len(head))
    form = {"columns": names, "index": index, "data": data, "shape": [rows, columns]}
    if wide < columns:
        encoder.remark(f"{{}} was cut: {columns - wide} columns were left out")
        form["truncated"] = True
    return _say_cut(encoder, form, rows, "rows")


def _series(encoder, value):
    head = value.iloc[: _fitting(encoder, 2)]
    name = encoder.at("name", value.name)
    index, data = _rows(encoder, head.index.tolist(), head.tolist())
    form = {"name": name, "index": index, "data": data, "shape": [len(value)]}
    return _say_cut(encoder, form, len(value), "values")


def _rows(encoder, labels, values):
    """Encodes labels and what stands at them, both as far as there is room."""
    index, data = [], []
    for i, (label, value) in encoder.while_room(zip(labels, values)):
        index.append(encoder.at("index", label, i))
        data.append(encoder.at("data", value, i))
    return index, data


def _list(encoder, value):
    kept = min(len(value), _fitting(encoder, 1))
    return encoder.items(value[:kept].tolist(), len(value))


def _fitting(encoder, cells):
    """Says for how many rows of so many cells there may be room."""
    return max(1, encoder.room // (cells * CELL_SIZE))


def _say_cut(encoder, form, total, what):
    left_out = total - len(form["data"])
    if left_out:
        encoder.remark(f"{{}} was cut: {left_out} {what} were left out")
        form["truncated"] = True
    return form


_FORMS = (
    ("DataFrame", _frame),
    ("Series", _series),
    ("Index ExtensionArray Categorical", _list),
    ("Timestamp", _iso),
    ("Timedelta", _seconds),
    ("Interval Period", _text),
)
