"""Texts by their beginning, and JSON by its shape."""

import bz2
import codecs
import gzip
import json
import zlib
from itertools import chain, islice

from .tables import is_table, read_table
from .words import (
    NotSaid,
    about,
    clean,
    count,
    fence,
    named,
    quoted,
    section,
    share,
    size,
    spread,
    what_is_wrong,
)

_PART = 4 << 20  # bytes that are read of what is not read whole, or has to be unpacked
_KEYS = 30  # of an object that are told
_LEVELS = 5
_LINES = 1000  # on keys, in all
_WHOLE, _WHOLE_LINES = 2500, 30  # characters, and lines, of a text that is shown whole
_BEGINNING = 8  # lines of a longer one


class Sample:
    """The beginning of a text, up to a line's end where it is not the whole.

    size: bytes of the whole, read: of the text, both as it is stored but not compressed;
    encoding: "" for UTF-8.
    """

    def __init__(self, file, name, stored, room):
        packed = {"gz": gzip.open, "bz2": bz2.open}.get(name.lower().rpartition(".")[2])
        data, self.whole, self.size = b"", stored <= room, stored
        if packed is None:
            data = file.read(room if self.whole else min(room, _PART))
        else:
            data = self._unpack(packed(file), min(room, _PART))
            self.size = len(data) if self.whole else len(data) * stored / max(1, file.tell())
        if not data:
            raise NotSaid("empty")
        if not self.whole and b"\n" in data:
            data = data[: data.rindex(b"\n") + 1]
        self.read = len(data)
        self.text, self.encoding = _decoded(data, self.whole)

    def _unpack(self, plain, room):
        data = b""
        try:
            while len(data) < room and (more := plain.read(64 << 10)):
                data += more
            self.whole = len(data) < room
        except (OSError, EOFError, zlib.error) as error:
            if not data:
                why = what_is_wrong(error).rpartition(": ")[2]
                raise NotSaid(f"can't be unpacked: {why}") from None
            self.whole = False
        return data

    def refuse_binary(self, why="not a text"):
        """Raises NotSaid if the text is none; NULs further on are left out."""
        if "\0" in self.text[:8192]:
            raise NotSaid(why)
        self.text = self.text.replace("\0", "")


def _decoded(data, whole):
    if wide := _wide(data[:4096]):
        return data.decode(wide, "ignore"), wide  # such as half of a character at the end
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace"), "utf-8-sig"
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, whole)
    broken = text.count("\ufffd")
    if broken and 2 * broken > len(text) - len(text.encode("ascii", "ignore")):
        return data.decode("cp1252", "replace"), "cp1252"
    return text, f"utf-8 with {count(broken, 'broken byte')}" if broken else ""


