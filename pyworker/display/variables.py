"""What the session's namespace holds, and what an execution has changed in it.

No code of a user's class runs here: types are known by their class, builtin
containers are read through the methods of their builtin class, and only libraries
that are known (libraries.py) are asked for more.
"""

import time

from . import definitions, fingerprint, kinds, libraries
from .brief import REPR_LIMIT, TRUSTED, brief_repr

LISTED = 10_000  # variables that are described
NAMED = 1000  # names of one kind in a difference
PATIENCE = 3  # seconds, after which a description does without values

_PLAIN = kinds.ids(int, float, complex, bool, type(None))
_DATA, _HOLDING, _VALUE = range(3)


class Snapshot:
    """What the namespace held at the end of the last execution."""

    def __init__(self, namespace):
        self._marks = fingerprint.Marks(namespace)

    def advance(self, namespace):
        """Returns the difference to the namespace as it is now, and keeps that."""
        names = dict(
            zip(("added", "changed", "removed"), map(sorted, self._marks.update(namespace)))
        )
        difference = {key: some[:NAMED] for key, some in names.items()}
        if more := {key: len(some) - NAMED for key, some in names.items() if len(some) > NAMED}:
            difference["more"] = more
        return difference


def describe(namespace, patience=PATIENCE):
    """Returns the fields of a "variables" frame: what the namespace holds.

    Arrays and tables come first, then what holds other values, then plain values;
    within the first two the largest are first, and names decide. Where there are
    more than LISTED variables, the last ones are only counted. What is not data
    is told apart, see definitions.py. patience is in seconds.
    """
    until = time.monotonic() + patience
    found, named = [], definitions.Definitions(namespace)
    for name, value in namespace.copy().items():
        if type(name) is str and not name.startswith("_") and not named.take(name, value):
            found.append(_measured(name, value, time.monotonic() < until))
    found.sort(key=lambda each: each[0])
    shown = [entry for _, entry, _ in found[:LISTED]]
    for _, entry, value in found[:LISTED]:
        if time.monotonic() < until:
            entry["repr"] = brief_repr(value)
    return {"variables": shown, "left_out": max(0, len(found) - LISTED), **named.listed()}


def _measured(name, value, patient):
    """Returns (where a variable is listed, its description without the repr, its value)."""
    kind = type(value)
    entry = {"name": name, "type": kinds.name(kind)[:200], "repr": ""}
    group = _VALUE if id(kind) in _PLAIN else _HOLDING
    if patient and group != _VALUE:
        reader = libraries.reader(kind)
        try:
            group = _extent(entry, kind, reader, value)
        except Exception:
            pass  # what a library can't say of its value is left out
    if "size" not in entry:
        plain = id(kind) in _PLAIN
        entry["size"] = kind.__sizeof__(value) if plain else kinds.basic_size(kind)
    return (group, -entry["size"] if group != _VALUE else 0, name), entry, value


def _extent(entry, kind, reader, value):
    """Adds what is known of a value's extent, and returns its group."""
    if reader is None:
        return _contents(entry, kind, value)
    size = reader.size(value) if reader.size else None
    if size is not None:
        entry["size"] = int(size)
    shape = reader.shape(value) if reader.shape else None
    if shape is not None:
        entry["shape"] = [int(n) for n in shape]
    return _DATA if entry.get("shape") or (reader.shape is None and reader.size) else _VALUE


def _contents(entry, kind, value):
    """Adds the length of a container, and what it takes without its contents."""
    base = kinds.container(kind)
    if base is None:
        return _VALUE if kinds.home(kind) in TRUSTED else _HOLDING
    entry["size"] = base.__sizeof__(value)
    entry["length"] = base.__len__(value)
    long = base not in (str, bytes, range) or entry["length"] > REPR_LIMIT
    return _HOLDING if long else _VALUE
