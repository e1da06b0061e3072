"""The JSON forms of values, by their class. Each takes the encoder and the value.

docs/reference.md promises them ("How values become JSON"). Nothing here imports a
library: a form is called when one of its values is met.
"""

import _collections_abc
import math
import sys

from pyworker import lazy_import

BITS_LIMIT = 13_000  # of an int, about 3,900 digits; Python refuses more than 4,300
_SORTED_LIMIT = 100_000  # elements of a set

# About how many bytes of JSON one element takes, by the kind of its dtype.
ELEMENT_SIZES = {"f": 20, "c": 60, "M": 22, "m": 20}  # 8 of others
HEAD = 100  # elements of an array that is too large
COLUMN_SIZE = 40  # bytes of JSON, at least, for a column worth showing
CELL_SIZE = 4  # bytes of JSON, at least, for one cell


def find(kind):
    """Returns the form of a class, None where there is none."""
    if kind in _FORMS:
        return _FORMS[kind]
    for base in kind.__mro__[:-1]:
        form = _FORMS.get(f"{str(base.__module__).partition('.')[0]}.{base.__name__}")
        if form is not None:
            return form
    if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__attrs_attrs__"):
        return _fields
    if hasattr(kind, "model_dump") or (hasattr(kind, "__fields__") and hasattr(kind, "dict")):
        return _model
    return _FORMS["builtins.dict"] if issubclass(kind, _collections_abc.Mapping) else None


def _constant(encoder, value):
    encoder.room -= 5
    return value if type(value) is bool else None


def _int(encoder, value):
    value = int.__index__(value)
    try:
        if value.bit_length() <= BITS_LIMIT:
            encoder.room -= len(repr(value))
            return value
    except ValueError:
        pass  # the user allows fewer digits than Python does
    encoder.remark("the int at {} has too many digits and became hexadecimal text")
    return encoder.text(hex(value))


def _float(encoder, value):
    value = float.__float__(value)
    encoder.room -= 18
    if math.isfinite(value):
        return value
    name = "NaN" if value != value else "infinity" if value > 0 else "-infinity"
    encoder.remark(f"{name} at {{}} became null")
    return None


def _bytes(encoder, value):
    view = memoryview(value)
    view = view.cast("B") if view.c_contiguous else view.tobytes()
    room = max(encoder.room, 100) * 3 // 4
    encoder.room -= min(len(view), room) * 4 // 3 + 40
    text = lazy_import.load("binascii").b2a_base64(view[:room], newline=False).decode("ascii")
    form = {"type": "bytes", "length": len(view), "base64": text}
    if len(view) > room:
        form["truncated"] = True
        encoder.remark(f"{{}} was cut: {len(view) - room} bytes were left out")
    return form


def _sequence(encoder, value):
    if isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return _fields(encoder, value)
    return encoder.items(value, len(value))


def _set(encoder, value):
    try:
        return _sequence(encoder, sorted(value) if len(value) <= _SORTED_LIMIT else value)
    except TypeError:
        return _sequence(encoder, value)


def _fields(encoder, value):
    kind = type(value)
    names = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    if names is None:
        names = [each.name for each in kind.__attrs_attrs__]
    return encoder.fields([(n, getattr(value, n)) for n in names if hasattr(value, n)])


def _model(encoder, value):
    return encoder.value(value.model_dump() if hasattr(value, "model_dump") else value.dict())


# numpy, and what holds arrays beside it


def _array(encoder, value, plain=lambda part: part):
    """Encodes an array; plain makes one of numpy's of it or of its head."""
    count = math.prod(value.shape)
    size = ELEMENT_SIZES.get(getattr(value.dtype, "kind", "f"), 8)
    if count <= HEAD or count * size <= encoder.room:
        return _nested(encoder, plain(value))
    encoder.remark(f"{{}} was cut: {count - HEAD} elements were left out")
    is_numpys = hasattr(value, "flat")
    head = value.flat[:HEAD] if is_numpys else value.reshape(-1)[:HEAD]
    return {
        "type": "ndarray" if is_numpys else "Tensor",
        "shape": list(value.shape),
        "dtype": str(value.dtype)[:200],
        "head": _nested(encoder, plain(head)),
        "truncated": True,
    }


def _as_array(tensor):
    tensor = tensor.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # a type that numpy doesn't have, as bfloat16
        return tensor.float().numpy()


