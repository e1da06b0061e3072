"""Fingerprints of what values hold at any depth, for the few variables that a cell names.

A look at all variables after each call sees their ends only: it has to cost next to
nothing. Here a value is looked at whole, before the cell runs and after, or not at all.
As everywhere no code of a user's class runs.
"""

import binascii
import sys
from _collections import deque
from marshal import dumps
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

from pyworker import lazy_import

from . import describe, fingerprint, kinds

ITEMS = 10_000  # of a variable that are looked at
TOTAL_ITEMS = 5 * ITEMS  # of all that a cell names
BYTES = 64 << 20  # of a variable, arrays above all
TOTAL_BYTES = 2 * BYTES
CODES = 200  # functions that are searched for names
_DEPTH = 50
_CONTAINER = 20  # items for which a container's own cost stands
_CHECKED = 8  # bytes that are added up in the time that one takes to be checked for order
_BLOCKS = 1000  # parts of an array whose sums are kept
_LONGEST = 10_000  # characters of a text that is looked at

_MAGICS = frozenset(("run_cell_magic", "run_line_magic", "run_cell"))
_NUMBERS = kinds.ids(int, float, bool, complex, type(None))
_PLAIN = _NUMBERS | kinds.ids(str)
_UNCHANGING = _PLAIN | kinds.ids(bytes, range, ModuleType)


class _TooBigError(Exception):
    """By itself, or beside what was looked at before."""


class Watch:
    """What the variables that a cell names held before it ran."""

    def __init__(self):
        # name: (id, fingerprint; None of what is too big, items and bytes that it took). The
        # value is not held, as the cell may be about to make room, or to count references.
        self._held = {}
        self._items, self._bytes = TOTAL_ITEMS, TOTAL_BYTES  # that may still be looked at

    def begin(self, codes, namespace):
        """Looks at the variables that the codes name, or functions that those name."""
        for name in _names(codes, namespace):
            value = namespace.get(name)
            if name[:1] != "_" and name not in self._held and _may_change(value):
                look = _Look(self._items, self._bytes)
                mark = look.mark(value)
                self._items -= look.items
                self._bytes -= look.bytes
                self._held[name] = id(value), mark, look.items, look.bytes

    def end(self, namespace):
        """Returns the names of those that hold something else now, and of those not looked at."""
        held, self._held = self._held, {}
        self._items, self._bytes = TOTAL_ITEMS, TOTAL_BYTES
        changed, too_big = [], []
        for name, (known, before, items, size) in held.items():
            value = namespace.get(name)
            if id(value) != known:
                continue
            if before is None:
                too_big.append(name)
            elif before != _Look(items, size).mark(value):  # what takes more has changed
                changed.append(name)
        return changed, too_big


def _names(codes, namespace):
    """Returns the names that codes use, also by the session's functions and classes."""
    codes, names = list(codes), {}
    for code in codes:
        names.update(dict.fromkeys(code.co_names))
        codes += [each for each in code.co_consts if type(each) is CodeType]
        if not _MAGICS.isdisjoint(code.co_names):  # whose bodies are texts
            texts = [each for each in code.co_consts if type(each) is str]
            names.update(
                dict.fromkeys(lazy_import.load("re").findall(r"[^\W\d_]\w*", " ".join(texts)))
            )
        for name in code.co_names:
            found = namespace.get(name)
            kind = found if kinds.derives(type(found), type) else type(found)
            if len(codes) < CODES and found is not None and id(kind) not in _UNCHANGING:
                codes += [each for each in _codes(found, kind) if each not in codes]
    return names


def _codes(value, kind):
    """Yields those of a function, of a class, or of the class of an instance."""
    if type(value) is FunctionType:
        yield value.__code__
    elif kinds.module(kind) == "__main__":
        for each in list(kinds.names_of(kind).values()):
            if type(each) is FunctionType:
                yield each.__code__


def _may_change(value):
    kind = type(value)
    return not (id(kind) in _UNCHANGING or kind is FunctionType or kinds.derives(kind, type))


def _is_users(kind):
    """Says whether instances are looked into: those of libraries keep what they like."""
    return kinds.module(kind) == "__main__" or kind is SimpleNamespace


