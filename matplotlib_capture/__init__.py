"""The figures that user code shows, as images.

Words:

- **figure**: a matplotlib figure that pyplot manages. Figures made without
  pyplot are not looked at: nothing shows them.
- **showing**: ``plt.show()``, ``fig.show()``, or being open in pyplot when the
  execution ends.
- **capture**: drawing a shown figure once, saving the PNG, handing it on.
- **collection**: the captures of one execution, between `begin` and `end`.

The way of a figure::

    plt.show() -> backend.py -> collect.py -> render.py  draws the PNG
                                           -> save.py    writes the file
                                           -> emit(CapturedFigure)

``MPLBACKEND=module://matplotlib_capture.backend`` makes pyplot load
`backend.py`; `switching.py` keeps it there when user code asks for another
backend. pyplot itself is never changed.

Importing this package imports neither matplotlib nor anything else, and
`begin` and `end` cost microseconds while there is nothing to capture.
"""

from . import collect, switching

__all__ = ["CapturedFigure", "begin", "end"]


class CapturedFigure:
    """One captured figure.

    `path` is the absolute path of the whole image, "" when it could not be
    saved; `width` and `height` are its size in pixels. `preview` holds the
    bytes of a PNG whose longest side is at most the execution's `max_side`.
    `title` is one line of plain text, possibly empty.
    """

    # A plain class: dataclasses and typing cost more to import than all of us.
    __slots__ = ("height", "mime_type", "path", "preview", "title", "width")

    def __init__(self, path, mime_type, width, height, title, preview):
        self.path = path
        self.mime_type = mime_type
        self.width = width
        self.height = height
        self.title = title
        self.preview = preview

    def __repr__(self):
        return (
            f"CapturedFigure({self.path!r}, {self.width}x{self.height}, "
            f"title={self.title!r}, preview of {len(self.preview)} bytes)"
        )


def begin(emit, *, directory, prefix, max_side):
    """Start capturing the figures of one execution.

    `emit` is called with a `CapturedFigure` for each figure as it is shown, in
    the thread that shows it, one at a time. Images are saved in `directory`
    (absolute; made when first needed) as ``<prefix>-<k>-<hex>.png``, k counting
    from 1. `max_side` limits the longest side of a preview, in pixels.
    """
    switching.keep_our_backend()
    collect.start(emit, directory, prefix, max_side)


def end():
    """Capture the figures still open in pyplot, close them, stop capturing.

    Raises nothing but KeyboardInterrupt, and even then every figure is closed:
    no figure of this execution can reappear in a later one.
    """
    collect.finish()
