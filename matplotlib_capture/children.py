"""Figures that processes show which the user's code has started.

The session announces a directory in the environment. A process that finds it there
saves what it shows in it, and the session collects that when its execution ends. A
fork has this package already. A Python that was started anew comes to it through
`startup/sitecustomize.py`, if it can: one with ``-I`` or a ``PYTHONPATH`` of its own
never hears of us.
"""

import os

VARIABLE = "UNDERSTUDY_CHILD_FIGURES"
LARGEST = 64 << 20  # bytes of a file that is read
_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def announce(directory):
    """Have the processes that will be started save their figures in `directory`."""
    os.environ[VARIABLE] = directory
    path = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if _STARTUP not in path:
        os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *path])


def directory():
    """Where this process should save its figures, "" if nobody has said."""
    return os.environ.get(VARIABLE, "")


def begin():
    """Use our backend in this process, unless somebody has chosen another."""
    if directory() and not os.environ.get("MPLBACKEND"):
        from . import switching

        switching.begin_with_our_backend()


def waiting():
    """The files that were saved and not collected yet, oldest first."""
    folder = directory()
    try:
        entries = os.scandir(folder) if folder else ()
        paths = [each.path for each in entries if _is_saved(each)]
    except OSError:  # nobody has saved a figure
        return []
    return sorted(paths, key=_time)


def _is_saved(entry):
    """Whether it is a file: any process may put other things there."""
    return not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)


def _time(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def take(path):
    """Take a file away; return its bytes and the title that it has."""
    try:
        with open(path, "rb") as file:
            png = file.read(LARGEST + 1)
    finally:
        os.unlink(path)
    if len(png) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    return png, _title_in(png)


def _title_in(png):
    import io

    from PIL import Image  # matplotlib needs it, which this process may not have yet

    with Image.open(io.BytesIO(png)) as image:
        return str(image.info.get("Title", ""))


def with_title(png, title):
    """The image with its title in it."""
    import io

    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    if not title:
        return png
    information, buffer = PngInfo(), io.BytesIO()
    information.add_text("Title", title)
    with Image.open(io.BytesIO(png)) as image:
        image.save(buffer, format="png", pnginfo=information)
    return buffer.getvalue()


def is_inherited(manager):
    """Whether a figure was made before this process was forked."""
    return getattr(manager, "pid", None) not in (None, os.getpid())
