"""What is known of the values of well-known libraries: extent, memory, beginning.

They are read by attributes of the library's own classes, and only where nothing of
the user's comes between: a subclass from elsewhere, an array or a dtype of one's own
inside a table. Nothing is computed for it: a lazy frame, a dask array and a file that
is not loaded yet stay as they are.

A text comes in pieces: strings as they are, and values, each in a tuple of its own,
that the reader shows in its way.
"""

from typing import NamedTuple

from . import kinds

HEAD = 12  # elements that are shown, if they fit
COLUMNS = 30

PACKAGES = frozenset(
    ("numpy", "pandas", "polars", "pyarrow", "scipy", "xarray", "torch", "PIL", "array")
)
_ZONES = frozenset(("datetime", "zoneinfo", "dateutil"))  # whose tzinfo can be trusted
_PYTZ = frozenset(("pytz", "pytz.tzfile"))  # makes classes as it goes, which have no home


class Reader(NamedTuple):
    """How values of one class are read."""

    text: object  # value -> pieces
    shape: object = None  # value -> iterable of int
    size: object = None  # value -> bytes, or None where it can't be said


def reader(kind):
    """Returns the Reader for values of a class, None where nothing is known of it."""
    for base in kinds.bases(kind):
        if kinds.package(base) in PACKAGES:
            package = kinds.library(base)
            found = _READERS.get((package, kinds.name(base)))
            if found is not None:
                own, derived = found
                return own if kinds.library(kind) == package else derived
    return None


def zone_is_known(zone):
    """Says whether a tzinfo, or None, is not of the user's own making."""
    kind = type(zone)
    return zone is None or kinds.library(kind) in _ZONES or kinds.module(kind) in _PYTZ


def _name(value):
    return kinds.name(type(value))


def _object(value):
    yield f"<{_name(value)} object>"


def _times(shape):
    return "x".join(map(str, shape))


def _columns(names, dtypes):
    """Pieces that list columns with their dtypes."""
    for i, (name, dtype) in enumerate(zip(names, dtypes)):
        yield ", " if i else ": "
        yield (name,)
        yield ": " + dtype
    yield ">"


# numpy


def plain(array):
    """Returns an array as numpy's own, whatever subclass it is of."""
    ndarray = next(b for b in kinds.bases(type(array)) if kinds.home(b) and _is_ndarray(b))
    return ndarray.view(array, ndarray)


def _is_ndarray(kind):
    return kinds.name(kind) == "ndarray" and kinds.library(kind) == "numpy"


def _array_text(value):
    if not value.shape:
        yield f"{_name(value)}("
        yield (value.item(),)
        yield ")"
        return
    yield f"<{_name(value)} of {_times(value.shape)} {value.dtype!s:.60}: "
    yield (value.flat[:HEAD].tolist(),)
    yield ">"


def _derived_array_text(value):
    array = plain(value)
    yield f"<{_name(value)} of {_times(array.shape)} {array.dtype!s:.60}: "
    yield (array.flat[:HEAD].tolist(),)
    yield ">"


def _scalar_text(value):
    item = value.item()
    if kinds.library(type(item)) == "numpy":  # Python has no such number
        yield f"{_name(value)}({value!s:.100})"
        return
    yield f"{_name(value)}("
    yield (item,)
    yield ")"


# pandas


def _is_known(data):
    """Says whether an array is numpy's or pandas' own, its dtype too."""
    if kinds.library(type(data)) not in ("numpy", "pandas"):
        return False
    dtype = data.dtype
    return kinds.library(type(dtype)) in ("numpy", "pandas") and zone_is_known(
        getattr(dtype, "tz", None)
    )


def _manager(table):
    found = kinds.fields(table)["_mgr"]
    return found if kinds.library(type(found)) == "pandas" else None


def _axes(table):
    """Returns the axes of a Series or DataFrame, rows first, or none of the user's own."""
    axes = tuple(reversed(_manager(table).axes))
    return axes if all(kinds.library(type(axis)) == "pandas" for axis in axes) else ()


def _table_shape(table):
    axes = _axes(table)
    return [len(axis) for axis in axes] if axes else None


