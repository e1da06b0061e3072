"""The signature of a tool, its documentation, and the arguments of a call."""

import difflib
import inspect
import math
import typing

from . import schemas
from .plain import plain

_MOST = 200  # parameters that are shown
_TEXT = 4000  # characters of a description
_DEEPEST = 50
_KINDS = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "array": (list,), "object": (dict,), "null": (type(None),),
}  # fmt: skip


class Signature:
    """What a tool takes."""

    def __init__(self, function, tool):
        self.function, self._tool = function, tool
        self.schema = schemas.Schema(tool.get("input_schema"))
        root = self.schema.root
        properties = root.get("properties")
        self._properties = properties if type(properties) is dict else {}
        listed = root.get("required")
        required = [n for n in self._properties if n in listed] if type(listed) is list else []
        self._required = frozenset(required)
        # Misspelt names are found only where others are not asked for.
        self._is_open = root.get("additionalProperties", "properties" not in root) is not False
        self.names, alike = {}, {}  # in Python -> as the tool has them; how many had a name
        for name in [*required, *(n for n in self._properties if n not in self._required)]:
            made = schemas.identifier(name)
            plainly = made
            while made in self.names:
                alike[plainly] = alike.get(plainly, 1) + 1
                made = f"{plainly.rstrip('_')}_{alike[plainly]}"
            self.names[made] = name

    def python(self):
        """Returns it as an inspect.Signature."""
        kind, found = inspect.Parameter, []
        for made, name in list(self.names.items())[:_MOST]:
            hint = self.schema.type(self._properties[name], self._class(name))
            default = kind.empty
            if name not in self._required:
                default = self.schema.resolved(self._properties[name]).get("default")
                hint = schemas.either([hint, None]) if default is None else hint
            found.append(kind(made, kind.POSITIONAL_OR_KEYWORD, default=default, annotation=hint))
        if len(self.names) > _MOST or self._is_open:
            found.append(kind(_free("more", self.names), kind.VAR_KEYWORD))
        return inspect.Signature(found, return_annotation=self.returns())

    def returns(self):
        """Returns the type of a result."""
        schema = self._tool.get("output_schema")
        if type(schema) is not dict:
            return typing.Any
        inner = schema.get("properties")
        if type(inner) is dict and list(inner) == ["result"]:
            return schemas.Schema(schema).type(inner["result"], self._class("Result"))
        return schemas.Schema(schema).type(schema, self._class("Result"))

    def _class(self, name):
        return schemas.camel(self.function) + schemas.camel(name)

    def documentation(self, signature):
        """Returns the docstring."""
        lines = [str(self._tool.get("description") or self._tool.get("title") or "")[:_TEXT], ""]
        if signature.parameters:
            lines.append("Args:")
        for made, parameter in signature.parameters.items():
            if made not in self.names:
                continue
            schema = self.schema.resolved(self._properties[self.names[made]])
            line = f"    {made} ({schemas.text(parameter.annotation)[:500]})"
            if about := schema.get("description"):
                line += f": {str(about)[:500]}"
            if parameter.default not in (parameter.empty, None):
                line += f" Default: {parameter.default!r:.200}"
            lines.append(line)
        required = [(m, name) for m, name in self.names.items() if name in self._required]
        call = ", ".join(f"{made}={self._example(name)}" for made, name in required)
        lines += ["", f"Example: {self.function}({call[:500]})"]
        lines += ["", f"Returns: {schemas.text(signature.return_annotation)[:1000]}"]
        lines += self._types(signature)
        if self._tool.get("permission") == "asks":
            lines.append("The user is asked before it is called.")
        elif self._tool.get("permission") == "denied":
            lines.append("This server does not let it be called.")
        return schemas.readable("\n".join(lines)).strip()

    def _types(self, signature):
        """Returns lines that say what the objects hold."""
        classes = {}
        for one in signature.parameters.values():
            schemas.define(one.annotation, classes)
        schemas.define(signature.return_annotation, classes)
        outermost = reversed(classes.items())
        said = "\n".join(f"    {name}: {fields}" for name, fields in outermost)
        return ["", "Objects:", said[:_TEXT], ""] if said else []

    def _example(self, name):
        """Returns a value for a parameter, as code writes it."""
        schema = self.schema.resolved(self._properties[name])
        examples = schema.get("examples"), schema.get("enum")
        for found in (*examples, [schema["default"]] if "default" in schema else None):
            if type(found) is list and found:
                return repr(found[0])[:200]
        kind = schema.get("type")
        words = {"integer": "1", "number": "1.0", "boolean": "True", "array": "[]", "object": "{}"}
        return words.get(kind, "'…'") if type(kind) is str else "'…'"

    def arguments(self, args, kwargs):
        """Returns the arguments of a call as JSON has them; raises TypeError or ValueError."""
        given = dict(zip(self.names, args))
        if len(args) > len(self.names):
            raise TypeError(
                f"{self.function}() takes {len(self.names)} positional arguments but "
                f"{len(args)} were given"
            )
        for made, value in kwargs.items():
            if made in given:
                raise TypeError(f"{self.function}() got multiple values for argument {made!r}")
            if made not in self.names and made not in self._properties and not self._is_open:
                raise TypeError(
                    f"{self.function}() got an unexpected argument {made!r}"
                    + (_near(made, self.names) or self._takes())
                )
            given[made] = value
        found = {}
        for made, value in given.items():
            name = self.names.get(made, made)
            schema = self.schema.resolved(self._properties.get(name, {}))
            if value is None and name not in self._required and not self._takes_none(schema):
                continue  # as if it had been left out
            found[name] = self._checked(value, schema, made)
        absent = self._required - found.keys()
        lacking = [made for made, name in self.names.items() if name in absent]
        if lacking:
            what = "argument" if len(lacking) == 1 else "arguments"
            raise TypeError(
                f"{self.function}() missing {len(lacking)} required {what}: "
                + ", ".join(map(repr, lacking[:20]))
            )
        return found

    def _takes(self):
        return f"; it takes {', '.join([*self.names][:20])[:500] or 'none'}"

    def _takes_none(self, schema):
        hint = schemas.Schema(self.schema.root).type(schema, "Taken")  # with room of its own
        return type(None) in typing.get_args(hint)

    def _checked(self, value, schema, at, depth=0):
        """Returns a value as JSON has it, if that is what the schema wants."""
        if depth > _DEEPEST:
            raise ValueError(f"{self.function}() argument {at!r:.200} is nested too deeply")
        try:
            schema, value = self.schema.resolved(schema), plain(value)
        except TypeError as error:
            raise TypeError(f"{self.function}() argument {at!r}: {error}") from None
        kind = schema.get("type")
        kinds = [kind] if type(kind) is str else kind if type(kind) is list else []
        if type(value) is float and not math.isfinite(value):
            raise ValueError(f"{self.function}() argument {at!r} is {value}, which JSON can't hold")
        if type(value) is float and "integer" in kinds and value.is_integer():
            value = int(value)
        if schema.get("nullable") is True:
            kinds = [*kinds, "null"] if kinds else kinds
        allowed = [one for each in kinds if type(each) is str for one in _KINDS.get(each, ())]
        if allowed and type(value) not in allowed:
            wanted = " or ".join(map(str, kinds))
            raise TypeError(
                f"{self.function}() argument {at!r} must be {wanted}, "
                f"not {type(value).__name__} ({value!r:.80})"
            )
        choices = schema.get("enum")
        if type(choices) is list and value not in choices:
            raise ValueError(
                f"{self.function}() argument {at!r} must be one of "
                f"{', '.join(map(repr, choices[:50]))}, not {value!r:.80}"
                + _near(value, [one for one in choices if type(one) is str])
            )
        self._check_bounds(value, schema, at)
        if type(value) is list:
            items = schema.get("items") or {}
            return [self._checked(v, items, f"{at}[{i}]", depth + 1) for i, v in enumerate(value)]
        if type(value) is dict:
            return self._checked_object(value, schema, at, depth)
        return value

    def _checked_object(self, value, schema, at, depth):
        properties = schema.get("properties")
        properties = properties if type(properties) is dict else {}
        value = {str(key): one for key, one in value.items()}
        required = schema.get("required")
        required = required if type(required) is list else []
        if lacking := [name for name in required if name not in value]:
            raise TypeError(f"{self.function}() argument {at!r} lacks {lacking[0]!r}")
        if schema.get("additionalProperties") is False:
            for key in value:
                if key not in properties:
                    raise TypeError(
                        f"{self.function}() argument {at!r} has no field {key!r}"
                        + _near(key, properties)
                    )
        return {
            k: self._checked(v, properties.get(k, {}), f"{at}.{k}", depth + 1)
            for k, v in value.items()
        }

    def _check_bounds(self, value, schema, at):
        if type(value) not in (int, float):
            return
        least, most = schema.get("minimum"), schema.get("maximum")
        for bound, is_out, word in (
            (least, lambda: value < least, "at least"),
            (most, lambda: value > most, "at most"),
        ):
            if type(bound) in (int, float) and is_out():
                raise ValueError(
                    f"{self.function}() argument {at!r} must be {word} {bound}, not {value}"
                )


def _free(name, taken):
    while name in taken:
        name += "_"
    return name


def _near(name, names):
    short = [one for one in list(names)[:1000] if len(one) <= 100]
    found = difflib.get_close_matches(str(name)[:100], short, 1)
    return f"; did you mean {found[0]!r}?" if found else ""
