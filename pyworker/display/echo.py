"""What is printed of a top-level expression's value."""

import sys

from . import figures
from .artifacts import Artifact

_GRIDS = ("seaborn.axisgrid", "seaborn._core.plot")  # seaborn's figures
_DEPTH = 3  # how deep lists are searched for artists


def echo(value, artifacts):
    """Prints the value as print() does, and keeps it if it says how else to show it.

    Nothing is printed of None, of what matplotlib draws and of an Artifact: they are
    told of already.
    """
    if value is None or type(value) is Artifact:
        return
    if "matplotlib" in sys.modules and (figures.show_figure(value) or _is_drawn(value, _DEPTH)):
        return
    # As print() does, but in one write: each wakes the reader.
    stream, text = sys.stdout, ""
    if stream is not None:
        text = f"{artifacts.brief(value) or value!s}\n"
        stream.write(text)
    artifacts.echoed(value, text)


def _is_drawn(value, depth):
    """Says whether a value is what a plotting function gives back."""
    if isinstance(value, _drawn_types()):
        return True
    if type(value).__module__ in _GRIDS:
        return True
    if depth == 0:
        return False
    if isinstance(value, (list, tuple)):
        # plt.hist gives (counts, edges, bars): one artist marks the whole.
        return any(_is_drawn(item, depth - 1) for item in value[:20])
    if type(value) is dict:  # plt.boxplot gives lists of artists by name
        filled = [v for v in value.values() if not (type(v) is list and not v)]
        return bool(filled) and all(_is_drawn(v, 1) for v in filled)
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()) and value.dtype.hasobject:
        return value.size > 0 and _is_drawn(value.flat[0], 0)  # an array of Axes
    return False


def _drawn_types():
    names = (("matplotlib.artist", "Artist"), ("matplotlib.container", "Container"))
    found = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return tuple(kind for kind in found if kind is not None)
