"""Finds the modules of mcptools, from the first equip that has brought a door on.

It stands first: with --mcp the name is ours, even if a file of the user's has it too.
"""

import sys
from importlib.machinery import ModuleSpec

from pyworker import lazy_import

NAME = "mcptools"
session = None  # says where the private folder is


class _Finder:
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] != NAME:
            return None
        return lazy_import.load_own("mcptools.modules").spec_of(fullname, ModuleSpec)


_finder = _Finder()


def install(of):
    """Has code find mcptools; of is the session."""
    global session
    session = of
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
