"""What the user reads on stderr about figures: errors and warnings."""

import linecache
import os
import sys
import warnings
from contextlib import contextmanager

MAX_MESSAGE = 2000  # characters of an exception's own message


def report(text):
    """Write a line to stderr. User code may have closed or replaced it."""
    for stream in (sys.stderr, sys.__stderr__):
        try:
            stream.write(text + "\n")
            return
        except Exception:
            continue


def say(text):
    """Write a line to stdout, as Jupyter does of a figure without axes."""
    try:
        sys.stdout.write(text + "\n")
    except Exception:
        report(text)


def name_figure(error, figure, manager):
    """Note in an error which figure it kept from being drawn.

    Of the frames that it came through only the user's stay: of matplotlib's there are
    twenty between ``plt.show()`` and a formula that can't be read.
    """
    from . import titles

    error.__traceback__ = _users_frames(error.__traceback__)
    try:
        name = name_of(manager, titles.title_of(figure, manager))
        error.figure_name = name
        error.add_note(f"{name} could not be drawn.")
    except Exception:
        pass  # Python 3.10 has no notes, and a class of the user's may take none


def _users_frames(traceback):
    entries = []
    while traceback is not None:
        if _is_users(traceback.tb_frame.f_code.co_filename):
            entries.append(traceback)
        traceback = traceback.tb_next
    kept = None
    for entry in reversed(entries):
        kept = type(entry)(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def describe_failure(error):
    """What is reported of an error that kept a figure from being drawn."""
    return f"{getattr(error, 'figure_name', 'A figure')} could not be shown: {describe(error)}"


def name_of(manager, title):
    """How messages call a figure: ``Figure 2 ("Sales")``."""
    name = f"Figure {manager.num}" if hasattr(manager, "num") else "The figure"
    return f'{name} ("{title}")' if title else name


def describe(error):
    """An exception's type and message, and the user's line it comes from."""
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:
        message = "(its message can't be read)"
    kind = type(error).__name__
    return (f"{kind}: {message}" if message else kind) + _user_line(error)


@contextmanager
def warnings_at_user_line(name):
    """Issue warnings met while drawing as if the line that shows had made them.

    matplotlib would name the first line outside itself, which is ours.
    """
    frame = _user_frame(sys._getframe(2))
    with warnings.catch_warnings(record=True) as caught:
        yield
    registry = {}  # so that a warning appears once for each figure
    for warning in caught:
        filename, line = warning.filename, warning.lineno
        if _is_ours(filename):
            filename, line = _place(frame, name)
        warnings.warn_explicit(warning.message, warning.category, filename, line, registry=registry)


@contextmanager
def warnings_ignored():
    """Drop warnings: those of a second drawing have been issued by the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _place(frame, name):
    if frame is None:
        return f"<{name}>", 1
    return frame.f_code.co_filename, frame.f_lineno


def _user_frame(frame):
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _user_line(error):
    """Where in the user's code (a formatter, an artist) the error came up."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if _is_users(filename):
            text = linecache.getline(filename, traceback.tb_lineno).strip()
            place = f" ({filename}, line {traceback.tb_lineno}: {text})"
        traceback = traceback.tb_next
    return place


def _is_users(filename):
    return not (
        filename.startswith("<frozen ")
        or _is_ours(filename)
        or filename.startswith(_library_folders())
    )


def _is_ours(filename):
    return filename.startswith(_OUR_FOLDERS)


# pyworker, the package beside us, runs the user's code.
_OUR_FOLDER = os.path.dirname(os.path.abspath(__file__))
_OUR_FOLDERS = (
    _OUR_FOLDER + os.sep,
    os.path.join(os.path.dirname(_OUR_FOLDER), "pyworker") + os.sep,
)


def _library_folders():
    """The standard library's folder, and the one that matplotlib is in."""
    import matplotlib

    site_packages = os.path.dirname(os.path.dirname(matplotlib.__file__))
    return (os.path.dirname(os.__file__) + os.sep, site_packages + os.sep)
