"""A matplotlib backend that draws with Agg and shows by capturing.

Loaded by pyplot through ``MPLBACKEND=module://matplotlib_capture.backend``.
Outside an execution (in a child Python that inherited the environment, say)
showing does nothing and everything else is as with Agg.

matplotlib up to 3.5 takes `FigureCanvas`, `FigureManager` and `show` from this
module, later ones take the manager from the canvas class.
"""

import itertools
import sys

from matplotlib import is_interactive
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import collect

__all__ = ["FigureCanvas", "FigureManager", "show"]

_creation = itertools.count()


class FigureManager(FigureManagerBase):
    """What pyplot holds for an open figure; it outlives the figure's closing.

    So ``fig.show()`` works on a closed figure, in a later execution too.
    """

    _window_title = ""

    def __init__(self, canvas, num):
        self.created = next(_creation)  # captures come in order of creation
        self.last_capture = None  # (collection, hash of the PNG)
        self.awaiting = None  # the collection in which plt.pause showed it
        super().__init__(canvas, num)

    def show(self):
        """Capture this figure: ``fig.show()``. It stays open in pyplot."""
        collection = collect.current()
        if collection is not None:
            collection.capture(self)

    def destroy(self):
        """Let pyplot close the figure; called after pyplot has forgotten it.

        A figure that ``plt.pause`` has shown is captured now, as it was last.
        The canvas stays (matplotlib 3.11 would put a bare one in its place):
        it holds nothing of a GUI, and `show` needs it.
        """
        collection = collect.current()
        if collection is not None and self.awaiting is collection:
            collection.capture(self)

    def get_window_title(self):
        """The window's title; matplotlib before 3.6 keeps none without a GUI."""
        return self._window_title

    def set_window_title(self, title):
        """Set the window's title, which may become the image's."""
        self._window_title = title


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas, with our manager."""

    manager_class = FigureManager

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
    if _is_called_by_pause():
        collection.await_closing()
        return
    if block is None:
        block = not is_interactive()
    collection.capture_open(close=bool(block))


def _is_called_by_pause():
    """Whether plt.pause called plt.show(block=False).

    Animations by hand pause hundreds of times; the figure's last state is
    wanted, not each. Frame 2 is pyplot.show, frame 3 its caller.
    """
    frame = sys._getframe(2).f_back
    return (
        frame is not None
        and frame.f_code.co_name == "pause"
        and frame.f_globals.get("__name__") == "matplotlib.pyplot"
    )
