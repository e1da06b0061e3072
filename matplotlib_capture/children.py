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


def waiting():
    """The files that were saved and not collected yet, oldest first.

    Any process may put other things there, which stay.
    """
    path = directory()
    try:
        entries = list(os.scandir(path)) if path else []
    except OSError:  # nobody has saved a figure
        return []
    saved = (e for e in entries if e.name[0] != "." and e.is_file(follow_symlinks=False))
    return [each.path for each in sorted(saved, key=lambda each: each.stat().st_mtime_ns)]


def take(path):
    """Take a file away; return its bytes and the title that it has."""
    from PIL import Image  # matplotlib needs it, which this process may not have yet

    try:
        if os.path.getsize(path) > LARGEST:
            raise ValueError(f"it has more than {LARGEST} bytes")
        with open(path, "rb") as file:
            png = file.read()
        with Image.open(path) as image:
            return png, str(image.info.get("Title", ""))
    finally:
        os.unlink(path)
