"""What the session's namespace holds, and what an execution has changed in it.

No code of a user's class runs here: see describe.py. Names that begin with "_" are
private and left out.
"""

import time
from functools import _lru_cache_wrapper
from types import FunctionType, ModuleType

from pyworker import lazy_import

from . import describe as values
from . import fingerprint, kinds, nested

LISTED = 10_000  # variables that are described
DEFINED = 300  # functions, classes and imports that are listed, of each
SIGNATURE_LIMIT = 120  # characters
NAMED = 1000  # names of one kind in a difference
LOOKED_INTO = 2000  # variables that a difference looks into; of more only the identity counts
PATIENCE = 3  # seconds, after which a description does without values

_DEFAULT_LIMIT = 20  # characters of a default
_COROUTINES = 0x80 | 0x200  # of co_flags
_PLAIN = kinds.ids(int, float, complex, bool, type(None))
_DATA, _HOLDING, _VALUE = range(3)

# What modules give away beside functions and classes, by package or class.
_IMPORTED = {
    *("typing", "__future__", "builtins.builtin_function_or_method"),
    *("numpy.ufunc", "numpy._ArrayFunctionDispatcher"),
}


def public(namespace):
    """Yields (name, value, its class) of each variable, whatever changes meanwhile."""
    for name, value in namespace.copy().items():
        if type(name) is str and name[:1] != "_":
            yield name, value, type(value)


class Snapshot:
    """What the namespace held at the end of the last execution."""

    def __init__(self, namespace):
        self._marks = {}
        self._watch = nested.Watch()
        self._told = {}  # of the variables that were said to be too big, their ids
        self.advance(namespace)

    def look(self, codes, namespace):
        """Looks closely at the variables that codes name, which are about to run."""
        self._watch.begin(codes, namespace)

    def advance(self, namespace):
        """Returns the difference to the namespace as it is now, and keeps that."""
        old, new, this_round = self._marks, {}, fingerprint.Round()
        added, changed = [], []
        for name, value, kind in public(namespace):
            before = old.get(name)
            if before is not None and before[0] is value:  # held, so it can't change
                new[name] = before
                continue
            mark = new[name] = this_round.mark(value, kind, len(new) < LOOKED_INTO)
            if before is None:
                added.append(name)
            elif mark[1:] != before[1:] or not fingerprint.is_alive(before[0]):
                changed.append(name)
        self._marks = new
        deeper, too_big = self._watch.end(namespace)
        changed += set(deeper).difference(changed, added)
        told = {name: new[name][1] for name in too_big if name in new and name not in changed}
        untold = sorted(name for name, known in told.items() if self._told.get(name) != known)
        self._told.update(told)
        removed = [name for name in old if name not in new]
        names = {"added": added, "changed": changed, "removed": removed}
        more = {key: len(some) - NAMED for key, some in names.items() if len(some) > NAMED}
        difference = {key: sorted(some)[:NAMED] for key, some in names.items()}
        if untold:
            difference["not_compared"] = untold[:NAMED]
        return {**difference, "more": more} if more else difference


def describe(namespace, patience=PATIENCE):
    """Returns the fields of a "variables" frame: what the namespace holds.

    Arrays and tables come first, then what holds other values, then plain values;
    within the first two the largest are first, and names decide. Where there are
    more than LISTED variables, the last ones are only counted. What is not data,
    functions and classes of its own and imports, is told apart. patience is in seconds.
    """
    until = time.monotonic() + patience
    found, others = [], {"functions": [], "classes": [], "imports": []}
    for name, value, kind in public(namespace):
        cached = _wrapped(value) if kind is _lru_cache_wrapper else None
        function = value if kind is FunctionType else cached
        if function is not None and function.__globals__ is namespace:
            others["functions"].append((name, function))
        elif kinds.derives(kind, type) and kinds.module(value) == "__main__":
            others["classes"].append(name)
        elif kinds.derives(kind, ModuleType):
            full = (kinds.fields(value) or {}).get("__name__")
            same = type(full) is not str or full == name
            others["imports"].append(name if same else f"{name} ({full:.100})")
        elif function is not None or _is_imported(kind):
            others["imports"].append(name)
        else:
            found.append(_measured(name, value, kind, time.monotonic() < until))
    found.sort(key=lambda each: each[0])
    for _, entry, value in found[:LISTED]:
        if time.monotonic() < until:
            entry["repr"] = values.brief_repr(value)
    listed = {key: sorted(names)[:DEFINED] for key, names in others.items()}
    listed["functions"] = [_signature(*pair) for pair in listed["functions"]]
    shown = [entry for _, entry, _ in found[:LISTED]]
    return {"variables": shown, "left_out": max(0, len(found) - LISTED), **listed}


def _measured(name, value, kind, patient):
    """Returns (where a variable is listed, its description without the repr, its value)."""
    size, group = kinds.basic_size(kind), _HOLDING
    entry = {"name": name, "type": kinds.name(kind)[:200], "repr": "", "size": size}
    try:
        if patient:
            group = _extent(entry, kind, value)
    except Exception:
        pass  # what a library can't say of its value is left out
    return (group, -entry["size"] if group != _VALUE else 0, name), entry, value


def _extent(entry, kind, value):
    """Adds what is known of a value's extent, and returns its group."""
    if id(kind) in _PLAIN:
        entry["size"] = kind.__sizeof__(value)
        return _VALUE
    known = values.known(value)
    if known is not None:
        shape, size = values.shape(known), values.memory(known)
        if shape:
            entry["shape"] = shape
        if size is not None:
            entry["size"] = int(size)
        return _DATA if shape or (shape is None and size is not None) else _VALUE
    base = kinds.container(kind)
    if base is None:
        return _HOLDING
    entry["size"] = base.__sizeof__(value)
    entry["length"] = base.__len__(value)
    is_short = base in (str, bytes, range) and entry["length"] <= values.REPR_LIMIT
    return _VALUE if is_short else _HOLDING


def _is_imported(kind):
    package = kinds.package(kind)
    known = {package, f"{package}.{kinds.name(kind)}"}
    return kinds.derives(kind, type) or not known.isdisjoint(_IMPORTED)


def _wrapped(value):
    """Returns the function that a decorated one or a cache calls, or None."""
    found = (kinds.fields(value) or {}).get("__wrapped__")
    return found if type(found) is FunctionType else None


class _Default:
    """A default, which is shown in brief."""

    def __init__(self, value):
        self._text = values.brief_repr(value, _DEFAULT_LIMIT)

    def __repr__(self):
        return self._text


def _signature(name, function):
    """Returns how a function is called; of a decorated one, what it decorates.

    It is asked of a copy, whose defaults are texts and which has no annotations.
    """
    function = _wrapped(function) or function
    code, defaults, keyed = function.__code__, function.__defaults__, function.__kwdefaults__
    copy = FunctionType(code, {}, "", None, function.__closure__)
    given = () if defaults is None else tuple.__getitem__(defaults, slice(None))
    copy.__defaults__ = tuple(map(_Default, given[max(0, len(given) - code.co_argcount) :]))
    if keyed is not None:
        names = [each for each in code.co_varnames if dict.__contains__(keyed, each)]
        copy.__kwdefaults__ = {each: _Default(dict.__getitem__(keyed, each)) for each in names}
    prefix = "async " if code.co_flags & _COROUTINES else ""
    text = f"{prefix}{name}{lazy_import.load('inspect').signature(copy)}"
    return text if len(text) <= SIGNATURE_LIMIT else text[: SIGNATURE_LIMIT - 1] + "…"
