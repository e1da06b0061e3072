"""Python's values in lines for the shell: $name, ${name} and {expression}, as IPython has them.

What stays a shell's variable must be one: where neither Python nor the environment has it,
the shell would put nothing in its place, and "rm -rf $out/*" would mean every file there is;
so it is told to end there.
"""

import os
import re

from pyworker import late

_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_BARE = re.compile(r"(\\|\$)?\$([A-Za-z_]\w*)")
_FIELD = re.compile(r"(?<!\$)\{([^{}]+)\}")
_QUOTED = re.compile(r"""("(?:\\.|[^"\\])*"|\\.)|'[^']*'""", re.S)
_UNKNOWN = re.compile(r"(?:^|[;&|({\n])\s*(?:source|\.|eval)\s")  # what these run may need it
_IN_SCRIPT = re.compile(r"""'[^']*'|\$\{?([A-Za-z_]\w*)""")
_EMPTY = "\0"  # stands for a value of Python's that has no text, until the line is looked at
_ROOTED = re.compile(r"""(?:^|[\s=:;|&(])["']*\0+["']*/""")


def expand(text, names):
    """Returns a line with Python's values put in; names is the namespace they come from.

    Raises ValueError where an empty one stands before a slash, as in "rm -rf $out/*".
    """
    if "$" not in text and "{" not in text:
        return text
    # What the environment has empty is as dangerous.
    names = {**{name: "" for name, value in os.environ.items() if not value}, **names}
    braced = _BRACED.sub(lambda m: f"{{{m[1]}}}" if m[1] in names else m[0], text)
    formatter = _formatter()
    try:
        line = formatter.vformat(braced, [], names) if formatter.takes_dollars else None
    except Exception:
        line = None  # one piece is the shell's own: IPython leaves all as it is, and we the rest
    if line is None:
        line = _each(braced, names, formatter)
    if _ROOTED.search(line):
        raise ValueError(
            "a value of Python's before a / is empty, so the path would begin at the root: "
            f"{text.strip()} was not run"
        )
    return line.replace(_EMPTY, "")


def _formatter():
    try:
        base = late.load("IPython.utils.text").DollarFormatter
    except ImportError:
        base = late.load("string").Formatter  # which takes {name}, and no expressions

    class Formatter(base):
        takes_dollars = base.__name__ == "DollarFormatter"

        def format_field(self, value, format_spec):
            return super().format_field(value, format_spec) or _EMPTY

    return Formatter()


def _each(text, names, formatter):
    """Puts in what can be, piece by piece."""

    def field(match):
        try:
            return formatter.vformat(match[0], [], names)
        except Exception:
            return match[0]

    def bare(match):
        if match[1] == "\\" or match[2] not in names:
            return match[0]
        return match[0][1:] if match[1] else str(names[match[2]]) or _EMPTY

    pieces, at = [], 0
    for quoted in [m.span() for m in _QUOTED.finditer(text) if m[1] is None] + [(len(text),) * 2]:
        pieces += [_BARE.sub(bare, text[at : quoted[0]]), text[quoted[0] : quoted[1]]]
        at = quoted[1]
    return _FIELD.sub(field, "".join(pieces))


def strict(text):
    """Returns a line that the shell ends at a variable that has no value."""
    may_end = "$" in text and os.name != "nt" and not _UNKNOWN.search(text)
    return f"set -u; {text}" if may_end else text


def pythons(text, names):
    """Returns the first variable of a script of the shell's that only Python has, "" for none."""
    for match in _IN_SCRIPT.finditer(text):
        name = match[1]
        is_known = name is None or name not in names or name in os.environ
        if not is_known and not re.search(rf"\b{name}\+?=|\b(?:for|read\b.*)\s{name}\b", text):
            return name
    return ""
