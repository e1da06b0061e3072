"""What a call comes to: the answer of a tool as Python values."""

import io
import json

from . import door


class ToolError(Exception):
    """A tool has said that it failed (kind "error"), or it could not be called.

    kind is else denied, invalid, unavailable, limit or cancelled.
    """

    __module__ = "mcptools"

    def __init__(self, message, server="", tool="", kind="error", content=()):
        super().__init__(message)
        self.server, self.tool, self.kind, self.content = server, tool, kind, content

    def __reduce__(self):
        return type(self), (str(self), self.server, self.tool, self.kind, self.content)


class Media:
    """Bytes with a MIME type: a sound, or an image where Pillow is not installed."""

    __module__ = "mcptools"

    def __init__(self, data, mime_type):
        self.data, self.mime_type = data, mime_type

    def __repr__(self):
        return f"<{self.mime_type}, {len(self.data)} bytes: .data>"

    def _repr_png_(self):
        return self.data if self.mime_type == "image/png" else None

    def _repr_jpeg_(self):
        return self.data if self.mime_type == "image/jpeg" else None


class Resource:
    """A resource of a server's, or a link to one."""

    __module__ = "mcptools"

    def __init__(self, server, part, data=None):
        self._server = server
        self.uri, self.mime_type = part.get("uri", ""), part.get("mime_type", "")
        self.name, self.description = part.get("name", ""), part.get("description", "")
        self.text, self.data = part.get("text"), data

    def read(self):
        """Returns its text or its bytes; several as a list."""
        if self.text is not None or self.data is not None:
            return self.data if self.text is None else self.text
        request = {"op": "read", "server": self._server, "name": self.uri}
        body, attachments = ask(request)
        found = [_part(each, attachments, self._server).read() for each in body["contents"]]
        return found[0] if len(found) == 1 else found

    def __repr__(self):
        return f"<resource {self.uri} {self.mime_type}: .read()>"


def error_of(failure, request):
    """Returns what code gets for a door's Failure."""
    return ToolError(str(failure), request.get("server", ""), request.get("name", ""), failure.kind)


def ask(request):
    """As door.ask, with the errors that code gets."""
    try:
        return door.ask(request)
    except door.Failure as failure:
        raise error_of(failure, request) from None


def result(body, attachments, server, name):
    """Returns what a call has come to; raises ToolError if the tool says that it failed."""
    parts = [_part(part, attachments, server) for part in body.get("content") or []]
    if body.get("is_error"):
        data = body.get("structured")
        text = "\n".join(each for each in parts if type(each) is str) or json.dumps(data)
        raise ToolError(text, server, name, "error", parts)
    if "structured" in body:
        others = [each for each in parts if type(each) is not str]
        return [body["structured"], *others] if others else body["structured"]
    return parts[0] if len(parts) == 1 else parts or None


def _part(part, attachments, server):
    kind = part["type"]
    data = attachments[part["attachment"]] if "attachment" in part else None
    if kind == "text":
        return part["text"]
    if kind in ("resource", "resource_link"):
        return Resource(server, part, data)
    if kind == "image":
        try:
            from PIL import Image

            return Image.open(io.BytesIO(data))
        except Exception:
            pass  # it is not installed, or does not know the format
    return Media(data, part.get("mime_type", ""))
