"""A matplotlib backend that draws with Agg and shows by capturing.

`switching.py` has pyplot load it. In a child process of the user's, and outside
an execution, showing saves the image for the session, as `children.py` says.

matplotlib up to 3.5 takes `FigureCanvas`, `FigureManager` and `show` from this
module, later ones take the manager from the canvas class.
"""

import itertools
import os
import sys

from matplotlib import is_interactive
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import collect, fonts

__all__ = ["FigureCanvas", "FigureManager", "show"]

_creation = itertools.count()


class FigureManager(FigureManagerBase):
    """What pyplot holds for an open figure; it outlives the figure's closing.

    So ``fig.show()`` works on a closed figure, in a later execution too.
    """

    def __init__(self, canvas, num):
        self.created = next(_creation)  # captures come in order of creation
        self.pid = os.getpid()
        self.last_capture = None  # what it looked like; see Collection.note
        self.awaiting = None  # the collection in which plt.pause or an echo showed it
        self.failed = None  # the collection in which it could not be drawn
        self.saved = None  # in which files; see Collection.note_file
        super().__init__(canvas, num)

    def show(self):
        """Capture this figure: ``fig.show()``. It stays open in pyplot."""
        if (collection := collect.current()) is not None:
            collection.capture(self.canvas.figure, self)

    def destroy(self):
        """Let pyplot close the figure; called after pyplot has forgotten it.

        A figure that was shown in passing, or saved, is captured now, as it was last.
        The canvas stays (matplotlib 3.11 would put a bare one in its place):
        it holds nothing of a GUI, and `show` needs it.
        """
        if (collection := collect.current()) is not None:
            collection.closed(self)


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas, with our manager."""

    manager_class = FigureManager

    def print_figure(self, filename, *args, **kwargs):
        """Save the figure: ``plt.savefig``. Files, unlike buffers, are told of."""
        save = super().print_figure
        if not isinstance(filename, (str, os.PathLike)):
            return save(filename, *args, **kwargs)
        with fonts.missing_letters() as letters:
            result = save(filename, *args, **kwargs)
        if letters and fonts.lend(self.figure, letters):
            result = save(filename, *args, **kwargs)
        collection = collect.current()
        if collection is not None and self.manager is not None and not _is_called_by("animation"):
            name = os.fsdecode(filename)
            if not kwargs.get("format") and not os.path.splitext(name)[1][1:]:
                name = f"{name.rstrip('.')}.{self.get_default_filetype()}"  # as matplotlib does
            collection.note_file(self.manager, name)
        return result

    def start_event_loop(self, timeout=0):
        """Sleep for `timeout` seconds, as plt.pause wants it.

        A wait without limit (``plt.waitforbuttonpress()``) returns at once:
        nobody can press a button here.
        """
        if timeout and timeout > 0:
            super().start_event_loop(timeout)


def show(block=None):
    """Capture every open figure: ``plt.show()``.

    Then they are closed in pyplot, as a user's closing the windows would.
    In interactive mode and with ``block=False`` they stay open, because code
    written for these goes on drawing in the same figures.
    """
    collection = collect.current()
    if collection is None:
        return
    # Animations by hand pause hundreds of times; the last state is wanted, not each.
    if _is_called_by("pyplot", "pause"):
        collection.await_closing()
        return
    close = not is_interactive() if block is None else bool(block)
    if (failure := collection.capture_open(close)) is not None:
        raise failure


def _is_called_by(module, function=""):
    """Whether what matplotlib's function (plt.show, savefig) calls us for is a part of another."""
    frame = sys._getframe(2).f_back  # of who called that
    if frame is None or frame.f_globals.get("__name__") != f"matplotlib.{module}":
        return False
    return not function or frame.f_code.co_name == function
