"""A short repr of any value, made without running code of its class."""

import sys

from . import kinds

REPR_LIMIT = 500  # characters
DEPTH = 4  # containers in containers

_BRACKETS = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
_ATOMS = frozenset((int, float, complex, bool, range, type(None), type(...)))

# Modules of the standard library whose values can be trusted with their own repr.
_TRUSTED = frozenset(("datetime", "decimal", "fractions", "uuid", "pathlib", "pathlib._local"))


def brief_repr(value):
    """Returns a repr of at most REPR_LIMIT characters."""
    writer = _Writer()
    try:
        writer.add(value, 0)
    except _Full:
        pass
    except Exception:  # it changed while we read it, or a library failed
        return f"<{kinds.name(type(value))} object>"
    text = "".join(writer.parts)
    return text if len(text) <= REPR_LIMIT else text[: REPR_LIMIT - 1] + "…"


class _Full(Exception):
    """There are enough characters."""


class _Writer:
    """Writes a repr in pieces until there are enough."""

    def __init__(self):
        self.parts = []
        self._length = 0

    def add(self, value, depth):
        """Writes one value."""
        kind = type(value)
        base = kinds.container(kind)
        if base in (str, bytes, bytearray):
            self._write(repr(base.__getitem__(value, slice(REPR_LIMIT))))
        elif base in _BRACKETS:
            self._container(value, base, depth)
        elif kind is int and value.bit_length() > 2000:
            self._write(f"<int of {value.bit_length()} bits>")
        elif kind in _ATOMS or kinds.module(kind) in _TRUSTED:
            self._write(repr(value))
        elif kinds.package(kind) in ("numpy", "pandas"):
            self._write(_of_library(kind, value))
        else:
            self._instance(kind, value, depth)

    def _write(self, text):
        self.parts.append(text)
        self._length += len(text)
        if self._length > REPR_LIMIT:
            raise _Full

    def _container(self, value, base, depth):
        length = base.__len__(value)
        if depth == DEPTH or (length == 0 and base in (set, frozenset)):
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

    def _instance(self, kind, value, depth):
        """Shows an Enum's name and a dataclass's fields, of others the class alone."""
        fields = kinds.fields(value)
        name = kinds.name(kind)
        bases = kinds.bases(kind)
        if fields and _is_enum(bases):
            self._write(f"<{name}.{fields.get('_name_')!s:.100}>")
        elif fields and depth < DEPTH and any("__dataclass_fields__" in vars(b) for b in bases):
            self._write(f"{name}(")
            for i, (field, item) in enumerate(fields.items()):
                self._write(f"{', ' if i else ''}{field}=")
                self.add(item, depth + 1)
            self._write(")")
        elif BaseException in bases:
            self._write(name)
            self.add(BaseException.args.__get__(value), depth + 1)
        else:
            self._write(f"<{name} object>")


def _is_enum(bases):
    enum = sys.modules.get("enum")
    return enum is not None and enum.Enum in bases


def _of_library(kind, value):
    """Shows a value of numpy's or pandas': its extent and how it begins."""
    name = kinds.name(kind)
    if name == "DataFrame":
        rows, columns = value.shape
        pairs = zip(value.columns[:30].tolist(), value.dtypes.iloc[:30].tolist())
        listed = ", ".join(f"{brief_repr(column)}: {dtype!s:.40}" for column, dtype in pairs)
        return f"<DataFrame, {rows} rows x {columns} columns: {listed}>"
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        head = value.iloc[:50] if name == "Series" else getattr(value, "flat", value)[:50]
        shape = "x".join(str(n) for n in value.shape)
        return f"<{name} of {shape} {value.dtype!s:.60}: {brief_repr(head.tolist())}>"
    if kinds.package(kind) == "numpy" and hasattr(value, "item"):
        return f"{name}({brief_repr(value.item())})"
    if hasattr(value, "isoformat") or name in ("NAType", "Timedelta", "Interval", "Period"):
        return repr(value)
    return f"<{name} object>"
