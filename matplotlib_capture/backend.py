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

    _window_title = ""

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
        collection = collect.current()
        if collection is not None:
            collection.capture(self.canvas.figure, self)

    def destroy(self):
        """Let pyplot close the figure; called after pyplot has forgotten it.

        A figure that was shown in passing, or saved, is captured now, as it was last.
        The canvas stays (matplotlib 3.11 would put a bare one in its place):
        it holds nothing of a GUI, and `show` needs it.
        """
        collection = collect.current()
        if collection is not None:
            collection.closed(self)

    def note_file(self, name):
        """Note that the user has saved the figure, so that the answer can say so."""
        collection = collect.current()
        if collection is not None:
            collection.note_file(self, name)

    def get_window_title(self):
        """The window's title; matplotlib before 3.6 keeps none without a GUI."""
        return self._window_title

    def set_window_title(self, title):
        """Set the window's title, which may become the image's."""
        self._window_title = title


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
        if self.manager is not None and not _is_frame_of_animation():
            self.manager.note_file(_file_name(filename, kwargs.get("format")))
        return result

    def start_event_loop(self, timeout=0):
        """Sleep for `timeout` seconds, as plt.pause wants it.

        A wait without limit (``plt.waitforbuttonpress()``) returns at once:
        nobody can press a button here.
        """
        if timeout and timeout > 0:
            super().start_event_loop(timeout)


def _file_name(filename, kind):
    """The name of the file that matplotlib makes where it is told `filename`."""
    name = os.fsdecode(filename)
    whole = kind or os.path.splitext(name)[1][1:]
    return name if whole else f"{name.rstrip('.')}.{FigureCanvas.get_default_filetype()}"


def _is_frame_of_animation():
    """Whether an animation saves one of its frames: frame 2 is Figure.savefig."""
    frame = sys._getframe(2).f_back
    return frame is not None and frame.f_globals.get("__name__") == "matplotlib.animation"


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
