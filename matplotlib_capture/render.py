"""Figures to PNG bytes.

A figure is drawn exactly as ``fig.savefig`` would draw it at the figure's own
resolution with a tight box around it, as Jupyter does, once. Only a figure too
large to preview is drawn a second time, at a lower resolution, so that its text
keeps its proportions.
"""

import functools
import io
import sys
import warnings
from contextlib import contextmanager

from matplotlib.transforms import Bbox

from pyworker.display import images

from . import fonts

# Agg needs 4 bytes for each pixel: 1 GiB at this limit. Beyond it a slip such
# as figsize in pixels would have the process killed for want of memory.
MAX_PIXELS = 2**28

# A tight box of more pixels on a side is no figure but a lost label.
MAX_SIDE = 2**16

# A tight bounding box may turn out larger than planned, because what is drawn
# around the axes shrinks a little less than they do.
ATTEMPTS = 4


def draw(figure, blank=False, metadata=None):
    """The figure as PNG, at its own resolution; None of one with nothing on it unless `blank`."""
    _check_size(figure)
    _draw_first_frames(figure)
    if not blank and is_blank(figure):
        return None
    with fonts.missing_letters() as letters:
        png = _png(figure, figure.dpi, metadata)
    if not letters:
        return png
    if fonts.lend(figure, letters):
        return _png(figure, figure.dpi, metadata)
    fonts.warn(letters)
    return png


def is_blank(figure):
    """Whether a figure has not even axes."""
    parts = getattr(figure, "subfigs", [])
    own = [child for child in figure.get_children() if child is not figure.patch]
    return all(child in parts and is_blank(child) for child in own)


def fit(figure, png, max_side):
    """The figure as PNG with its longest side at most `max_side` pixels.

    `png` is what `draw` gave. Where the figure can't be drawn so small (FreeType
    refuses letters of less than a pixel), or is None, that image is scaled down.
    """
    if figure is None:
        return images.preview(png, max_side)
    smaller, dpi = png, figure.dpi
    with warnings.catch_warnings():  # which the first drawing has issued
        warnings.simplefilter("ignore")
        try:
            for _ in range(ATTEMPTS):
                if max(size := images.size_of(smaller)) <= max_side:
                    return smaller
                # A quarter of a pixel more, because matplotlib may cut 1568 - 1e-9.
                dpi *= (max_side + 0.25) / max(size)
                smaller = _png(figure, dpi)
        except Exception:
            pass
    return images.preview(png, max_side)


def read(path):
    """An image file as PNG."""
    from PIL import Image  # matplotlib itself writes PNG with it

    with Image.open(path) as image:
        return images.encode(image)


def _png(figure, dpi, metadata=None):
    buffer = io.BytesIO()
    save = functools.partial(figure.savefig, buffer, format="png", dpi=dpi, metadata=metadata)
    with _canvas_as_it_was(figure.canvas):
        try:
            with _bounded_box(figure, dpi):
                save(bbox_inches="tight")
        except _BoxTooLarge:  # None would be savefig.bbox
            save(bbox_inches=Bbox([[0, 0], figure.get_size_inches()]))
    return buffer.getvalue()


class _BoxTooLarge(Exception):
    pass


@contextmanager
def _bounded_box(figure, dpi):
    """Refuse a tight box that a label lost far outside the figure has blown up."""
    measure = figure.get_tightbbox

    def measured(*args, **kwargs):
        box = measure(*args, **kwargs)
        sides = box.width * dpi, box.height * dpi
        if not max(sides) < MAX_SIDE or sides[0] * sides[1] > MAX_PIXELS:
            raise _BoxTooLarge
        return box

    figure.get_tightbbox = measured
    try:
        yield
    finally:
        del figure.get_tightbbox


@contextmanager
def _canvas_as_it_was(canvas):
    """Put Agg's pixel buffer back, or drop it where there was none.

    The user's figure lives on, and a buffer would stay with it (200 MB at 50
    megapixels). One that the user made by ``canvas.draw()`` must stay, in its
    own size, for ``canvas.buffer_rgba()``.
    """
    names = ("renderer", "_lastKey")  # of FigureCanvasAgg, matplotlib 3.5 to 3.11
    state = canvas.__dict__
    before = {name: state.pop(name) for name in names if name in state}
    try:
        yield
    finally:
        for name in names:
            state.pop(name, None)
        state.update(before)


def _check_size(figure):
    width, height = (float(side) * figure.dpi for side in figure.get_size_inches())
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"the figure would be {width:,.0f} x {height:,.0f} px, more than "
            f"{MAX_PIXELS:,} pixels in all; use a smaller figsize (in inches) or dpi"
        )


def _draw_first_frames(figure):
    """Draw the first frame of each animation that has drawn none yet.

    An animation starts with its figure's first drawing on a screen; saving
    doesn't count, so that the figure would be saved empty. The calls are those
    of Animation.save, with the drawing that each frame asks for left out.
    """
    kind = getattr(sys.modules.get("matplotlib.animation"), "Animation", ())
    # The canvas holds them weakly. One that blits waits for no drawing, but all for the closing.
    waiting = figure.canvas.callbacks.callbacks.get("close_event", {})
    for reference in list(waiting.values()):
        animation = getattr(reference(), "__self__", None)
        if not isinstance(animation, kind) or getattr(animation, "_save_seq", None):
            continue  # it has drawn the frames that are there
        with figure.canvas._idle_draw_cntx():
            animation._init_draw()
            for frame in animation.new_frame_seq():
                animation._draw_next_frame(frame, blit=False)
                break
