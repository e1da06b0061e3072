"""JSON schemas as Python's types: bounded, whatever a server sends."""

import keyword
import typing

_DEEPEST = 6
_NODES = 2000  # of the schemas of one tool; what comes after them is Any
_MOST = 50  # values of an enum, members of a union
_SIMPLE = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


class Schema:
    """The schema of a tool, whose references lead to places in itself."""

    def __init__(self, root):
        self.root = root if type(root) is dict else {}
        self._left = _NODES

    def resolved(self, schema):
        """Returns a schema without its $ref."""
        for _ in range(_DEEPEST):
            reference = schema.get("$ref") if type(schema) is dict else None
            if type(reference) is not str:
                break
            schema = self._at(reference)
        return schema if type(schema) is dict and "$ref" not in schema else {}

    def _at(self, reference):
        found = self.root
        for step in reference.lstrip("#/").split("/") if reference != "#" else ():
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if type(found) is dict else None
        return found

    def type(self, schema, name, depth=0):
        """Returns the Python type; name is for a TypedDict."""
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return typing.Any
        schema = self.resolved(schema)
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if type(choices) is list and 0 < len(choices) <= _MOST and all(map(_is_literal, choices)):
            return typing.Literal[tuple(choices)]
        for key in ("anyOf", "oneOf"):
            if type(schema.get(key)) is list:
                return self._union(schema[key], name, depth)
        if type(schema.get("allOf")) is list and len(schema["allOf"]) == 1:
            return self.type(schema["allOf"][0], name, depth + 1)
        kind = schema.get("type")
        if type(kind) is list:
            return self._union([{**schema, "type": one} for one in kind], name, depth)
        found = self._of_kind(kind, schema, name, depth)
        return either([found, None]) if schema.get("nullable") is True else found

    def _union(self, members, name, depth):
        numbered = enumerate(members[:_MOST])
        types = [self.type(one, f"{name}{i or ''}", depth + 1) for i, one in numbered]
        return either(types) if types else typing.Any

    def _of_kind(self, kind, schema, name, depth):
        if kind == "array":
            return list[self.type(schema.get("items") or {}, name + "Item", depth + 1)]
        if kind == "object" or "properties" in schema:
            return self._object(schema, name, depth)
        return _SIMPLE.get(kind, typing.Any) if type(kind) is str else typing.Any

    def _object(self, schema, name, depth):
        properties = schema.get("properties")
        if type(properties) is not dict or not properties:
            more = schema.get("additionalProperties")
            return dict[str, self.type(more, name, depth + 1)] if type(more) is dict else dict
        if len(properties) > _MOST or not name.isidentifier():
            return dict
        fields = {
            key: self.type(one, name + camel(key), depth + 1) for key, one in properties.items()
        }
        made = typing.TypedDict(name, fields, total=False)
        required = schema.get("required")
        required = required if type(required) is list else []
        given = frozenset(key for key in fields if key in required)
        made.__required_keys__ = given
        made.__optional_keys__ = frozenset(fields).difference(given)
        made.__module__ = "mcptools"
        return made


def _is_literal(value):
    return type(value) in (str, int, bool, type(None)) and len(str(value)) < 200


def camel(name):
    """Returns a name as a class would have it."""
    return "".join(part[:1].upper() + part[1:] for part in identifier(name).split("_"))


def identifier(name):
    """Returns what stands for a name in Python."""
    made = "".join(c if c.isalnum() or c == "_" else "_" for c in name[:100]) or "_"
    made = made if made.isidentifier() else f"_{made}"
    made = made if made.isidentifier() else "argument"
    return made + "_" if keyword.iskeyword(made) else made


def readable(text):
    """Returns a server's text without what steers a terminal or turns the text round."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def text(annotation):
    """Returns a type as code writes it."""
    origin, members = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (None, type(None)):
        return "None"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, members))}]"
    if origin is typing.Union:
        return " | ".join(map(text, members))
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(text, members))}]"
    return getattr(annotation, "__name__", None) or str(annotation).removeprefix("typing.")


def either(kinds):
    """Returns the type of what is of one of the kinds."""
    return typing.Union[tuple(kinds)]  # noqa: UP007


def define(annotation, classes):
    """Returns a type as text does; classes gets the fields of each TypedDict in it."""
    for one in typing.get_args(annotation):
        if typing.get_origin(annotation) is not typing.Literal:
            define(one, classes)
    if typing.is_typeddict(annotation) and annotation.__name__ not in classes:
        fields = []
        for key, hint in annotation.__annotations__.items():
            held = define(hint, classes)
            held = held if key in annotation.__required_keys__ else f"NotRequired[{held}]"
            fields.append(f"{key!r}: {held}")
        classes[annotation.__name__] = "{" + ", ".join(fields) + "}"
    return text(annotation)
