"""What the session's namespace holds, and what an execution has changed in it.

No code of a user's class runs here: types are known by their class, builtin
containers are read through the methods of their builtin class, and only numpy
and pandas are asked for more.
"""

import types

from . import fingerprint, kinds
from .brief import brief_repr

LISTED = 10_000  # variables that are described
NAMED = 1000  # names of one kind in a difference

_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


class Snapshot:
    """What the namespace held at the end of the last execution."""

    def __init__(self, namespace):
        self._marks = fingerprint.Marks(namespace)

    def advance(self, namespace):
        """Returns the difference to the namespace as it is now, and keeps that."""
        names = map(sorted, self._marks.update(namespace))
        return dict(zip(("added", "changed", "removed"), map(_cap, names)))


def _cap(names):
    if len(names) <= NAMED:
        return names
    return [*names[:NAMED], f"… and {len(names) - NAMED} more"]


def describe(namespace):
    """Describes the variables, sorted by name; modules, functions and classes are none."""
    chosen = [
        (name, value)
        for name, value in namespace.copy().items()
        if type(name) is str and not name.startswith("_") and not kinds.is_one_of(value, _CODE)
    ]
    chosen.sort(key=lambda pair: pair[0])
    return [_describe(name, value) for name, value in chosen[:LISTED]]


def _describe(name, value):
    kind = type(value)
    entry = {"name": name, "type": kinds.name(kind)}
    try:
        entry.update(_measures(kind, value))
    except Exception:
        pass  # what a library can't say of its value is left out
    entry["repr"] = brief_repr(value)
    return entry


def _measures(kind, value):
    """Yields what is known of a value's extent."""
    package = kinds.package(kind)
    if package in ("numpy", "pandas") and hasattr(value, "shape"):
        yield "shape", [int(n) for n in value.shape]
    base = kinds.container(kind)
    if base is not None:
        yield "length", base.__len__(value)
    yield "size", _size(package, base, value)


def _size(package, base, value):
    """Returns the bytes of the value itself, what it refers to not followed."""
    if package == "numpy" and hasattr(value, "nbytes"):
        return int(value.nbytes)
    if package == "pandas" and hasattr(value, "memory_usage"):
        usage = value.memory_usage()
        return int(usage if isinstance(usage, int) else usage.sum())
    return (base or object).__sizeof__(value)
