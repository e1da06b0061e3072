"""IPython beside a session's executor: its shell, made when something first asks for it.

The session runs the code. The shell brings magics, the display formatter, events, and what
libraries ask get_ipython() for; its namespace is the session's __main__.
"""

import builtins
import re
import sys
import types

from pyworker import late

from . import transform

_NAMED = re.compile(r"\b(?:IPython|In|Out|_ih|_oh)\b")
_shell = None  # of this process, which a zygote may have made for its forks


class Notebook:
    """The notebook's side of one session."""

    def __init__(self, session):
        self._session = session
        self._adopted = False
        self._transformers = None

    def begin(self):
        """Has code find get_ipython() and its like, in a session that has just been made."""
        if _shell is not None:
            self._adopt()
        elif late.load("importlib.util").find_spec("IPython") is not None:
            for name in ("get_ipython", "display"):
                setattr(builtins, name, self._on_first_use(name))

    def meet(self, code):
        """Makes the shell for code that names it, where it is not there from the start."""
        if not self._adopted and _NAMED.search(code):
            self._adopt()

    @property
    def shell(self):
        """The InteractiveShell of the session, made on first use; None without IPython."""
        if not self._adopted:
            self._adopt()
        return _shell

    @property
    def is_made(self):
        """Says whether the session has asked for its shell."""
        return self._adopted and _shell is not None

    def transformers(self):
        """Returns the TransformerManager that reads cells; None without IPython."""
        if self.is_made:
            return _shell.input_transformer_manager
        if self._transformers is None:
            self._transformers = transform.manager()
        return self._transformers

    def _adopt(self):
        self._adopted = True
        if make() is not None:
            _shell.adopt(self._session)

    def _on_first_use(self, name):
        def first(*args, **kwargs):
            self._adopt()
            return getattr(builtins, name)(*args, **kwargs)

        first.__name__ = first.__qualname__ = name
        return first


def make():
    """Returns the process's shell, made for a module of its own; None without IPython."""
    global _shell
    if _shell is None:
        try:
            late.load("IPython.core.interactiveshell")
            late.load("IPython.core.history")
        except ImportError:
            return None
        hooks = {name: getattr(sys, name) for name in ("displayhook", "excepthook")}
        main = sys.modules.get("__main__")
        try:
            _shell = late.load_own("shell.interactive").make(types.ModuleType("__main__"))
        finally:
            for name, hook in hooks.items():
                setattr(sys, name, hook)
            if main is not None:
                sys.modules["__main__"] = main
    return _shell
