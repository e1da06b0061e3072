"""What a namespace holds beside data: functions and classes of its own, and imports."""

from types import BuiltinFunctionType, FunctionType, ModuleType

from . import kinds
from .brief import brief_repr

LISTED = 300  # of each kind
SIGNATURE_LIMIT = 120  # characters
_DEFAULT_LIMIT = 20  # characters of a default

_VARARGS, _VARKEYWORDS = 0x04, 0x08  # of co_flags
_COROUTINES = 0x80 | 0x200

# What modules give away beside functions and classes.
_IMPORTED_HOMES = frozenset(("typing", "__future__"))
_IMPORTED_KINDS = frozenset(("ufunc", "_ArrayFunctionDispatcher"))  # numpy's functions


class Definitions:
    """Sorts out what is not data."""

    def __init__(self, namespace):
        self._namespace = namespace
        self._functions, self._classes, self._imports = [], [], []

    def take(self, name, value):
        """Keeps a name if its value is no data, and says whether it is kept."""
        kind = type(value)
        function = value if kind is FunctionType else _wrapped(kind, value)
        if function is not None:
            if function.__globals__ is self._namespace:
                self._functions.append((name, function))
            else:
                self._imports.append(name)
        elif kinds.derives(kind, type):
            own = kinds.module(value) == "__main__"
            (self._classes if own else self._imports).append(name)
        elif kinds.derives(kind, ModuleType):
            self._imports.append(_as(name, value))
        elif kind is BuiltinFunctionType or _is_imported(kind):
            self._imports.append(name)
        else:
            return False
        return True

    def listed(self):
        """Returns the names by what they stand for, functions as they are called."""
        functions = sorted(self._functions, key=lambda pair: pair[0])
        return {
            "functions": [signature(*pair) for pair in functions[:LISTED]],
            "classes": sorted(self._classes)[:LISTED],
            "imports": sorted(self._imports)[:LISTED],
        }


def _wrapped(kind, value):
    """Returns the function inside functools' caches, or None."""
    found = (kinds.fields(value) or {}).get("__wrapped__") if _is_cache(kind) else None
    return found if type(found) is FunctionType else None


def _is_cache(kind):
    return kinds.name(kind) == "_lru_cache_wrapper" and kinds.module(kind) == "functools"


def _is_imported(kind):
    if kinds.home(kind) in _IMPORTED_HOMES:
        return True
    return kinds.name(kind) in _IMPORTED_KINDS and kinds.package(kind) == "numpy"


def _as(name, module):
    """Says which module a name is for, where it is another than it says."""
    full = (kinds.fields(module) or {}).get("__name__")
    return name if type(full) is not str or full == name else f"{name} ({full:.100})"


def signature(name, function):
    """Returns how a function is called; of a decorated one, what it decorates."""
    inner = (kinds.fields(function) or {}).get("__wrapped__")
    if type(inner) is FunctionType:
        function = inner
    code = function.__code__
    prefix = "async " if code.co_flags & _COROUTINES else ""
    text = f"{prefix}{name}({', '.join(_parameters(function, code))})"
    return text if len(text) <= SIGNATURE_LIMIT else text[: SIGNATURE_LIMIT - 1] + "…"


def _parameters(function, code):
    positional, keyword = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    given = function.__defaults__
    defaults = () if given is None else tuple(tuple.__iter__(given))
    without = positional - len(defaults)
    for i, name in enumerate(names[:positional]):
        yield name if i < without else _default(name, defaults[i - without])
    rest = positional + keyword
    if code.co_flags & _VARARGS:
        yield "*" + names[rest]
        rest += 1
    elif keyword:
        yield "*"
    keyed = function.__kwdefaults__
    for name in names[positional : positional + keyword]:
        has_default = keyed is not None and dict.__contains__(keyed, name)
        yield _default(name, dict.__getitem__(keyed, name)) if has_default else name
    if code.co_flags & _VARKEYWORDS:
        yield "**" + names[rest]


def _default(name, value):
    text = brief_repr(value, _DEFAULT_LIMIT)
    return f"{name}={text}"
