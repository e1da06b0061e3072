"""Holds magics and shell commands against the rules."""

import fnmatch
import re

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*"
    r"(?:\[[A-Za-z0-9._,\s-]*\])?\s*"
    r"(?:\(?\s*(?:===|[<>=!~]=|[<>])[^@/\\:;]*\)?)?\s*"
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
_READING = frozenset(("list", "show", "freeze", "check", "index", "debug", "help", "inspect", ""))
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.S)
_HARMLESS_REDIRECTION = re.compile(r"(?:\d*|&)>>?[ \t]*(?:&[ \t]*\d+|/dev/null)(?![^\s;&|<>])")
_PIPS = re.compile(r"pip[0-9.]*")
_PYTHONS = re.compile(r"python[0-9.]*")


def check_magic(magic, rules):
    """Returns the verdicts on a magic of a cell, as a list of (rule, message)."""
    if magic.kind == "unknown":
        return []  # nothing of the cell runs: it is a syntax error
    if magic.kind == "shell":
        if rules.magics.get("shell") == "refuse":
            return [("shell commands", "shell commands are refused; use Python instead")]
        return check_command(magic.text, magic.parsed, rules)
    if rules.magics.get("pip") == "refuse":
        message = "packages can't be installed; use those that are there"
        return [(f"{magic.kind} in code", message)]
    if magic.problem:
        return []  # a syntax error as well
    return check_install(magic.parsed, rules)


def check_command(text, commands, rules):
    """Returns the verdicts on a shell's command line and the list of argv lists in it.

    None in the place of the list stands for a line that can't be taken apart.
    """
    if commands is None:
        if rules.commands is None or "*" in rules.commands:
            return []
        message = "it is more than simple commands; write plain words, one command after the other"
        return [("command that can't be checked", message)]
    verdicts = []
    if rules.commands is not None and "*" not in rules.commands and _writes(text):
        message = "redirections may go to /dev/null and other descriptors only; write from Python"
        verdicts.append(("redirection to a file", message))
    for words in commands:
        name = words[0]
        if rules.commands is not None and not _is_one_of(name, rules.commands):
            verdicts.append((f"command {name} is not allowed", _allowed(rules.commands)))
        verdicts += _check_pip(words, rules)
    return verdicts


def _writes(text):
    """Says whether a command line that can be taken apart may write to a file."""
    return ">" in _HARMLESS_REDIRECTION.sub(" ", _QUOTED.sub("q", text))


def check_install(install, rules):
    """Returns the verdicts on a call of pip or conda."""
    if rules.pip_packages is None or "*" in rules.pip_packages:
        return []
    if install is None:
        return [("install that can't be checked", "write %pip install NAME")]
    if install.verb in _READING:
        return []
    if install.verb != "install":
        return [
            (f"pip {install.verb} is not allowed", "only packages of the policy can be installed")
        ]
    verdicts = []
    for option, _ in install.options:
        if option not in _OPTIONS:
            verdicts.append((f"pip's option {option} is not allowed", "leave it out"))
    for requirement in install.requirements:
        verdicts += _check_requirement(requirement, rules.pip_packages)
    return verdicts


def _check_requirement(requirement, allowed):
    match = _REQUIREMENT.fullmatch(requirement.partition(";")[0])
    if match is None:
        rule = f"package {requirement} is not allowed"
        return [(rule, "give names of packages, with versions if need be; no files, no addresses")]
    name = _normal(match[1])
    if any(fnmatch.fnmatchcase(name, _normal(pattern)) for pattern in allowed):
        return []
    names = ", ".join(sorted(allowed)) or "none"
    return [(f"package {match[1]} is not allowed", f"packages that can be installed: {names}")]


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
        return [("pip in a command", "packages can't be installed; use those that are there")]
    if rules.pip_packages is None:
        return []
    from . import installs

    text = " ".join(["pip", *(f"'{word}'" for word in rest)])
    try:
        install = installs.parse_install(text)
    except ValueError:
        install = None
    return check_install(install, rules)


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_one_of(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _allowed(commands):
    return f"commands that are allowed: {', '.join(sorted(commands)) or 'none'}"