def _nested(encoder, array):
    kind, names = array.dtype.kind, array.dtype.names
    if kind in "mM":
        numpy = sys.modules["numpy"]
        is_date, second = kind == "M", numpy.timedelta64(1, "s")
        form = numpy.datetime_as_string(array) if is_date else array / second
        array = numpy.where(numpy.isnat(array), None, form)
    elif names and array.ndim:
        return encoder.value(list(array))
    elif names:
        return encoder.fields([(name, array[name]) for name in names])
    elif kind in "fc" and array.dtype.itemsize > 8 * (1 + (kind == "c")):  # longdouble
        array = array.astype("complex128" if kind == "c" else "float64")
    return encoder.value(array.tolist())


def _sparse(encoder, value):
    form = {"type": type(value).__name__, "shape": list(value.shape)}
    return {**form, "nnz": int(value.nnz), "dtype": str(value.dtype)}


# pandas


def _frame(encoder, value):
    columns = value.shape[1]
    wide = min(columns, max(1, encoder.room // COLUMN_SIZE))
    head = value.iloc[: _fitting(encoder, wide + 1), :wide]
    names = encoder.at("columns", head.columns.tolist())
    cells = [head.iloc[:, i].tolist() for i in range(wide)]
    rows = zip(*cells) if cells else [()] * len(head)
    form = {"columns": names, **_rows(encoder, value, head, rows, "rows")}
    if wide < columns:
        encoder.remark(f"{{}} was cut: {columns - wide} columns were left out")
        form["truncated"] = True
    return form


def _series(encoder, value):
    head = value.iloc[: _fitting(encoder, 2)]
    name = encoder.at("name", value.name)
    return {"name": name, **_rows(encoder, value, head, head.tolist(), "values")}


def _rows(encoder, value, head, values, what):
    """Encodes labels and what stands at them, both as far as there is room."""
    index, data = [], []
    for i, (label, each) in encoder.while_room(zip(head.index.tolist(), values)):
        index.append(encoder.at("index", label, i))
        data.append(encoder.at("data", each, i))
    form = {"index": index, "data": data, "shape": list(value.shape)}
    if left_out := len(value) - len(data):
        encoder.remark(f"{{}} was cut: {left_out} {what} were left out")
        form["truncated"] = True
    return form


def _list(encoder, value):
    return encoder.items(value[: _fitting(encoder, 1)].tolist(), len(value))


def _fitting(encoder, cells):
    """Says for how many rows of so many cells there may be room."""
    return max(1, encoder.room // (cells * CELL_SIZE))


# By the package and the name of a class; a subclass has the form of its first base here.
_FORMS = {
    name: form
    for names, form in (
        ("builtins.bool builtins.NoneType pandas.NaTType pandas.NAType", _constant),
        ("builtins.int", _int),
        ("builtins.float", _float),
        ("builtins.str", lambda encoder, value: encoder.text(str.__str__(value))),
        (
            "builtins.complex",
            lambda encoder, value: encoder.fields((("real", value.real), ("imag", value.imag))),
        ),
        ("builtins.bytes builtins.bytearray builtins.memoryview", _bytes),
        ("builtins.list builtins.tuple builtins.range builtins.dict_keys", _sequence),
        ("builtins.dict_values builtins.dict_items collections.deque", _sequence),
        ("collections.UserList array.array", _sequence),
        ("builtins.set builtins.frozenset", _set),
        (
            "builtins.dict builtins.mappingproxy",
            lambda encoder, value: encoder.fields(value.items()),
        ),
        ("enum.Enum", lambda encoder, value: encoder.value(value._value_)),
        ("datetime.date datetime.time", lambda encoder, value: encoder.text(value.isoformat())),
        ("datetime.timedelta", lambda encoder, value: _float(encoder, value.total_seconds())),
        (
            "decimal.Decimal fractions.Fraction uuid.UUID pathlib.PurePath pandas.Interval"
            " pandas.Period ipaddress._BaseAddress ipaddress._BaseNetwork",
            lambda encoder, value: encoder.text(str(value)),
        ),
        (
            "numpy.generic",
            lambda encoder, value: _nested(encoder, sys.modules["numpy"].asarray(value)),
        ),
        ("numpy.ndarray", _array),
        ("torch.Tensor", lambda encoder, value: _array(encoder, value, _as_array)),
        ("scipy._spbase scipy.spmatrix", _sparse),
        ("pandas.DataFrame", _frame),
        ("pandas.Series", _series),
        ("pandas.Index pandas.ExtensionArray", _list),
    )
    for name in names.split()
}
# The most frequent are found at once: a result may have a million of them.
_FORMS |= {kind: find(kind) for kind in (bool, int, float, str, list, tuple, dict)}
