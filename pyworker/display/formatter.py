"""IPython's DisplayFormatter, asked for no more than a model can use."""

import sys

from pyworker import late

from . import forms, kinds
from .mime import VALUE

# Kinds of values whose plain text says it all: the rest would be made for nothing.
_TEXT = ("builtins", "pandas", "polars", "sympy", "sklearn", "xarray", "statsmodels")
_PAGES = ("pandas.io.formats.style",)  # but these
_UNUSED = ("application/pdf", "application/javascript")
MOST_ITEMS = 400  # of a list that is echoed


class _Ours:
    """What is ours over IPython's class."""

    def format(self, obj, include=None, exclude=None):
        """Returns (bundle, metadata) of a value; the bundle is empty if that has shown itself."""
        if include is None and exclude is None:
            if kinds.package(type(obj)) == "bokeh":
                return _of_bokeh(obj), {}
            if forms.is_picture(obj):
                return {"text/plain": repr(obj), VALUE: obj}, {}
            kind = type(obj)
            if kinds.package(kind) in _TEXT and kinds.module(kind) not in _PAGES:
                include = ("text/plain",)
        return super().format(obj, include, exclude or _UNUSED)


def _of_bokeh(value):
    """Returns the bundle of a value of bokeh: its own page is a table of properties."""
    bundle = {"text/plain": repr(value)}
    layouts = sys.modules.get("bokeh.models.layouts")
    if layouts is not None and isinstance(value, layouts.LayoutDOM):
        embed = late.load("bokeh.embed")
        bundle["text/html"] = embed.file_html(value, title=repr(value))
    return bundle


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
    made.formatters["text/plain"].max_seq_length = MOST_ITEMS
    return made
