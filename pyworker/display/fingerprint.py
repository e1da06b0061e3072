"""Marks by which a changed variable is told from an unchanged one, cheaply.

A mark knows the value it was made for, and for values that can change in place
a bounded sample of what they hold: length, shape, some elements, some bytes.
"""

import binascii
import types
from _weakref import ref as _ref
from itertools import islice

from . import kinds

SAMPLE = 32  # elements of a container that are looked at
WHOLE_BYTES = 1 << 20  # arrays up to this size are looked at whole
TOTAL_BYTES = 8 << 20  # of all arrays that are looked at in one round
LOOKED_INTO = 2000  # variables that are looked into; of more only the identity counts
_BLOCKS = 20  # of a DataFrame

HELD_LENGTH = 10_000  # characters of a str that a mark keeps alive

# Values that never change and hold nothing else: a mark may keep them alive.
_SMALL = kinds.ids(int, float, bool, complex, type(None))

_NEVER_CHANGING = kinds.ids(
    str, bytes, tuple, frozenset, range, type, types.ModuleType, types.FunctionType
)


class Marks:
    """The marks of a namespace's variables; names that begin with "_" are none."""

    def __init__(self, namespace):
        self._marks = {}
        self.update(namespace)

    def update(self, namespace):
        """Takes the namespace as it is now; returns names (added, changed, removed)."""
        old, new, room = self._marks, {}, _Room()
        added, changed = [], []
        for name, value in namespace.copy().items():
            if type(name) is not str or name.startswith("_"):
                continue
            before = old.get(name)
            if before is not None and before[0] is value:  # held, so it can't change
                new[name] = before
                continue
            deep = len(new) < LOOKED_INTO
            mark = new[name] = _mark(value, room, deep)
            if before is None:
                added.append(name)
            elif mark[1:] != before[1:] or not _alive(before[0]):
                changed.append(name)
        self._marks = new
        return added, changed, [name for name in old if name not in new]


def _mark(value, room, deep):
    """Returns (what is held of a value, its id, its class, what it contains)."""
    kind = type(value)
    if id(kind) in _SMALL or (kind is str and len(value) < HELD_LENGTH):
        return value, id(value), kind, None
    try:
        held = _ref(value)
    except TypeError:  # builtin containers and the like
        held = None
    return held, id(value), kind, _content(value, kind, room) if deep else None


def _alive(held):
    """Says whether an older value still lives, so that its id can't be another's."""
    return type(held) is not _ref or held() is not None


class _Room:
    """How many bytes of arrays may still be looked at."""

    def __init__(self):
        self.left = TOTAL_BYTES


def _content(value, kind, room):
    if id(kind) in _NEVER_CHANGING:
        return None
    look = _LOOKS.get(id(kind))
    try:
        if look is not None:
            return look(value)
        package = kinds.package(kind)
        if package in _READ and kinds.library(kind) == package:
            return _READ[package](value, room)
        for base in kinds.bases(kind):
            if id(base) in _LOOKS:
                return _LOOKS[id(base)](value)
        fields = kinds.fields(value)
        return fields and _dict(fields)
    except Exception:
        pass  # it changed while we looked, or a library can't say: identity must do
    return None


def _sample(items):
    """Returns what identifies elements: small values themselves, of others the id."""
    items = tuple(items)
    return items if _SMALL.issuperset(map(id, map(type, items))) else tuple(map(id, items))


def _list(value):
    length = list.__len__(value)
    if length <= SAMPLE:
        return length, _sample(list.__iter__(value))
    step = length // SAMPLE
    return length, _sample(list.__getitem__(value, slice(None, None, step)))


def _dict(value):
    length = dict.__len__(value)
    keys, values = dict.keys(value), dict.values(value)
    if length <= SAMPLE:
        return length, _sample(keys), _sample(values)
    half = SAMPLE // 2
    last = _sample(islice(reversed(values), half))
    return length, _sample(islice(values, half)), last, _sample(islice(reversed(keys), half))


def _set(value):
    return set.__len__(value), _sample(islice(set.__iter__(value), SAMPLE))


def _bytearray(value):
    length = bytearray.__len__(value)
    step = 1 if length <= WHOLE_BYTES else length // SAMPLE
    return length, bytes(bytearray.__getitem__(value, slice(None, None, step)))


def _array(value, room):
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if not shape or dtype is None:
        return None
    if dtype.hasobject and dtype.names:  # its elements would be new tuples each time
        return shape, [_array(value[name], room) for name in dtype.names[:SAMPLE]]
    if dtype.hasobject:
        return shape, _sample(value.flat[:SAMPLE].tolist())
    if value.nbytes <= min(WHOLE_BYTES, room.left) and value.flags.c_contiguous:
        room.left -= value.nbytes
        return shape, binascii.crc32(value.view("u1") if dtype.kind in "mM" else value)
    step = max(1, value.size // (SAMPLE * SAMPLE))
    return shape, binascii.crc32(value.flat[::step].tobytes())


def _frame(value, room):
    manager = getattr(value, "_mgr", None)
    if manager is None:
        return None
    blocks = [
        (
            id(block),
            _array(block.values, room) if kinds.library(type(block.values)) == "numpy" else 0,
        )
        for block in manager.blocks[:_BLOCKS]
    ]
    return value.shape, len(manager.blocks), blocks, tuple(map(id, manager.axes))


_READ = {"numpy": _array, "pandas": _frame}
_LOOKS = {
    id(list): _list,
    id(dict): _dict,
    id(set): _set,
    id(bytearray): _bytearray,
}
