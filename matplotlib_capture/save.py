"""Files with figures: those that we write, and those that the user has saved."""

import os

from . import messages


def write(data, directory, stem):
    """Write `data` to ``<directory>/<stem>-<hex>.png``, whole or not at all; return the path."""
    name = f"{stem}-{os.urandom(3).hex()}.png"
    path, part = os.path.join(directory, name), os.path.join(directory, f".{name}.part")
    os.makedirs(directory, exist_ok=True)
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    return path


class Files:
    """Where the user has saved a figure, as it looked then."""

    def __init__(self, collection, figure, manager):
        self.collection = collection
        self.names = []
        self.path = ""  # of the last one
        self.title = messages.title_of(figure, manager)
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
