"""What goes to a tool, and what comes back from it."""

import io
import json

from pyworker import lazy_import

from . import door

_DEEPEST = 100


class ToolError(Exception):
    """A tool of another server has failed, or could not be called.

    server and tool name it. kind is "error" where the tool itself said so; else "denied",
    "invalid", "unavailable", "limit" or "cancelled". content is what came with an error.
    """

    def __init__(self, message, server="", tool="", kind="error", content=()):
        super().__init__(message)
        self.server = server
        self.tool = tool
        self.kind = kind
        self.content = list(content)

    def __reduce__(self):  # a Pool passes it on
        arguments = self.args[0], self.server, self.tool, self.kind, self.content
        return type(self), arguments


ToolError.__module__ = "mcptools"


class Resource:
    """A resource of another server, which read() fetches: text is str, the rest bytes."""

    def __init__(self, server, part):
        self.server = server
        self.uri = part["uri"]
        self.name = part.get("name", "")
        self.title = part.get("title", "")
        self.description = part.get("description", "")
        self.mime_type = part.get("mime_type", "")

    def __repr__(self):
        return f"<Resource {self.uri} of {self.server}>"

    def read(self):
        """Returns its content; a list where there are several parts."""
        return read(self.server, self.uri)


class Data:
    """Binary content that is no image: data is bytes."""

    def __init__(self, data, mime_type, uri=""):
        self.data = data
        self.mime_type = mime_type
        self.uri = uri

    def __repr__(self):
        return f"<Data {self.mime_type or 'of unknown type'}, {len(self.data)} bytes>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime_type: self.data} if self.mime_type.startswith("image/") else {}


def read(server, uri):
    """Returns the content of a resource of that server."""
    try:
        body, attachments = door.ask("read", server, uri)
    except door.Refusal as refusal:
        raise ToolError(str(refusal), server, "", refusal.kind) from None
    parts = [_content(part, attachments) for part in body["contents"]]
    return parts[0] if len(parts) == 1 else parts


def result(server, tool, body, attachments):
    """Returns what a call came to as a Python value; tool is its description."""
    parts = [_part(server, part, attachments) for part in body["content"]]
    if body.get("is_error"):
        text = "\n".join(part for part in parts if isinstance(part, str))
        raise ToolError(
            text or "the tool failed and said no more", server, tool["name"], content=parts
        )
    if "structured" not in body:
        parts = [_parsed(part, tool) for part in parts]
        return parts[0] if len(parts) == 1 else parts or None
    rich = [part for part in parts if not isinstance(part, str)]
    value = _unwrapped(body["structured"], tool)
    return [value, *rich] if rich else value


def _unwrapped(value, tool):
    """Returns a value that its server had to put into an object, for MCP, as it was."""
    properties = (tool.get("output_schema") or {}).get("properties")
    if type(value) is dict and [*value] == ["result"] and [*(properties or ())] == ["result"]:
        return value["result"]
    return value


def _parsed(part, tool):
    """Returns a text as data where the schema says that it is."""
    if not isinstance(part, str) or not tool.get("output_schema"):
        return part
    try:
        return json.loads(part)
    except ValueError:
        return part


def _part(server, part, attachments):
    kind = part["type"]
    if kind == "text":
        return part["text"]
    if kind == "resource_link":
        return Resource(server, part)
    return _content(part, attachments)


def _content(part, attachments):
    if "text" in part:
        return part["text"]
    data, mime_type = attachments[part["attachment"]], part.get("mime_type", "")
    if mime_type.startswith("image/"):
        try:
            image = lazy_import.load("PIL.Image").open(io.BytesIO(data))
            image.load()
        except Exception:  # there is no Pillow, or it can't read that
            pass
        else:
            return image
    return Data(data, mime_type, part.get("uri", ""))


def plain(value, where, depth=0):
    """Returns an argument in JSON's terms; where names it in an error."""
    if depth > _DEEPEST:
        raise ValueError(f"{where} is nested deeper than {_DEEPEST} levels, or holds itself")
    if value is None or type(value) in (str, bool, int):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{where} is {value}, which JSON has not; pass None or leave it out")
        return float(value)
    if isinstance(value, dict):
        return {str(key): plain(each, f"{where}[{key!r:.80}]", depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(each, f"{where}[{i}]", depth + 1) for i, each in enumerate(value)]
    return plain(_reduced(value, where), where, depth + 1)


def _reduced(value, where):
    """Returns a value of another type as one that is nearer to JSON."""
    for base in (str, int):
        if isinstance(value, base):
            return base(getattr(value, "value", value))  # an Enum's
    for name, arguments in (
        ("__fspath__", ()),
        ("isoformat", ()),
        ("model_dump", ()),  # pydantic
        ("to_dict", ("records",)),  # a DataFrame
        ("tolist", ()),  # numpy, a Series
        ("keys", ()),
    ):
        method = getattr(type(value), name, None)
        if method is not None:
            return dict(value) if name == "keys" else _call(method, value, arguments)
    dataclasses = lazy_import.load("dataclasses")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(getattr(value, "value", None), (str, int, float)):
        return value.value  # an Enum's
    raise TypeError(
        f"{where} is of type {type(value).__name__}, which JSON has not; "
        "pass str, int, float, bool, None, a list or a dict"
    )


def _call(method, value, arguments):
    try:
        return method(value, *arguments)
    except TypeError:  # a Series' to_dict
        return value.tolist()
