"""Libraries that tests use where they are installed."""

import importlib
import importlib.util
import unittest


def has(*names):
    """Says whether all of these are installed."""
    return all(importlib.util.find_spec(name) for name in names)


def needs(*names):
    """Skips a test or a case where one of these is not installed."""
    return unittest.skipUnless(has(*names), f"not installed: one of {', '.join(names)}")


def __getattr__(name):
    """Imports numpy or pandas for who asks: None where it is not installed."""
    if name in ("numpy", "pandas"):
        return importlib.import_module(name) if has(name) else None
    raise AttributeError(name)
