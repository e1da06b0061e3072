"""Imports that are put off until they are needed.

The user's folder stands first on sys.path and may hold a ``traceback.py`` or an
``ast.py``; a module of the standard library that this package imports late must
not be taken from there.
"""

import sys

_standard_path = list(sys.path)

# With -m the folder that Python was started in stands first.
started_in = None if getattr(sys.flags, "safe_path", False) else sys.path[0]


def leave_out(folders):
    """Notes the folders that hold no modules for us."""
    _standard_path[:] = [path for path in sys.path if path not in folders]


def standard_path():
    """Returns where modules are looked for past the user's files."""
    return list(_standard_path)


def load(name):
    """Returns a module of the standard library, imported past the user's files."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    path = sys.path
    sys.path = standard_path()
    try:
        __import__(name)
        return sys.modules[name]
    finally:
        sys.path = path


def load_own(name):
    """Returns a module of this package, whose imports are past the user's files too."""
    return load(f"{__package__}.{name}")
