"""What a value becomes when it is kept: the bytes of a file, and how it is previewed.

Libraries are recognized by what is in sys.modules: a value can't be theirs before
somebody has imported them.
"""

import os
import sys

from pyworker import late

from . import figures, hypertext, images, kinds, names, pages, plotly_show, tables

_UNSEEN = "not shown: it is too large, broken, or Pillow can't read it"
_STEP = 1 << 20  # bytes of a file that are copied at once
_HEAD = 4_000  # bytes of a file that are looked at for a preview


class Form:
    """What is saved of a value.

    `endings` are those that the file's name may have, the first by default; where
    there are none, a name keeps its own, and one without gets `ending`; `mime_type`
    counts where the name doesn't tell. `write` writes the content into a file.
    `image` is a PNG for a model, or None. `draw` makes the PNG of a page, where there
    is one that can be drawn.
    `name` is what it is called when nobody says. Two values of the same `fingerprint`
    look the same.
    """

    def __init__(self, kind, write, endings=(), ending="", mime_type="", preview="", image=None):
        self.kind = kind
        self.write = write
        self.endings = endings
        self.ending = ending
        self.mime_type = mime_type
        self.preview = preview
        self.image = image
        self.draw = None
        self.name = ""
        self.fingerprint = None


def of(value, kind, max_side, name=""):
    """Returns the Form of a value; kind None leaves the choice to us."""
    if isinstance(value, os.PathLike):
        return _of_path(os.fspath(value), kind or "file", max_side)
    if isinstance(value, str) and kind in ("file", "image"):
        return _of_path(value, kind, max_side)
    for make in _MAKERS if kind is None else _BY_KIND[kind]:
        form = make(value, max_side)
        if form is not None:
            form.kind = kind or form.kind
            return form
    what = kinds.name(type(value))
    if kind is None:
        raise TypeError(
            f"artifact() can't tell what to make of type {what}; pass kind, as kind='txt' for its "
            "text, or write it to a file and pass the file's pathlib.Path"
        )
    raise TypeError(f"artifact() can't make {_ARTICLES[kind]} of type {what}; {_TAKES[kind]}")


def is_picture(value):
    """Says whether a value is a picture that is made of it when it is shown."""
    return _is_pil(value) or figures.figure_of(value) is not None


def of_image(value, max_side):
    """Returns the Form of what is_picture knows."""
    return _of_pil(value, max_side) or _of_matplotlib(value, max_side)


def of_encoded(data, max_side):
    """Returns the Form of the bytes of an image file, None if it can't be seen."""
    ending, mime_type = pages.sniff(data[:_HEAD])
    image = images.preview(data, max_side) if mime_type.startswith("image/") else None
    if image is None:
        return None
    return _bytes("image", data, (ending,), preview=images.extent(image), image=image)


def of_svg(text, max_side):
    """Returns the Form of a drawing, with its picture where something here can draw it."""
    form = _of_svg_text(text, max_side)
    form.image = images.of_svg(text, max_side)
    if form.image is None:
        form.preview = "not shown as a picture: with cairosvg installed it is"
    return form


def of_page(text, max_side):
    """Returns the Form of a page."""
    form = _of_html_text(text, max_side)
    form.preview = ""  # its text is shown
    return form


def of_plotly(figure):
    """Returns the Form of a figure of plotly or of its dict."""
    fields = plotly_show.fields(figure)
    traces, text = plotly_show.serialize(fields)

    def write(file):
        for piece in plotly_show.page(fields, traces):
            file.write(piece)

    form = Form("chart", write, (".html", ".htm"), mime_type=names.MIME_TYPES[".html"])
    form.preview, form.fingerprint = plotly_show.describe(fields), hash(text)
    if plotly_show.can_draw():
        form.draw = lambda complain: plotly_show.draw(text, complain)
    else:
        form.preview += f"\n{plotly_show.UNSEEN}"
    return form


def of_drawing(png, page, max_side):
    """Returns the Form of the image that a page of plotly has been drawn as."""
    form = of_encoded(png, max_side)
    form.preview = f"{page} as an image, {form.preview}"
    return form


# Each of these returns a Form, or None for a value that it is not for.


def _of_text(value, _):
    return _text("txt", value, preview=pages.head(value)) if isinstance(value, str) else None


