"""Which figures are captured, when, and that each comes once.

Between `start` and `finish` there is a `Collection`. Nothing here imports
matplotlib: its modules are looked up in `sys.modules`, and the modules that
draw are imported with the first capture.
"""

import os
import sys
from _thread import RLock  # threading costs a millisecond where nobody needs it

from . import children

MOST_SAVED = 10  # pictures of saved and closed figures, in one execution

_current = None  # the execution's collection
_outside = None  # this process's, where no execution runs
_closing = False  # what is closed now is not captured any more


def start(emit, directory, prefix, max_side):
    """Begin the collection of one execution."""
    global _current
    _current = Collection(emit, directory, prefix, max_side)


def current():
    """The collection for what is shown now, or None.

    In a child of the user's code, and between executions, figures are saved for
    the execution that ends next, if a directory has been announced.
    """
    global _outside
    if _closing:
        return None
    pid = os.getpid()
    if _current is not None and _current.pid == pid:
        return _current
    if not children.directory():
        return None
    if _outside is None or _outside.pid != pid:
        _outside = Outside(None, "", str(pid), 0)
    _outside.directory = children.directory()  # a branch has another
    return _outside


def finish(failed=False):
    """Capture the figures still open in pyplot, close them, stop capturing.

    Return the exception that kept one of them from being drawn, or None; if the
    execution has `failed` already, that is told on stderr instead. Whatever it raises,
    every figure is closed: none of this execution can reappear in a later one.
    """
    global _current, _closing
    collection, registry = current(), _pyplot_figures()
    try:
        return collection.capture_rest(failed) if collection is not None else None
    finally:
        _current, _closing = None, True
        if collection is not None:
            collection.ended = True
        try:
            if registry is not None:
                registry.destroy_all()
        finally:
            _closing = False
            if registry is not None:
                registry.figs.clear()


def draw(figure, max_side):
    """(PNG, preview, title) of a figure that somebody hands on by himself.

    As it looks now, the figure is not captured in this execution any more.
    """
    from . import messages, render

    collection, manager = current(), figure.canvas.manager
    with collection.drawing:
        png = render.draw(figure, blank=True)
        collection.note(manager or figure, png)
        return png, render.fit(figure, png, max_side), messages.title_of(figure, manager)


def _pyplot_figures():
    """matplotlib's registry of open figures, or None when nothing is open."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    registry = getattr(helpers, "Gcf", None)
    return registry if registry is not None and registry.figs else None


def _open_managers():
    registry = _pyplot_figures()
    managers = registry.get_all_fig_managers() if registry is not None else []
    return sorted(managers, key=lambda manager: getattr(manager, "created", -1))


def is_open(manager):
    """Whether pyplot holds a figure's manager."""
    return manager is not None and manager in _open_managers()


def _close(manager):
    if is_open(manager):
        _pyplot_figures().destroy(manager)


