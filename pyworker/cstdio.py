"""Flushing what C code holds back in stdio, as a printf called through ctypes does."""

import sys

from . import late

_modules_at_start = len(sys.modules)
_fflush = None


def set_start():
    """Notes which modules are loaded before any of the user's."""
    global _modules_at_start
    _modules_at_start = len(sys.modules)


def flush():
    """Calls fflush(NULL), unless no C code but Python's own can have printed.

    Python itself never prints through stdio, so a session that has imported
    nothing is spared the import of ctypes. ``python -u`` makes stdio unbuffered.
    """
    global _fflush
    if _fflush is None:
        if "ctypes" not in sys.modules:
            if "-u" in sys.orig_argv or len(sys.modules) <= _modules_at_start:
                return
        _fflush = _find()
    _fflush(None)


def _find():
    try:
        ctypes = late.load("ctypes")
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        return library.fflush
    except (ImportError, OSError, AttributeError):
        return _nothing


def _nothing(_):
    """Stands for fflush where ctypes is missing."""
