"""A short repr of any value, made without running code of its class."""

import sys
from _collections import deque
from types import SimpleNamespace

from . import kinds, libraries

REPR_LIMIT = 500  # characters
DEPTH = 4  # containers in containers

_BITS = 2000  # of an int that is written in digits

_BRACKETS = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
    deque: ("deque([", "])"),
}
_TEXTS = (str, bytes, bytearray)
_ATOMS = kinds.ids(float, complex, bool, type(None), type(...))

# Packages that are not named with an object that shows nothing but its class.
_UNNAMED = frozenset(("", "__main__", "builtins"))

# Modules of the standard library whose values can be trusted with their own repr.
TRUSTED = frozenset(("datetime", "decimal", "fractions", "uuid", "pathlib", "pathlib._local"))


def brief_repr(value, limit=REPR_LIMIT):
    """Returns a repr of at most limit characters."""
    writer = _Writer(limit)
    try:
        writer.add(value, 0)
    except _Full:
        pass
    except Exception:  # it changed while we read it, or a library failed
        return f"<{kinds.name(type(value)):.100} object>"
    text = "".join(writer.parts)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class _Full(Exception):
    """There are enough characters."""


class _Writer:
    """Writes a repr in pieces until there are enough."""

    def __init__(self, limit):
        self.parts = []
        self._left = limit

    def add(self, value, depth):
        """Writes one value."""
        kind = type(value)
        base = kinds.container(kind)
        if base in _TEXTS:
            self._write(repr(base.__getitem__(value, slice(max(self._left, 0) + 1))))
        elif base in _BRACKETS:
            self._container(value, base, depth)
        elif kind is int:
            self._integer(value)
        elif base is range:
            steps = () if value.step == 1 else (value.step,)
            self._call("range", (value.start, value.stop, *steps), depth)
        elif id(kind) in _ATOMS:
            self._write(repr(value))
        else:
            self._other(kind, value, depth)

    def _write(self, text):
        self.parts.append(text)
        self._left -= len(text)
        if self._left < 0:
            raise _Full

    def _integer(self, value):
        bits = value.bit_length()
        self._write(f"<int of {bits} bits>" if bits > _BITS else repr(value))

    def _container(self, value, base, depth):
        length = base.__len__(value)
        if depth >= DEPTH or (length == 0 and base in (set, frozenset)):
            self._write("…" if length else f"{base.__name__}()")
            return
        start, end = _BRACKETS[base]
        self._write(start)
        for i, item in enumerate(base.items(value) if base is dict else base.__iter__(value)):
            self._write(", " if i else "")
            if base is dict:
                self.add(item[0], depth + 1)
                self._write(": ")
                item = item[1]
            self.add(item, depth + 1)
        self._write("," + end if base is tuple and length == 1 else end)

    def _call(self, name, arguments, depth):
        self._write(f"{name:.100}(")
        for i, argument in enumerate(arguments):
            self._write(", " if i else "")
            self.add(argument, depth + 1)
        self._write(")")

    def _other(self, kind, value, depth):
        reader = libraries.reader(kind)
        home = kinds.home(kind)
        if reader is not None and depth > DEPTH:
            self._write("…")
        elif reader is not None:
            self._library(reader, value, depth)
        elif home == "fractions":
            parts = (kinds.names_of(kind)[slot] for slot in ("_numerator", "_denominator"))
            self._call("Fraction", [part.__get__(value) for part in parts], depth)
        elif home in TRUSTED:
            self._write(_trusted(value))
        else:
            self._instance(kind, value, depth)

    def _library(self, reader, value, depth):
        """Shows a library's value; the library may fail, of the next release say."""
        try:
            pieces = list(reader.text(value))
        except Exception:
            pieces = [f"<{kinds.name(type(value)):.100} object>"]
        for piece in pieces:
            if type(piece) is str:
                self._write(piece)
            else:
                self.add(piece[0], depth + 1)

    def _instance(self, kind, value, depth):
        """Shows an Enum's name and a dataclass's fields, of others the class alone."""
        fields = kinds.fields(value) or {}
        name = kinds.name(kind)
        enum = sys.modules.get("enum")
        if enum is not None and kinds.derives(kind, enum.Enum):
            member = fields.get("_name_")
            self._write(f"<{name:.100}.{member if type(member) is str else '…':.100}>")
        elif fields and depth < DEPTH and _shows_fields(kind):
            self._fields(name, fields, depth)
        elif kinds.derives(kind, BaseException):
            self._call(name, tuple.__iter__(BaseException.args.__get__(value)), depth)
        else:
            package = kinds.library(kind)
            origin = "" if package in _UNNAMED else f"{package:.100} "
            self._write(f"<{origin}{name:.100} object>")

    def _fields(self, name, fields, depth):
        self._write(f"{name:.100}(")
        named = ((field, item) for field, item in fields.items() if type(field) is str)
        for i, (field, item) in enumerate(named):
            self._write(f"{', ' if i else ''}{field:.100}=")
            self.add(item, depth + 1)
        self._write(")")


def _shows_fields(kind):
    return kind is SimpleNamespace or any(
        "__dataclass_fields__" in kinds.names_of(base) for base in kinds.bases(kind)
    )


def _trusted(value):
    """Returns the repr of a value, but for a time zone of the user's in it."""
    zone = getattr(value, "tzinfo", None)
    if libraries.zone_is_known(zone):
        return repr(value)
    naive = repr(value.replace(tzinfo=None))
    return f"{naive[:-1]}, tzinfo=<{kinds.name(type(zone)):.100} object>)"
