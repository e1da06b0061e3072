"""Functions that call tools."""

import difflib
import inspect
import json

from . import door, schema, values

_TEXT = 2000  # characters of a description that a docstring shows
_PARAMETERS = 200  # that a docstring tells of

_EXAMPLES = {"string": '"…"', "integer": "1", "number": "1.0", "boolean": "True", "array": "[…]"}


def make(module, tool, is_async):
    """Returns the function of a tool, in its module."""
    parameters = schema.parameters(tool)
    signature = inspect.Signature(
        [each.python for each in parameters], return_annotation=schema.result_type(tool)
    )
    names = {each.python.name: each.name for each in parameters}
    server = module._server

    def arguments(positional, named):
        bound = _bind(signature, tool["function"], positional, named)
        if schema.REST in bound:  # a schema that takes more than it names
            bound.update(bound.pop(schema.REST))
        return {
            names.get(name, name): values.plain(value, f"{tool['function']}(): {name}")
            for name, value in bound.items()
            if value is not schema.LEFT_OUT
        }

    if is_async:

        async def call(*positional, **named):
            request = "call", server, tool["name"], arguments(positional, named)
            try:
                answer = await door.ask_async(*request)
            except door.Refusal as refusal:
                raise _error(refusal, server, tool) from None
            return values.result(server, tool, *answer)

    else:

        def call(*positional, **named):
            request = "call", server, tool["name"], arguments(positional, named)
            try:
                answer = door.ask(*request)
            except door.Refusal as refusal:
                raise _error(refusal, server, tool) from None
            return values.result(server, tool, *answer)

    call.__name__ = call.__qualname__ = tool["function"]
    call.__module__ = module.__name__
    call.__signature__ = signature
    call.__annotations__ = _annotations(signature)
    call.__doc__ = _document(module, tool, parameters, is_async)
    return call


def _error(refusal, server, tool):
    return values.ToolError(str(refusal), server, tool["name"], refusal.kind)


def _annotations(signature):
    found = {name: each.annotation for name, each in signature.parameters.items()}
    return {**found, "return": signature.return_annotation}


def _bind(signature, function, positional, named):
    """Returns the arguments by name; a TypeError names what is wrong as Python does."""
    known = signature.parameters
    if schema.REST not in known:
        for name in named:
            if name not in known:
                near = difflib.get_close_matches(name, [*known], 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known) or 'none'}"
                raise TypeError(f"{function}() got an unexpected argument {name!r}; {hint}")
    try:
        return dict(signature.bind(*positional, **named).arguments)
    except TypeError as error:
        raise TypeError(f"{function}(): {error}") from None


def call_form(tool):
    """Returns how a tool is called, with the first line of what it does."""
    required = schema.required(tool)
    names = ", ".join([*required[:6], "…"] if len(required) > 6 or schema.has_optional(tool) else required)
    return f"{tool['function']}({names}): {summary(tool)}"


def summary(tool):
    """Returns what a tool does in a line."""
    text = (tool.get("description") or tool.get("title") or "").strip()
    return f"{text.splitlines()[0]:.120}" if text else "says nothing of itself"


def _document(module, tool, parameters, is_async):
    lines = [f"{(tool.get('description') or tool.get('title') or '').strip():.{_TEXT}}", ""]
    if parameters:
        lines.append("Arguments:")
        lines += [line for each in parameters[:_PARAMETERS] for line in _about(each)]
        if len(parameters) > _PARAMETERS:
            lines.append(f"    and {len(parameters) - _PARAMETERS} more")
        lines.append("")
    lines.append(f"Returns: {schema.show(schema.result_type(tool), '    ')}")
    if tool.get("permission") == "asks":
        lines += ["", "It may change something: the user is asked before it is called."]
    elif tool.get("permission") == "denied":
        lines += ["", "The server's operator does not allow it to be called."]
    example = ", ".join(f"{p.python.name}={_example(p)}" for p in parameters if p.required)
    name = module.__name__.rpartition(".")[2]
    lines += ["", f"Example: {'await ' if is_async else ''}{name}.{tool['function']}({example})"]
    return "\n".join(lines).strip()


def _about(parameter):
    said = parameter.schema if isinstance(parameter.schema, dict) else {}
    text = f"    {parameter.python.name}: {schema.show(parameter.python.annotation, '        ')}"
    if "default" in said:
        text += f" = {_json(said['default'])}"
    lines = [text]
    description = said.get("description")
    if isinstance(description, str) and description.strip():
        lines.append("        " + " ".join(f"{description:.500}".split()))
    return lines


def _example(parameter):
    said = parameter.schema if isinstance(parameter.schema, dict) else {}
    for key in ("examples", "enum"):
        if isinstance(said.get(key), list) and said[key]:
            return _json(said[key][0])
    if "default" in said:
        return _json(said["default"])
    kind = said.get("type")
    return _EXAMPLES.get(kind if isinstance(kind, str) else "", "{…}")


def _json(value):
    """Returns a schema's value as Python writes it, if that is short."""
    text = repr(value) if not isinstance(value, (dict, list)) else json.dumps(value, default=str)
    return text if len(text) <= 100 else text[:100] + "…"
