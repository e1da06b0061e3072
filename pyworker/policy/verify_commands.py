"""Holds magics and shell commands against the rules."""

import fnmatch
import re
from typing import NamedTuple

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[[A-Za-z0-9._,\s-]*\])?\s*"
    r"(?:\(?\s*(?:===|[<>=!~]=|[<>])[A-Za-z0-9.+!*,<>=~_\s-]*\)?)?\s*"
)
# What neither takes packages from elsewhere nor writes outside of the environment.
_OPTIONS = frozenset(
    (
        *("-q", "--quiet", "-v", "--verbose", "-U", "--upgrade", "--upgrade-strategy", "--pre"),
        *("--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--user"),
        *("--progress-bar", "--only-binary", "--prefer-binary", "--force-reinstall", "-I"),
        *("--ignore-installed", "--no-color", "--no-warn-script-location", "--timeout"),
        *("--retries", "-y", "--yes"),
    )
)
# What only tells of packages, and the options with which it does no more than that.
# One that pip gives a value at times, and installs.py always (-e, -f), is none of them.
_READING = {
    "pip": frozenset(("list", "show", "freeze", "check", "index", "debug", "help", "inspect", "")),
    "conda": frozenset(("list", "info", "help", "")),
}
_READING_OPTIONS = frozenset(
    (
        *("-h", "--help", "-V", "--version", "-q", "--quiet", "-v", "--verbose", "--format"),
        *("-o", "--outdated", "-u", "--uptodate", "-l", "--local", "--user", "--all", "--pre"),
        *("--not-required", "--exclude", "--exclude-editable", "--include-editable", "--files"),
        *("--no-input", "--no-color", "--disable-pip-version-check", "--timeout", "--retries"),
    )
)
_PLAIN = re.compile(r"[A-Za-z0-9:.,_+-]*")  # the value of an option
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # a package, or a word as "versions"
_EXPANDED = re.compile(r"[${`~]")  # a shell may make several words of it
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.S)
_HARMLESS_REDIRECTION = re.compile(r"(?:\d*|&)>>?[ \t]*(?:&[ \t]*\d+|/dev/null)(?![^\s;&|<>])")
_PIPS = re.compile(r"pip[0-9.]*")
_PYTHONS = re.compile(r"python[0-9.]*")


class Verdict(NamedTuple):
    """What speaks against a command, or a part of it."""

    rule: str
    message: str
    at: int = 0  # where that part begins in the text


def check_magic(magic, rules):
    """Returns the verdicts on a magic of a cell, as a list of (line, column, rule, message)."""
    if magic.kind == "unknown" or magic.problem:
        return []  # nothing of the cell runs: it is a syntax error
    if magic.kind == "shell":
        verdicts = _check_line(magic, rules)
    elif rules.magics.get("pip") == "refuse":
        message = "packages can't be installed; use those that are there"
        verdicts = [Verdict(f"{magic.kind} in code", message)]
    else:
        verdicts = check_install(magic.parsed, rules, magic.kind)
    return [(*_place(magic, verdict), verdict.rule, verdict.message) for verdict in verdicts]


def _check_line(magic, rules):
    if rules.magics.get("shell") == "refuse":
        return [Verdict("shell commands", "shell commands are refused; use Python instead")]
    return check_command(magic.text, magic.parsed, rules, "write from Python")


def _place(magic, verdict):
    """Returns the line and column of a verdict on a magic."""
    if not verdict.at:
        return magic.line, magic.column
    line, column = place(magic.text, verdict.at)
    return magic.line + line - 1, column if line > 1 else magic.column + magic.lead + column - 1


def place(text, at):
    """Returns the line and column, from 1 and in characters, of an offset in a text."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def check_alone(text, commands, rules):
    """Returns the verdicts on a command that an agent runs by itself, as of check_command.

    Who turns commands off for code says nothing of those that he lists.
    """
    if rules.magics.get("shell") == "refuse" and rules.commands is None:
        message = "no command is allowed here: tell the user that the operator must list some"
        return [Verdict("shell commands", message)]
    instead = "put what you know into a file with manage_interpreters, operation upload"
    return check_command(text, commands, rules, instead)


def check_command(text, commands, rules, instead):
    """Returns the verdicts on a shell's command line and the list of Command in it.

    None in the place of the list stands for a line that can't be taken apart; instead
    is what to do where a file can't be written.
    """
    if commands is None:
        if rules.commands is None or "*" in rules.commands:
            return []
        message = "it is more than simple commands; write plain words, one command after the other"
        return [Verdict("command that can't be checked", message)]
    verdicts = []
    if rules.commands is not None and "*" not in rules.commands and _writes(text):
        message = f"redirections may go to /dev/null and other descriptors only; {instead}"
        verdicts.append(Verdict("redirection to a file", message))
    for words in commands:
        name, at = words[0], words.at
        if rules.commands is not None and not _is_one_of(name, rules.commands):
            rule = f"command {name} is not allowed"
            verdicts.append(Verdict(rule, _allowed(rules.commands), at))
        verdicts += [verdict._replace(at=at) for verdict in _check_pip(words, rules)]
    return verdicts


def _writes(text):
    """Says whether a command line that can be taken apart may write to a file."""
    return ">" in _HARMLESS_REDIRECTION.sub(" ", _QUOTED.sub("q", text))


def check_install(install, rules, program="pip"):
    """Returns the verdicts on a call of pip or conda."""
    if rules.pip_packages is None or "*" in rules.pip_packages:
        return []
    if install is None:
        return [Verdict("install that can't be checked", "write %pip install NAME")]
    is_reading = install.verb in _READING[program]
    if install.verb != "install" and not is_reading:
        rule = f"{program} {install.verb} is not allowed"
        return [Verdict(rule, "only packages of the policy can be installed")]
    known = _READING_OPTIONS if is_reading else _OPTIONS
    verdicts = []
    for option, value in install.options:
        if option not in known or not _PLAIN.fullmatch(value or ""):
            verdicts.append(Verdict(f"{program}'s option {option} is not allowed", "leave it out"))
    for requirement in install.requirements:
        if not is_reading:
            verdicts += _check_requirement(requirement, rules.pip_packages)
        elif not _NAMED.fullmatch(requirement):
            rule = f"{program} {install.verb} {requirement} is not allowed"
            verdicts.append(Verdict(rule, "give names of packages"))
    return verdicts


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


def _check_pip(words, rules):
    """Checks pip where a shell command calls it."""
    program = words[0].replace("\\", "/").rpartition("/")[2]
    rest = words[1:]
    if _PYTHONS.fullmatch(program):
        if rest[:2] != ["-m", "pip"]:
            return []
        rest = rest[2:]
    elif not _PIPS.fullmatch(program):
        return []
    if rules.magics.get("pip") == "refuse":
        message = "packages can't be installed; use those that are there"
        return [Verdict("pip in a command", message)]
    if rules.pip_packages is None:
        return []
    from pyworker.shell import installs

    install = None
    if not any(map(_EXPANDED.search, rest)):
        try:
            install = installs.parse_words("pip", rest)
        except ValueError:
            pass
    return check_install(install, rules)


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_one_of(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _allowed(commands):
    return f"commands that are allowed: {', '.join(sorted(commands)) or 'none'}"
