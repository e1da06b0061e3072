"""Takes a shell's command line apart, as far as it is plain words; the rest is unclear.

Only what every POSIX shell reads alike is plain: words, quotes without backslashes,
; & && || | and redirections. Whoever judges a line that is not must refuse it.
"""

import os
import re
import shlex
from typing import NamedTuple

_OPERATORS = ";&|<>\n"
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\`$]|\$(?:\w+|\{\w+\}|(?=[ "])))*\"""")
_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\}|[?#$!@*-])")
_UNCLEAR = re.compile(r"""["'`\\()$\0]|[^\S \t\n]|(?<!\S)#""")
_JOINED = re.compile(r"(?<=[ \t;&|])\\\n|\\\n(?=[ \t])")
_NUMBER = re.compile(r"(?<!\S)\d+(?=[<>])")  # of a descriptor, before its redirection
_ENDS = frozenset((";", "&", "&&", "|", "||", ""))
_TO_FILES = frozenset((">", ">>", ">|", "<"))
_TO_DESCRIPTORS = frozenset((">&", "<&"))
_NAME = re.compile(r"[\w./+@%:,-]+|\[")
_RESERVED = frozenset(
    """if then elif else fi for while until do done case esac in function select time
    coproc""".split()  # noqa: SIM905
)


class Command(NamedTuple):
    """A simple command: its words, and where the first of them stands in the text."""

    words: list
    at: int


class _Unclear(ValueError):
    """A line is more than simple commands."""


def commands(text):
    """Returns the Command of each simple command of a line; None where that is unclear.

    Redirections are left out, and values of variables stay as they are written.
    """
    if os.name == "nt":
        return None
    text = _JOINED.sub("  ", text)
    quoted = _QUOTED.findall(text)
    bare = _VARIABLE.sub("v", _QUOTED.sub("%", text))
    if _UNCLEAR.search(bare) or any(_is_operator(piece[1:-1]) for piece in quoted):
        return None
    try:
        return _placed(_split(_NUMBER.sub(lambda found: " " * len(found[0]), text)), text)
    except _Unclear:
        return None


def _is_operator(token):
    return bool(token) and not token.strip(_OPERATORS)


def _split(text):
    """Returns the words of each command."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    found, redirected = [[]], None  # redirected: by which operator the next word is
    for token in lexer:
        if redirected:
            if _is_operator(token) or (redirected in _TO_DESCRIPTORS and not _is_number(token)):
                raise _Unclear
            redirected = None
        elif not _is_operator(token):
            found[-1].append(token)
        elif token.strip("\n") in _ENDS:
            found.append([])
        elif token in _TO_FILES or token in _TO_DESCRIPTORS:
            redirected = token
        else:
            raise _Unclear
    if redirected:
        raise _Unclear
    return list(filter(None, found))


def _is_number(token):
    return token == "-" or token.isdigit()


def _placed(found, text):
    placed, at = [], 0
    for words in found:
        if not _NAME.fullmatch(words[0]) or words[0] in _RESERVED:
            raise _Unclear
        at = max(text.find(words[0], at), 0)
        placed.append(Command(words, at))
        at += len(words[0])
    return placed
