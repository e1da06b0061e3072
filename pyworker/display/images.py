"""Images as PNG, and small enough for a model.

What others draw with a browser or V8 is drawn in a process of its own: these may hang,
and leave threads and children behind that keep a session from being copied.
"""

import os
import sys

from pyworker import lazy_import

BYTES = (bytes, bytearray, memoryview)
LARGEST = 50_000_000  # bytes of a file that is looked at
_UNSCALED = 2_000_000  # bytes of an image that is sent as it is where nothing can scale it
_MOST_PIXELS = 100_000_000  # of an image that is encoded, or looked at
SECONDS = 20  # in which a picture must be drawn outside
_PATH = "import json, sys\nsys.path[:] = json.loads(sys.argv[1])\n"
_JPEG = b"\xff\xd8\xff"
_DRAW_SVG = "import vl_convert\nsys.stdout.buffer.write(vl_convert.svg_to_png(sys.stdin.read()))"
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16")  # that PNG has


def encode(image, kind="PNG"):
    """Returns a PIL image as PNG or JPEG.

    Raises ValueError for one of more than 100 million pixels.
    """
    if image.width * image.height > _MOST_PIXELS:
        raise ValueError(
            f"an image of {image.width}×{image.height} pixels is too large to be kept; "
            "make it smaller before, as with image.thumbnail((4000, 4000))"
        )
    if kind == "JPEG":
        image = image.convert("RGB")
    elif image.mode not in _MODES:
        alpha = "A" in image.getbands()
        image = image.convert("L" if image.mode == "F" else "RGBA" if alpha else "RGB")
    buffer = lazy_import.load("io").BytesIO()
    image.save(buffer, format=kind)
    return buffer.getvalue()


def from_array(array):
    """Returns a PIL image of an array of shape (height, width[, 1, 3 or 4]).

    Its numbers are bytes, or fractions of 0 to 1.
    """
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    fits = array.size and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))
    if fits and array.dtype.kind in "bf" and array.min() >= 0 and array.max() <= 1:
        array = (array * 255.0).round().astype("uint8")
    if not fits or array.dtype.name != "uint8":
        raise TypeError(
            f"an array of {array.dtype} and shape {array.shape} is no image; pass numbers of 0 to "
            "255 as uint8, or of 0 to 1, of shape (height, width), (height, width, 3) or "
            "(height, width, 4), or show it with plt.imshow"
        )
    from PIL import Image

    return Image.fromarray(array)


def preview(data, max_side):
    """Returns an encoded image as PNG or JPEG with sides of at most max_side, or None."""
    jpeg = data[:3] == _JPEG
    if is_png(data) and max(size_of(data)) <= max_side:
        return data
    try:
        from PIL import Image
    except ImportError:
        return data if (is_png(data) or jpeg) and len(data) <= _UNSCALED else None
    warnings = lazy_import.load("warnings")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(lazy_import.load("io").BytesIO(data))
        if jpeg and max(image.size) <= max_side:
            image.load()  # raises what a broken one raises
            return data
        if image.mode not in ("L", "LA", "RGB", "RGBA"):
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        image.thumbnail((max_side, max_side))
        return encode(image, "JPEG" if jpeg else "PNG")
    except Exception:  # PIL's, of a broken or an enormous image
        return None


def of_svg(text, max_side):
    """Returns a drawing as PNG, None where nothing here can draw it."""
    png = None
    try:
        import cairosvg

        png = cairosvg.svg2png(bytestring=text.encode())
    except Exception:  # it isn't installed, misses a library, or can't read the drawing
        if can_draw_with("vl_convert"):
            png, _ = draw_outside(_DRAW_SVG, text)
    return preview(png, max_side) if png else None


def to_bytes(data):
    """Returns the bytes of an image, which many give as base64; none of what is no image."""
    if not isinstance(data, str):
        return bytes(data) if isinstance(data, BYTES) else b""
    try:
        return lazy_import.load("base64").b64decode(data)
    except ValueError:
        return b""


def is_png(data):
    """Says whether bytes begin as a PNG does, with its size."""
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24


def size_of(png):
    """Returns (width, height) in pixels, from the PNG's header."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def can_draw_with(module):
    """Says whether a library is installed; it is not imported."""
    return module in sys.modules or lazy_import.load("importlib.util").find_spec(module) is not None


def draw_outside(program, text):
    """Returns (PNG, "") from a program that is given a text, or (None, why there is none)."""
    subprocess, path = lazy_import.load("subprocess"), lazy_import.load("json").dumps(sys.path)
    png, why = b"", "can't draw one"
    try:
        with subprocess.Popen(
            [sys.executable, "-c", _PATH + program, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                png, _ = process.communicate(text.encode(), timeout=SECONDS)
            except BaseException:
                _end(process)
                raise
    except subprocess.TimeoutExpired:
        why = f"took more than {SECONDS} seconds for one"
    except (OSError, subprocess.SubprocessError):
        pass
    return (png, "") if png.startswith(b"\x89PNG") else (None, why)


def _end(process):
    """Ends the drawing, with what it has started."""
    try:
        os.killpg(process.pid, 9)
    except (AttributeError, OSError):
        process.kill()
