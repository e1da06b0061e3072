"""Marks by which a changed variable is told from an unchanged one, cheaply.

A mark knows the value it was made for, and for values that can change in place
a bounded sample of what they hold: length, shape, some elements, some bytes.
"""

import binascii
from _weakref import ref as _ref
from itertools import islice
from struct import unpack_from as _unpack_from
from types import ModuleType

from . import describe, kinds

END = 16  # elements of a container that are looked at, at either end
WHOLE_BYTES = 1 << 20  # arrays up to this size are looked at whole
TOTAL_BYTES = 8 << 20  # of all arrays that are looked at in one round
_BLOCKS = 20  # of a DataFrame

HELD_LENGTH = 10_000  # characters of a str that a mark keeps alive

# Values that never change and hold nothing else: a mark may keep them alive.
_SMALL = kinds.ids(int, float, bool, complex, type(None))


class Round:
    """Makes the marks of one round; room is how many bytes of arrays it may look at."""

    def __init__(self):
        self._room = TOTAL_BYTES

    def mark(self, value, kind, deep):
        """Returns (what is held of a value, its id, its class, what it contains)."""
        if id(kind) in _SMALL or (kind is str and len(value) < HELD_LENGTH):
            return value, id(value), kind, None
        try:
            held = _ref(value)
        except TypeError:  # builtin containers and the like
            held = None
        looks = deep and kind is not ModuleType  # which imports change
        return held, id(value), kind, self._content(value, kind) if looks else None

    def _content(self, value, kind):
        base = kinds.container(kind)
        try:
            if base in (list, dict, set, bytearray):
                return _held(value, base)
            if base is kind:  # a text, say, which never changes
                return None
            asked = describe.known(value)
            if asked is None:
                fields = kinds.fields(value)
                return fields and _held(fields, dict)
            return self._table(asked) if hasattr(asked, "_mgr") else self._array(asked)
        except Exception:
            return None  # it changed while we looked, or a library can't say: identity must do

    def _array(self, value):
        if kinds.package(type(value)) != "numpy" or not value.shape:
            return None
        shape, dtype = value.shape, value.dtype
        if dtype.hasobject and dtype.names:  # its elements would be new tuples each time
            return shape, [self._array(value[name]) for name in dtype.names[:_BLOCKS]]
        if dtype.hasobject:
            return shape, _sample(value.flat[:END].tolist())
        if value.nbytes <= min(WHOLE_BYTES, self._room) and value.flags.c_contiguous:
            self._room -= value.nbytes
            return shape, binascii.crc32(value.view("u1") if dtype.kind in "mM" else value)
        step = max(1, value.size >> 10)
        return shape, binascii.crc32(value.flat[::step].tobytes())

    def _table(self, value):
        held = value._mgr
        arrays = [(id(block), self._array(block.values)) for block in held.blocks[:_BLOCKS]]
        return value.shape, len(held.blocks), arrays, tuple(map(id, held.axes))


def is_alive(held):
    """Says whether an older value still lives, so that its id can't be another's."""
    return type(held) is not _ref or held() is not None


def checksum(value, size):
    """Returns the checksum of the first bytes of a bytearray, of a copy: nobody can resize
    what a buffer is open of.

    A failing slice of one makes CPython up to 3.13 free what it has not initialized, and
    say on stderr that a "deallocated bytearray object has exported buffers". One of a
    class of the user's may give out other bytes than it holds.
    """
    if type(value) is bytearray:
        return binascii.crc32(_unpack_from(f"{size}s", value)[0])
    return binascii.crc32(bytearray.__getitem__(value, slice(size)))


def _sample(first, last=()):
    """Returns what identifies the first and last elements: small values, of others the id."""
    items = (*islice(first, END), *islice(last, END))
    return items if _SMALL.issuperset(map(id, map(type, items))) else tuple(map(id, items))


def _held(value, base):
    """Returns the length of a builtin container, and what is at its ends."""
    length = base.__len__(value)
    if base is bytearray:
        return length, checksum(value, min(length, WHOLE_BYTES))
    if base is dict:
        views = (dict.keys(value), dict.values(value))
        return length, *(_sample(iter(view), reversed(view)) for view in views)
    last = list.__reversed__(value) if base is list else ()
    return length, _sample(base.__iter__(value), last)
