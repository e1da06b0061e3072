"""Runs when a Python starts that the session's code has started: see children.py.

Any Python may come here, an old one too, and nothing here may keep it from starting.
"""

import os
import sys


def _give_way(here):
    """Runs the environment's own sitecustomize, which this one has hidden."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != here]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    from matplotlib_capture import switching

    switching.begin_in_child()
except Exception:  # then it shows figures as any Python does
    pass
_give_way(os.path.dirname(os.path.abspath(__file__)))
