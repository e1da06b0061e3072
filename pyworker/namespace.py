"""The module __main__, in which a session's code lives."""

import builtins
import sys
import types


def make(argument):
    """Returns a fresh __main__, with sys.argv as a script of that name has it."""
    module = types.ModuleType("__main__")
    sys.argv = [argument]
    repair(module)
    return module


def repair(module):
    """Puts back what makes the module __main__, whatever was done to it."""
    names = vars(module)
    names["__name__"] = "__main__"
    names["__builtins__"] = builtins
    # As in a script: multiprocessing takes a module with a __spec__ for one
    # that it can import by name.
    names["__spec__"] = None
    names.setdefault("__annotations__", {})
    # Each cell shows its own warnings, also those that an earlier one has shown.
    names.pop("__warningregistry__", None)
    sys.modules["__main__"] = module
