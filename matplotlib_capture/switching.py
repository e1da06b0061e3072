"""Keep pyplot on our backend, whatever backend user code asks for.

Much code begins with ``matplotlib.use("Agg")`` or switches to a GUI that is
not there. Under Agg ``plt.show()`` shows nothing, so a loop of show and close
would lose its figures, and a GUI backend fails to import.

Every road to another backend (``matplotlib.use``, ``plt.switch_backend``,
``rcParams["backend"]``, MPLBACKEND, pyplot's own search) ends in
``pyplot.switch_backend``, which asks matplotlib's loader for the module of
that name. There we answer with our module. pyplot believes that it has
switched, and ``plt.get_backend()`` says so. ``savefig(backend=...)`` asks the
same loader and gets what it asked for.

The loader is ``backend_registry.load_backend_module`` since matplotlib 3.9 and
``cbook._backend_module_name`` before.

Nothing of this is in the environment, where it would reach Pythons that can't
load our backend.
"""

import os
import sys

from pyworker.imports import when_imported

from . import children

BACKEND = f"{__package__}.backend"


def keep_our_backend():
    """Stand in matplotlib's loader now, or as soon as matplotlib is imported.

    ``matplotlib.use("Agg")`` before the first import of pyplot would leave our backend
    module unloaded for good.
    """
    when_imported("matplotlib", _stand_in)


def begin_in_child():
    """Have pyplot begin with our backend where neither code nor settings choose another."""
    if children.directory() and not os.environ.get("MPLBACKEND"):
        when_imported("matplotlib", _choose_ours)


def _choose_ours(matplotlib):
    """Make our backend the one that matplotlib would otherwise look for."""
    if not isinstance(dict.get(matplotlib.rcParams, "backend"), str):
        matplotlib.rcParams["backend"] = f"module://{BACKEND}"


def _stand_in(matplotlib):
    """Replace the loader that the matplotlib in `sys.modules` uses, once."""
    _choose_ours(matplotlib)
    registry = sys.modules.get("matplotlib.backends.registry")
    if registry is not None:
        _replace(registry.backend_registry, "load_backend_module", module=True)
    elif "matplotlib.cbook" in sys.modules:
        _replace(sys.modules["matplotlib.cbook"], "_backend_module_name", module=False)


def _replace(owner, name, module):
    original = getattr(owner, name, None)
    if original is None or hasattr(original, "answers_for"):
        return

    def load(backend, *args, **kwargs):
        # Frame 1 is whoever asks. savefig(backend=...) must not get ours. A name
        # that matplotlib doesn't know is refused by switch_backend all the same,
        # when it sets rcParams["backend"].
        if sys._getframe(1).f_code.co_name == "switch_backend":
            return __import__(BACKEND, fromlist=["show"]) if module else BACKEND
        return original(backend, *args, **kwargs)

    load.answers_for = original
    setattr(owner, name, load)
