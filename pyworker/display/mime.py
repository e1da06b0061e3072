"""What the model gets of a value's mime bundle: a text, and a picture or a page.

A model reads text and sees PNG and JPEG. The best that a bundle has comes first; a page
is kept as an artifact where its text is not all of it.
"""

import re

from pyworker import late

from . import forms, hypertext, images

VALUE = "application/x-python-object"  # in a bundle of ours: the value, which is drawn when shown
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
_NOTHING = re.compile(r"\s*(<.*>|[\w.]+\((.*\.\.\.)\))?\s*", re.DOTALL)
_TEXT_LIMIT = 100_000  # characters of a page's text

# By what is in a page: how its like can be seen.
_ADVICE = (
    ("vega", "; %pip install vl-convert-python makes altair's charts pictures"),
    ("bokeh", "; draw it with matplotlib to see it"),
    ("", ""),
)


def choose(data, max_side):
    """Returns (text, Form or None) of a bundle."""
    plain = data.get("text/plain")
    silent = says_nothing(plain)
    form = _picture(data, max_side)
    if form is not None:
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
        return _page(str(html), plain, max_side)
    return (plain or ", ".join(f"<{mime}>" for mime in data)), None


def says_nothing(text):
    """Says whether a text is of the kind <Map object at 0x7f…> or Chart(...)."""
    return text is None or _NOTHING.fullmatch(str(text)) is not None


def _picture(data, max_side):
    """Returns the Form of the picture in a bundle, or None."""
    if VALUE in data:
        return forms.of_image(data[VALUE], max_side)
    for mime in _PICTURES:
        if found := data.get(mime):
            form = forms.of_encoded(images.to_bytes(found), max_side)
            if form is not None:
                return form
    if svg := data.get("image/svg+xml"):
        return forms.of_svg(svg if isinstance(svg, str) else bytes(svg).decode(), max_side)
    return None


def _json(value):
    try:
        return late.load("json").dumps(value, indent=1, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # of keys that JSON lacks, of cycles
        return repr(value)


def _page(html, plain, max_side):
    """Returns the text of a page, and its Form where that is not all of it."""
    text = hypertext.text(html)[:_TEXT_LIMIT]
    if not hypertext.is_rich(html):
        return text, None
    form = forms.of_page(html, max_side)
    if hypertext.is_live(html):
        advice = next(each for word, each in _ADVICE if word in html)
        form.preview = f"it needs a browser: the user can see it, you can't{advice}"
        text = str(plain or "")
    return text, form
