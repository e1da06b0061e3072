"""Modules of the user's whose files have changed since they were imported."""

import os
import re
import sys

_IMPORT = re.compile(r"(?m)^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([\w., \t]+))")
_known = {}  # by name of a module: (its spec, which a reload replaces, time of its file)


def notes(code, workdir):
    """Returns sentences on modules of the working directory that a cell imports once more."""
    names = {}
    for match in _IMPORT.finditer(code):
        parts = (match[1] or match[2]).split(",")
        names.update(
            (words[0].partition(".")[0], None) for part in parts if (words := part.split())
        )
    return [said for name in names if (said := _look(name, workdir))]


def _look(name, workdir):
    module = sys.modules.get(name)
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    if spec is None or type(file) is not str or not file.startswith(workdir + os.sep):
        return ""
    try:
        now = spec, os.stat(file).st_mtime_ns
    except OSError:
        return ""
    before, _known[name] = _known.get(name, now), now
    if before[0] is not spec or before == now:
        return ""
    return (
        f"{os.path.basename(file)} has changed since {name} was imported, and the import of "
        f"now gave the old one: importlib.reload({name}), or %load_ext autoreload and "
        "%autoreload 2, which reload what has changed"
    )
