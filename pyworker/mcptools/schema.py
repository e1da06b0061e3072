"""JSON schemas as Python's types: what a signature shows.

A schema is somebody else's: it may be broken, recurse, or be very large. What can't be
understood is Any; the server checks arguments against the whole schema.
"""

import inspect
import keyword
import re
import types
import typing
from collections import namedtuple

REST = "more"  # the name of **more, where a schema takes what it does not name
_DEEPEST = 6
_TYPES = 300  # in one tool's schema; the rest is Any
_CHOICES = 50  # of a Literal

_PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}

# name is the schema's, schema its own part; python is an inspect.Parameter.
Parameter = namedtuple("Parameter", "name schema required python")


class _LeftOut:
    """The default of an argument that is left out of the call."""

    def __repr__(self):
        return "..."


LEFT_OUT = _LeftOut()


def parameters(tool):
    """Returns a Parameter for each argument of a tool, those that are required first."""
    root = _of(tool.get("input_schema"))
    needed, reader, taken, found = set(required(tool)), _Reader(root, tool["function"]), set(), []
    for name, part in _of(root.get("properties")).items():
        python = _identifier(name, taken)
        is_needed = name in needed
        found.append(
            Parameter(
                name,
                part,
                is_needed,
                inspect.Parameter(
                    python,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if is_needed else LEFT_OUT,
                    annotation=reader.type(part, python),
                ),
            )
        )
    found.sort(key=lambda each: not each.required)
    if root.get("additionalProperties") not in (None, False) and REST not in taken:
        more = inspect.Parameter(REST, inspect.Parameter.VAR_KEYWORD, annotation=typing.Any)
        found.append(Parameter(REST, {}, False, more))
    return found


def required(tool):
    """Returns the names of the arguments that a tool requires, as its schema has them."""
    root = _of(tool.get("input_schema"))
    names = root.get("required")
    known = _of(root.get("properties"))
    return [n for n in names if isinstance(n, str) and n in known] if isinstance(names, list) else []


def has_optional(tool):
    """Says whether a tool takes more than it requires."""
    return len(_of(_of(tool.get("input_schema")).get("properties"))) > len(required(tool))


def result_type(tool):
    """Returns the type of what a tool returns."""
    root = tool.get("output_schema")
    if not isinstance(root, dict):
        return typing.Any
    properties = _of(root.get("properties"))
    if [*properties] == ["result"]:
        root = {**_of(properties["result"]), "$defs": root.get("$defs", {})}
    return _Reader(root, tool["function"]).type(root, "result")


def _of(value):
    return value if isinstance(value, dict) else {}


def _identifier(name, taken):
    """Returns a name of Python's own for an argument, that no other has."""
    text = re.sub(r"\W", "_", name) or "_"
    if text[0].isdigit():
        text = "_" + text
    if keyword.iskeyword(text):
        text += "_"
    base, number = text, 2
    while text in taken:
        text, number = f"{base}_{number}", number + 1
    taken.add(text)
    return text


class _Reader:
    """Reads the types of one tool's schema."""

    def __init__(self, root, function):
        self._root = root
        self._function = function
        self._left = _TYPES

    def type(self, schema, name, depth=0):
        """Returns the type that a part of the schema means; name is for a TypedDict."""
        self._left -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._left < 0:
            return typing.Any
        try:
            return self._known(schema, name, depth)
        except (TypeError, ValueError, AttributeError, KeyError):  # it is broken
            return typing.Any

    def _known(self, schema, name, depth):
        if "$ref" in schema:
            return self.type(self._resolve(schema["$ref"]), name, depth + 1)
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(choices, list) and 0 < len(choices) <= _CHOICES:
            if all(isinstance(each, (str, int, bool, type(None))) for each in choices):
                return typing.Literal[tuple(choices)]
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return self._union([(each, name) for each in schema[key]], depth)
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self.type(schema["allOf"][0], name, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._union([({**schema, "type": each}, name) for each in kind], depth)
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "array":
            inner = self.type(schema.get("items"), name + "_item", depth + 1)
            return list if inner is typing.Any else list[inner]
        return self._object(schema, name, depth) if kind == "object" else typing.Any

    def _union(self, parts, depth):
        found = tuple(self.type(part, name, depth + 1) for part, name in parts[:20])
        return typing.Any if typing.Any in found or not found else typing.Union[found]

    def _object(self, schema, name, depth):
        properties = _of(schema.get("properties"))
        if not properties:
            inner = self.type(schema.get("additionalProperties"), name, depth + 1)
            return dict if inner is typing.Any else dict[str, inner]
        needed = schema.get("required")
        needed = needed if isinstance(needed, list) else []
        fields = {
            key: self.type(each, f"{name}_{key}", depth + 1)
            for key, each in [*properties.items()][:100]
        }
        words = re.split(r"[\W_]+", f"{self._function}_{name}")
        title = "".join(word[:1].upper() + word[1:] for word in words)
        made = typing.TypedDict(title, fields, total=all(key in needed for key in fields))
        made.__module__ = "mcptools"
        return made

    def _resolve(self, ref):
        """Returns the part of the schema that a reference within it names."""
        part = self._root
        if not ref.startswith("#"):
            return None
        for step in ref[1:].split("/")[1:]:
            part = part[step.replace("~1", "/").replace("~0", "~")]
        return part


def show(kind, indent=""):
    """Returns a type as a reader wants it, the fields of an object below it."""
    if typing.is_typeddict(kind):
        fields = kind.__annotations__
        return kind.__name__ + "".join(
            f"\n{indent}    {key!r}: {show(each, indent + '    ')}" for key, each in fields.items()
        )
    return text(kind)


def text(kind, nested=None):
    """Returns a type as source; nested is told of each TypedDict that it names."""
    if kind in (None, type(None)):
        return "None"
    if kind is typing.Any:
        return "Any"
    if typing.is_typeddict(kind):
        if nested is not None:
            nested(kind)
        return kind.__name__
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return " | ".join(text(each, nested) for each in inner)
    if origin is not None:
        return f"{origin.__name__}[{', '.join(text(each, nested) for each in inner)}]"
    return getattr(kind, "__name__", "Any")
