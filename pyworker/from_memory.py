"""Runs a file of this package from what the server keeps of it in memory.

    python -I -S -B -c TEXT_OF_THIS_FILE pyworker/FILE

The first line of stdin is a JSON object with the text of each file of the package by
its name; the rest is for the file that runs. Nothing of the package is read from the
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
        if fullname == PACKAGE:
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        package, _, name = fullname.partition(".")
        if package != PACKAGE:
            return None
        if f"{name}.py" not in self._texts:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return importlib.util.spec_from_loader(fullname, self)

    def get_source(self, fullname):
        """Returns the text of a module."""
        return self._texts.get(f"{fullname.partition('.')[2] or '__init__'}.py", "")

    def is_package(self, fullname):
        """Says whether a module is the package itself."""
        return fullname == PACKAGE


def run(name):
    """Runs the file pyworker/NAME as the program."""
    texts = json.loads(sys.stdin.buffer.readline())
    sys.meta_path.insert(0, Memory(texts))
    text = texts[name.rpartition("/")[2]]
    space = {"__name__": "__main__", "__package__": PACKAGE, "__builtins__": __builtins__}
    exec(compile(text, name, "exec", dont_inherit=True), space)


if __name__ == "__main__":
    run(sys.argv[1])
