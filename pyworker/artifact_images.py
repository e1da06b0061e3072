"""Images as PNG, and small enough for a model."""

import sys

from . import late

LARGEST = 50_000_000  # bytes of a file that is looked at
_UNSCALED = 2_000_000  # bytes of a PNG that is sent as it is where nothing can scale it
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16")  # that PNG has


def encode(image):
    """Returns a PIL image as PNG."""
    buffer = late.load("io").BytesIO()
    if image.mode == "F":
        image = image.convert("L")
    elif image.mode not in _MODES:
        image = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def from_array(array):
    """Returns a PIL image of an array of shape (height, width[, 1, 3 or 4]).

    Numbers with a fraction are taken for 0 to 1, or 0 to 255 when some are larger;
    what is beyond is cut.
    """
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    fits = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    if not fits or not array.size or array.dtype.kind not in "biuf":
        raise TypeError(
            f"an array of {array.dtype} and shape {array.shape} is no image; "
            "pass numbers of shape (height, width), (height, width, 3) or (height, width, 4)"
        )
    try:
        from PIL import Image
    except ImportError:
        raise TypeError("images of arrays need Pillow, which is not installed") from None
    if array.dtype.kind == "b":
        array = array * 255.0
    elif array.dtype.kind == "f":
        numpy = sys.modules["numpy"]
        array = numpy.nan_to_num(array, nan=0.0)
        array = array * 255.0 if array.max() <= 1 else array
    if array.dtype.name != "uint8":
        array = array.clip(0, 255).round().astype("uint8")
    return Image.fromarray(array)


def preview(data, max_side):
    """Returns an encoded image as a PNG with sides of at most max_side, or None."""
    is_png = data[:8] == b"\x89PNG\r\n\x1a\n"
    if is_png and max(size_of(data)) <= max_side:
        return data
    try:
        from PIL import Image
    except ImportError:
        return data if is_png and len(data) <= _UNSCALED else None
    try:
        with Image.open(late.load("io").BytesIO(data)) as image:
            if image.mode not in ("L", "LA", "RGB", "RGBA"):
                image = image.convert("RGBA" if "transparency" in image.info else "RGB")
            image.thumbnail((max_side, max_side))
            return encode(image)
    except Exception:  # PIL's, of a broken or an enormous image
        return None


def extent(data):
    """Returns the size of a PNG in words."""
    width, height = size_of(data)
    return f"{width}×{height}"


def size_of(png):
    """Returns (width, height) in pixels, from the PNG's header."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