def _of_any_text(value, max_side):
    if (form := _of_text(value, max_side) or _of_json(value, max_side)) is not None:
        return form
    text = bytes(value).decode("utf-8", "replace") if isinstance(value, _BYTES) else str(value)
    return _of_text(text, max_side)


def _of_json(value, _):
    if not isinstance(value, (list, tuple, dict)):
        return None
    try:
        text = late.load("json").dumps(value, indent=1, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # of keys that JSON lacks, of cycles
        return None
    return _text("txt", text, ending=".json", preview=pages.head(text))


def _of_svg_text(value, _):
    return _text("svg", value, (".svg",)) if isinstance(value, str) else None


def _of_html_text(value, _):
    if not isinstance(value, str):
        return None
    return _text("html", value, (".html", ".htm"), preview=hypertext.beginning(value))


def _of_bytes(value, max_side):
    if not isinstance(value, _BYTES):
        return None
    data = bytes(value)
    ending, mime_type = pages.sniff(data[:_HEAD])
    preview = pages.head_of_bytes(data[:_HEAD], len(data))
    image = images.preview(data, max_side) if mime_type.startswith("image/") else None
    if mime_type.startswith("image/") and image is None:
        preview = _UNSEEN
    return _bytes("file", data, ending=ending, preview=preview, image=image)


def _of_encoded_image(value, max_side):
    form = _of_bytes(value, max_side)
    return form if form is not None and form.image else None


def _of_html_bytes(value, max_side):
    return _of_html_text(bytes(value).decode(), max_side) if isinstance(value, _BYTES) else None


def _of_svg_bytes(value, max_side):
    return _of_svg_text(bytes(value).decode(), max_side) if isinstance(value, _BYTES) else None


def _of_matplotlib(value, max_side):
    figure = _matplotlib_figure(value)
    if figure is None:
        return None
    from matplotlib_capture import drawing

    png, preview = drawing.draw(figure, max_side)
    width, height = images.size_of(png)
    text = " — ".join(filter(None, [drawing.title_of(figure), f"{width}×{height}"]))
    return _bytes("chart", png, (".png",), preview=text, image=preview)


def _of_matplotlib_svg(value, _):
    figure = _matplotlib_figure(value)
    if figure is None:
        return None
    from matplotlib_capture import drawing

    return _bytes("svg", drawing.draw_svg(figure), (".svg",), preview=drawing.title_of(figure))


def _of_plotly(value, _):
    return of_plotly(value) if plotly_show.is_figure(value) else None


def _is_pil(value):
    image = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def _of_pil(value, max_side):
    if not _is_pil(value):
        return None
    return _of_image(value, max_side, f"{value.width}×{value.height} {value.mode}")


def _of_image(image, max_side, preview):
    data = images.encode(image)
    small = data if max(image.size) <= max_side else images.small(image, max_side)
    return _bytes("image", data, (".png",), preview=preview, image=small)


def _of_pixels(value, max_side):
    """Takes arrays that can't well be anything but pictures."""
    if not _is_array(value) or value.dtype.name != "uint8":
        return None
    return _of_array(value, max_side) if value.ndim in (2, 3) and min(value.shape[:2]) > 1 else None


def _of_array(value, max_side):
    """Takes any array that has the shape of a picture."""
    if not _is_array(value):
        return None
    image, remark = images.from_array(value)
    text = f"{image.width}×{image.height} {image.mode}, from {value.dtype} {value.shape}"
    return _of_image(image, max_side, f"{text}; {remark}" if remark else text)


def _of_saved_array(value, _):
    if not _is_array(value):
        return None
    buffer = late.load("io").BytesIO()
    sys.modules["numpy"].save(buffer, value, allow_pickle=False)
    preview = f"array of shape {value.shape}, {value.dtype}"
    return _bytes("file", buffer.getvalue(), (".npy",), preview=preview)


def _of_table(value, _):
    write = tables.writer(value)
    if write is None:
        return None
    return Form("df", write, (".csv",), preview=tables.preview(value))


def _of_rows(value, max_side):
    """Makes a table of rows, columns or an array, with pandas."""
    if not isinstance(value, (list, tuple, dict)) and not _is_array(value):
        return None
    try:
        import pandas
    except ImportError:
        return None
    return _of_table(pandas.DataFrame(value), max_side)


def _of_methods(*methods):
    """Takes what a class, not the value (a mock has every attribute), has methods for."""

    def make(value, max_side):
        for method in methods:
            base = next((each for each in kinds.bases(type(value)) if method in vars(each)), None)
            shown = getattr(value, method)() if base and vars(base)[method] else None
            if isinstance(shown, tuple) and shown:
                shown = shown[0]  # with its metadata
            form = _BY_METHOD[method](shown, max_side) if shown else None
            if form is not None:
                return form
        return None

    return make


_BYTES = (bytes, bytearray, memoryview)

# In this order a value's kind is guessed.
_MAKERS = (
    _of_text,
    _of_bytes,
    _of_table,
    _of_matplotlib,
    _of_plotly,
    _of_pil,
    _of_pixels,
    _of_saved_array,
    _of_json,
    _of_methods("_repr_png_", "_repr_svg_", "_repr_html_"),
)
_BY_KIND = {
    "chart": (_of_matplotlib, _of_plotly, _of_methods("_repr_png_", "_repr_svg_", "_repr_html_")),
    "image": (_of_pil, _of_array, _of_encoded_image, _of_matplotlib, _of_methods("_repr_png_")),
    "df": (_of_table, _of_rows),
    "file": (_of_bytes, _of_saved_array),
    "txt": (_of_any_text,),
    "svg": (_of_svg_text, _of_svg_bytes, _of_matplotlib_svg, _of_methods("_repr_svg_")),
    "html": (_of_html_text, _of_html_bytes, _of_plotly, _of_methods("_repr_html_")),
}
_BY_METHOD = {
    "_repr_png_": lambda shown, max_side: of_encoded(images.to_bytes(shown), max_side),
    "_repr_svg_": _of_svg_text,
    "_repr_html_": _of_html_text,
}
_ARTICLES = {
    "chart": "a chart",
    "image": "an image",
    "df": "a table",
    "file": "a file",
    "txt": "text",
    "svg": "an SVG",
    "html": "a page",
}
_TAKES = {
    "chart": "pass a figure of matplotlib or plotly",
    "image": "pass a PIL image, an array, the bytes of an image or a path",
    "df": "pass a DataFrame, a Series, or rows that pandas takes",
    "file": "pass bytes or a path; kind='txt' saves a text",
    "txt": "pass a str",
    "svg": "pass its text, a figure of matplotlib or what has _repr_svg_",
    "html": "pass its text, a figure of plotly or what has _repr_html_",
}


def _text(kind, text, endings=(), ending=".txt", preview=""):
    mime_type = names.MIME_TYPES[endings[0] if endings else ending]
    form = Form(kind, lambda file: file.write(text), endings, ending, mime_type, preview)
    form.fingerprint = hash(text)
    return form


def _bytes(kind, data, endings=(), ending="", preview="", image=None):
    mime_type = names.mime_type(endings[0] if endings else "x" + ending)
    form = Form(kind, lambda file: file.write(data), endings, ending, mime_type, preview, image)
    form.fingerprint = hash(data)
    return form


def _of_path(path, kind, max_side):
    """Copies a file, and nothing that is not one: opening a pipe may wait for ever."""
    path = os.fsdecode(path)
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(fd)
        if not late.load("stat").S_ISREG(status.st_mode):
            raise TypeError(f"{path!r} is no regular file, so it can't be kept")
        size = status.st_size
        start = os.read(fd, _HEAD)
    finally:
        os.close(fd)
    ending, mime_type = pages.sniff(start)
    base = os.path.basename(path)
    if kind == "image" and not names.mime_type(base, mime_type).startswith("image/"):
        raise TypeError(f"{path!r} is no image")
    image = None
    if mime_type.startswith("image/") and size <= images.LARGEST:
        with open(path, "rb") as file:
            image = images.preview(file.read(), max_side)
    form = Form(kind, lambda file: _copy(path, file), (), names.ending(base) or ending, mime_type)
    form.preview, form.image = pages.head_of_bytes(start, size), image
    if mime_type.startswith("image/") and image is None:
        form.preview = _UNSEEN
    form.name = base
    return form


def _copy(path, target):
    with open(path, "rb") as source:
        while piece := source.read(_STEP):
            target.write(piece)


def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, "ndarray", ()))


def _matplotlib_figure(value):
    """Returns the figure that a value of matplotlib's or seaborn's is, or belongs to."""
    if isinstance(value, getattr(sys.modules.get("matplotlib.artist"), "Artist", ())):
        value = value.figure
    return figures.figure_of(value)
