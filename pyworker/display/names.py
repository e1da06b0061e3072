"""Names of artifacts: file names that every system takes, with the right ending."""

import os
import re

from pyworker import lazy_import

_LONGEST = 150  # bytes of UTF-8, so that a part-file's name fits too
_STRANGE = re.compile(r"[^\w .,()+=@~-]")
# What Windows takes for a device, whatever its ending.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)

# The endings that say what is in a file; any other belongs to a name, as in "v1.2".
MIME_TYPES = {
    **{f".{each}": f"image/{each}" for each in ("bmp", "gif", "jpeg", "png", "tiff", "webp")},
    **{f".{each}": f"application/{each}" for each in ("json", "pdf", "xml", "zip")},
    ".csv": "text/csv",
    ".htm": "text/html",
    ".html": "text/html",
    ".jpg": "image/jpeg",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".npy": "application/octet-stream",
    ".parquet": "application/vnd.apache.parquet",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def clean(name):
    """Returns a name without folders and without what a file system may refuse.

    It is empty when nothing is left.
    """
    base = lazy_import.load("unicodedata").normalize("NFC", re.split(r"[/\\]", name)[-1])
    base = _STRANGE.sub("_", base).strip(" .")
    if _DEVICE.match(base):
        base = "_" + base
    stem, suffix = split(base)
    room = _LONGEST - len(suffix.encode())
    return stem.encode()[:room].decode("utf-8", "ignore") + suffix


def split(name):
    """Returns (stem, ending), the ending "" unless it says what is in the file."""
    stem, suffix = os.path.splitext(name)
    return (stem, suffix) if suffix.lower() in MIME_TYPES else (name, "")


def ending(name):
    """Returns whatever follows the last dot, with it, in lower case."""
    return os.path.splitext(name)[1].lower()


def with_ending(name, endings, otherwise=""):
    """Returns the name with one of the endings; the first stands in for a wrong one.

    Where there are none, it keeps its own, and gets the other if it has none.
    """
    stem, suffix = split(name)
    if endings:
        return name if suffix.lower() in endings else stem + endings[0]
    return name if ending(name) else name + otherwise


def mime_type(name, otherwise="application/octet-stream"):
    """Returns the type that the ending of a name stands for."""
    return MIME_TYPES.get(ending(name), otherwise)
