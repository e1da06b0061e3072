"""Questions about a value's class, answered without running code of that class.

Classes are compared by identity: == and hash() are for their metaclass to define.
Nor is a class believed that says where it is from.
"""

import sys
from _collections import deque
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType

_MRO = type.__dict__["__mro__"]
_NAME = type.__dict__["__name__"]
_MODULE = type.__dict__["__module__"]
_DICT = type.__dict__["__dict__"]
_BASICSIZE = type.__dict__["__basicsize__"]

CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, bytearray, range, deque)


def ids(*classes):
    """Returns what `id(kind) in …` asks for; the classes must never end."""
    return frozenset(map(id, classes))


_CONTAINER_IDS = ids(*CONTAINERS)


def bases(kind):
    """Returns a class and its bases, as they are searched."""
    return _MRO.__get__(kind)


def derives(kind, base):
    """Is issubclass that doesn't ask a metaclass."""
    return any(each is base for each in bases(kind))


def name(kind):
    """Returns a class's name."""
    found = _NAME.__get__(kind)
    return found if type(found) is str else str.__str__(found)


def module(kind):
    """Returns the name of the module that a class says it is of, "" where it doesn't."""
    found = _MODULE.__get__(kind)
    return found if type(found) is str else ""


def home(kind):
    """Returns the name of the module that holds a class under its name, or ""."""
    where = module(kind)
    found = sys.modules.get(where)
    names = found.__dict__ if type(found) is ModuleType else fields(found)
    return where if names is not None and names.get(name(kind)) is kind else ""


def library(kind):
    """Returns the top-level package of a class's home."""
    return home(kind).partition(".")[0]


def package(kind):
    """Returns the top-level package that a class says it is of."""
    return module(kind).partition(".")[0]


def names_of(kind):
    """Returns what is defined in the body of a class."""
    return _DICT.__get__(kind)


def basic_size(kind):
    """Returns the bytes of an instance without what its length adds."""
    return _BASICSIZE.__get__(kind)


def container(kind):
    """Returns the builtin container that a class is or derives from, or None."""
    for base in bases(kind):
        if id(base) in _CONTAINER_IDS:
            return base
    return None


def fields(value):
    """Returns the __dict__ of an instance, or None; a __dict__ of its class's making is none."""
    for base in bases(type(value)):
        found = _DICT.__get__(base).get("__dict__")
        if found is None:
            continue
        kind = type(found)
        if kind is not GetSetDescriptorType and kind is not MemberDescriptorType:
            return None
        try:
            held = found.__get__(value)
        except Exception:
            return None
        return held if type(held) is dict else None
    return None
