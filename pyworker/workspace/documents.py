"""JSON by its shape, and texts by their beginning."""

import json
import re

from .words import (
    CELL,
    NotSaid,
    about,
    clean,
    count,
    fence,
    listed,
    named,
    number,
    section,
    share,
    size,
    spread,
)

_DEPTH = 24  # levels of a value that are told apart
_KEYS = 200  # of an object that are told apart
_SHAPES = 5000  # keys of a whole file
_SHOWN_KEYS = 30
_SHOWN_LEVELS = 5
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)


def _widened(span, value):
    if not span or value < span[0]:
        return [value, span[1] if span else value]
    return [span[0], value] if value > span[1] else span


class _Shape:
    """What the values at one place of JSON have in common."""

    def __init__(self, room):
        self._room = room  # [how many shapes may be made yet], which all of a file share
        self.seen = self.objects = self.nulls = self.booleans = 0
        self.lengths = []  # of arrays: the least and the most
        self.range = []  # of numbers
        self.fractions = False
        self.examples = []
        self.below = {}
        self.other_keys = set()
        self.element = None

    def take(self, value, depth=0):
        """Takes in a value."""
        self.seen += 1
        if value is None:
            self.nulls += 1
        elif isinstance(value, bool):
            self.booleans += 1
        elif isinstance(value, (int, float)):
            self.fractions = self.fractions or isinstance(value, float)
            self.range = _widened(self.range, value)
        elif isinstance(value, str):
            if len(self.examples) < 3 and clean(value, CELL) not in self.examples:
                self.examples.append(clean(value, CELL))
        elif isinstance(value, dict):
            self.objects += 1
            if depth < _DEPTH:
                for key, below in value.items():
                    self._key(key, below, depth + 1)
        else:
            self.lengths = _widened(self.lengths, len(value))
            self.element = self.element or _Shape(self._room)
            if depth < _DEPTH:
                for each in value:
                    self.element.take(each, depth + 1)

    def _key(self, key, value, depth):
        if key not in self.below:
            if len(self.below) >= _KEYS or not self._room[0]:
                self.other_keys.add(hash(key))
                return
            self._room[0] -= 1
            self.below[key] = _Shape(self._room)
        self.below[key].take(value, depth)

    def describe(self):
        """Says in a line what the values are."""
        kinds = ["object"] if self.objects else []
        if self.lengths:
            least, most = self.lengths
            words = "array of " + ("" if least == most else f"{least} to ") + count(most, "element")
            each = self.element.describe()
            kinds.append(words + (f", each {each}" if each != "nothing" else ""))
        if self.range:
            kinds.append(
                f"{'number' if self.fractions else 'integer'}, {spread(*self.range, number)}"
            )
        kinds += ["boolean"] if self.booleans else []
        kinds += [f"text, such as {listed(self.examples, 2)}"] if self.examples else []
        kinds += ["null"] if self.nulls else []
        return " or ".join(kinds) or "nothing"

    def _members(self):
        """Returns the shape whose keys a reader sees below: its own, or its elements'."""
        shape = self
        while shape and not shape.below:
            shape = shape.element
        return shape

    def lines(self, level=0):
        """Lists the keys and theirs."""
        shape = self._members()
        if not shape or level >= _SHOWN_LEVELS:
            return []
        lines, indent = [], "  " * level
        for key, below in list(shape.below.items())[:_SHOWN_KEYS]:
            part = (
                f" (in {share(below.seen, shape.objects)} of them)"
                if below.seen < shape.objects
                else ""
            )
            lines.append(f"{indent}- {named(key)}: {below.describe()}{part}")
            lines += below.lines(level + 1)
        left = max(0, len(shape.below) - _SHOWN_KEYS) + len(shape.other_keys)
        return lines + ([f"{indent}- … {count(left, 'more key')}"] if left else [])

    def names(self):
        """Lists the keys in one line."""
        shape = self._members()
        if not shape:
            return ""
        names = [named(key) for key in list(shape.below)[:_SHOWN_KEYS]]
        left = max(0, len(shape.below) - _SHOWN_KEYS) + len(shape.other_keys)
        return "Keys: " + ", ".join(names + ([f"… {count(left, 'more key')}"] if left else []))

    def section(self, head):
        """Returns what is told of a file."""
        return section(head, self.lines(), self.names())


