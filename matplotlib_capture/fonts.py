"""Letters that matplotlib's own font lacks: Chinese, Japanese, Korean, emoji.

matplotlib draws them as boxes and warns twice for each, though a font that has them
may be installed. When that happens, such a font is put behind the others in the texts
that want it, and in ``font.family`` for those to come.
"""

import re
import warnings
from contextlib import contextmanager

from matplotlib import font_manager, rcParams, text
from matplotlib.ft2font import FT2Font

from . import messages

_MISSING = r"Glyph (\d+) \(.*\) missing from font"
_MOST_OPENED = 2000  # fonts that are looked into; each takes a fraction of a millisecond

_found = {}  # characters -> family, "" for none


@contextmanager
def missing_letters():
    """Give the set that will hold the letters that no font has had; all else is as it was."""
    letters, others = set(), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=_MISSING)
        yield letters
    for warning in caught:
        if match := re.match(_MISSING, str(warning.message)):
            letters.add(chr(int(match[1])))
        else:
            others.append(warning)
    messages.issue_again(others)


def lend(figure, letters):
    """Give the figure's texts a font that has the letters; false if there is none."""
    key = frozenset(letters)
    if key not in _found:
        _found[key] = _family_with(key) or (_look_again() and _family_with(key)) or ""
    family = _found[key]
    if not family:
        return False
    for artist in figure.findobj(text.Text):
        if key & set(artist.get_text()):
            artist.set_fontfamily(_with(artist.get_fontfamily(), family))
    rcParams["font.family"] = _with(rcParams["font.family"], family)
    return True


def warn(letters):
    """Say in one warning what is drawn as boxes, and what to do about it."""
    shown = "".join(sorted(letters)[:20]) + ("…" if len(letters) > 20 else "")
    warnings.warn(
        f"no installed font has the letters {shown}, which are drawn as boxes; install one that "
        "has (apt-get install fonts-noto-cjk, say), or load a font file with "
        "matplotlib.font_manager.fontManager.addfont, or write the text in other letters",
        stacklevel=2,
    )


def _with(families, family):
    return [*(name for name in families if name != family), family]


def _family_with(letters):
    """The family of the first font that has all the letters; sans serif and regular first."""
    seen = set()
    for entry in sorted(font_manager.fontManager.ttflist, key=_rank)[:_MOST_OPENED]:
        if entry.name not in seen and not entry.name.startswith("Last Resort"):
            seen.add(entry.name)
            try:
                font = FT2Font(entry.fname)
                if all(font.get_char_index(ord(letter)) for letter in letters):
                    return entry.name
            except Exception:
                pass  # deleted since, or of a kind that FreeType can't scale
    return ""


def _rank(entry):
    return (
        entry.style != "normal",
        str(entry.weight) not in ("400", "normal", "regular"),
        "serif" in entry.name.lower() or "mono" in entry.name.lower(),
        entry.name,
    )


def _look_again():
    """Add the fonts that came after matplotlib made its list; true if there are any."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    new = [path for path in font_manager.findSystemFonts() if path not in known]
    for path in new:
        try:
            font_manager.fontManager.addfont(path)
        except Exception:
            pass  # of a kind that matplotlib can't draw
    return bool(new)
