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
    collection, pid = _current, os.getpid()
    if collection is not None and collection.pid == pid:
        return collection
    if not children.directory():
        return None
    if _outside is None or _outside.pid != pid:
        _outside = Outside()
    return _outside


def finish(failed):
    """Capture what is open and what children have saved, close it, end the collection.

    Return what has kept a figure from being drawn, if anything has. If the
    execution has `failed` anyway, that is reported instead.
    """
    global _current, _closing
    collection = current()
    pyplot_figures = _pyplot_figures()
    try:
        return collection.capture_rest(failed) if collection is not None else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        from . import messages

        messages.report(f"The open figures could not be captured: {messages.describe(error)}")
        return None
    finally:
        _current, _closing = None, True
        if collection is not None:
            collection.ended = True
        if pyplot_figures is not None:
            _close_all(pyplot_figures)
        _closing = False


def _pyplot_figures():
    """matplotlib's registry of open figures, or None when nothing is open."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    registry = getattr(helpers, "Gcf", None)
    return registry if registry is not None and registry.figs else None


def _open_managers():
    registry = _pyplot_figures()
    if registry is None:
        return []
    return sorted(
        registry.get_all_fig_managers(), key=lambda manager: getattr(manager, "created", -1)
    )


def is_open(manager):
    """Whether pyplot holds a figure's manager."""
    return manager is not None and manager in _open_managers()


def _close(manager):
    if is_open(manager):
        _pyplot_figures().destroy(manager)


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
        self.seen = 0  # captures of figures that were saved and closed
        self.unseen = []  # names of files that were saved after those
        self.failure = None  # the first error that nobody was there to see
        self.interrupted = False  # a drawing was stopped by KeyboardInterrupt
        self.ended = False
        self.drawing = RLock()  # matplotlib can't draw in two threads at once

    def capture_open(self, *, close):
        """Capture every figure open in pyplot, in order of creation.

        What keeps one from being drawn is raised after the others have come.
        """
        failure = None
        for manager in _open_managers():
            if self._is_passed_over(manager):
                continue
            try:
                self.capture(manager.canvas.figure, manager)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failure = self._keep(failure, error)
            finally:
                if close:
                    _close(manager)
        if failure is not None:
            raise failure

    def _is_passed_over(self, manager):
        """Whether a figure's drawing has failed here before."""
        return getattr(manager, "failed", None) is self

    def _keep(self, first, error):
        """Return the first of two errors; the other one is reported."""
        if first is None:
            return error
        from . import messages

        messages.report(messages.describe_failure(error))
        return first

    def capture_rest(self, failed):
        """Capture what the execution leaves open, return the first error.

        After an interrupt during a drawing nothing more is drawn: whoever
        interrupted wants an end, and the next figure may be as slow.
        """
        if self.interrupted:
            from . import messages

            count = len(_open_managers())
            messages.report(f"Drawing was interrupted; open figures not shown: {count}.")
            return None
        try:
            self.capture_open(close=False)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.fail(error)
        for path in children.waiting():
            self._take_over(path)
        self._tell_unseen()
        if failed and self.failure is not None:
            from . import messages

            messages.report(messages.describe_failure(self.failure))
            return None
        return self.failure

    def fail(self, error):
        """Keep an error that could not be raised where the user would see it."""
        self.failure = self._keep(self.failure, error)

    def _take_over(self, path):
        """Hand on a figure that a child has saved."""
        from . import messages

        try:
            png, title = children.take(path)
            self._emit_png(png, "A figure of a child process", title)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            said = f"A figure of a child process could not be read: {messages.describe(error)}"
            messages.report(said)

    def _emit_png(self, png, name, title, names=()):
        """Hand on an image that is there already."""
        from . import render

        width, height = render.size_of(png)
        path = self._save(png, name)
        if max(width, height) > self.max_side:
            png = render.scaled_down(png, self.max_side)
        self._hand_on(path, width, height, title, png, names)

    def _tell_unseen(self):
        if self.unseen:
            from . import messages

            count, names = len(self.unseen), self.unseen
            listed = ", ".join(names if count < 8 else [*names[:3], "…", names[-1]])
            messages.say(f"saved, not shown here: {listed} ({count} in all)")

    def await_closing(self):
        """Note that plt.pause shows the open figures; see FigureManager.destroy."""
        for manager in _open_managers():
            manager.awaiting = self

    def closed(self, manager):
        """Capture a figure that is closed, if it was shown or saved in this execution."""
        files = self._files_of(manager)
        if files is not None and self._is_too_many(files):
            return
        if files is not None or manager.awaiting is self:
            try:
                self.capture(manager.canvas.figure, manager)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.fail(error)

    def note_file(self, manager, name):
        """Note a file that the user has saved a figure in; it is told of with the figure."""
        files, figure = self._files_of(manager), manager.canvas.figure
        if files is not None and not files.show(figure):
            self._show_file(files)
            files = None
        if files is None:
            from . import saved

            manager.saved = files = saved.Files(self, figure)
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
            self._emit_png(png, "A saved figure", files.title, tuple(files.names))

    def capture(self, figure, manager=None):
        """Draw a figure, save it, hand it on. What keeps it from that is raised.

        A figure that this collection has captured before comes again only if it
        looks different.
        """
        with self.drawing:
            if self.ended:
                return
            if manager is not None:
                manager.awaiting = None
            try:
                self._capture(figure, manager)
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

    def _capture(self, figure, manager):
        from . import messages, render, titles

        title = titles.title_of(figure, manager)
        name = messages.name_of(manager, title)
        with messages.warnings_at_user_line(name):
            png = render.draw(figure)
        names = self._names_of(figure, manager)
        if self.note(manager or figure, png):
            return
        if png is None:
            messages.say(f"{figure!r} saved as {', '.join(names)}" if names else repr(figure))
            return
        try:
            self._emit(figure, png, name, title, names)
        except Exception as error:  # a fault of ours
            messages.report(f"{name} could not be shown: {messages.describe(error)}")

    def _emit(self, figure, png, name, title, names):
        from . import messages, render

        width, height = render.size_of(png)
        path = self._save(png, name)
        if max(width, height) > self.max_side:
            with messages.warnings_ignored():
                png = render.draw_smaller(figure, png, self.max_side)
        self._hand_on(path, width, height, title, png, names)

    def note(self, holder, png):
        """Note what a figure looks like; true if that was noted before.

        `holder` is its manager, or the figure itself where it has none.
        """
        capture = (self, hash(png))
        repeated = getattr(holder, "last_capture", None) == capture
        holder.last_capture = capture
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

    def _hand_on(self, path, width, height, title, preview, names):
        from . import CapturedFigure

        if not self.ended:  # a slow drawing in a thread of the user's
            self.emit(CapturedFigure(path, "image/png", width, height, title, preview, names))


class Outside(Collection):
    """What a child of the user's code shows, or the session between executions."""

    def __init__(self):
        super().__init__(None, children.directory(), str(os.getpid()), 0)

    def closed(self, manager):
        """Leave alone what nobody has shown: a script's own files are its own affair."""

    def note_file(self, manager, name):
        """Leave them alone."""

    def _is_passed_over(self, manager):
        return children.is_inherited(manager)

    def _emit(self, figure, png, name, title, names):
        self.directory = children.directory()  # a branch has another
        self._save(children.with_title(png, title), name)
