"""Holds commands of the shell, and calls of pip and its like, against the rules.

A command line is taken apart as far as it is plain words: what every POSIX shell reads
alike, which is words, quotes without backslashes, ; & && || | and redirections. Where only
some commands may run, a line that is more than that is refused.
"""

import os
import re
import shlex
from typing import NamedTuple

from pyworker.policy.rules import is_one_of, listed

_VARIABLE = r"\$(?:\w+|\{\w+\}|[?#$!@*-])"
_QUOTED = r"""'[^']*'|"(?:[^"\\`$]|\$(?:\w+|\{\w+\}|(?=[ "])))*\""""
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+|(?<=[ \t;&|])\\\n|\\\n(?=[ \t]))"
    r"|(?P<end>(?:&&|\|\||[;&|\n])(?![;&|<>]))"
    r"|(?P<redirection>[0-9]*(?:>>|>\||[<>]&|[<>])(?![;&|<>]))"
    rf"|(?P<word>(?!#)(?:[^\s\"'\\`$();&|<>\0]|{_QUOTED}|{_VARIABLE})+)"
)
_QUOTES = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_NAME = re.compile(r"[\w./+@%:,-]+|\[")
_RESERVED = re.compile(
    "if|then|elif|else|fi|for|while|until|do|done|case|esac|in|function|select|time|coproc"
)

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[[A-Za-z0-9._,\s-]*\])?\s*"
    r"(?:\(?\s*(?:===|[<>=!~]=|[<>])[A-Za-z0-9.+!*,<>=~_\s-]*\)?)?\s*(?:;.*)?"
)
# Options that neither take packages from elsewhere nor write outside of the environment.
_OPTIONS = """-q --quiet -v --verbose -U --upgrade --upgrade-strategy --pre --no-deps
    --no-cache-dir --no-input --disable-pip-version-check --user --progress-bar --only-binary
    --prefer-binary --force-reinstall -I --ignore-installed --no-color --no-warn-script-location
    --timeout --retries -y --yes -h --help -V --version --format -o --outdated -u --uptodate -l
    --local --not-required --exclude --exclude-editable --include-editable --files"""
_KNOWN = frozenset(_OPTIONS.split())
_WITH_VALUE = re.compile(
    "--(?:upgrade-strategy|progress-bar|only-binary|timeout|retries|format|exclude)"
)
_PLAIN = re.compile(r"[A-Za-z0-9:.,_+-]*")  # the value of an option
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a package, or a word as "versions"
_EXPANDED = re.compile(r"[${`~]")  # a shell may make several words of it
_STRINGS = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.S)
# What only tells of packages.
_READING = {
    "pip": ("list", "show", "freeze", "check", "index", "debug", "help", "inspect", ""),
    "conda": ("list", "info", "help", ""),
}
_PIP = re.compile(r"(?:\S*[/\\])?(?:pip[0-9.]*|python[0-9.]* -m pip|uv pip)(?: |$)")
_CONDA = re.compile(r"(?:\S*[/\\])?(?:conda|mamba|micromamba)")
UNCLEAR = (
    "command that can't be checked",
    "it is more than simple commands; write plain words, one command after the other",
)


class Verdict(NamedTuple):
    """What speaks against a command, or a part of it."""

    rule: str
    message: str
    at: int = 0  # where that part begins in the text


class Line(NamedTuple):
    """A command line: its simple commands, as (words, where they begin in the text)."""

    commands: list
    writes: bool  # to a file other than /dev/null


def take_apart(text):
    """Returns the Line of a text, None where that is unclear.

    Redirections are left out of its words, and values of variables stay as they are written.
    """
    found, writes, operator, at = [[]], False, "", 0  # operator: of a redirection, before a file
    while at < len(text):
        token = _TOKEN.match(text, at)
        kind = token and token.lastgroup
        if kind is None or (operator and kind not in ("word", "blank")):
            return None
        word = _QUOTES.sub(r"\1\2", token["word"] or "")
        if kind == "end":
            found.append([])
        elif kind == "redirection":
            operator = token[0].lstrip("0123456789")
        elif kind == "word" and not operator:
            found[-1].append((word, at))
        elif kind == "word":
            if operator[1:] == "&" and not re.fullmatch("-|[0-9]+", word):
                return None
            writes |= operator in (">", ">>", ">|") and word != "/dev/null"
            operator = ""
        at = token.end()
    placed = [([word for word, _ in words], words[0][1]) for words in found if words]
    is_plain = all(_NAME.fullmatch(w[0]) and not _RESERVED.fullmatch(w[0]) for w, _ in placed)
    return None if operator or not is_plain or os.name == "nt" else Line(placed, writes)


