"""Gives the judge IPython's transformer of cells, and nothing else of IPython.

The judge has none of the environment's packages. It takes two files of one, by their
places and before it is asked anything: a package as a whole would run far more code,
and need thirty times as long.
"""

import importlib
import os
import site
import sys
import sysconfig
import types


def load():
    """Imports the transformer, if it is installed in the environment of this Python."""
    folder = next(filter(os.path.isdir, _folders()), None)
    if folder is None or "IPython" in sys.modules:
        return
    for name in ("IPython", "IPython.utils", "IPython.core"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
    try:
        importlib.import_module("IPython.core.inputtransformer2")
    except Exception:  # another IPython than is known here: as if there were none
        for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
            del sys.modules[name]


def _folders():
    """Yields where IPython may be, as Python without -S would look for it."""
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    if os.path.exists(os.path.join(prefix, "pyvenv.cfg")):
        # Not from site: with -S, Debian's takes the environment for the system's Python.
        scheme = "nt" if os.name == "nt" else "posix_prefix"
        folders = [sysconfig.get_path("purelib", scheme, {"base": prefix})]
    else:
        folders = site.getsitepackages([sys.prefix])
    for folder in folders:
        yield os.path.join(folder, "IPython")
