"""Figures that somebody hands on by himself: drawn as captured ones are."""

import io

from . import collect, render, titles


def draw(figure, max_side):
    """(PNG, preview) of a figure; the preview's sides have at most `max_side` pixels.

    As it looks now, the figure is not captured in this execution any more.
    """
    collection = collect.current()
    if collection is None:
        return _draw(figure, max_side)
    with collection.drawing:
        png, preview = _draw(figure, max_side)
        collection.note(figure.canvas.manager or figure, png)
    return png, preview


def _draw(figure, max_side):
    png = render.draw(figure, blank=True)
    smaller = max(render.size_of(png)) > max_side
    return png, render.draw_smaller(figure, png, max_side) if smaller else png


def draw_svg(figure):
    """The figure as SVG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def title_of(figure):
    """The figure's title, "" if it has none."""
    return titles.title_of(figure, figure.canvas.manager)
