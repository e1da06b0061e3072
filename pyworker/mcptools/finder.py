"""Finds the modules mcptools and mcptools.NAME, and nothing before they are asked for."""

import sys

from pyworker import lazy_import

NAME = "mcptools"


class _Finder:
    """An import finder: the rest of the package is loaded by the first import."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != NAME and not fullname.startswith(NAME + "."):
            return None
        return lazy_import.load_own("mcptools.modules").spec(fullname)


def install():
    """Has mcptools mean these tools, whatever else has that name."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
