"""What the model gets of a value: its mime bundle, and of that a text, a picture or a page.

The bundle is made by IPython's DisplayFormatter, asked for no more than a model can use:
it reads text and sees PNG and JPEG. The best that a bundle has comes first; a page is kept
as an artifact where its text is not all of it.
"""

import re
import sys

from pyworker import lazy_import

from . import figures, forms, hypertext, kinds
from .publisher import PLOTLY, VALUE

_NOTHING = re.compile(r"\s*(<.*>|[\w.]+\((.*\.\.\.)\))?\s*", re.DOTALL)
_TEXT_LIMIT = 100_000  # characters of a page's text
_UNSEEN = "it needs a browser: the user can see it, you can't; "
_VEGA = "%pip install vl-convert-python makes altair's charts pictures"


# Kinds of values whose plain text says it all: the rest would be made for nothing.
_TEXT = ("builtins", "pandas", "polars", "sympy", "sklearn", "xarray", "statsmodels")
_PAGES = ("pandas.io.formats.style",)  # but these
_UNUSED = ("application/pdf", "application/javascript")
_MOST_ITEMS = (400, 60, 15)  # of each list, by how deep lists are nested
_MANY = 4_000  # items in all, from which on the depth counts

# What becomes a picture, in the order in which it is wanted.
_PICTURES = {
    VALUE: forms.of_pil,
    PLOTLY: forms.of_plotly,
    **{f"image/{each}": forms.of_image for each in ("png", "jpeg", "gif", "webp", "bmp")},
    "image/svg+xml": forms.of_svg,
}


def choose(data, max_side):
    """Returns (text, Form or None) of a bundle."""
    plain = data.get("text/plain")
    silent = plain is None or _NOTHING.fullmatch(str(plain)) is not None
    for mime, make in _PICTURES.items():
        if (found := data.get(mime)) and (form := make(found, max_side)) is not None:
            return ("" if silent else plain), form
    if markdown := data.get("text/markdown"):
        return str(markdown), None
    if not silent:
        return str(plain), None
    if latex := data.get("text/latex"):
        return str(latex), None
    if "application/json" in data:
        found = data["application/json"]
        return forms.json_of(found) or repr(found), None
    if html := data.get("text/html"):
        return _page(str(html), plain)
    return (plain or ", ".join(f"<{mime}>" for mime in data)), None


def _page(html, plain):
    """Returns the text of a page, and its Form where that is not all of it."""
    text = hypertext.text(html)[:_TEXT_LIMIT]
    if not hypertext.is_rich(html):
        return text, None
    form = forms.of_page(html, 0)
    form.preview = ""  # the text is shown
    if hypertext.is_live(html):
        form.preview = _UNSEEN + (_VEGA if "vega" in html else "draw it with matplotlib to see it")
        text = str(plain or "")
    return text, form


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

    def showtraceback(self, exc_tuple):
        """Says what a value's method has raised, where IPython asks its shell to."""
        error, trace = exc_tuple[1], exc_tuple[2]
        while trace.tb_next and trace.tb_frame.f_globals.get("__name__", "").startswith("IPython."):
            trace = trace.tb_next
        sys.stderr.write(self.parent.session.describer.text(error.with_traceback(trace)))


def _most(value):
    """Returns how many items of each list are told; as deep as the first items of all go."""
    count, depth = 1, -1
    while type(value) in (list, tuple, dict, set) and value and depth + 1 < len(_MOST_ITEMS):
        count, depth = count * min(len(value), _MOST_ITEMS[0]), depth + 1
        value = next(iter(value.values() if type(value) is dict else value))
    return _MOST_ITEMS[max(depth, 0) if count > _MANY else 0]


def make(shell):
    """Returns the formatter of a shell."""
    module = lazy_import.load("IPython.core.formatters")
    formatter = module.DisplayFormatter
    made = type(formatter)("Formatter", (_Ours, formatter), {})(parent=shell)
    module.get_ipython = lambda: made  # it is asked for nothing but showtraceback there
    made.formatters["text/plain"].max_seq_length = _MOST_ITEMS[0]
    return made
