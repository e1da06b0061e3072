"""The modules of the package mcptools: itself, one for each server, and aio with twins."""

import difflib
import importlib
import sys
import types
from importlib.machinery import ModuleSpec

from . import door, functions, stubs, values

_ROOT = "mcptools"
_AIO = _ROOT + ".aio"
_LISTED = 100  # functions that a module's docstring names

_ABOUT = """The tools of other MCP servers, as functions.

    from mcptools import NAME      a module for each server, with a function for each tool
    mcptools.servers()             which servers there are
    mcptools.search("words")       finds tools by what they do
    help(NAME.tool)                a tool's arguments and result
    from mcptools.aio import NAME  the same functions, to be awaited
    mcptools.read(server, uri)     a resource of a server
    mcptools.stubs()               writes .pyi files, for type checkers

What goes wrong is raised as mcptools.ToolError.
"""


def spec(fullname):
    """Returns where a module comes from, None for one of no server."""
    if fullname in (_ROOT, _AIO):
        return ModuleSpec(fullname, _Loader, is_package=True)
    package, _, name = fullname.rpartition(".")
    if package not in (_ROOT, _AIO):
        return None
    server = _server(name)
    if server is None:
        return None
    found = ModuleSpec(fullname, _Loader, origin=f"MCP server {server['name']}")
    found.loader_state = server
    return found


class _Loader:
    """Makes the modules."""

    @staticmethod
    def create_module(spec):
        return (_Package if spec.loader_state is None else _Server)(spec.name)

    @staticmethod
    def exec_module(module):
        module._begin()


class _Package(types.ModuleType):
    """mcptools, or mcptools.aio: the servers are its attributes."""

    def _begin(self):
        self.__doc__ = _ABOUT
        self.ToolError = values.ToolError
        if self.__name__ == _ROOT:
            self.servers, self.search, self.read, self.stubs = servers, search, values.read, write_stubs

    def __getattr__(self, name):
        if not name.startswith("_"):
            if name == "aio" or _server(name) is not None:
                return importlib.import_module(f"{self.__name__}.{name}")
            raise AttributeError(_unknown("MCP server", name, [s.module for s in servers()]))
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self):
        return sorted({*vars(self), *(server.module for server in servers())})


class _Server(types.ModuleType):
    """A server: its tools are functions, made when they are first looked at."""

    def _begin(self):
        server = self.__spec__.loader_state
        listed = _asked("tools", server["name"])
        self._server, self._tools = server["name"], {t["function"]: t for t in listed["tools"]}
        for name in [each for each in vars(self) if not each.startswith("_")]:
            delattr(self, name)  # reloaded: a tool may be another now
        self.__all__ = [*self._tools]
        self.__doc__ = _document(listed)

    def __getattr__(self, name):
        if name.startswith("__") or "_tools" not in vars(self):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name not in self._tools:
            self._begin()  # the server may have more by now
        if name not in self._tools:
            raise AttributeError(_unknown(f"tool of {self._server}", name, self._tools))
        made = functions.make(self, self._tools[name], self.__name__.startswith(_AIO + "."))
        setattr(self, name, made)
        return made

    def __dir__(self):
        return [*self._tools]


def _unknown(what, name, there):
    near = difflib.get_close_matches(name, [*there], 1)
    hint = f"did you mean {near[0]}?" if near else "there are " + (", ".join([*there][:20]) or "none")
    return f"there is no {what} {name!r}; {hint}"


def _document(listed):
    lines = [listed.get("purpose") or f"The tools of the MCP server {listed['server']}.", ""]
    tools = listed["tools"]
    lines += [f"    {functions.call_form(tool)}" for tool in tools[:_LISTED]]
    if len(tools) > _LISTED:
        lines.append(f"    and {len(tools) - _LISTED} more: dir() has all, mcptools.search() finds")
    if listed.get("instructions"):
        lines += ["", "The server says:", listed["instructions"]]
    return "\n".join(lines)


def _asked(*request):
    try:
        return door.ask(*request)[0]
    except door.Refusal as refusal:
        raise values.ToolError(str(refusal), kind=refusal.kind) from None


def _server(name):
    for each in _asked("catalog")["servers"]:
        if each["module"] == name:
            return each
    return None


class Server:
    """A server, as servers() lists it."""

    def __init__(self, fields):
        self.name = fields["name"]
        self.module = fields["module"]
        self.purpose = fields.get("purpose", "")
        self.state = fields["state"]
        self.problem = fields.get("problem", "")
        self.tools = fields["tools"]

    def __repr__(self):
        state = f"{self.tools} tools" if self.state == "ready" else self.state
        if self.problem:
            state += f": {self.problem}"
        about = f" {self.purpose}" if self.purpose else ""
        return f"<{_ROOT}.{self.module}:{about} ({state})>"


class Found:
    """A tool, as search() finds it."""

    def __init__(self, fields):
        self.server, self.name = fields["server"], fields["name"]
        self.module, self.function = fields["module"], fields["function"]
        self.summary = fields.get("summary", "")

    def __repr__(self):
        return f"{_ROOT}.{self.module}.{self.function}: {self.summary}"


class _Lines(list):
    """A list that shows an element a line."""

    left_out = 0

    def __repr__(self):
        lines = [repr(each) for each in self]
        if self.left_out:
            lines.append(f"and {self.left_out} more")
        return "\n".join(lines) or "[]"


def servers():
    """Returns the servers whose tools there are, with what each is for and its state."""
    return _Lines(Server(fields) for fields in _asked("catalog")["servers"])


def search(words):
    """Returns the tools whose name or description has the words, the best first."""
    found = _asked("search", "", str(words))
    lines = _Lines(Found(fields) for fields in found["tools"])
    lines.left_out = found.get("left_out", 0)
    return lines


def write_stubs(folder=None):
    """Writes a .pyi file for each server that is ready, and returns the folder.

    A type checker finds them with that folder on its path (MYPYPATH, or extraPaths).
    """
    ready = [s.module for s in servers() if s.state == "ready"]
    return stubs.write([importlib.import_module(f"{_ROOT}.{name}") for name in ready], folder)


for _each in (servers, search, write_stubs, Server, Found):
    _each.__module__ = _ROOT
write_stubs.__name__ = write_stubs.__qualname__ = "stubs"
