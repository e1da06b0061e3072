"""What a figure is called, and what the user reads on stderr: errors and warnings."""

import linecache
import os
import sys
import warnings
from contextlib import contextmanager

MAX_MESSAGE = 2000  # characters of an exception's own message
MAX_TITLE = 200

# pyworker, the package beside us, runs the user's code.
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_OURS = (_FOLDER + os.sep, os.path.join(os.path.dirname(_FOLDER), "pyworker") + os.sep)


def title_of(figure, manager=None):
    """The figure's title as one line of plain text, "" if it has none.

    The first of: the figure's suptitle, its subfigures' suptitles, its axes'
    titles, the window's title where the user set one, the figure's label.
    """
    sides = ("left", "center", "right")
    window = manager.get_window_title() if manager is not None else ""
    if window in (f"Figure {getattr(manager, 'num', '')}", "image"):  # before matplotlib 3.6
        window = ""
    for titles in (
        _suptitles([figure]),
        _suptitles(getattr(figure, "subfigs", [])),
        [axes.get_title(loc=side) for axes in figure.axes for side in sides],
        [window],
        [figure.get_label()],
    ):
        lines = [" ".join(str(title or "").split()) for title in titles]
        if title := "; ".join(filter(None, lines)):
            title = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in title)
            cut = title[: MAX_TITLE - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
            return title if len(title) <= MAX_TITLE else cut
    return ""


def _suptitles(figures):
    # get_suptitle() came with matplotlib 3.8.
    texts = (getattr(figure, "_suptitle", None) for figure in figures)
    return [text.get_text() for text in texts if text is not None]


def name_of(manager, title):
    """How messages call a figure: ``Figure 2 ("Sales")``."""
    name = f"Figure {manager.num}" if hasattr(manager, "num") else "The figure"
    return f'{name} ("{title}")' if title else name


def report(text):
    """Write a line to stderr. User code may have closed or replaced it."""
    for stream in (sys.stderr, sys.__stderr__):
        try:
            stream.write(text + "\n")
            return
        except Exception:
            continue


def name_figure(error, figure, manager):
    """Note in an error which figure it kept from being drawn.

    Of the frames that it came through only the user's stay: of matplotlib's there are
    twenty between ``plt.show()`` and a formula that can't be read.
    """
    kept = None
    for entry in reversed(_users_entries(error)):
        kept = type(entry)(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    error.__traceback__ = kept
    try:
        error.figure_name = name_of(manager, title_of(figure, manager))
        error.add_note(f"{error.figure_name} could not be drawn.")
    except Exception:
        pass  # Python 3.10 has no notes, and a class of the user's may take none


def describe(error):
    """An exception's type and message, and the user's line it comes from."""
    try:
        message = str(error)[:MAX_MESSAGE]
    except Exception:
        message = "(its message can't be read)"
    place = ""
    for entry in _users_entries(error)[-1:]:
        filename, line = entry.tb_frame.f_code.co_filename, entry.tb_lineno
        place = f" ({filename}, line {line}: {linecache.getline(filename, line).strip()})"
    return f"{type(error).__name__}: {message}".removesuffix(": ") + place


def _users_entries(error):
    """The entries of an exception's traceback that are in the user's code."""
    entries, entry = [], error.__traceback__
    while entry is not None:
        if _is_users(entry.tb_frame.f_code.co_filename):
            entries.append(entry)
        entry = entry.tb_next
    return entries


def describe_failure(error):
    """What is reported of an error that kept a figure from being drawn."""
    return f"{getattr(error, 'figure_name', 'A figure')} could not be shown: {describe(error)}"


@contextmanager
def warnings_at_user_line(name):
    """Issue warnings met while drawing as if the line that shows had made them.

    matplotlib would name the first line outside itself, which is ours.
    """
    frame = sys._getframe(2)
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    with warnings.catch_warnings(record=True) as caught:
        yield
    place = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else (f"<{name}>", 1)
    issue_again(caught, place)


def issue_again(caught, place=None):
    """Issue warnings that were caught; those of our own lines come from `place`, if any."""
    registry = {}  # so that each is issued as often as there were
    for warning in caught:
        where = warning.filename, warning.lineno
        if place is not None and where[0].startswith(_OURS):
            where = place
        warnings.warn_explicit(warning.message, warning.category, *where, registry=registry)


def _is_users(filename):
    """Whether a file is neither ours nor the standard library's or beside matplotlib."""
    import matplotlib

    site_packages = os.path.dirname(os.path.dirname(matplotlib.__file__)) + os.sep
    standard = os.path.dirname(os.__file__) + os.sep
    return not filename.startswith(("<frozen ", *_OURS, standard, site_packages))
