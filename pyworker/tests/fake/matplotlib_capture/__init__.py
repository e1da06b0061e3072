"""Stands for the real package in tests: figures are what the code says they are."""

_emit = None
_place = None
_open = []
_count = 0


class Figure:
    """What the real package gives to emit."""

    def __init__(self, title, preview):
        global _count
        _count += 1
        self.path = f"{_place[0]}/{_place[1]}-{_count}.png"
        self.mime_type = "image/png"
        self.width, self.height = 640, 480
        self.title = title
        self.preview = preview
        self.names = ()


def begin(emit, *, directory, prefix, max_side):
    """Begins an execution."""
    global _emit, _place, _count
    _emit, _place, _count = emit, (directory, prefix, max_side), 0


def show(title, preview):
    """Shows a figure now."""
    _emit(Figure(title, preview))


def leave_open(title, preview):
    """Leaves a figure open, or something to call at the end."""
    _open.append((title, preview))


def announce(directory):
    """Tells children nothing."""


def end(failed=False):
    """Shows what was left open."""
    try:
        for title, preview in _open:
            if callable(title):
                title()
            else:
                show(title, preview)
    finally:
        _open.clear()
