"""Python's values in lines for the shell: $name, ${name} and {expression}, as IPython has them.

What stays a shell's variable must be one: where neither Python nor the environment has it,
the shell would put nothing in its place, and "rm -rf $out/*" would mean every file there is.
"""

import os
import re

from pyworker import lazy_import

_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_BARE = re.compile(r"(\\|\$)?\$([A-Za-z_]\w*)")
_FIELD = re.compile(r"(?<!\$)\{([^{}]+)\}")
_USED = re.compile(
    r"\\.|\$(?:\{[#!]?([A-Za-z_]\w*)(?:\[[^]]*\])?([}:%/#^,@]?)|([A-Za-z_]\w*))", re.S
)
_QUOTED = re.compile(r"""("(?:\\.|[^"\\])*"|\\.)|'[^']*'""", re.S)
_ASSIGNED = (
    r"(?:^|[\s;&|({{]){0}(?:\[[^]]*\])?\+?="
    r"|\b(?:for|select|read|mapfile|readarray|getopts|local|declare|typeset|export|unset|printf\s+-v)"
    r"\b[^;|&\n]*\b{0}\b|\(\(\s*{0}\b"
)
_UNKNOWN = re.compile(r"(?:^|[;&|({\n])\s*(?:source|\.|eval)\s")  # may assign any name
# What bash has of itself.
_SHELLS = frozenset(
    """BASH BASHPID BASH_SOURCE BASH_VERSION BASH_VERSINFO COLUMNS DIRSTACK EPOCHREALTIME
    EPOCHSECONDS EUID FUNCNAME GROUPS HOSTNAME HOSTTYPE IFS LINENO LINES MACHTYPE OLDPWD OPTARG
    OPTIND OSTYPE PIPESTATUS PPID PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM
    UID _""".split()  # noqa: SIM905
)


_EMPTY = "\0"  # stands for a value of Python's that has no text, until the line is looked at
_ROOTED = re.compile(r"""(?:^|[\s=:;|&(])["']*\0+["']*/""")


def expand(text, names):
    """Returns a line with Python's values put in; names is the namespace they come from.

    Raises ValueError where an empty one stands before a slash, as in "rm -rf $out/*".
    """
    if "$" not in text and "{" not in text:
        return text
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


def prepared(text, names):
    """Returns a line with Python's values put in, fit to be run.

    Raises ValueError as expand() does, and where a variable has no value.
    """
    line = expand(text, names)
    if name := undefined(line):
        raise ValueError(
            f"${name} has a value neither in Python nor in the environment, so the shell would "
            f"put nothing in its place: !{text.strip()} was not run. Assign {name} in Python "
            f"first, write '${name}' in single quotes for the text itself, or ${{{name}:-}} where "
            "nothing is meant"
        )
    return line


def _formatter():
    try:
        base = lazy_import.load("IPython.utils.text").DollarFormatter
    except ImportError:
        base = lazy_import.load("string").Formatter  # which takes {name}, and no expressions

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


def undefined(text):
    """Returns the first variable of a line for the shell that nothing defines, "" for none."""
    if "$" not in text or _UNKNOWN.search(text):
        return ""
    for name, operator, rest in _variables(text):
        # ${name:-default} and its like say what they mean.
        if os.environ.get(name) or operator == ":":
            continue
        if name not in os.environ or re.match('"?/', rest):  # else no path begins with it
            return name
    return ""


def pythons(text, names):
    """Returns the first variable of a script of the shell's that only Python has."""
    used = (name for name, *_ in _variables(text))
    return next((name for name in used if name in names and name not in os.environ), "")


def _variables(text):
    """Yields (name, operator, what follows) of variables that the text itself does not set."""
    bare = _QUOTED.sub(lambda m: m[1] or "''", text)
    for match in _USED.finditer(bare):
        name = match[1] or match[3]
        if name and name not in _SHELLS and not re.search(_ASSIGNED.format(name), bare):
            yield name, match[2], bare[match.end() :]
