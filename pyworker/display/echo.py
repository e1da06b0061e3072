"""What becomes of the value of a top-level expression: it is shown as its class says, and kept.

_, __, ___, _1 and Out have it then. Out keeps the last values, as many as COUNT_LIMIT, and
of large ones no more than SIZE_LIMIT bytes together: a table that was looked at once must
not stay for ever.
"""

import builtins
import sys

from . import describe, figures, kinds, pages
from .artifacts import Artifact

COUNT_LIMIT = 100  # values that Out keeps
SIZE_LIMIT = 64 << 20  # bytes of them, as far as that can be told
_UNDERSCORES = ("_", "__", "___")
_SAMPLE = 20  # elements of a container that are measured
_HANDLE = "IPython.core.display_functions"
_DRAWN = {"matplotlib.artist", "matplotlib.container", "matplotlib.colorbar", *figures.GRIDS}
_DEPTH = 3  # how deep lists are searched for what is drawn
_WIDTH = 79  # characters, from which on IPython breaks lines
_FEW = 40  # items of a container that is told at once
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
        if sys.displayhook is not self._hook:
            sys.displayhook(value)
        elif id(type(value)) in _SCALARS:
            self._show(value)
        elif value is None or _is_told(value):
            return
        elif figures.is_plotly(value):
            self._session.outlet.pending[id(value)] = value
            traces = pages.counted(len(value.data), "trace")  # its own text fills pages
            self._write(f"<plotly {type(value).__name__}: {traces}>")
        else:
            self._show(value)
        self._session.outputs.keep(execution, value)

    def _show(self, value):
        is_plain = self._is_plain(value)
        if not is_plain and (shell := self._session.notebook.shell) is not None:
            data, _ = shell.display_formatter.format(value)
            if data:
                self._session.outlet.publish(data, stream=sys.stdout)
            return
        try:
            text = repr(value)
        except Exception as error:  # as with IPython, the cell goes on
            sys.stderr.write(self._session.describer.text(error))
        else:
            self._write(text)

    def _write(self, text):
        # As print() does, but in one write: each wakes the reader.
        if (stream := sys.stdout) is not None:
            stream.write(text + "\n")

    def _is_plain(self, value):
        """Says whether IPython shows a value by its repr(): its formatter takes 0.25 ms."""
        kind = type(value)
        held = [kind]
        if id(kind) in _HOLDERS and len(value) <= _FEW:
            held += map(type, value)
            held += map(type, value.values()) if kind is dict else ()
        is_simple = all(id(each) in _SCALARS for each in held[1:] or held)
        is_simple = is_simple or (kinds.library(kind), kinds.name(kind)) in _TABLES
        fits = id(kind) not in _HOLDERS or (is_simple and len(repr(value)) <= _WIDTH)
        return is_simple and fits and all(map(self._is_untouched, held))

    def _is_untouched(self, kind):
        """Says whether nobody has told IPython how to show values of a class."""
        notebook = self._session.notebook
        if not notebook.is_made:
            return True
        plain = notebook.shell.display_formatter.formatters["text/plain"]
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
    kind = type(value)
    if kind is Artifact or (kinds.module(kind), kinds.name(kind)) == (_HANDLE, "DisplayHandle"):
        return True
    return "matplotlib" in sys.modules and (figures.show(value, False) or _is_drawn(value, _DEPTH))


def _is_drawn(value, depth):
    """Says whether a value is what a plotting function gives back."""
    kind = type(value)
    if any(kinds.module(base) in _DRAWN for base in kinds.bases(kind)):
        return True
    if depth == 0:
        return False
    if isinstance(value, (list, tuple)):
        # plt.hist gives (counts, edges, bars): one artist marks the whole.
        return any(_is_drawn(item, depth - 1) for item in value[:20])
    if kind is dict:  # plt.boxplot gives lists of artists by name
        filled = [v for v in value.values() if not (type(v) is list and not v)]
        return bool(filled) and all(_is_drawn(v, 1) for v in filled)
    if kinds.module(kind) == "numpy" and getattr(value, "shape", ()) and value.dtype.hasobject:
        return value.size > 0 and _is_drawn(value.flat[0], 0)  # an array of Axes
    return False


class Outputs:
    """The values that a session has echoed."""

    def __init__(self, namespace):
        self.out = {}  # by execution
        self._namespace = namespace
        self._last = (None, None, None)  # of _, __, ___
        self._sizes = {}
        self._total = 0  # of the sizes

    def install(self):
        """Has code find Out."""
        builtins.Out = self.out

    def keep(self, execution, value):
        """Takes what was echoed last; a name that the user, or gettext, has given a value stays."""
        if value is self.out:
            return
        names, last = self._namespace, self._last
        self._last = value, last[0], last[1]
        if not callable(vars(builtins).get("_")):
            for name, ours, new in zip(_UNDERSCORES, last, self._last):
                if names.get(name, ours) is ours:
                    names[name] = new
        self._drop(execution)  # an earlier value of the cell
        size = _size(value, 2)
        names[f"_{execution}"] = self.out[execution] = value
        self._sizes[execution], self._total = size, self._total + size
        if size > SIZE_LIMIT:
            self._drop(execution)
        while len(self._sizes) > COUNT_LIMIT or self._total > SIZE_LIMIT:
            self._drop(next(iter(self._sizes)))

    def _drop(self, execution):
        value = self.out.pop(execution, self)
        self._total -= self._sizes.pop(execution, 0)
        if self._namespace.get(f"_{execution}") is value:
            del self._namespace[f"_{execution}"]


def _size(value, depth):
    """Returns about how many bytes a value has."""
    try:
        size = sys.getsizeof(value)
        if id(type(value)) in _SCALARS:
            return size
        if (known := describe.known(value)) is not None:
            return int(describe.memory(known) or 0)
        if depth and type(value) in (list, tuple, dict) and value:
            items = list(value.values()) if type(value) is dict else value
            sample = items[:: len(items) // _SAMPLE + 1]
            size += sum(_size(each, depth - 1) for each in sample) * len(items) // len(sample)
        return size
    except Exception:
        return 0  # of what can't say it
