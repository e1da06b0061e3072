"""Pictures that another process draws.

What draws them (a browser, V8) may hang, and leaves threads and children behind that
keep a session from being copied.
"""

import os
import sys

from pyworker import late

from .images import is_png

SECONDS = 20  # in which a picture must be there
_PATH = "import json, sys\nsys.path[:] = json.loads(sys.argv[1])\n"


def is_there(module):
    """Says whether a library is installed; it is not imported."""
    if module in sys.modules:
        return True
    try:
        return late.load("importlib.util").find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def draw(program, text):
    """Returns (PNG, "") from a program that is given a text, or (None, why there is none)."""
    png, why = b"", "can't draw one"
    subprocess = late.load("subprocess")
    path = late.load("json").dumps(sys.path)
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
    return (png, "") if is_png(png) else (None, why)


def _end(process):
    """Ends the drawing, with what it has started."""
    try:
        os.killpg(process.pid, 9)
    except (AttributeError, OSError):
        process.kill()
