"""Figures of an execution, from matplotlib_capture to frames."""

import os
import sys

import matplotlib_capture as capture

FOLDER = "figures"  # in the private directory
CHILDREN = "children"  # in that: what child processes have shown, until it is collected
GRIDS = ("seaborn.axisgrid",)  # whose values hold a figure


class Figures:
    """Sends the figures that an execution shows or leaves open."""

    def __init__(self, channel, private_dir, max_side):
        self._channel = channel
        self._max_side = max_side  # pixels, of a preview
        self._execution = 0
        self.move(private_dir)

    def move(self, private_dir):
        """Saves figures under another folder from now on."""
        self._directory = os.path.join(private_dir, FOLDER)
        capture.announce(os.path.join(self._directory, CHILDREN))

    def begin(self, execution):
        """Begins to take what the execution shows."""
        self._execution = execution
        prefix, max_side = f"{execution:04d}", self._max_side
        capture.begin(self._emit, directory=self._directory, prefix=prefix, max_side=max_side)

    def end(self, failed):
        """Takes what is still open, and closes it.

        Returns the exception that kept a figure from being drawn, if one did; where the
        run has failed already, that is told on stderr instead.
        """
        return capture.end(failed)

    def _emit(self, figure):
        fields = ("path", "mime_type", "width", "height", "title")
        header = {name: getattr(figure, name) for name in fields}
        header.update(type="figure", execution=self._execution)
        if figure.names:
            header["names"] = list(figure.names)
        self._channel.send(header, [figure.preview])


def show(value, at_once):
    """Shows a value if it is a figure of matplotlib, and says whether it is one.

    At once it is shown as it looks now, even if it has been shown so before.
    """
    if (figure := figure_of(value)) is None:
        return False
    (capture.show if at_once else capture.echo)(figure)
    return True


def figure_of(value):
    """Returns the whole figure that a value is, is a part of or holds; None for others."""
    module = sys.modules.get("matplotlib.figure")
    if module is None:
        return None
    if type(value).__module__ in GRIDS:
        value = getattr(value, "figure", None)
    if not isinstance(value, module.FigureBase):
        return None
    while isinstance(value, module.SubFigure):
        value = value.figure
    return value


def is_plotly(value):
    """Says whether a value is a figure of plotly."""
    return isinstance(value, getattr(sys.modules.get("plotly.basedatatypes"), "BaseFigure", ()))
