"""IPython's DisplayFormatter, asked for no more than a model can use."""

import sys

from pyworker import late

from . import figures, forms, kinds
from .mime import VALUE

# Kinds of values whose plain text says it all: the rest would be made for nothing.
_TEXT = ("builtins", "pandas", "polars", "sympy", "sklearn", "xarray", "statsmodels")
_PAGES = ("pandas.io.formats.style",)  # but these
_UNUSED = ("application/pdf", "application/javascript")
_MOST_ITEMS = (400, 60, 15)  # of each list, by how deep lists are nested
_MANY = 4_000  # items in all, from which on the depth counts


class _Ours:
    """What is ours over IPython's class."""

    def format(self, obj, include=None, exclude=None):
        """Returns (bundle, metadata) of a value; the bundle is empty if that has shown itself."""
        if include is None and exclude is None:
            if forms.is_pil(obj) or figures.figure_of(obj) is not None:
                return {"text/plain": repr(obj), VALUE: obj}, {}
            kind = type(obj)
            if kinds.package(kind) in _TEXT and kinds.module(kind) not in _PAGES:
                include = ("text/plain",)
        plain = self.formatters["text/plain"]
        if plain.max_seq_length in _MOST_ITEMS:  # nobody has set another
            plain.max_seq_length = _most(obj)
        return super().format(obj, include, exclude or _UNUSED)


def _most(value):
    """Returns how many items of each list are told; as deep as the first items of all go."""
    count, depth = 1, -1
    while type(value) in (list, tuple, dict, set) and value and depth + 1 < len(_MOST_ITEMS):
        count, depth = count * min(len(value), _MOST_ITEMS[0]), depth + 1
        value = next(iter(value.values() if type(value) is dict else value))
    return _MOST_ITEMS[max(depth, 0) if count > _MANY else 0]


class _Reporter:
    """Says what a value's method has raised, where IPython asks its shell to."""

    def __init__(self, shell):
        self._shell = shell

    def showtraceback(self, exc_tuple):
        """Writes the traceback from the method on."""
        error, trace = exc_tuple[1], exc_tuple[2]
        while trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith("IPython."):
            trace = trace.tb_next
        sys.stderr.write(self._shell.session.describer.text(error.with_traceback(trace)))


def make(shell):
    """Returns the formatter of a shell."""
    module, reporter = late.load("IPython.core.formatters"), _Reporter(shell)
    module.get_ipython = lambda: reporter  # it is asked for nothing else there
    formatter = module.DisplayFormatter
    made = type(formatter)("Formatter", (_Ours, formatter), {})(parent=shell)
    made.formatters["text/plain"].max_seq_length = _MOST_ITEMS[0]
    return made
