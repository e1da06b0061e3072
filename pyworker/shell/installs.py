"""What a line with pip or conda asks for. It runs without a shell."""

import os
import re
from typing import NamedTuple

from .shellwords import Unclear

# The options that take a value: of pip install, and of all of pip's commands.
_OF_PIP = """
-r -c -e -t -i -f -C --requirement --constraint --editable --target --platform
--python-version --implementation --abi --root --prefix --src --upgrade-strategy
--config-settings --global-option --no-binary --only-binary --progress-bar
--root-user-action --report --group --log --keyring-provider --proxy --retries
--timeout --exists-action --trusted-host --cert --client-cert --cache-dir
--use-feature --use-deprecated --python --index-url --extra-index-url --find-links
--resume-retries --requirements-from-script --build-constraint"""
_OF_CONDA = "-c -n -p --channel --name --prefix --file --solver"
_WITH_VALUE = {"pip": frozenset(_OF_PIP.split()), "conda": frozenset(_OF_CONDA.split())}

# A version may stand without quotes: there is no shell to take ">" for a redirection.
_VERSION = re.compile(r"[<>]=?[ \t]*[0-9A-Za-z]")
_NOT_HERE = {
    ";": "put what follows ; on a line of its own",
    "&": "put what follows & on a line of its own",
    "|": "leave the | out, with what follows it",
    ">": "leave the redirection out",
    "<": "leave the redirection out",
    "\n": "put each command on a line of its own",
    "`": "write what it shall be in the place of `",
    "$": "write the value in the place of $",
    "(": "quote what has parentheses",
    ")": "quote what has parentheses",
    "{": "Python's values are not put in; write the value in the place of {",
}


class Install(NamedTuple):
    """One call of pip or conda."""

    verb: str  # "install", "list", …; "" if there is none
    requirements: list  # what stands by itself, as "numpy>=2" or "./wheel.whl"
    options: list  # (option, value, None if it has none), as ("-r", "needs.txt")
    words: list  # all arguments as the program gets them


def parse_install(text):
    """Returns the Install of a line that begins with the program's name.

    Raises Unclear, with what to do, where a shell would do more than split words.
    """
    program, *words = _words(text.replace("\\\n", " "))
    return parse_words(program, words)


def parse_words(program, words):
    """Returns the Install of a call of "pip" or "conda" with these arguments.

    Raises Unclear if it is not clear which of them is the verb.
    """
    with_value = _WITH_VALUE[program]
    verb, requirements, options = "", [], []
    rest = iter(words)
    for word in rest:
        if word == "--" and not verb:
            raise Unclear("leave -- out")
        elif word == "--":
            requirements += rest
        elif word.startswith("--"):
            options.append(_long(word, rest, with_value))
        elif word.startswith("-") and word != "-":
            options += _short(word, rest, with_value)
        elif not verb:
            verb = word
        else:
            requirements.append(word)
    return Install(verb, requirements, options, words)


def _long(word, rest, with_value):
    name, equals, value = word.partition("=")
    if equals:
        return name, value
    return name, next(rest, None) if name in with_value else None


def _short(word, rest, with_value):
    """Yields the options of a word like -qr, of which the last may take a value."""
    for at, letter in enumerate(word[1:], 2):
        if f"-{letter}" in with_value:
            yield f"-{letter}", word[at:] or next(rest, None)
            return
        yield f"-{letter}", None


def _words(text):
    """Splits as a shell does that knows only blanks, quotes and comments."""
    words, word, at = [], None, 0  # word: the pieces of the one that has begun
    while at < len(text):
        char = text[at]
        if char in " \t\f" or (char == "#" and word is None):
            if word is not None:
                words.append("".join(word))
            if char == "#":
                return words
            word, at = None, at + 1
            continue
        word = word or []
        if char in "'\"":
            end = text.find(char, at + 1)
            if end < 0:
                raise Unclear(f"the quote {char} has no end")
            word.append(text[at + 1 : end])
            at = end + 1
        elif char == "\\" and os.name != "nt":
            word.append(text[at + 1 : at + 2])
            at += 2
        else:
            _check(text, at, word)
            word.append(os.path.expanduser("~") if text.startswith("~/", at) and not word else char)
            at += 1
    return words if word is None else [*words, "".join(word)]


def _check(text, at, word):
    char = text[at]
    # A number there would be a descriptor's. Mostly the first piece tells already.
    if char in "<>" and word and not all(map(str.isdigit, word)) and _VERSION.match(text, at):
        return
    if char in _NOT_HERE:
        raise Unclear(_NOT_HERE[char])
