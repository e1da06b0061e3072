"""The figures that user code shows, as images.

Words:

- **figure**: a matplotlib figure, mostly one that pyplot manages.
- **showing**: ``plt.show()``, ``fig.show()``, the echo or display of a figure, saving
  it before it is closed, or being open in pyplot when the execution ends.
- **capture**: drawing a shown figure once, saving the PNG, handing it on.
- **collection**: the captures of one execution, between `begin` and `end`.

The way of a figure::

    plt.show() -> backend.py -> collect.py -> render.py  draws the PNG
                                           -> save.py    writes the file
                                           -> emit(CapturedFigure)

`switching.py` has pyplot load `backend.py`, and keeps it there when user code asks
for another backend. pyplot itself is never changed. What child processes show takes
the way that `children.py` describes.

Importing this package imports neither matplotlib nor any other library, and
`begin` and `end` cost microseconds while there is nothing to capture.
"""

from . import children, collect, switching

__all__ = ["CapturedFigure", "announce", "begin", "draw", "echo", "end", "show"]

announce = children.announce
draw = collect.draw
end = collect.finish


class CapturedFigure:
    """One captured figure.

    `path` is the absolute path of the whole image, "" when it could not be
    saved; `width` and `height` are its size in pixels. `preview` holds the
    bytes of a PNG whose longest side is at most the execution's `max_side`.
    `title` is one line of plain text, possibly empty, and `names` are those of the
    files that the user's code has saved the figure in.
    """

    # A plain class: dataclasses and typing cost more to import than all of us.
    def __init__(self, path, size, title, preview, names=()):
        self.path = path
        self.mime_type = "image/png"
        self.width, self.height = size
        self.title = title
        self.preview = preview
        self.names = names


def begin(emit, *, directory, prefix, max_side):
    """Start capturing the figures of one execution.

    `emit` is called with a `CapturedFigure` for each figure as it is shown, in
    the thread that shows it, one at a time. Images are saved in `directory`
    (absolute; made when first needed) as ``<prefix>-<k>-<hex>.png``, k counting
    from 1. `max_side` limits the longest side of a preview, in pixels.
    """
    switching.keep_our_backend()
    collect.start(emit, directory, prefix, max_side)


def show(figure):
    """Show a figure as it looks now, even if it has been shown so before."""
    collection = collect.current()
    if collection is not None:
        collection.capture(figure, figure.canvas.manager, again=True)


def echo(figure):
    """Show a figure that an expression has come to.

    One that is open in pyplot comes with the others, when it is closed at the latest:
    ``plt.figure()`` alone has an empty one for its value.
    """
    collection, manager = collect.current(), figure.canvas.manager
    if collection is None:
        return
    if not collect.is_open(manager):
        collection.capture(figure, manager)
    elif figure.axes:
        manager.awaiting = collection
