"""What can be said of a value without running code of its class: extent, memory, a short text.

Builtin containers are read by the methods of their builtin class. Of all else only
values are asked whose class is a known library's, and what libraries agree on (shape,
dtype, columns, nbytes) is asked. Nothing is computed for it: a lazy frame, a dask array
and a file that is not loaded yet stay as they are.
"""

from _collections import deque
from itertools import islice
from types import SimpleNamespace

from . import kinds

REPR_LIMIT = 500  # characters
DEPTH = 4  # containers in containers
HEAD = 12  # elements of an array that are shown, if they fit
COLUMNS = 30

_BITS = 2000  # of an int that is written in digits

# The classes of each library that are asked; subclasses in the same library are, too.
_KNOWN = {
    "array": ("array",),
    "cupy": ("ndarray",),
    "datetime": ("date", "time", "timedelta", "tzinfo"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "jax": ("ArrayImpl",),
    "jaxlib": ("ArrayImpl",),
    "numpy": ("ndarray", "generic"),
    "pandas": (
        *("DataFrame", "Series", "Index", "ExtensionArray"),
        *("Timestamp", "Timedelta", "Interval", "Period", "NaTType", "NAType"),
    ),
    "pathlib": ("PurePath",),
    "PIL": ("Image",),
    "polars": ("DataFrame", "Series"),
    "pyarrow": ("Table", "RecordBatch", "Array", "ChunkedArray"),
    "scipy": ("_spbase", "spmatrix"),
    "tensorflow": ("EagerTensor",),
    "torch": ("Tensor",),
    "uuid": ("UUID",),
    "xarray": ("DataArray", "Dataset"),
}

# Of a value, its first elements as Python's; of a labelled one its labels.
_HEADS = {
    "array": lambda value: value[:HEAD].tolist(),
    "numpy": lambda value: value.flat[:HEAD].tolist(),
    "pandas": lambda value: getattr(value, "iloc", value)[:HEAD].tolist(),
    "polars": lambda value: value.head(HEAD).to_list(),
    "pyarrow": lambda value: value.slice(0, HEAD).to_pylist(),
    "torch": lambda value: value.detach().view(-1)[:HEAD].tolist(),
    "xarray": lambda value: list(value.dims),
}
_SPARSE = ("data", "indices", "indptr", "row", "col", "offsets", "rows")  # arrays, of some

# Where time zones are from that can be trusted with their name.
_ZONES = frozenset(("datetime", "zoneinfo", "dateutil"))

_BRACKETS = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
    deque: ("deque([", "])"),
}
_TEXTS = (str, bytes, bytearray)
_ATOMS = kinds.ids(int, float, complex, bool, type(None), type(...))


# Values of libraries


def known(value):
    """Returns a library's value that can be asked, None for any other.

    One of a user's subclass comes back as of the library's class, without a copy.
    """
    kind = type(value)
    for base in kinds.bases(kind):
        library = kinds.package(base)
        if kinds.name(base) in _KNOWN.get(library, ()) and kinds.library(base) == library:
            is_own = base is kind or kinds.library(kind) == library
            return value if is_own else _as_base(value, base)
    return None


def _as_base(value, base):
    """Returns a value as one of the base of its class, None where that takes the user's code."""
    if kinds.name(base) == "ndarray":
        return base.view(value, base)
    held = (kinds.fields(value) or {}).get("_mgr")
    if kinds.library(type(held)) != "pandas":
        return None
    table = object.__new__(base)
    next(each for each in kinds.bases(base) if kinds.name(each) == "NDFrame").__init__(table, held)
    return table


def shape(value):
    """Returns the extent of a known value, None for what has none."""
    library = kinds.package(type(value))
    found = value.size if library == "PIL" else getattr(value, "shape", None)
    if found is None and library in ("array", "pyarrow"):
        found = (len(value),)
    return None if found is None else [int(n) for n in found]


def memory(value):
    """Returns the bytes of a known value's elements, None where that can't be said.

    Of tables those of columns and index count; what objects refer to does not.
    """
    library, parts = kinds.package(type(value)), [value]
    if library == "array":
        return len(value) * value.itemsize
    if library == "polars":
        return value.estimated_size()
    if library == "scipy":
        parts = [getattr(value, name) for name in _SPARSE if hasattr(value, name)]
    elif library == "xarray":
        held = getattr(value, "variables", None) or {None: value.variable}
        parts = [each for each in held.values() if kinds.package(type(each._data)) == "numpy"]
    elif hasattr(value, "_mgr"):
        parts = [*value.axes, *(block.values for block in value._mgr.blocks)]
    if not all(hasattr(each, "nbytes") and _is_own(getattr(each, "dtype", None)) for each in parts):
        return None
    return sum(each.nbytes for each in parts) if parts else None


def _is_own(dtype):
    """Says whether a dtype, or None, is a library's, and not one that a user has made."""
    package = kinds.package(type(dtype))
    if package in ("builtins", "numpy"):
        return True
    return kinds.library(type(dtype)) in _KNOWN and _is_safe(getattr(dtype, "tz", None))


def _is_safe(zone):
    """Says whether a time zone, or None, is none that a user has made."""
    kind = type(zone)  # pytz makes classes as it goes, which are at home nowhere
    return zone is None or kinds.library(kind) in _ZONES or kinds.package(kind) == "pytz"