class Collection:
    """The captures of one execution."""

    metadata = None  # for the PNG, by title

    def __init__(self, emit, directory, prefix, max_side):
        self.emit = emit
        self.directory = directory
        self.prefix = prefix
        self.max_side = max_side
        self.pid = os.getpid()
        self.count = 0  # captures so far: the k of the file names
        self.seen = 0  # captures of figures that were saved and closed
        self.unseen = []  # names of files that were saved after those
        self.failure = None  # the first error that nobody was there to see
        self.interrupted = False  # a drawing was stopped by KeyboardInterrupt
        self.ended = False
        self.drawing = RLock()  # matplotlib can't draw in two threads at once

    def capture_open(self, close):
        """Capture every figure open in pyplot, in order of creation.

        Return what kept the first from being drawn that couldn't; others are reported.
        """
        failure = None
        for manager in _open_managers():
            if self.is_passed_over(manager):
                continue
            try:
                self.capture(manager.canvas.figure, manager)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failure = _first(failure, error)
            finally:
                if close:
                    _close(manager)
        return failure

    def is_passed_over(self, manager):
        """Whether a figure's drawing has failed here before."""
        return getattr(manager, "failed", None) is self

    def capture_rest(self, failed):
        """Capture what the execution leaves open, return the first error.

        After an interrupt during a drawing nothing more is drawn: whoever
        interrupted wants an end, and the next figure may be as slow.
        """
        if self.interrupted:
            count = len(_open_managers())
            _report(f"Drawing was interrupted; open figures not shown: {count}.")
            return None
        self.failure = _first(self.failure, self.capture_open(close=False))
        for path in children.waiting():
            try:
                png, title = children.take(path)
                self._hand_on(None, png, "A figure of a child process", title)
            except Exception as error:
                _report("A figure of a child process could not be read", error)
        if self.unseen:
            count, names = len(self.unseen), self.unseen
            listed = ", ".join(names if count < 8 else [*names[:3], "…", names[-1]])
            print(f"saved, not shown here: {listed} ({count} in all)")
        if not failed:
            return self.failure
        _first(failed, self.failure)  # which reports it
        return None

    def await_closing(self):
        """Note that plt.pause shows the open figures; see FigureManager.destroy."""
        for manager in _open_managers():
            manager.awaiting = self

    def closed(self, manager):
        """Capture a figure that is closed, if it was shown or saved in this execution."""
        files = self._files_of(manager)
        if files is None and manager.awaiting is not self:
            return
        if files is not None and self._is_too_many(files):
            return
        try:
            self.capture(manager.canvas.figure, manager)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.failure = _first(self.failure, error)

    def note_file(self, manager, name):
        """Note a file that the user has saved a figure in; it is told of with the figure."""
        files, figure = self._files_of(manager), manager.canvas.figure
        if files is not None and not files.show(figure):
            self._show_file(files)
            files = None
        if files is None:
            from . import save

            manager.saved = files = save.Files(self, figure, manager)
        files.add(name)

    def _files_of(self, manager):
        """The Files of a figure that the user was not told of yet."""
        files = getattr(manager, "saved", None)
        return files if files is not None and files.collection is self else None

    def _names_of(self, figure, manager):
        """The names of the files that show a figure as it is; those of others are told of."""
        files = self._files_of(manager)
        if files is None:
            return ()
        manager.saved = None
        if files.show(figure):
            return tuple(files.names)
        self._show_file(files)
        return ()

    def _is_too_many(self, files):
        """Count pictures of saved figures; those beyond the limit are named at the end."""
        if self.seen >= MOST_SAVED:
            self.unseen += files.names
            return True
        self.seen += 1
        return False

    def _show_file(self, files):
        """Show a figure that has changed since it was saved, out of its file."""
        from . import render

        if self._is_too_many(files):
            return
        try:
            png = render.read(files.path)
        except Exception:  # a PDF, or gone
            self.unseen += files.names
        else:
            self._hand_on(None, png, "A saved figure", files.title, tuple(files.names))

    def capture(self, figure, manager=None, again=False):
        """Draw a figure, save it, hand it on. What keeps it from that is raised.

        A figure that this collection has captured before comes again only if it
        looks different, or is to come `again`.
        """
        with self.drawing:
            if self.ended:
                return
            if manager is not None:
                manager.awaiting = None
            try:
                self._capture(figure, manager, again)
            except KeyboardInterrupt:
                self.interrupted = True
                _close(manager)
                raise
            except BaseException as error:
                from . import messages

                messages.name_figure(error, figure, manager)
                if manager is not None:
                    manager.failed = self
                raise

    def _capture(self, figure, manager, again):
        from . import messages, render

        title = messages.title_of(figure, manager)
        name = messages.name_of(manager, title)
        metadata = self.metadata and {self.metadata: title}
        with messages.warnings_at_user_line(name):
            png = render.draw(figure, metadata=metadata)
        names = self._names_of(figure, manager)
        if self.note(manager or figure, png) and not again:
            return
        if png is None:
            print(f"{figure!r} saved as {', '.join(names)}" if names else repr(figure))
            return
        try:
            self._hand_on(figure, png, name, title, names)
        except Exception as error:  # a fault of ours
            _report(f"{name} could not be shown", error)

    def note(self, holder, png):
        """Note what a figure looks like; true if that was noted before.

        `holder` is its manager, or the figure itself where it has none.
        """
        capture = (self, hash(png))
        repeated = getattr(holder, "last_capture", None) == capture
        holder.last_capture = capture
        return repeated

    def _hand_on(self, figure, png, name, title, names=()):
        """Save the image of a figure, which is None if it was drawn elsewhere, and emit it."""
        from . import CapturedFigure, render, save

        self.count += 1
        try:
            path = save.write(png, self.directory, f"{self.prefix}-{self.count}")
        except OSError as error:
            _report(f"{name} is shown without a file: {self.directory} takes none", error)
            path = ""
        if self.emit is None:
            return
        preview, size = render.fit(figure, png, self.max_side), render.images.size_of(png)
        if not self.ended:  # a slow drawing in a thread of the user's
            self.emit(CapturedFigure(path, size, title, preview, names))


class Outside(Collection):
    """What a child of the user's code shows, or the session between executions."""

    metadata = "Title"

    def closed(self, manager):
        """Leave alone what nobody has shown: a script's own files are its own affair."""

    def note_file(self, manager, name):
        """Leave them alone."""

    def is_passed_over(self, manager):
        """Whether a figure was made before this process was forked."""
        return getattr(manager, "pid", self.pid) != self.pid


def _first(first, error):
    """The first of two errors, of which each may be None; the other one is reported."""
    if first is not None and error is not None:
        from . import messages

        messages.report(messages.describe_failure(error))
    return error if first is None else first


def _report(text, error=None):
    from . import messages

    messages.report(text if error is None else f"{text}: {messages.describe(error)}")