def check_alone(text, rules):
    """Returns the verdicts on a command that an agent runs by itself.

    Who turns commands off for code says nothing of those that he lists.
    """
    if rules.magics.get("shell") == "refuse" and rules.commands is None:
        message = "no command is allowed here: tell the user that the operator must list some"
        return [Verdict("shell commands", message)]
    instead = "put what you know into a file with manage_interpreters, operation upload"
    return _check(text, rules, instead)


def check_in_code(text, rules):
    """Returns the verdicts on a command line of a cell."""
    line = take_apart(text)
    if line is not None and len(line.commands) == 1 and not line.writes:
        if install := _install_of(line.commands[0][0]):
            return _check_install(*install, rules)
    if rules.magics.get("shell") == "refuse":
        return [Verdict("shell commands", "shell commands are refused; use Python instead")]
    return _check(text, rules, "write from Python")


def is_limited(rules):
    """Says whether some commands only may run."""
    return rules.commands is not None and "*" not in rules.commands


def _check(text, rules, instead):
    """Returns the verdicts on a command line; instead is what to do rather than write."""
    line = take_apart(text)
    if line is None:
        return [Verdict(*UNCLEAR)] if is_limited(rules) else []
    verdicts = []
    if is_limited(rules) and line.writes:
        message = f"redirections may go to /dev/null and other descriptors only; {instead}"
        verdicts.append(Verdict("redirection to a file", message))
    for words, at in line.commands:
        if is_limited(rules) and not is_one_of(words[0], rules.commands):
            message = f"commands that are allowed: {listed(rules.commands, words[0])}"
            verdicts.append(Verdict(f"command {words[0]} is not allowed", message, at))
        if install := _install_of(words):
            verdicts += [one._replace(at=at) for one in _check_install(*install, rules)]
    return verdicts


def _install_of(words):
    """Returns (program, its arguments) where a command installs packages, else None."""
    if match := _PIP.match(" ".join(words)):
        return "pip", words[len(match[0].split()) :]
    return ("conda", words[1:]) if _CONDA.fullmatch(words[0]) else None


def check_install_line(program, line, rules):
    """Returns the verdicts on a line behind %pip, %conda or %uv."""
    unclear = [Verdict("install that can't be checked", f"write %{program} install NAME")]
    if re.search(r"[;&|`$(){}\n]", _STRINGS.sub("q", line)) or re.search(r"[{$]", line):
        return unclear
    try:
        words = [program, *shlex.split(line)]
    except ValueError:
        return unclear
    return _check_install(*(_install_of(words) or (program, words[1:])), rules)


def _check_install(program, words, rules):
    """Returns the verdicts on a call of pip or conda with these arguments."""
    if rules.magics.get("pip") == "refuse":
        message = "packages can't be installed; use those that are there"
        return [Verdict(f"{program} in code", message)]
    if rules.pip_packages is None or "*" in rules.pip_packages:
        return []
    if program not in _READING:
        return [Verdict(f"{program} is not allowed", "write %pip install NAME")]
    if any(map(_EXPANDED.search, words)):
        return [Verdict("install that can't be checked", "write %pip install NAME")]
    alone, wrong = _read_options(words)
    verb, names = (*alone, "")[0], alone[1:]
    is_reading = verb in _READING[program]
    if verb != "install" and not is_reading:
        message = "only packages of the policy can be installed"
        return [Verdict(f"{program} {verb} is not allowed", message)]
    if wrong:
        return [Verdict(f"{program}'s option {wrong} is not allowed", "leave it out")]
    if not is_reading:
        return [one for name in names for one in _check_requirement(name, rules.pip_packages)]
    return [
        Verdict(f"{program} {verb} {name} is not allowed", "give names of packages")
        for name in names
        if not _NAMED.fullmatch(name)
    ]


def _read_options(words):
    """Returns what stands by itself, the verb first, and the first option that is not known."""
    alone, rest = [], iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word[:1] != "-":
            alone.append(word)
            continue
        letters = [f"-{letter}" for letter in option[1:]] if option[1:2] != "-" else [option]
        wrong = next((letter for letter in letters if letter not in _KNOWN), "")
        if wrong or not option[1:]:
            return alone, wrong or word
        if _WITH_VALUE.fullmatch(option) and not equals:
            value = next(rest, "")
        if not _PLAIN.fullmatch(value):
            return alone, option
    return alone, ""


def _check_requirement(requirement, allowed):
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        message = "give names of packages, with versions if need be; no files, no addresses"
    elif is_one_of(_normal(match[1]), map(_normal, allowed)):
        return []
    else:
        message = f"packages that can be installed: {listed(allowed, match[1])}"
    return [Verdict(f"package {match[1] if match else requirement} is not allowed", message)]


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
