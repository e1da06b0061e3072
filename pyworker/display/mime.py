"""What the model gets of a value's mime bundle: a text, and a picture or a page.

A model reads text and sees PNG and JPEG. The best that a bundle has comes first; a page
is kept as an artifact where its text is not all of it.
"""

import re

from pyworker import late

from . import forms, hypertext, images

VALUE = "application/x-python-object"  # in a bundle of ours: the value, which is drawn when shown
PLOTLY = "application/vnd.plotly.v1+json"  # a figure of plotly, or its dict
_NOTHING = re.compile(r"\s*(<.*>|[\w.]+\((.*\.\.\.)\))?\s*", re.DOTALL)
_TEXT_LIMIT = 100_000  # characters of a page's text
_UNSEEN = "it needs a browser: the user can see it, you can't; "
_VEGA = "%pip install vl-convert-python makes altair's charts pictures"


def _encoded(data, max_side):
    return forms.of_encoded(images.to_bytes(data), max_side)


# What becomes a picture, in the order in which it is wanted.
_PICTURES = {
    VALUE: forms.of_pil,
    PLOTLY: forms.of_plotly,
    "image/png": _encoded,
    "image/jpeg": _encoded,
    "image/gif": _encoded,
    "image/webp": _encoded,
    "image/bmp": _encoded,
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
        return _json(data["application/json"]), None
    if html := data.get("text/html"):
        return _page(str(html), plain)
    return (plain or ", ".join(f"<{mime}>" for mime in data)), None


def _json(value):
    try:
        return late.load("json").dumps(value, indent=1, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # of keys that JSON lacks, of cycles
        return repr(value)


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
