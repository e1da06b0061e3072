"""Find values that stand apart from the rest; see detect_anomalies.yaml."""

import math
import statistics

from understudy_plugin import plugin


@plugin
def detect_anomalies(data, column, threshold=3.0, method="zscore"):
    """Returns the rows of a table whose value in the column is an anomaly.

    data is a DataFrame, and so is what is returned; or a list of dicts, or a dict
    of columns, and what is returned is a DataFrame, or a list of dicts where pandas
    is missing. Missing values and NaN are never anomalies.
    """
    if threshold <= 0:
        raise ValueError(f"threshold must be more than 0, not {threshold}")
    if method not in ("zscore", "iqr"):
        raise ValueError(f'method must be "zscore" or "iqr", not {method!r}')
    table = _table(data)
    if len(table) == 0:
        return table
    values = _values(table, column)
    low, high = _bounds([v for v in values if v is not None], threshold, method)
    keep = [value is not None and not low <= value <= high for value in values]
    if isinstance(table, list):
        return [row for row, kept in zip(table, keep) if kept]
    return table[keep]


def _table(data):
    """Returns a DataFrame, or a list of dicts where pandas is missing."""
    try:
        import pandas
    except ImportError:
        pandas = None
    if isinstance(data, dict):
        lengths = {len(values) for values in data.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns of data have different lengths: {sorted(lengths)}")
        data = [dict(zip(data, row)) for row in zip(*data.values())]
    if isinstance(data, list):
        return data if pandas is None else pandas.DataFrame(data)
    return data


def _values(table, column):
    """Returns the column as floats, None where a value is missing."""
    if isinstance(table, list):
        if all(column not in row for row in table):
            raise KeyError(f"there is no column {column!r}")
        found = [row.get(column) for row in table]
    else:
        if column not in table.columns:
            names = ", ".join(map(str, table.columns))
            raise KeyError(f"there is no column {column!r}; there are: {names}")
        found = table[column].astype(object).where(table[column].notna(), None).tolist()
    return [None if value is None else _number(value, column) for value in found]


def _number(value, column):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"column {column!r} has {value!r}, which is no number") from None
    return None if math.isnan(number) else number


def _bounds(values, threshold, method):
    """Returns the least and the greatest value that are no anomalies."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return -math.inf, math.inf
    if method == "zscore":
        middle, spread = statistics.fmean(finite), statistics.pstdev(finite)
        return middle - threshold * spread, middle + threshold * spread
    first, _, third = statistics.quantiles(finite, n=4, method="inclusive")
    spread = third - first
    return first - threshold * spread, third + threshold * spread


@plugin.test
def test(detect_anomalies):
    rows = [{"n": n, "x": 10.0 + n % 3} for n in range(50)]
    rows += [{"n": 50, "x": 1000.0}, {"n": 51, "x": float("nan")}, {"n": 52, "x": None}]
    for method in ("zscore", "iqr"):
        found = detect_anomalies(rows, "x", method=method)
        numbers = [row["n"] for row in found] if isinstance(found, list) else list(found["n"])
        assert numbers == [50], (method, numbers)
    assert len(detect_anomalies([], "x")) == 0