class _Look:
    """One look at a value, down to what never changes or can't be looked into."""

    def __init__(self, items, size):
        self._most_items, self._most_bytes = items, size
        self.items = self.bytes = 0  # so far
        self._seen = set()

    def mark(self, value):
        """Returns a value's fingerprint, None for what is too big to be compared."""
        try:
            return self._of(value, 0)
        except Exception:
            return None  # too big, or it changed meanwhile, or a library can't say

    def _of(self, value, depth):
        kind = type(value)
        if id(kind) in _PLAIN:
            return value if kind is not str or len(value) < _LONGEST else id(value)
        if id(value) in self._seen or depth > _DEPTH or not _may_change(value):
            return id(value)
        self._seen.add(id(value))
        base = kinds.container(kind)
        if base is not None:
            return self._container(value, base, depth)
        asked = describe.known(value)
        if asked is not None and hasattr(asked, "_mgr"):
            return self._table(asked)
        is_array = asked is not None and kinds.package(type(asked)) == "numpy"
        fields = kinds.fields(value) if is_array or _is_users(kind) else None
        held = id(value) if fields is None else self._container(fields, dict, depth)
        return hash((held, self._array(asked))) if is_array else held

    def _container(self, value, base, depth):
        self._count(_CONTAINER)
        if base is bytearray:
            size = base.__len__(value)
            self._add_bytes(_CHECKED * size)
            return fingerprint.checksum(value, size)
        if base in (set, frozenset):
            self._count(base.__len__(value))
            elements = frozenset(value)  # by what their hashes were
            numbers = [each for each in elements if id(type(each)) in _NUMBERS]
            unclear = [self._exactly([each]) for each in numbers if hash(each) != each]
            return hash((elements, frozenset(unclear)))
        if base is dict:
            self._count(base.__len__(value))
            keys = self._all(list(dict.keys(value)), depth)
            return hash((keys, self._all(list(dict.values(value)), depth)))
        if base in (list, tuple, deque):
            self._count(base.__len__(value))
            return self._all(list(base.__iter__(value)), depth)
        return id(value)

    def _all(self, items, depth):
        if _NUMBERS.issuperset(map(id, map(type, items))):
            return hash(self._exactly(items))
        items = [self._of(each, depth + 1) for each in items]
        numbers = [each for each in items if type(each) is not str]
        return hash((tuple(items), self._exactly(numbers)))

    def _exactly(self, numbers):
        """Returns what tells numbers apart whose hashes are the same, as those of -1 and -2."""
        self._add_bytes(sum(map(sys.getsizeof, numbers)))
        return dumps(numbers, 2)  # later versions say also what is referred to elsewhere

    def _table(self, value):
        blocks = [self._column(block.values) for block in value._mgr.blocks]
        return hash((value.shape, *blocks, *map(id, value._mgr.axes)))

    def _column(self, values):
        if kinds.package(type(values)) == "numpy":
            return self._array(values)
        held = kinds.fields(values) or {}
        if kinds.library(type(arrow := held.get("_pa_array"))) == "pyarrow":
            self._add_bytes(_CHECKED * arrow.nbytes)
            buffers = [each for chunk in arrow.chunks for each in chunk.buffers() if each]
            return hash(tuple(map(binascii.crc32, buffers)))
        return self._container(held, dict, 0)

    def _array(self, value):
        if value.dtype.hasobject and value.dtype.names:
            return hash(tuple(self._array(value[name]) for name in value.dtype.names))
        if kinds.name(type(value)) != "ndarray":
            bases = [each for each in kinds.bases(type(value)) if kinds.name(each) == "ndarray"]
            if not bases:
                return value.tobytes()  # a scalar
            value = bases[0].view(value, bases[0])
        if value.dtype.hasobject:
            self._count(value.size)
            return hash((value.shape, self._all(value.ravel("K").tolist(), 0)))
        self._add_bytes(value.nbytes)
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            self._add_bytes(_CHECKED * value.nbytes)
            return hash((value.shape, binascii.crc32(value.tobytes())))
        raw = value.ravel("K").view("u1")
        step = raw.size // (8 * _BLOCKS) * 8
        rest = raw[step * _BLOCKS :]
        sums = raw[: step * _BLOCKS].view("u8").reshape(_BLOCKS, step // 8).sum(axis=1)
        return hash((value.shape, sums.tobytes(), binascii.crc32(rest)))

    def _count(self, items):
        self.items = _sum(self.items, items, min(self._most_items, ITEMS))

    def _add_bytes(self, size):
        self.bytes = _sum(self.bytes, size, min(self._most_bytes, BYTES))


def _sum(before, more, most):
    """Adds what is going to be looked at: what is refused costs nothing."""
    if before + more > most:
        raise _TooBigError
    return before + more
