"""Holds commands of the shell, and calls of pip and its like, against the rules."""

import fnmatch
import itertools
import re
import shlex
from typing import NamedTuple

from pyworker.policy.words import commands as simple_commands

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[[A-Za-z0-9._,\s-]*\])?\s*"
    r"(?:\(?\s*(?:===|[<>=!~]=|[<>])[A-Za-z0-9.+!*,<>=~_\s-]*\)?)?\s*"
)
# What neither takes packages from elsewhere nor writes outside of the environment.
_OPTIONS = frozenset(
    """-q --quiet -v --verbose -U --upgrade --upgrade-strategy --pre --no-deps --no-cache-dir
    --no-input --disable-pip-version-check --user --progress-bar --only-binary --prefer-binary
    --force-reinstall -I --ignore-installed --no-color --no-warn-script-location --timeout
    --retries -y --yes""".split()  # noqa: SIM905
)
# What only tells of packages, and the options with which it does no more than that.
_READING = {
    "pip": frozenset(("list", "show", "freeze", "check", "index", "debug", "help", "inspect", "")),
    "conda": frozenset(("list", "info", "help", "")),
}
_READING_OPTIONS = frozenset(
    """-h --help -V --version -q --quiet -v --verbose --format -o --outdated -u --uptodate -l
    --local --user --all --pre --not-required --exclude --exclude-editable --include-editable
    --files --no-input --no-color --disable-pip-version-check --timeout --retries""".split()  # noqa: SIM905
)
_WITH_VALUE = frozenset(
    """--upgrade-strategy --progress-bar --only-binary --timeout --retries --format
    --exclude""".split()  # noqa: SIM905
)
_PLAIN = re.compile(r"[A-Za-z0-9:.,_+-]*")  # the value of an option
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a package, or a word as "versions"
_EXPANDED = re.compile(r"[${`~]")  # a shell may make several words of it
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.S)
_HARMLESS_REDIRECTION = re.compile(r"(?:\d*|&)>>?[ \t]*(?:&[ \t]*\d+|/dev/null)(?![^\s;&|<>])")
_PIPS = re.compile(r"pip[0-9.]*")
_PYTHONS = re.compile(r"python[0-9.]*")
_CONDAS = frozenset(("conda", "mamba", "micromamba"))
_NO_INSTALLS = "packages can't be installed; use those that are there"
UNCLEAR = (
    "command that can't be checked",
    "it is more than simple commands; write plain words, one command after the other",
)


class Verdict(NamedTuple):
    """What speaks against a command, or a part of it."""

    rule: str
    message: str
    at: int = 0  # where that part begins in the text


def check_alone(text, rules):
    """Returns the verdicts on a command that an agent runs by itself, as of check_command.

    Who turns commands off for code says nothing of those that he lists.
    """
    if rules.magics.get("shell") == "refuse" and rules.commands is None:
        message = "no command is allowed here: tell the user that the operator must list some"
        return [Verdict("shell commands", message)]
    instead = "put what you know into a file with manage_interpreters, operation upload"
    return check_command(text, rules, instead)


def check_in_code(text, rules):
    """Returns the verdicts on a command line of a cell."""
    found = simple_commands(text)
    if found is not None and len(found) == 1 and not _writes(text):
        install = _install_of(found[0].words)
        if install is not None:
            return check_install(*install, rules)
    if rules.magics.get("shell") == "refuse":
        return [Verdict("shell commands", "shell commands are refused; use Python instead")]
    return check_command(text, rules, "write from Python")


def is_limited(rules):
    """Says whether some commands only may run."""
    return rules.commands is not None and "*" not in rules.commands


def check_command(text, rules, instead):
    """Returns the verdicts on a shell's command line.

    instead is what to do where a file can't be written.
    """
    found = simple_commands(text)
    if found is None:
        return [Verdict(*UNCLEAR)] if is_limited(rules) else []
    verdicts = []
    if is_limited(rules) and _writes(text):
        message = f"redirections may go to /dev/null and other descriptors only; {instead}"
        verdicts.append(Verdict("redirection to a file", message))
    for words, at in found:
        if is_limited(rules) and not _is_one_of(words[0], rules.commands):
            rule = f"command {words[0]} is not allowed"
            verdicts.append(Verdict(rule, _allowed(rules.commands), at))
        install = _install_of(words)
        if install is not None:
            verdicts += [one._replace(at=at) for one in check_install(*install, rules)]
    return verdicts


