"""Modules of the user's whose files have changed since they were imported."""

import os
import re
import sys

_IMPORT = re.compile(r"(?m)^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([\w., \t]+))")


class Changed:
    """Remembers the files of the modules that cells import from the working directory."""

    def __init__(self):
        self._known = {}  # name -> (the module's spec, time of its file)

    def notes(self, code, workdir):
        """Returns sentences on the modules that a cell, which has run, imports once more."""
        return list(filter(None, (self._look(name, workdir) for name in _names(code))))

    def _look(self, name, workdir):
        module = sys.modules.get(name)
        spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
        if spec is None or type(file) is not str or not file.startswith(workdir + os.sep):
            return ""
        try:
            time = os.stat(file).st_mtime_ns
        except OSError:
            return ""
        # A reload gives the module another spec.
        known = self._known.setdefault(name, (spec, time))
        if known[0] is not spec:
            known = self._known[name] = (spec, time)
        if known[1] == time:
            return ""
        self._known[name] = (spec, time)
        return (
            f"{os.path.basename(file)} has changed since {name} was imported, and the import of "
            f"now gave the old one: importlib.reload({name}), or %load_ext autoreload and "
            "%autoreload 2, which reload what has changed"
        )


def _names(code):
    found = {}
    for match in _IMPORT.finditer(code):
        for part in (match[1] or match[2]).split(","):
            if words := part.split():
                found[words[0].partition(".")[0]] = None
    return found
