"""Questions about a value's class, answered without running code of that class.

Classes are compared by identity: == and hash() are for their metaclass to define.
Nor is a class believed that says where it is from.
"""

import sys
from _collections import deque
from types import GetSetDescriptorType, MemberDescriptorType

_MRO = type.__dict__["__mro__"]
_NAME = type.__dict__["__name__"]
_MODULE = type.__dict__["__module__"]
_DICT = type.__dict__["__dict__"]
_BASICSIZE = type.__dict__["__basicsize__"]


def ids(*classes):
    """Returns what `id(kind) in …` asks for; the classes must never end."""
    return frozenset(map(id, classes))


_CONTAINERS = ids(list, tuple, dict, set, frozenset, str, bytes, bytearray, range, deque)
_SLOTS = ids(GetSetDescriptorType, MemberDescriptorType)


def bases(kind):
    """Returns a class and its bases, as they are searched."""
    return _MRO.__get__(kind)


def derives(kind, base):
    """Is issubclass that doesn't ask a metaclass."""
    return any(each is base for each in bases(kind))


def name(kind):
    """Returns a class's name."""
    return str.__str__(_NAME.__get__(kind))


def module(kind):
    """Returns the name of the module that a class says it is of, "" where it doesn't."""
    found = _MODULE.__get__(kind)
    return found if type(found) is str else ""


def package(kind):
    """Returns the top-level package that a class says it is of."""
    return module(kind).partition(".")[0]


def library(kind):
    """Returns that package where its module holds the class under its name, else ""."""
    where = module(kind)
    names = fields(sys.modules.get(where))
    is_there = names is not None and names.get(name(kind)) is kind
    return where.partition(".")[0] if is_there else ""


def names_of(kind):
    """Returns what is defined in the body of a class."""
    return _DICT.__get__(kind)


def basic_size(kind):
    """Returns the bytes of an instance without what its length adds."""
    return _BASICSIZE.__get__(kind)


def container(kind):
    """Returns the builtin container that a class is or derives from, or None."""
    for base in bases(kind):
        if id(base) in _CONTAINERS:
            return base
    return None


def fields(value):
    """Returns the __dict__ of an instance, or None; a __dict__ of its class's making is none."""
    for base in bases(type(value)):
        slot = _DICT.__get__(base).get("__dict__")
        if slot is not None:
            break
    if id(type(slot)) not in _SLOTS:
        return None
    try:
        held = slot.__get__(value)
    except Exception:
        return None
    return held if type(held) is dict else None
