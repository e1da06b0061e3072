"""Which figures are captured, when, and that each comes once.

Between `start` and `finish` there is a `Collection`. Nothing here imports
matplotlib: its modules are looked up in `sys.modules`, and the modules that
draw are imported with the first capture.
"""

import os
import sys
from _thread import RLock  # threading costs a millisecond where nobody needs it

_current = None


def start(emit, directory, prefix, max_side):
    """Begin the collection of one execution."""
    global _current
    _current = Collection(emit, directory, prefix, max_side)


def current():
    """The running execution's collection, or None.

    None also in a child that user code forked: its figures are not ours, and
    the descriptor that they would be sent on belongs to the parent.
    """
    collection = _current
    if collection is None or collection.pid != os.getpid():
        return None
    return collection


def finish():
    """Capture what is open, close it, and end the collection."""
    global _current
    collection = current()
    pyplot_figures = _pyplot_figures()
    try:
        if collection is not None and pyplot_figures is not None:
            collection.capture_rest()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        from . import messages

        messages.report(f"The open figures could not be captured: {messages.describe(error)}")
    finally:
        _current = None  # first, so that closing captures nothing
        if collection is not None:
            collection.ended = True
        if pyplot_figures is not None:
            _close_all(pyplot_figures)


def _pyplot_figures():
    """matplotlib's registry of open figures, or None when nothing is open."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    registry = getattr(helpers, "Gcf", None)
    return registry if registry is not None and registry.figs else None


def _close_all(registry):
    try:
        registry.destroy_all()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # a manager of the user's own that fails to close is dropped below
    finally:
        registry.figs.clear()


class Collection:
    """The captures of one execution."""

    def __init__(self, emit, directory, prefix, max_side):
        self.emit = emit
        self.directory = directory
        self.prefix = prefix
        self.max_side = max_side
        self.pid = os.getpid()
        self.count = 0  # captures so far: the k of the file names
        self.interrupted = False  # a drawing was stopped by KeyboardInterrupt
        self.ended = False
        self.drawing = RLock()  # matplotlib can't draw in two threads at once

    def capture_open(self, *, close):
        """Capture every figure open in pyplot, in order of creation."""
        for manager in self._open_managers():
            try:
                self.capture(manager)
            finally:
                if close:
                    self._close(manager)

    def capture_rest(self):
        """Capture what the execution leaves open.

        After an interrupt during a drawing nothing more is drawn: whoever
        interrupted wants an end, and the next figure may be as slow.
        """
        if self.interrupted:
            from . import messages

            count = len(self._open_managers())
            messages.report(f"Drawing was interrupted; open figures not shown: {count}.")
            return
        self.capture_open(close=False)

    def await_closing(self):
        """Note that plt.pause shows the open figures; see FigureManager.destroy."""
        for manager in self._open_managers():
            manager.awaiting = self

    def capture(self, manager):
        """Draw the figure of `manager`, save it, hand it on.

        A failure is reported on stderr. A figure that this collection has
        captured before comes again only if it looks different.
        """
        with self.drawing:
            if self.ended:
                return
            manager.awaiting = None
            try:
                self._capture(manager)
            except KeyboardInterrupt:
                self.interrupted = True
                self._close(manager)
                raise

    def _capture(self, manager):
        from . import messages, render, titles

        figure = manager.canvas.figure
        title = titles.title_of(figure, manager)
        name = messages.name_of(manager, title)
        try:
            with messages.warnings_at_user_line(name):
                png = render.draw(figure)
            if self.note(manager, png):
                return
            width, height = render.size_of(png)
            path = self._save(png, name)
            if max(width, height) > self.max_side:
                with messages.warnings_ignored():
                    png = render.draw_smaller(figure, png, self.max_side)
            self._hand_on(path, width, height, title, png)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            messages.report(f"{name} could not be shown: {messages.describe(error)}")

    def note(self, manager, png):
        """Note what a figure looks like; true if that was noted before."""
        capture = (self, hash(png))
        repeated = getattr(manager, "last_capture", None) == capture
        manager.last_capture = capture
        return repeated

    def _save(self, png, name):
        from . import messages, save

        self.count += 1
        try:
            return save.write(png, self.directory, f"{self.prefix}-{self.count}")
        except OSError as error:
            messages.report(
                f"{name} could not be saved in {self.directory}: "
                f"{messages.describe(error)}. It is shown without a file."
            )
            return ""

    def _hand_on(self, path, width, height, title, preview):
        from . import CapturedFigure

        if not self.ended:  # a slow drawing in a thread of the user's
            self.emit(CapturedFigure(path, "image/png", width, height, title, preview))

    def _open_managers(self):
        registry = _pyplot_figures()
        if registry is None:
            return []
        return sorted(
            registry.get_all_fig_managers(), key=lambda manager: getattr(manager, "created", -1)
        )

    def _close(self, manager):
        registry = _pyplot_figures()
        if registry is not None and manager in registry.get_all_fig_managers():
            registry.destroy(manager)
