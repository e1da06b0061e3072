"""Which files show a figure that the user has saved."""

import os

from . import titles


class Files:
    """Where the user has saved a figure, as it looked then."""

    def __init__(self, collection, figure):
        self.collection = collection
        self.names = []
        self.path = ""  # of the last one
        self.title = titles.title_of(figure)
        self._artists = _artists(figure)

    def add(self, name):
        """Add a file by its name."""
        self.names = [*(each for each in self.names if each != name), name]
        self.path = os.path.abspath(name)

    def show(self, figure):
        """Whether the figure still has on it what the files show."""
        return _artists(figure) == self._artists


def _artists(figure):
    inner = (child for axes in figure.axes for child in axes.get_children())
    return [*figure.get_children(), *inner]
