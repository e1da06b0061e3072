"""What a value becomes when it is kept: the bytes of a file, and how it is previewed.

Libraries are recognized by what is in sys.modules: a value can't be theirs before
somebody has imported them.
"""

import os
import sys

import matplotlib_capture as capture
from pyworker import lazy_import

from . import figures, hypertext, images, kinds, names, pages

_UNSEEN = "not shown: it is too large, broken, or Pillow can't read it"
_HEAD = 4_000  # bytes of a file that are looked at for a preview
_BEGINNING = 400  # characters of a page's text that are its preview
_LOOKED_AT = 100_000  # characters of a page that are looked at for it
_MOST_TRACES = 12  # of a figure of plotly that are described
_MOST_POINTS = 2_000_000  # of one that is written: no interrupt ends that
_DRAW = """
import plotly.io
figure = json.load(sys.stdin)
sys.stdout.buffer.write(plotly.io.to_image(figure, format="png", validate=False))
"""
_UNDRAWN = "you can't see this page, the user can: draw it with matplotlib to see it"

_undrawn = ""  # why kaleido doesn't work: each try starts a browser, so one is enough


class Form:
    """What is saved of a value.

    `data` is a str, bytes, or a function that writes a file, of at least `size` bytes.
    `endings` are those that the file's name may have, the first by default; where there
    are none, a name keeps its own, and one without gets `ending`. `mime_type` counts
    where the name doesn't tell. `image` is a PNG or JPEG for a model, or None; `draw`
    makes it of what is written already. `name` is what it is called when nobody says.
    Two values of the same `fingerprint` look the same.
    """

    def __init__(self, kind, data, ending="", endings=(), preview="", image=None, size=0):
        self.kind = kind
        self.data = data
        self.size = size
        self.endings = endings
        self.ending = ending or endings[0]
        self.mime_type = names.mime_type(f"x{self.ending}")
        self.preview = preview
        self.image = image
        self.draw = None
        self.name = ""
        self.fingerprint = None if callable(data) else hash(data)

    def named(self, name):
        """Returns a name with an ending that tells what is in the file."""
        return names.with_ending(name, self.endings, self.ending)

    def write(self, path):
        """Writes the file."""
        if callable(self.data):
            self.data(path)
            return
        text = isinstance(self.data, str)
        with open(path, "wb") as file:
            file.write(self.data.encode("utf-8", "backslashreplace") if text else self.data)


def of(value, kind, max_side):
    """Returns the Form of a value as a kind; None leaves the choice to us.

    Raises ValueError for an unknown kind, TypeError for what it can't be made of.
    """
    if kind not in _REMEDIES:
        known = ", ".join(filter(None, _REMEDIES))
        raise ValueError(f"kind must be one of {known}, not {kind!r:.80}")
    if isinstance(value, os.PathLike) or (isinstance(value, str) and kind in ("file", "image")):
        return _of_path(os.fspath(value), kind or "file", max_side)
    for make in _MAKERS[kind]:
        if (form := make(value, max_side)) is not None:
            form.kind = kind or form.kind
            return form
    act, remedy = _REMEDIES[kind]
    raise TypeError(f"artifact() can't {act} of type {kinds.name(type(value))}; {remedy}")


# Each of these returns a Form, or None for a value that it is not for.


def of_text(value, _):
    """Takes a str."""
    if not isinstance(value, str):
        return None
    return Form("txt", value, ".txt", preview=pages.head(value))


def of_image(value, max_side):
    """Takes the bytes of an image file that can be seen; many give them as base64."""
    form = _of_bytes(images.to_bytes(value), max_side)
    if form is None or form.image is None:
        return None
    form.kind, form.endings = "image", (form.ending,)
    return form


def of_svg(value, max_side):
    """Takes the text of a drawing; its picture comes where something here can draw it."""
    if (text := _decoded(value)) is None:
        return None
    form = Form("svg", text, endings=(".svg",), image=images.of_svg(text, max_side))
    if form.image is None:
        form.preview = "not shown as a picture: with cairosvg installed it is"
    return form


def of_page(value, _):
    """Takes the text of a page."""
    if (text := _decoded(value)) is None:
        return None
    words = " ".join(hypertext.text(text[:_LOOKED_AT]).split())
    return Form("html", text, endings=(".html", ".htm"), preview=pages.shorten(words, _BEGINNING))


def of_plotly(figure, _):
    """Takes a figure of plotly, or its dict."""
    from plotly import io

    fields = figure if isinstance(figure, dict) else figure.to_dict()
    traces = fields.get("data", [])
    if (points := sum(map(_points, traces))) > _MOST_POINTS:
        raise ValueError(f"it has {points:,} points, more than {_MOST_POINTS:,}; show fewer")
    page = io.to_html(fields, include_plotlyjs=True, validate=False, div_id="figure")
    form = Form("chart", page, endings=(".html", ".htm"), preview=describe(fields, traces))
    form.draw = lambda: _draw(form, fields)
    return form


