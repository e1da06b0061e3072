"""The modules that code imports: mcptools, one for each server, and their async twins."""

import difflib
import keyword
import os

from . import door, finder, schemas, signatures, values

_DOC = """Tools of other MCP servers, as functions.

    from mcptools import NAME           a server; dir(NAME), help(NAME.tool)
    mcptools.servers()                  which there are
    mcptools.search("issue")            finds tools by words
    from mcptools.aio import NAME       the same for await:
        await asyncio.gather(NAME.tool(1), NAME.tool(2))
    mcptools.stubs()                    writes .pyi files, returns their folder
    mcptools.ToolError                  a tool failed, or could not be called
"""
_AIO = "mcptools.aio"


class _Lines(list):
    """A list that shows itself line by line."""

    more = ""

    def __repr__(self):
        return "\n".join([*map(repr, self), *([self.more] if self.more else [])]) or "nothing"


class _Entry:
    """A server, or a tool that was found: its fields are the answer's."""

    def __init__(self, fields, line):
        vars(self).update(fields)
        self._line = schemas.readable(line)

    def __repr__(self):
        return self._line


def servers():
    """Returns the servers, each with name, module, purpose, state, problem and tools."""
    return _Lines(_Entry(one, _server_line(one)) for one in _catalog())


def _server_line(one):
    state = one["state"] + (f" ({one['problem']})" if one.get("problem") else "")
    return f"{one['module']}: {state}, {one['tools']} tools. {one.get('purpose') or ''}".strip()


def search(text=""):
    """Returns the tools that the words are about, the best first."""
    body, _ = values.ask({"op": "search", "name": str(text)})
    found = _Lines(
        _Entry(one, f"{one['module']}.{one['function']}({_taken(one)}): {one['summary']}")
        for one in body["tools"]
    )
    found.more = f"… and {body['left_out']} more" if body.get("left_out") else ""
    return found


def _taken(one):
    """Returns the parameters of a tool that was found."""
    try:
        module = __import__(f"mcptools.{one['module']}", fromlist=["__all__"])
        parameters = getattr(module, one["function"]).__signature__.parameters.values()
    except (ImportError, AttributeError, values.ToolError):
        return "…"
    shown = [str(one.replace(annotation=one.empty)) for one in parameters]
    return ", ".join(shown[:10] + ["…"] * (len(shown) > 10))[:300]


def stubs(folder=None):
    """Writes .pyi files for type checkers; returns their folder, as for MYPYPATH."""
    folder = os.fspath(folder or os.path.join(finder.session.private_dir, "stubs"))
    head = "from typing import Any, Literal\nfrom typing_extensions import NotRequired, TypedDict\n"
    for package, way in (("mcptools", ""), (_AIO, "async ")):
        place = os.path.join(folder, *package.split("."))
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "__init__.pyi"), "w", encoding="utf-8") as file:
            file.write(head + "class ToolError(Exception): ...\n")
        for server in _catalog():
            if server["state"] != "ready":
                continue
            module = __import__(f"{package}.{server['module']}", fromlist=["__all__"])
            path = os.path.join(place, f"{server['module']}.pyi")
            with open(path, "w", encoding="utf-8") as file:
                file.write(head)
                file.writelines(_stub(module, name, way) for name in module.__all__)
    return folder


def _stub(module, name, way):
    signature = getattr(module, name).__signature__
    shown, classes = [], {}
    for one in signature.parameters.values():
        star = "**" if one.kind is one.VAR_KEYWORD else ""
        hint = "Any" if one.annotation is one.empty else schemas.define(one.annotation, classes)
        shown.append(f"{star}{one.name}: {hint}" + ("" if one.default is one.empty else " = ..."))
    returns = schemas.define(signature.return_annotation, classes)
    function = f"{way}def {name}({', '.join(shown)}) -> {returns}: ...\n"
    typed = (f"{c} = TypedDict({c!r}, {fields})\n" for c, fields in classes.items())
    return "".join([*typed, function])


def _catalog():
    body, _ = values.ask({"op": "catalog"})
    return [one for one in body["servers"] if one["module"] not in _OWN]


