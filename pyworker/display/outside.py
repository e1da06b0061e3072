"""Pictures that another process draws.

What draws them (a browser, V8) may hang, and leaves threads and children behind that
keep a session from being copied.
"""

import os
import sys

from pyworker import late

SECONDS = 20  # in which a picture must be there
_PATH = "import json, sys\nsys.path[:] = json.loads(sys.argv[1])\n"


def is_there(module):
    """Says whether a library is installed; it is not imported."""
    try:
        return module in sys.modules or late.load("importlib.util").find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def draw(program, text):
    """Returns (PNG, "") from a program that is given a text, or (None, why there is none)."""
    subprocess, path = late.load("subprocess"), late.load("json").dumps(sys.path)
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
