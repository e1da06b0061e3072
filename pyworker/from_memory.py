"""Runs a file of this package from what the server keeps of it in memory.

    python -I -S -B -c TEXT_OF_THIS_FILE pyworker/FILE

The first line of stdin is a JSON object with the text of each file of the package by
its path in it; the rest is for the file that runs. Nothing of the package is read from the
disk, where sessions could have changed it.
"""

import importlib.abc
import importlib.util
import json
import sys

PACKAGE = "pyworker"


class Memory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the modules of the package among texts, and nowhere else."""

    def __init__(self, texts):
        self._texts = texts

    def find_spec(self, fullname, path=None, target=None):
        """Returns the spec of a module of the package, None for others."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        if self._file(fullname) not in self._texts:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return importlib.util.spec_from_loader(fullname, self)

    def get_source(self, fullname):
        """Returns the text of a module."""
        return self._texts[self._file(fullname)]

    def is_package(self, fullname):
        """Says whether a module is the package itself, or one in it."""
        return self._file(fullname).endswith("__init__.py")

    def _file(self, fullname):
        """Returns the path in the package that the text of a module has or would have."""
        path = "/".join(fullname.split(".")[1:])
        package = f"{path}/__init__.py".lstrip("/")
        return package if package in self._texts else f"{path}.py"


def run(name):
    """Runs the file pyworker/NAME as the program."""
    texts = json.loads(sys.stdin.buffer.readline())
    sys.meta_path.insert(0, Memory(texts))
    text = texts[name.removeprefix(f"{PACKAGE}/")]
    package = name.rpartition("/")[0].replace("/", ".")
    space = {"__name__": "__main__", "__package__": package, "__builtins__": __builtins__}
    exec(compile(text, name, "exec", dont_inherit=True), space)


if __name__ == "__main__":
    run(sys.argv[1])