def _writes(text):
    """Says whether a command line that can be taken apart may write to a file."""
    return ">" in _HARMLESS_REDIRECTION.sub(" ", _QUOTED.sub("q", text))


def _install_of(words):
    """Returns (program, its arguments) where a command installs packages, else None."""
    name = words[0].replace("\\", "/").rpartition("/")[2]
    if _PIPS.fullmatch(name):
        return "pip", words[1:]
    if _PYTHONS.fullmatch(name) and words[1:3] == ["-m", "pip"]:
        return "pip", words[3:]
    if name == "uv" and words[1:2] == ["pip"]:
        return "pip", words[2:]
    return ("conda", words[1:]) if name in _CONDAS else None


def check_install_line(program, line, rules):
    """Returns the verdicts on a line behind %pip, %conda or %uv."""
    if re.search(r"[;&|`$(){}\n]", _QUOTED.sub("q", line)) or re.search(r"[{$]", line):
        return [Verdict("install that can't be checked", f"write %{program} install NAME")]
    try:
        words = shlex.split(line)
    except ValueError:
        words = ["$"]
    program, words = _install_of([program, *words]) or (program, words)
    return check_install(program, words, rules)


def check_install(program, words, rules):
    """Returns the verdicts on a call of pip or conda with these arguments."""
    if rules.magics.get("pip") == "refuse":
        return [Verdict(f"{program} in code", _NO_INSTALLS)]
    if rules.pip_packages is None or "*" in rules.pip_packages:
        return []
    if program not in _READING:
        return [Verdict(f"{program} is not allowed", "write %pip install NAME")]
    if any(map(_EXPANDED.search, words)):
        return [Verdict("install that can't be checked", "write %pip install NAME")]
    before = list(itertools.takewhile(lambda word: word[:1] == "-", words))
    verb = words[len(before)] if len(before) < len(words) else ""
    is_reading = verb in _READING[program]
    known = _READING_OPTIONS if is_reading else _OPTIONS
    requirements, wrong = _read_options(words, known)
    if verb != "install" and not is_reading:
        _, wrong = _read_options(before, known | _READING_OPTIONS)
        if not wrong:
            rule = f"{program} {verb} is not allowed"
            return [Verdict(rule, "only packages of the policy can be installed")]
    if wrong:
        return [Verdict(f"{program}'s option {wrong} is not allowed", "leave it out")]
    verdicts = []
    for requirement in requirements[1:]:
        if not is_reading:
            verdicts += _check_requirement(requirement, rules.pip_packages)
        elif not _NAMED.fullmatch(requirement):
            rule = f"{program} {verb} {requirement} is not allowed"
            verdicts.append(Verdict(rule, "give names of packages"))
    return verdicts


def _read_options(words, known):
    """Returns what stands by itself, the verb first, and the first option that is not known."""
    alone, rest = [], iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word[:1] != "-":
            alone.append(word)
            continue
        letters = [f"-{letter}" for letter in option[1:]] if option[1:2] != "-" else [option]
        wrong = next((letter for letter in letters if letter not in known), "")
        if wrong or not option[1:]:
            return alone, wrong or word
        if option in _WITH_VALUE and not equals:
            value = next(rest, "")
        if not _PLAIN.fullmatch(value):
            return alone, option
    return alone, ""


def _check_requirement(requirement, allowed):
    match = _REQUIREMENT.fullmatch(requirement.partition(";")[0])
    if match is None:
        rule = f"package {requirement} is not allowed"
        message = "give names of packages, with versions if need be; no files, no addresses"
        return [Verdict(rule, message)]
    name = _normal(match[1])
    if any(fnmatch.fnmatchcase(name, _normal(pattern)) for pattern in allowed):
        return []
    names = ", ".join(sorted(allowed)) or "none"
    message = f"packages that can be installed: {names}"
    return [Verdict(f"package {match[1]} is not allowed", message)]


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_one_of(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _allowed(commands):
    return f"commands that are allowed: {', '.join(sorted(commands)) or 'none'}"
