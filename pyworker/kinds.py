"""Questions about a value's class, answered without running code of that class."""

_MRO = type.__dict__["__mro__"]
_NAME = type.__dict__["__name__"]
_MODULE = type.__dict__["__module__"]

CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, bytearray, range)


def bases(kind):
    """Returns a class and its bases, as they are searched."""
    return _MRO.__get__(kind)


def is_one_of(value, classes):
    """Is isinstance that doesn't ask the value for its __class__."""
    return any(base in classes for base in bases(type(value)))


def name(kind):
    """Returns a class's name."""
    return _NAME.__get__(kind)


def module(kind):
    """Returns the name of a class's module, "" where it doesn't say."""
    found = _MODULE.__get__(kind)
    return found if type(found) is str else ""


def package(kind):
    """Returns the top-level package of a class's module."""
    return module(kind).partition(".")[0]


def container(kind):
    """Returns the builtin container that a class is or derives from, or None."""
    for base in bases(kind):
        if base in CONTAINERS:
            return base
    return None


def fields(value):
    """Returns the __dict__ of an instance, past a __getattribute__ of its class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return None
    return found if type(found) is dict else None