def _integer(digits):
    return int(digits) if len(digits) < 300 else float(digits)  # which Python limits


def _parsed(text):
    """Reads a value. What JSON does not have, and Python writes, is null."""
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=_integer)
    except RecursionError:
        raise NotSaid("not looked into: it is too deeply nested") from None


def read_json(sample, _):
    """Describes a document; of a large one its beginning, and one of several as lines."""
    sample.refuse_binary()
    head, shape = sample.blocks[0], _Shape([_SHAPES])
    words = "JSON"
    if not sample.whole:
        words = f"JSON, of which the first {size(len(head))} were read"
    try:
        shape.take(_parsed(head if sample.whole else _ended(head)))
    except ValueError as error:
        if "Extra data" in str(error):
            return read_lines(sample, _)
        raise NotSaid(f"not valid JSON at byte {getattr(error, 'pos', 0)}") from None
    return shape.section(
        f"{words}: {shape.describe()}{'' if sample.whole else ' (its end was not seen)'}"
    )


def _ended(text):
    """Ends a document that was cut, after a value that is whole, as high up as is far enough."""
    open_ones, ends, closing = [], {}, ""  # ends, by depth: where, and what closes it there
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "[{":
            open_ones.append("]" if mark == "[" else "}")
        elif mark in "]}":
            if not open_ones or open_ones.pop() != mark:
                break
            if not open_ones:  # it is whole, and there is more
                return text
        elif mark == "," and len(open_ones) < _DEPTH:
            ends[len(open_ones)] = token.start(), closing
        if mark in "[]{}" and len(open_ones) < _DEPTH:
            closing = "".join(reversed(open_ones))
    far = [ends[depth] for depth in sorted(ends) if ends[depth][0] > len(text) // 2]
    end, closing = far[0] if far else max(ends.values(), default=(0, "null"))
    return text[:end] + closing


def read_lines(sample, _):
    """Describes a file with a JSON value on each line."""
    sample.refuse_binary()
    shape, lines, broken, used = _Shape([_SHAPES]), 0, 0, 0
    for i, block in enumerate(sample.blocks):
        found = block.split("\n")
        found = found[1 if i else 0 : None if sample.whole else -1]  # the others were cut
        used += sum(map(len, found)) + len(found)
        for line in filter(str.strip, found):
            lines += 1
            try:
                shape.take(_parsed(line))
            except (ValueError, NotSaid):
                broken += 1
    if not lines:
        raise NotSaid(
            f"not looked into: its first line is longer than {size(len(sample.blocks[0]))}"
        )
    if broken == lines:
        raise NotSaid("not valid JSON")
    words = f"JSON lines: {count(lines, 'line')}"
    if not sample.whole:
        estimate = about(sample.size * lines / (used * sample.wide))
        words = (
            f"JSON lines: about {count(estimate, 'line')}, from a sample of {count(lines, 'line')}"
        )
    words += f", each {shape.describe()}"
    if broken:
        words += f"; {share(broken, lines)} of the lines are not valid JSON"
    return shape.section(words)


def read_text(sample, _):
    """Gives a short text whole and of a longer one the beginning."""
    if sample.is_binary():
        raise NotSaid("")
    text = sample.blocks[0].replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n")
    words = "Text" + (f", encoding {sample.encoding}" if sample.encoding else "")
    if sample.whole:
        words += f", {count(len(lines), 'line')}"
    else:
        estimate = about(sample.size / (max(1, len(text)) * sample.wide) * len(lines))
        words += f", about {count(estimate, 'line')}"
    words += ":"
    if not (sample.whole and len(lines) < 30 and len(text) <= 2500):
        words, lines = words[:-1] + "; it begins:", lines[:8]
    shown = "\n".join(clean(line.replace("\t", "    "), 160).rstrip() for line in lines)
    return section(words, fence(shown))
