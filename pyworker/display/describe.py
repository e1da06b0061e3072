"""What can be said of a value without running code of its class: extent, memory, a short text.

Builtin containers are read by the methods of their builtin class. Of all else only
values are asked whose class is a known library's, and what libraries agree on (shape,
dtype, columns, nbytes) is asked. Nothing is computed for it: a lazy frame, a dask array
and a file that is not loaded yet stay as they are.
"""

import sys
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
    "datetime": ("date", "time", "timedelta", "tzinfo"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
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
    "torch": ("Tensor",),
    "uuid": ("UUID",),
    "xarray": ("DataArray", "Dataset"),
}
_PREFIXED = frozenset(("polars", "pyarrow"))  # whose classes are named as others'

# Of a value, its first elements as Python's.
_HEADS = {
    "array": lambda value: value[:HEAD].tolist(),
    "numpy": lambda value: value.flat[:HEAD].tolist(),
    "pandas": lambda value: getattr(value, "iloc", value)[:HEAD].tolist(),
    "polars": lambda value: value.head(HEAD).to_list(),
    "pyarrow": lambda value: value.slice(0, HEAD).to_pylist(),
    "torch": lambda value: value.detach().view(-1)[:HEAD].tolist(),
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
_ATOMS = kinds.ids(float, complex, bool, type(None), type(...))

# Packages that are not named with an object that shows nothing but its class.
_UNNAMED = frozenset(("", "__main__", "builtins"))


# Values of libraries


def known(value):
    """Returns a library's value that can be asked, None for any other.

    One of a user's subclass comes back as of the library's class, without a copy.
    """
    kind = type(value)
    for base in kinds.bases(kind):
        library = kinds.package(base)
        if kinds.name(base) in _KNOWN.get(library, ()) and kinds.library(base) == library:
            return value if kinds.library(kind) == library else _as_base(value, base)
    return None


def _as_base(value, base):
    """Returns a value as one of the base of its class, None where that takes the user's code."""
    if kinds.name(base) == "ndarray":
        return base.view(value, base)
    held = (kinds.fields(value) or {}).get("_mgr")
    if held is None:
        return None
    table = object.__new__(base)
    next(each for each in kinds.bases(base) if kinds.name(each) == "NDFrame").__init__(table, held)
    return table


def shape(value):
    """Returns the extent of a known value, None for what has none."""
    found = getattr(value, "shape", None)
    if found is None and kinds.package(type(value)) in ("array", "pyarrow"):
        found = (len(value),)
    return None if found is None else [int(n) for n in found]


def memory(value):
    """Returns the bytes of a known value's elements, None where that can't be said.

    Of tables those of columns and index count; what objects refer to does not.
    """
    library = kinds.package(type(value))
    if library == "array":
        return len(value) * value.itemsize
    if library == "polars":
        return value.estimated_size()
    if library == "PIL":
        return value.width * value.height * len(value.getbands())
    if library == "scipy":
        parts = [getattr(value, name) for name in _SPARSE if hasattr(value, name)]
    elif library == "xarray":
        held = getattr(value, "variables", None) or {None: value.variable}
        parts = [each for each in held.values() if kinds.package(type(each._data)) == "numpy"]
    elif hasattr(value, "_mgr"):
        parts = [*value.axes, *(block.values for block in value._mgr.blocks)]
    else:
        parts = [value] if hasattr(value, "nbytes") else []
    if not parts or not all(_is_own(getattr(each, "dtype", None)) for each in parts):
        return None
    return sum(each.nbytes for each in parts)


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
    """Yields the text of a known value: strings, and values to be shown, each in a tuple."""
    library, extent = kinds.package(type(value)), shape(value)
    if library in _PREFIXED:
        name = f"{library} {name}"
    if library == "PIL":
        yield "<{}, {} x {} pixels, {}>".format(name, *value.size, value.mode)
    elif library == "xarray" and extent is None:
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
    elif hasattr(value, "schema") or hasattr(value, "columns"):
        yield f"<{name}, {extent[0]} rows x {extent[1]} columns"
        yield from _columns(value)
        yield ">"
    else:
        yield f"<{name} of {'x'.join(map(str, extent))} "
        yield from _elements(value, library)
        yield ">"


def _columns(table):
    """Yields the names of columns, with their dtypes."""
    if kinds.package(type(table)) == "pyarrow":
        names, dtypes = table.schema.names, table.schema.types
    else:
        names, dtypes = table.columns, table.dtypes
    for i, (name, dtype) in enumerate(islice(zip(names, dtypes), COLUMNS)):
        yield ", " if i else ": "
        yield (name,)
        yield f": {_dtype_text(dtype, 40)}"


def _elements(array, library):
    """Yields the dtype of an array, and its first elements where they are at hand."""
    names = ("dtype", "type", "typecode")
    dtype = next(getattr(array, name) for name in names if hasattr(array, name))
    yield _dtype_text(dtype, 60)
    if library == "scipy":
        yield f", {array.nnz} stored"
    at_hand = library in _HEADS and _is_own(dtype)
    if library == "torch":
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
        for piece in _pieces(value, 0):
            parts.append(piece)
            room -= len(piece)
            if room < 0:
                break
    except Exception:  # it changed while we read it, or a library failed
        return f"<{kinds.name(type(value)):.100} object>"
    text = "".join(parts)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _pieces(value, depth):
    """Yields the repr of a value; of a text no more than can be shown."""
    kind = type(value)
    base = kinds.container(kind)
    if base in _TEXTS:
        yield repr(base.__getitem__(value, slice(REPR_LIMIT + 1)))
    elif base in _BRACKETS:
        yield from _container(value, base, depth)
    elif kind is int:
        bits = value.bit_length()
        yield f"<int of {bits} bits>" if bits > _BITS else repr(value)
    elif base is range:
        steps = () if value.step == 1 else (value.step,)
        yield from _call("range", (value.start, value.stop, *steps), depth)
    elif id(kind) in _ATOMS:
        yield repr(value)
    elif (asked := known(value)) is None:
        yield from _instance(kind, value, depth)
    elif depth > DEPTH:
        yield "…"
    else:
        yield from _library(asked, kinds.name(kind), depth)


def _container(value, base, depth):
    length = base.__len__(value)
    if depth >= DEPTH or (length == 0 and base in (set, frozenset)):
        yield "…" if length else f"{base.__name__}()"
        return
    start, end = _BRACKETS[base]
    yield start
    for i, item in enumerate(base.items(value) if base is dict else base.__iter__(value)):
        yield ", " if i else ""
        if base is dict:
            yield from _pieces(item[0], depth + 1)
            yield ": "
            item = item[1]
        yield from _pieces(item, depth + 1)
    yield "," + end if base is tuple and length == 1 else end


def _call(name, arguments, depth, names=None):
    """Yields name(argument, …), with the names of the arguments where they are given."""
    yield f"{name:.100}("
    for i, argument in enumerate(arguments):
        yield ", " if i else ""
        yield f"{names[i]:.100}=" if names else ""
        yield from _pieces(argument, depth + 1)
    yield ")"


def _library(value, name, depth):
    """Yields the text of a known value; its library may fail, of the next release say."""
    try:
        pieces = list(_known_pieces(value, f"{name:.100}"))
    except Exception:
        pieces = [f"<{name:.100} object>"]
    for piece in pieces:
        if type(piece) is str:
            yield piece
        else:
            yield from _pieces(piece[0], depth + 1)


def _instance(kind, value, depth):
    """Yields what holds no code: an Enum's name, a dataclass's fields; else the class alone."""
    fields = kinds.fields(value) or {}
    name, enum = kinds.name(kind), sys.modules.get("enum")
    if enum is not None and kinds.derives(kind, enum.Enum):
        member = fields.get("_name_")
        yield f"<{name:.100}.{member if type(member) is str else '…':.100}>"
    elif fields and depth < DEPTH and _shows_fields(kind):
        named = {field: item for field, item in fields.items() if type(field) is str}
        yield from _call(name, named.values(), depth, list(named))
    elif kinds.derives(kind, BaseException):
        arguments = tuple.__iter__(BaseException.args.__get__(value))
        yield from _call(name, arguments, depth)
    else:
        package = kinds.library(kind)
        origin = "" if package in _UNNAMED else f"{package:.100} "
        yield f"<{origin}{name:.100} object>"


def _shows_fields(kind):
    return kind is SimpleNamespace or any(
        "__dataclass_fields__" in kinds.names_of(base) for base in kinds.bases(kind)
    )
