"""Figures of an execution, from matplotlib_capture to frames."""

import os
import sys

FOLDER = "figures"  # in the private directory


class Figures:
    """Sends the figures that an execution shows or leaves open."""

    def __init__(self, channel, private_dir, max_side):
        self._channel = channel
        self.move(private_dir)
        self._max_side = max_side  # pixels, of a preview
        self._execution = 0
        self._displayed = 0  # figures that were handed to display()
        self._capture = find_capture()

    def move(self, private_dir):
        """Saves figures under another folder from now on."""
        self._directory = os.path.join(private_dir, FOLDER)

    def begin(self, execution):
        """Begins to take what the execution shows."""
        if self._capture is None:
            return
        self._execution, self._displayed = execution, 0
        self._capture.begin(
            self._emit,
            directory=self._directory,
            prefix=f"{execution:04d}",
            max_side=self._max_side,
        )

    def echoed(self, value):
        """Shows a figure that was made without pyplot, which shows its own."""
        from . import forms

        figure = forms.matplotlib_figure(value) if forms.is_picture(value) else None
        if figure is not None and figure.canvas.manager is None:
            self.show(figure)

    def show(self, figure):
        """Shows any figure of matplotlib, as it looks now."""
        if self._capture is None:
            return
        from matplotlib_capture import CapturedFigure, drawing, save

        from . import images

        png, preview = drawing.draw(figure, self._max_side)
        self._displayed += 1
        path = save.write(png, self._directory, f"{self._execution:04d}-d{self._displayed}")
        size = images.size_of(png)
        title = drawing.title_of(figure)
        self._emit(CapturedFigure(path, "image/png", *size, title, preview))

    def end(self):
        """Takes what is still open, and closes it."""
        if self._capture is not None:
            self._capture.end()

    def _emit(self, figure):
        header = {
            "type": "figure",
            "execution": self._execution,
            "path": figure.path,
            "mime_type": figure.mime_type,
            "width": figure.width,
            "height": figure.height,
            "title": figure.title,
        }
        self._channel.send(header, [figure.preview])


def find_capture():
    """Returns the package, or None where a worker runs without it."""
    try:
        import matplotlib_capture
    except ImportError:
        return None
    return sys.modules["matplotlib_capture"] if matplotlib_capture else None
