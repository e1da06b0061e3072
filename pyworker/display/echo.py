"""What becomes of the value of a top-level expression: it is shown as its class says."""

import builtins
import sys

from . import figures, kinds, plotly_show
from .artifacts import Artifact

_HANDLE = ("IPython.core.display_functions", "DisplayHandle")
_DEPTH = 3  # how deep lists are searched for artists
_WIDTH = 79  # characters, from which on IPython breaks lines
_FEW = 40  # items of a container that is told at once
_SMALL = 1000  # characters
_SCALARS = kinds.ids(int, float, complex, bool, str, bytes)
_HOLDERS = kinds.ids(list, tuple, dict)
_TABLES = {("pandas", "DataFrame"), ("pandas", "Series"), ("numpy", "ndarray")}
_PLAIN_PRINTERS = ("IPython.core.formatters", "IPython.lib.pretty")


class Echo:
    """Echoes values in a session."""

    def __init__(self, session):
        self._session = session
        self._hook = sys.displayhook
        if not hasattr(builtins, "display"):
            builtins.display = self._display

    def __call__(self, value, execution):
        """Shows a value, and remembers it.

        Nothing is shown of None, of what matplotlib draws and of an Artifact: they are
        told of already.
        """
        kind = type(value)
        if sys.displayhook is not self._hook:
            sys.displayhook(value)
        elif id(kind) in _SCALARS and self._is_untouched(kind):
            text = repr(value)
            self._write(text)
            self._session.outputs.keep(execution, value, small=len(text) < _SMALL)
            return
        elif value is None or kind is Artifact or _is_told(value):
            return
        else:
            self._show(value, kind)
        self._session.outputs.keep(execution, value)

    def _show(self, value, kind):
        text = self._at_once(value, kind)
        if text is None:
            if plotly_show.is_figure(value):
                self._session.artifacts.echoed(value)
                text = plotly_show.brief(value)
            elif (shell := self._session.notebook.shell) is not None:
                data, _ = shell.display_formatter.format(value)
                if data:
                    self._session.outlet.publish(data, stream=sys.stdout)
                return
            else:
                try:
                    text = repr(value)
                except Exception as error:  # as with IPython, the cell goes on
                    sys.stderr.write(self._session.describer.text(error))
                    return
        self._write(text)

    def _write(self, text):
        # As print() does, but in one write: each wakes the reader.
        if (stream := sys.stdout) is not None:
            stream.write(text + "\n")

    def _at_once(self, value, kind):
        """Returns the text of a value for which IPython would make no other, or None."""
        if id(kind) in _HOLDERS:
            if len(value) > _FEW:
                return None
            held = {*map(type, value)}
            if kind is dict:
                held.update(map(type, value.values()))
            if not all(id(each) in _SCALARS and self._is_untouched(each) for each in held):
                return None
            if not self._is_untouched(kind):
                return None
            text = repr(value)
            return None if len(text) > _WIDTH else text
        if (kinds.library(kind), kinds.name(kind)) in _TABLES and self._is_untouched(kind):
            try:
                return repr(value)
            except Exception:
                return None  # which is said on the way that is guarded
        return None

    def _is_untouched(self, kind):
        """Says whether nobody has told IPython how to show values of a class."""
        notebook = self._session.notebook
        if not notebook.is_made:
            return True
        formatters = notebook.shell.display_formatter.formatters
        plain = formatters["text/plain"]
        if type(plain).__module__ != _PLAIN_PRINTERS[0] or plain.float_format != "%r":
            return False
        printer = plain.type_printers.get(kind)
        return plain.pprint and (printer is None or printer.__module__ in _PLAIN_PRINTERS)

    def _display(self, *values, **_):
        """Prints values, where IPython is not installed."""
        for value in values:
            print(repr(value))


def _is_told(value):
    """Says whether a value is told of already: a display's handle, or matplotlib's.

    A figure of matplotlib's is shown.
    """
    if (type(value).__module__, type(value).__name__) == _HANDLE:
        return True
    if "matplotlib" not in sys.modules:
        return False
    return figures.show_figure(value) or _is_drawn(value, _DEPTH)


def _is_drawn(value, depth):
    """Says whether a value is what a plotting function gives back."""
    if isinstance(value, _drawn_types()):
        return True
    if type(value).__module__ in figures.GRIDS:
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
    names = (
        ("matplotlib.artist", "Artist"),
        ("matplotlib.container", "Container"),
        ("matplotlib.colorbar", "Colorbar"),
    )
    found = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return tuple(kind for kind in found if kind is not None)