def _table_size(table):
    """Returns the bytes of values and axes; objects are pointers."""
    arrays = [block.values for block in _manager(table).blocks]
    sizes = [_index_size(axis) for axis in _axes(table)]
    if not sizes or None in sizes or not all(map(_is_known, arrays)):
        return None
    return sum(array.nbytes for array in arrays) + sum(sizes)


def _index_size(index):
    data = getattr(index, "_data", None)
    if data is not None and kinds.name(type(index)) != "RangeIndex" and not _is_known(data):
        return None
    return index.nbytes


def _dtype_text(dtype):
    known = kinds.library(type(dtype)) in ("numpy", "pandas")
    if known and zone_is_known(getattr(dtype, "tz", None)):
        return f"{dtype!s:.40}"
    return kinds.name(type(dtype))


def _frame_text(value):
    rows, columns = value.shape
    yield f"<{_name(value)}, {rows} rows x {columns} columns"
    dtypes = map(_dtype_text, value.dtypes.iloc[:COLUMNS].tolist())
    yield from _columns(value.columns[:COLUMNS].tolist(), dtypes)


def _derived_table_text(value):
    yield f"<{_name(value)} of {_times(_table_shape(value))}>"


def _series_text(value):
    yield from _sequence_text(value, value.iloc, _manager(value).blocks[0].values)


def is_plain_series(value):
    """Says whether what a Series holds is numpy's or pandas' own."""
    return bool(_axes(value)) and _is_known(_manager(value).blocks[0].values)


def _index_text(value):
    yield from _sequence_text(value, value, getattr(value, "_data", None))


def _pandas_array_text(value):
    yield from _sequence_text(value, value, value)


def _sequence_text(value, rows, data):
    yield f"<{_name(value)} of {len(value)} {_dtype_text(value.dtype)}"
    if type(data) in (type(None), range) or _is_known(data):
        yield ": "
        yield (rows[:HEAD].tolist(),)
    yield ">"


def _moment_text(value):
    known = zone_is_known(getattr(value, "tzinfo", None))
    yield repr(value) if known else f"<{_name(value)} object>"


# torch


def _tensor_text(value):
    yield f"<{_name(value)} of {_times(value.shape)} {value.dtype!s:.60} on {value.device!s:.20}"
    if value.device.type == "cpu" and value.is_contiguous():
        yield ": "
        yield (value.detach().view(-1)[:HEAD].tolist(),)
    yield ">"


# polars and pyarrow


def _polars_text(value):
    rows, columns = value.shape
    yield f"<polars DataFrame, {rows} rows x {columns} columns"
    dtypes = (f"{dtype!s:.40}" for dtype in value.dtypes[:COLUMNS])
    yield from _columns(value.columns[:COLUMNS], dtypes)


def _polars_series_text(value):
    yield f"<polars Series of {len(value)} {value.dtype!s:.60}: "
    yield (value.head(HEAD).to_list(),)
    yield ">"


def _arrow_table_text(value):
    yield f"<pyarrow {_name(value)}, {value.num_rows} rows x {value.num_columns} columns"
    fields = [value.schema.field(i) for i in range(min(COLUMNS, value.num_columns))]
    yield from _columns((f.name for f in fields), (_arrow_type(f.type) for f in fields))


def _arrow_text(value):
    yield f"<pyarrow {_name(value)} of {len(value)} {_arrow_type(value.type)}"
    if kinds.library(type(value.type)) == "pyarrow":
        yield ": "
        yield (value.slice(0, HEAD).to_pylist(),)
    yield ">"


def _arrow_type(kind):
    return f"{kind!s:.40}" if kinds.library(type(kind)) == "pyarrow" else _name(kind)


# others


def _sparse_text(value):
    shape, dtype = _times(value.shape), f"{value.dtype!s:.60}"
    yield f"<{_name(value)} of {shape} {dtype}, {value.nnz} stored>"


def _sparse_size(value):
    held = [*(kinds.fields(value) or {}).values()]
    held += [each for inner in held if type(inner) is tuple for each in inner]
    return sum(each.nbytes for each in held if _is_ndarray(type(each)))


