"""The JSON forms of numpy's values, and of what holds arrays beside numpy.

    scalars                as Python's; datetime64 in ISO 8601, timedelta64 in seconds
    arrays                 nested arrays; structured ones hold objects
    masked elements        null
    an array too large     {"type": "ndarray", "shape": [...], "dtype": "float64",
                            "head": [the first values], "truncated": true}
    scipy's sparse arrays  {"type": "csr_matrix", "shape": [...], "nnz": n, "dtype": "..."}
    torch's tensors        as arrays

Nothing here imports a package: it is called when one of its values is met.
"""

import sys

# About how many bytes of JSON one element takes, by the kind of its dtype.
ELEMENT_SIZES = {"f": 20, "c": 60, "M": 22, "m": 20}
OTHER_SIZE = 8
HEAD = 100  # elements of an array that is too large


def find(kind):
    """Returns the form of a class of numpy, scipy or torch, or None."""
    package = kind.__module__.partition(".")[0]
    if package == "numpy":
        return _find_numpy(kind)
    if package == "scipy":
        return _sparse if kind.__module__.startswith("scipy.sparse") else None
    return _tensor if kind.__name__ == "Tensor" else None


def _find_numpy(kind):
    numpy = sys.modules["numpy"]
    if issubclass(kind, numpy.ndarray):
        return _array
    return _scalar if issubclass(kind, numpy.generic) else None


def _scalar(encoder, value):
    numpy = sys.modules["numpy"]
    if isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        return _dates(encoder, numpy.asarray(value))
    if isinstance(value, numpy.void) and value.dtype.names:
        return _record(encoder, value)
    item = value.item()
    if isinstance(item, numpy.generic):  # longdouble gives itself
        item = complex(item) if isinstance(item, numpy.complexfloating) else float(item)
    return encoder.value(item)


def _record(encoder, value):
    return encoder.fields([(name, value[name]) for name in value.dtype.names])


def _array(encoder, value):
    size = ELEMENT_SIZES.get(value.dtype.kind, OTHER_SIZE)
    if value.size > HEAD and value.size * size > encoder.room:
        return _too_large(encoder, value)
    return _nested(encoder, value)


def _too_large(encoder, value):
    encoder.remark(f"{{}} was cut: {value.size - HEAD} elements were left out")
    return {
        "type": "ndarray",
        "shape": list(value.shape),
        "dtype": str(value.dtype)[:200],
        "head": _nested(encoder, value.flat[:HEAD]),
        "truncated": True,
    }


def _nested(encoder, value):
    kind = value.dtype.kind
    if kind in "mM":
        return _dates(encoder, value)
    if kind == "V" and value.dtype.names:
        if not value.ndim:
            return _record(encoder, value)
        return encoder.items(list(value))
    if kind in "fc" and value.dtype.itemsize > 8 * (1 + (kind == "c")):  # longdouble
        value = value.astype("complex128" if kind == "c" else "float64")
    items = value.tolist()
    return encoder.value(items) if type(items) is not list else encoder.items(items)


def _dates(encoder, array):
    """Encodes datetime64 in ISO 8601, timedelta64 in seconds, NaT as null."""
    numpy = sys.modules["numpy"]
    if array.dtype.kind == "m":
        items = (array / numpy.timedelta64(1, "s")).tolist()
    else:
        items = numpy.datetime_as_string(array).tolist()
    items = _without_nat(items)
    return encoder.items(items) if type(items) is list else encoder.value(items)


def _without_nat(items):
    if type(items) is list:
        return [_without_nat(item) for item in items]
    return None if items == "NaT" or items != items else items


def _sparse(encoder, value):
    form = {"type": type(value).__name__, "shape": list(value.shape)}
    return {**form, "nnz": int(value.nnz), "dtype": str(value.dtype)}


def _tensor(encoder, value):
    if value.numel() <= HEAD or value.numel() * ELEMENT_SIZES["f"] <= encoder.room:
        return _nested(encoder, _as_array(value))
    encoder.remark(f"{{}} was cut: {value.numel() - HEAD} elements were left out")
    return {
        "type": "Tensor",
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "head": _nested(encoder, _as_array(value.reshape(-1)[:HEAD])),
        "truncated": True,
    }


def _as_array(tensor):
    tensor = tensor.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # a type that numpy doesn't have, as bfloat16
        return tensor.float().numpy()