_OWN = {
    "servers": servers,
    "search": search,
    "stubs": stubs,
    "ToolError": values.ToolError,
    "Media": values.Media,
    "Resource": values.Resource,
    "aio": None,
}


def spec_of(fullname, spec):
    """Returns the spec of a module of ours; raises ImportError for what is no server."""
    package, _, name = fullname.rpartition(".")
    if fullname in ("mcptools", _AIO):
        return spec(fullname, _Loader(None), origin="tools of other servers", is_package=True)
    if package not in ("mcptools", _AIO):
        return None
    known = {one["module"]: one["name"] for one in _catalog()}
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        said = f"; did you mean {near[0]!r}?" if near else "."
        there = ", ".join(known) or "none"
        raise ImportError(f"mcptools has no server {name!r}{said} There are: {there}")
    return spec(fullname, _Loader(known[name]), origin=f"tools of the MCP server {known[name]}")


class _Loader:
    """Fills a module; server is None for a package."""

    def __init__(self, server):
        self._server = server

    def create_module(self, _):
        return None

    def exec_module(self, module):
        if self._server is None:
            _fill_package(module)
        else:
            _Tools(module, self._server).fetch()


def _fill_package(module):
    name = module.__name__
    if name == "mcptools":
        vars(module).update({key: one for key, one in _OWN.items() if one is not None})

    def find(attribute):
        if attribute.startswith("_"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        try:
            return __import__(f"{name}.{attribute}", fromlist=["__all__"])
        except ImportError as error:
            raise AttributeError(str(error), name=attribute) from None

    def names():
        try:
            found = [one["module"] for one in _catalog()]
        except values.ToolError:
            found = []
        return sorted({*found, *(_OWN if name == "mcptools" else ())})

    module.__doc__, module.__getattr__, module.__dir__ = _DOC, find, names


class _Tools:
    """The tools of a server, behind its module."""

    def __init__(self, module, server):
        self._module, self._server, self._tools = module, server, {}

    def fetch(self):
        """Asks for the list, and drops the functions that were made of an earlier one."""
        body, _ = values.ask({"op": "tools", "server": self._server})
        names, module = vars(self._module), self._module
        for name in [*self._tools, *names.get("__all__", ())]:
            names.pop(name, None)
        self._tools = {one["function"]: one for one in body["tools"] if _is_name(one["function"])}
        about = [f"Tools of the MCP server {self._server}. {body.get('purpose') or ''}".strip()]
        about += [body["instructions"][:4000]] if body.get("instructions") else []
        module.__doc__ = schemas.readable("\n\n".join(about))
        module.__all__ = list(self._tools)
        module.__getattr__, module.__dir__ = self._find, lambda: sorted(self._tools)

    def _find(self, name):
        if name not in self._tools and not name.startswith("_"):
            try:
                self.fetch()  # the server may have got others
            except values.ToolError:
                pass
        if name not in self._tools:
            near = difflib.get_close_matches(name, self._tools, 1)
            said = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"{self._module.__name__} has no tool {name!r}{said}", name=name)
        made = _function(self._module.__name__, self._server, name, self._tools[name])
        return vars(self._module).setdefault(name, made)


def _is_name(name):
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _function(module, server, name, tool):
    """Returns the function that calls a tool."""
    takes = signatures.Signature(name, tool)

    def request(args, kwargs):
        arguments = takes.arguments(args, kwargs)
        return {"op": "call", "server": server, "name": tool["name"], "arguments": arguments}

    if module.startswith(_AIO + "."):

        async def call(*args, **kwargs):
            asked = request(args, kwargs)
            try:
                body, attachments = await door.ask_async(asked)
            except door.Failure as failure:
                raise values.error_of(failure, asked) from None
            return values.result(body, attachments, server, tool["name"])
    else:

        def call(*args, **kwargs):
            body, attachments = values.ask(request(args, kwargs))
            return values.result(body, attachments, server, tool["name"])

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    call.__signature__ = signature = takes.python()
    call.__doc__ = takes.documentation(signature)
    hints = {p.name: p.annotation for p in signature.parameters.values() if p.name in takes.names}
    call.__annotations__ = {**hints, "return": signature.return_annotation}
    return call
