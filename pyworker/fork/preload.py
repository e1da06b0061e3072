"""What a zygote imports before it forks workers."""

import gc
import sys

from pyworker import late

from . import obstacles

loaded = frozenset()  # the packages and modules that forks begin with, by their first names


def load(trial):
    """Imports a Trial's modules one after another; returns ([name], [[name, reason]]).

    Whatever an import raises, SystemExit too, costs that module only.
    """
    global loaded
    imported, failed = [], []
    for position, name in enumerate(trial.names):
        if name in trial.left_out:
            failed.append([name, trial.left_out[name]])
            continue
        trial.begin(position)
        try:
            __import__(name)
            imported.append(name)
        except BaseException as error:
            failed.append([name, _reason(error)])
    trial.pause()
    late.load_own("shell.notebook").warm()
    loaded = frozenset(name for name in sys.modules if "." not in name)
    return imported, failed


def complain():
    """Tells the server's log of what would stand in the way of forks."""
    if obstacle := obstacles.why_not(sys.maxsize):
        print(f"workers may lack what was preloaded: {obstacle}", file=sys.stderr, flush=True)


def settle():
    """Keeps the garbage collector of the forks away from what is shared with them.

    It would write to each object, and so have the memory copied.
    """
    gc.collect()
    gc.freeze()


def _reason(error):
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}"[:500] if text else name
