"""Stub files (.pyi) of the modules, for type checkers."""

import inspect
import os

from pyworker import lazy_import

from . import schema

_ROOT = '''from typing import Any

class ToolError(Exception):
    server: str
    tool: str
    kind: str
    content: list[Any]

class Server:
    name: str
    module: str
    purpose: str
    state: str
    problem: str
    tools: int

class Found:
    server: str
    name: str
    module: str
    function: str
    summary: str

def servers() -> list[Server]: ...
def search(words: str) -> list[Found]: ...
def read(server: str, uri: str) -> Any: ...
def stubs(folder: str | None = None) -> str: ...
'''


def write(modules, folder):
    """Writes the stubs of modules of servers; returns the folder, by default a new one."""
    folder = folder or lazy_import.load("tempfile").mkdtemp(prefix="mcptools-stubs-")
    for package, prefix in (("mcptools", ""), (os.path.join("mcptools", "aio"), "async ")):
        place = os.path.join(folder, package)
        os.makedirs(place, exist_ok=True)
        _write(os.path.join(place, "__init__.pyi"), "" if prefix else _ROOT)
        for module in modules:
            name = module.__name__.rpartition(".")[2]
            _write(os.path.join(place, name + ".pyi"), text(module, prefix))
    return os.fspath(folder)


def _write(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def text(module, prefix=""):
    """Returns the stub of one module, whose functions are async with that prefix."""
    classes, lines = {}, []

    def note(kind):
        if kind.__name__ not in classes:
            classes[kind.__name__] = ""  # before its fields: it may be among them
            fields = ", ".join(f"{k!r}: {schema.text(v, note)}" for k, v in kind.__annotations__.items())
            classes[kind.__name__] = (
                f'{kind.__name__} = TypedDict("{kind.__name__}", {{{fields}}}, total={kind.__total__})'
            )

    for name in dir(module):
        signature = inspect.signature(getattr(module, name))
        shown = ", ".join(_parameter(each, note) for each in signature.parameters.values())
        result = schema.text(signature.return_annotation, note)
        lines.append(f"{prefix}def {name}({shown}) -> {result}: ...")
    head = "from typing import Any, Literal, TypedDict\n"
    return "\n".join([head, *classes.values(), *lines, ""])


def _parameter(parameter, note):
    shown = f"{parameter.name}: {schema.text(parameter.annotation, note)}"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return "**" + shown
    return shown + ("" if parameter.default is inspect.Parameter.empty else " = ...")