def _known_pieces(value, name):
    """Yields the text of a known value in pieces, see _pieces."""
    library, extent = kinds.package(type(value)), shape(value)
    name = f"{library} {name}" if library in ("polars", "pyarrow") else name
    if extent is None and library == "xarray":
        yield f"<{name}: "
        yield (list(value.variables)[:COLUMNS],)
        yield ">"
    elif extent is None:
        yield repr(value) if _is_safe(getattr(value, "tzinfo", None)) else f"<{name} object>"
    elif not extent and library == "numpy":
        item = value.item()
        yield f"{name}("  # a longdouble's item is a longdouble
        yield f"{value!s:.100}" if type(item) is type(value) else (item,)
        yield ")"
    elif len(extent) == 2 and (hasattr(value, "schema") or hasattr(value, "columns")):
        yield f"<{name}, {extent[0]} rows x {extent[1]} columns"
        yield from _columns(value, library, extent)
        yield ">"
    else:
        yield f"<{name} of {'x'.join(map(str, extent)) or 1} "
        yield from _elements(value, library)
        yield ">"


def _columns(table, library, extent):
    """Yields the names of columns, with their dtypes."""
    arrow = library == "pyarrow"
    names = table.schema.names if arrow else table.columns
    dtypes = table.schema.types if arrow else table.dtypes
    named = islice(zip(names, dtypes), COLUMNS)
    yield ": " if extent[1] else ""
    yield from _joined([(name,), f": {_dtype_text(dtype, 40)}"] for name, dtype in named)


def _elements(array, library):
    """Yields the dtype of an array, and its first elements where they are at hand."""
    dtype = getattr(
        array, {"array": "typecode", "pyarrow": "type", "PIL": "mode"}.get(library, "dtype")
    )
    at_hand = library in _HEADS and _is_own(dtype)
    yield _dtype_text(dtype, 60)
    if library == "scipy":
        yield f", {array.nnz} stored"
    elif library == "torch":
        yield f" on {array.device!s:.20}"
        at_hand = array.device.type == "cpu" and array.is_contiguous()
    if at_hand:
        yield ": "
        yield (_HEADS[library](array),)


def _dtype_text(dtype, limit):
    return f"{dtype!s:.{limit}}" if _is_own(dtype) else kinds.name(type(dtype))


# Any value


def brief_repr(value, limit=REPR_LIMIT):
    """Returns a repr of at most limit characters."""
    parts, room = [], limit
    try:
        for part in _texts([(value,)], -1):
            parts.append(part)
            room -= len(part)
            if room < 0:
                break
    except Exception:  # it changed while we read it
        return f"<{kinds.name(type(value)):.100} object>"
    text = "".join(parts)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _texts(pieces, depth):
    """Yields the texts of pieces that are in so many values."""
    for piece in pieces:
        if type(piece) is str:
            yield piece
        else:
            yield from _texts(_pieces(piece[0], depth + 1), depth + 1)


def _pieces(value, depth):
    """Returns the repr of a value in pieces: strings, and values, each in a tuple of its own."""
    kind = type(value)
    base, name = kinds.container(kind), f"{kinds.name(kind):.100}"
    if base in _TEXTS:
        return [repr(base.__getitem__(value, slice(REPR_LIMIT + 1)))]
    if base in _BRACKETS:
        return _container(value, base, depth)
    if base is range:
        steps = () if value.step == 1 else (value.step,)
        return _call("range", ([(each,)] for each in (value.start, value.stop, *steps)))
    if kind is int and value.bit_length() > _BITS:
        return [f"<int of {value.bit_length()} bits>"]
    if id(kind) in _ATOMS:
        return [repr(value)]
    asked = known(value)
    if asked is None:
        return _instance(kind, name, value, depth)
    try:
        return ["…"] if depth > DEPTH else list(_known_pieces(asked, name))
    except Exception:  # of the library's, whose next release it may be
        return [f"<{name} object>"]


def _joined(groups):
    """Yields the pieces of groups, with commas between the groups."""
    for i, group in enumerate(groups):
        yield ", " if i else ""
        yield from group


def _call(name, groups):
    yield f"{name}("
    yield from _joined(groups)
    yield ")"


def _container(value, base, depth):
    length = base.__len__(value)
    if depth >= DEPTH or (length == 0 and base in (set, frozenset)):
        yield "…" if length else f"{base.__name__}()"
        return
    if base is dict:
        groups = ([(key,), ": ", (item,)] for key, item in dict.items(value))
    else:
        groups = ([(item,)] for item in base.__iter__(value))
    start, end = _BRACKETS[base]
    yield start
    yield from _joined(groups)
    yield "," + end if base is tuple and length == 1 else end


def _instance(kind, name, value, depth):
    """Returns what takes no code: an Enum's name, a dataclass's fields; else the class alone."""
    fields = kinds.fields(value) or {}
    if "_name_" in fields and "_value_" in fields:
        member = fields["_name_"]
        return [f"<{name}.{member if type(member) is str else '…':.100}>"]
    is_record = any("__dataclass_fields__" in kinds.names_of(base) for base in kinds.bases(kind))
    if fields and depth < DEPTH and (is_record or kind is SimpleNamespace):
        named = (pair for pair in fields.items() if type(pair[0]) is str)
        return _call(name, ([f"{field:.100}=", (item,)] for field, item in named))
    if kinds.derives(kind, BaseException):
        arguments = tuple.__iter__(BaseException.args.__get__(value))
        return _call(name, ([(each,)] for each in arguments))
    package = kinds.library(kind)
    is_near = package in ("", "__main__", "builtins")
    return [f"<{name} object>" if is_near else f"<{package:.100} {name} object>"]