def _has_known_data(variable):
    """Says whether what an xarray variable holds tells its shape without a computation."""
    return kinds.library(type(variable._data)) in ("numpy", "pandas", "xarray", "dask")


def _labelled_shape(value):
    return value.shape if _has_known_data(value.variable) else None


def _is_in_memory(variable):
    return kinds.library(type(variable._data)) == "numpy"


def _labelled_size(value):
    return value.nbytes if _is_in_memory(value.variable) else None


def _labelled_text(value):
    yield f"<{_name(value)}"
    if _has_known_data(value.variable):
        for name, length in zip(value.dims, value.shape):
            yield ", "
            yield (name,)
            yield f": {length}"
        yield f", {value.dtype!s:.60}"
    yield ">"


def _dataset_size(value):
    return sum(each.nbytes for each in value._variables.values() if _is_in_memory(each))


def _dataset_text(value):
    yield f"<{_name(value)}: "
    yield (list(value._variables)[:COLUMNS],)
    yield ">"


def _image_text(value):
    width, height = value.size
    yield f"<{_name(value)}, {width} x {height} pixels, {value.mode!s:.10}>"


def _image_size(value):
    width, height = value.size
    return width * height * len(value.getbands()) * (4 if value.mode in ("I", "F") else 1)


def _typed_text(value):
    yield f"<array of {len(value)} {value.typecode}: "
    yield (value[:HEAD].tolist(),)
    yield ">"


def _shape(value):
    return value.shape


def _length(value):
    return (len(value),)


def _nbytes(value):
    return value.nbytes


_ARRAY = Reader(_array_text, _shape, _nbytes)
_DERIVED_ARRAY = Reader(
    _derived_array_text, lambda value: plain(value).shape, lambda value: plain(value).nbytes
)
_DERIVED_TABLE = Reader(_derived_table_text, _table_shape, _table_size)
_MOMENT = Reader(_moment_text)
_POLARS = {"shape": _shape, "size": lambda value: value.estimated_size()}

# Readers by package and class: of the library's own values, and of those of
# subclasses from elsewhere, None where nothing can be asked without their code.
_READERS = {
    ("numpy", "ndarray"): (_ARRAY, _DERIVED_ARRAY),
    ("numpy", "generic"): (Reader(_scalar_text), None),
    ("pandas", "DataFrame"): (Reader(_frame_text, _table_shape, _table_size), _DERIVED_TABLE),
    ("pandas", "Series"): (Reader(_series_text, _table_shape, _table_size), _DERIVED_TABLE),
    ("pandas", "Index"): (Reader(_index_text, _length, _index_size), None),
    ("pandas", "ExtensionArray"): (Reader(_pandas_array_text, _length, _nbytes), None),
    **{
        ("pandas", name): (_MOMENT, None)
        for name in ("Timestamp", "Timedelta", "Interval", "Period", "NaTType", "NAType")
    },
    ("torch", "Tensor"): (
        Reader(_tensor_text, _shape, lambda value: value.numel() * value.element_size()),
        None,
    ),
    ("polars", "DataFrame"): (Reader(_polars_text, **_POLARS), None),
    ("polars", "Series"): (Reader(_polars_series_text, **_POLARS), None),
    ("pyarrow", "Table"): (Reader(_arrow_table_text, _shape, _nbytes), None),
    ("pyarrow", "RecordBatch"): (Reader(_arrow_table_text, _shape, _nbytes), None),
    ("pyarrow", "Array"): (Reader(_arrow_text, _length, _nbytes), None),
    ("pyarrow", "ChunkedArray"): (Reader(_arrow_text, _length, _nbytes), None),
    ("scipy", "_spbase"): (Reader(_sparse_text, _shape, _sparse_size), None),
    ("scipy", "spmatrix"): (Reader(_sparse_text, _shape, _sparse_size), None),
    ("xarray", "DataArray"): (Reader(_labelled_text, _labelled_shape, _labelled_size), None),
    ("xarray", "Dataset"): (Reader(_dataset_text, None, _dataset_size), None),
    ("PIL", "Image"): (Reader(_image_text, None, _image_size), None),
    ("array", "array"): (
        Reader(_typed_text, _length, lambda value: len(value) * value.itemsize),
        None,
    ),
}