def _wide(head):
    """Recognizes UTF-16 by its mark, or by text of which every second byte is zero."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd, half = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if half >= 4 and odd > half * 0.7 and even * 20 <= half:
        return "utf-16-le"
    return "utf-16-be" if half >= 4 and even > half * 0.7 and odd * 20 <= half else ""


def read_text(sample, _):
    """Gives a short text whole and of a longer one the beginning."""
    sample.refuse_binary("")
    lines = sample.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    words = "Text" + (f", encoding {sample.encoding}" if sample.encoding else "")
    if sample.whole:
        words += f", {count(len(lines), 'line')}"
    else:
        words += f", about {count(about(sample.size / sample.read * len(lines)), 'line')}"
    if not (sample.whole and len(lines) < _WHOLE_LINES and len(sample.text) <= _WHOLE):
        words, lines = f"{words}; it begins", lines[:_BEGINNING]
    shown = "\n".join(clean(line.replace("\t", "    "), 160).rstrip() for line in lines)
    return section(f"{words}:", fence(shown))


def read_text_or_table(sample, name):
    """Is for names that say little: a text whose lines have as many fields each is a table."""
    sample.refuse_binary("")
    return (read_table if is_table(sample.text) else read_text)(sample, name)


def read_json(sample, name):
    """Describes a document; one of several values as lines, a large one by its beginning."""
    sample.refuse_binary()
    try:
        value = _parsed(sample.text)
    except ValueError as error:
        if "Extra data" in str(error):
            return read_lines(sample, name)
        if not sample.whole:
            head = f"JSON, of which the first {size(sample.read)} were read; it begins:"
            return section(head, fence(clean(sample.text, 1000)))
        raise NotSaid(f"not valid JSON at byte {getattr(error, 'pos', 0)}") from None
    return _shape(f"JSON: {_kinds([value])}", [value])


def read_lines(sample, _):
    """Describes a file with a JSON value on each line."""
    sample.refuse_binary()
    values, broken = [], 0
    for line in filter(str.strip, sample.text.split("\n")):
        try:
            values.append(_parsed(line))
        except (ValueError, NotSaid):
            broken += 1
    if not values:
        raise NotSaid("not valid JSON" if sample.whole else "not looked into: its lines are long")
    n = len(values) + broken
    lines = count(n, "line")
    if not sample.whole:
        lines = f"about {count(about(sample.size / sample.read * n), 'line')}, of which {n:,} read"
    words = f"JSON lines: {lines}, each {_kinds(values)}"
    if broken:
        words += f"; {share(broken, n)} of the lines are not valid JSON"
    return _shape(words, values)


def _parsed(text):
    """Reads a value. What JSON does not have, and Python writes, is null."""

    def integer(digits):
        return int(digits) if len(digits) < 300 else float(digits)  # which Python limits

    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=integer)
    except RecursionError:
        raise NotSaid("not looked into: it is too deeply nested") from None


def _shape(head, values):
    """Returns what is told of a file with the values."""
    objects = _objects(values)
    keys = list(dict.fromkeys(chain.from_iterable(objects)))
    names = ", ".join([*map(named, keys[:_KEYS]), *_more(keys)])
    return section(head, islice(_lines(objects), _LINES), f"Keys: {names}" if keys else "")


def _objects(values):
    """Returns the objects that the values are, or that arrays of theirs hold."""
    for _ in range(_LEVELS):
        if objects := [each for each in values if isinstance(each, dict)]:
            return objects
        values = list(chain.from_iterable(each for each in values if isinstance(each, list)))
    return []


def _lines(objects, level=0):
    """Lists the keys of objects, and theirs: one line after the other, for they may be many."""
    if level >= _LEVELS:
        return
    indent = "  " * level
    keys = list(dict.fromkeys(chain.from_iterable(objects)))
    for key in keys[:_KEYS]:
        below = [each[key] for each in objects if key in each]
        part = f" (in {share(len(below), len(objects))} of them)"
        line = f"{indent}- {named(key)}: {_kinds(below)}"
        yield line + (part if len(below) < len(objects) else "")
        yield from _lines(_objects(below), level + 1)
    yield from (f"{indent}- {each}" for each in _more(keys))


def _more(keys):
    left = len(keys) - _KEYS
    return [f"… {count(left, 'more key')}"] if left > 0 else []


def _kinds(values, depth=0):
    """Says in a line what the values at one place are."""
    by_type, kinds = {}, []
    for each in values:
        by_type.setdefault(type(each), []).append(each)
    if dict in by_type:
        kinds.append("object")
    if arrays := by_type.get(list):
        lengths = list(map(len, arrays))
        words = "" if min(lengths) == max(lengths) else f"{min(lengths)} to "
        words = f"array of {words}{count(max(lengths), 'element')}"
        elements = list(chain.from_iterable(arrays))
        inner = _kinds(elements, depth + 1) if elements and depth < _LEVELS else ""
        kinds.append(words + (f", each {inner}" if inner else ""))
    if numbers := [*by_type.get(int, ()), *by_type.get(float, ())]:
        word = "number" if float in by_type else "integer"
        kinds.append(f"{word}, {spread(min(numbers), max(numbers))}")
    if bool in by_type:
        kinds.append("boolean")
    if texts := by_type.get(str):
        kinds.append(f"text, such as {', '.join(map(quoted, dict.fromkeys(texts[:2])))}")
    if type(None) in by_type:
        kinds.append("null")
    return " or ".join(kinds)