def _of_plotly(value, max_side):
    return of_plotly(value, max_side) if figures.is_plotly(value) else None


def _draw(form, fields):
    """Draws the image of a figure of plotly, or says in its preview why there is none."""
    global _undrawn
    if not _undrawn and images.can_draw_with("kaleido"):
        text = sys.modules["plotly.io"].to_json(fields, validate=False)
        form.image, _undrawn = images.draw_outside(_DRAW, text)
    if form.image is None:
        why = f"; kaleido {_undrawn}" if _undrawn else ", or %pip install kaleido and have Chrome"
        form.preview += f"\n{_UNDRAWN}{why}"


def _points(trace):
    """Returns how many values a trace has, in lists, arrays or the base64 of one."""
    return max(_length(trace.get(key)) for key in ("y", "x", "values", "z", "lat"))


def _length(values):
    if isinstance(values, dict) and "bdata" in values:
        encoded = values["bdata"]
        return (len(encoded) * 3 // 4 - encoded.count("=", -2)) // int(values["dtype"][1:])
    return len(values) if hasattr(values, "__len__") and not isinstance(values, str) else 0


def describe(figure, traces):
    """Returns the title of a figure's dict, and what is drawn in it."""
    title = figure.get("layout", {}).get("title")
    title = title.get("text") if isinstance(title, dict) else title
    said = []
    for trace in traces[:_MOST_TRACES]:
        name = f' "{trace["name"]!s:.60}"' if trace.get("name") else ""
        count = f" ({pages.counted(n, 'point')})" if (n := _points(trace)) else ""
        said.append(f"{trace.get('type', 'scatter')}{name}{count}")
    if (more := len(traces) - _MOST_TRACES) > 0:
        said.append(f"and {more} more")
    return "\n".join(filter(None, [title and str(title)[:200], "; ".join(said)]))


def is_pil(value):
    """Says whether a value is an image of Pillow."""
    return isinstance(value, getattr(sys.modules.get("PIL.Image"), "Image", ()))


def of_pil(value, max_side):
    """Takes an image of Pillow."""
    if not is_pil(value):
        return None
    data, preview = images.encode(value), f"{value.width}×{value.height} {value.mode}"
    image = images.preview(data, max_side)
    return Form("image", data, endings=(".png",), preview=preview, image=image)


def _of_bytes(value, max_side):
    if not isinstance(value, images.BYTES):
        return None
    data = bytes(value)
    form = Form("file", data, pages.sniff(data[:_HEAD]))
    return _look(form, data[:_HEAD], len(data), lambda: data, max_side)


def _look(form, start, size, read, max_side):
    """Sets how a file that begins so is previewed; read gives all of it."""
    form.mime_type = names.mime_type(f"x{pages.sniff(start)}")
    if not form.mime_type.startswith("image/"):
        form.preview = pages.head_of_bytes(start, size)
        return form
    form.image = images.preview(read(), max_side) if size <= images.LARGEST else None
    if form.image is None:
        form.preview = _UNSEEN
    elif images.is_png(start):
        form.preview = "{}×{}".format(*images.size_of(start))
    return form


def _of_path(path, kind, max_side):
    """Copies a file, and nothing that is not one: opening a pipe may wait for ever."""
    path = os.fsdecode(path)
    status = os.stat(path)
    if not lazy_import.load("stat").S_ISREG(status.st_mode):
        raise TypeError(f"{path!r} is no regular file, so it can't be kept")
    with open(path, "rb") as file:
        start = file.read(_HEAD)
    base, ending = os.path.basename(path), pages.sniff(start)
    copy, size = lazy_import.load("shutil").copyfile, status.st_size
    form = Form(kind, lambda to: copy(path, to), names.ending(base) or ending, size=size)
    form.name = base
    _look(form, start, size, lazy_import.load("pathlib").Path(path).read_bytes, max_side)
    if kind == "image" and not names.mime_type(base, form.mime_type).startswith("image/"):
        raise TypeError(f"{path!r} is no image")
    return form


def _decoded(value):
    """Returns the str that a value is, or that its bytes are; None for others."""
    value = bytes(value).decode() if isinstance(value, images.BYTES) else value
    return value if isinstance(value, str) else None


def _of_json(value, _):
    text = json_of(value) if isinstance(value, (list, tuple, dict)) else ""
    return Form("txt", text, ".json", preview=pages.head(text)) if text else None


def json_of(value):
    """Returns a value as JSON, "" where it has keys that JSON lacks, or cycles."""
    try:
        return lazy_import.load("json").dumps(value, indent=1, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def _of_anything(value, max_side):
    if isinstance(value, images.BYTES):
        value = bytes(value).decode("utf-8", "replace")
    return of_text(value, max_side) or _of_json(value, max_side) or of_text(str(value), max_side)


def _of_matplotlib(value, max_side):
    if (figure := _matplotlib_figure(value)) is None:
        return None
    png, image, title = capture.draw(figure, max_side)
    extent = "{}×{}".format(*images.size_of(png))
    preview = f"{title} — {extent}" if title else extent
    return Form("chart", png, endings=(".png",), preview=preview, image=image)


def _of_matplotlib_svg(value, max_side):
    if (figure := _matplotlib_figure(value)) is None:
        return None
    buffer = lazy_import.load("io").BytesIO()
    figure.savefig(buffer, format="svg")
    return of_svg(buffer.getvalue(), max_side)


def _matplotlib_figure(value):
    """Returns the figure that a value of matplotlib's or seaborn's is, or belongs to."""
    if isinstance(value, getattr(sys.modules.get("matplotlib.artist"), "Artist", ())):
        value = value.figure
    return figures.figure_of(value)


def _of_pixels(value, max_side):
    """Takes arrays that can't well be anything but pictures."""
    pixels = _is_array(value) and value.dtype.name == "uint8" and value.ndim in (2, 3)
    return _of_array(value, max_side) if pixels and min(value.shape[:2]) > 1 else None


def _of_array(value, max_side):
    """Takes any array that has the shape of a picture."""
    if not _is_array(value):
        return None
    form = of_pil(images.from_array(value), max_side)
    form.preview += f", from {value.dtype} {value.shape}"
    return form


def _of_saved_array(value, _):
    if not _is_array(value):
        return None
    buffer = lazy_import.load("io").BytesIO()
    sys.modules["numpy"].save(buffer, value, allow_pickle=False)
    preview = f"array of shape {value.shape}, {value.dtype}"
    return Form("file", buffer.getvalue(), endings=(".npy",), preview=preview)


def _is_array(value):
    return isinstance(value, getattr(sys.modules.get("numpy"), "ndarray", ()))


def _of_table(value, _):
    if (frame := pages.frame_of(value)) is None:
        return None
    write, cells = lambda path: pages.write_table(frame, path), frame.shape[0] * frame.shape[1]
    return Form("df", write, endings=(".csv",), preview=pages.head_of_table(frame), size=cells)


def _of_methods(*methods):
    """Takes what a class, not the value (a mock has every attribute), has methods for."""

    def make(value, max_side):
        for method in methods:
            show = getattr(type(value), f"_repr_{method}_", None)
            shown = show(value) if show else None
            if isinstance(shown, tuple) and shown:
                shown = shown[0]  # with its metadata
            if shown and (form := _METHODS[method](shown, max_side)) is not None:
                return form
        return None

    return make


_METHODS = {"png": of_image, "svg": of_svg, "html": of_page}
_of_any_method = _of_methods(*_METHODS)

# By kind: what is done, and what may be passed instead.
_REMEDIES = {
    None: (
        "tell what to make",
        "pass kind, as kind='txt' for its text, or write it to a file and pass its pathlib.Path",
    ),
    "chart": ("make a chart", "pass a figure of matplotlib or plotly"),
    "image": ("make an image", "pass a PIL image, an array, the bytes of an image or a path"),
    "df": ("make a table", "pass a DataFrame or a Series, as pandas.DataFrame(rows) makes one"),
    "file": ("make a file", "pass bytes or a path; kind='txt' saves a text"),
    "txt": ("make text", "pass a str"),
    "svg": ("make an SVG", "pass its text, a figure of matplotlib or what has _repr_svg_"),
    "html": ("make a page", "pass its text, a figure of plotly or what has _repr_html_"),
}
# By kind, in this order: a value becomes what the first of them makes of it.
_MAKERS = {
    "chart": (_of_matplotlib, _of_plotly, _of_any_method),
    "image": (of_pil, _of_array, of_image, _of_matplotlib, _of_methods("png")),
    "df": (_of_table,),
    "file": (_of_bytes, _of_saved_array),
    "txt": (_of_anything,),
    "svg": (of_svg, _of_matplotlib_svg, _of_methods("svg")),
    "html": (of_page, _of_plotly, _of_methods("html")),
}
_LIBRARIES = (_of_table, _of_matplotlib, _of_plotly, of_pil, _of_pixels, _of_saved_array)
_MAKERS[None] = (of_text, _of_bytes, *_LIBRARIES, _of_json, _of_any_method)
