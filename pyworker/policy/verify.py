"""The checker of code: a process that says where code breaks the rules of a policy.

    python -I -S -B LIBRARY/pyworker/policy/verify.py

The server starts it by from_memory.py, so that it is none of the files in LIBRARY. It
reads requests from stdin and answers on stdout, a JSON object a line; the end of
stdin ends it. It runs nothing of what it reads. A request is {"id": any, "kind":
"code", "command" or "install", "code": text, "policy": rules}; the answer has the same id and

    violations    a list of {"line", "column", "source", "rule", "message"}: lines and
                  columns count from 1, columns in characters; source is the line
    transformed   the Python that was judged, if it is not the code itself: a cell in
                  IPython's dialect is run as that
    notes         sentences on what of the code was repaired, if anything
    syntax_error  null, or the error as Python prints it; then nothing else is said
    error         only if the request itself is wrong: why

Code passes if both of the first are empty. Whoever gets "error", or no answer, must
refuse the code.
"""

import json
import os
import sys

if __name__ == "__main__" and not __package__:
    # Python was isolated from every path of the environment's.
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import ast
import functools
import gc
import re
import threading
import traceback
import warnings
from typing import NamedTuple

from pyworker.policy import commands, ipython, magics
from pyworker.policy.judge import Judge
from pyworker.policy.rules import Rules
from pyworker.shell import transform

_MOST = 100  # violations that are told one by one
_LONGEST_SOURCE = 200  # characters
_COLLECT = 500  # requests between two looks for cycles
_RECURSION = 4_000  # frames; the parser takes three levels of code for one
_STACK = 64 << 20  # bytes; only what is used of it is memory
_TREE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FILE = "<cell>"
_LINE_END = re.compile(r"\r\n|\r|\n")

# Code that takes all ways through the judge, those into syntax errors and magics among them.
_SAMPLES = (
    "'{0.a}'.format(open); df.query('@x.y'); import os",
    "ｏｐｅｎ",
    "x = (",
    "x = '\\ud800'\n\0",
    "%pip install x>=1\n!ls -l; pip install 'y'\n!python -m pip list\nx = !ls $(ls)",
    "!'",
    "%%bash\nls",
    "%%time\n%config InlineBackend.rc = 'x'\n!ls {x} $y\nx?",
    "```\nx = 1\n```",
    "x = 1\\nif x &lt; 2: pass",
    " pip install x",
)

_SHELL = (
    "can't be checked: get_ipython",
    "write magics as %name, and commands as !command",
)
_TOO_DEEP = (
    "code that can't be checked",
    "the code is too deeply nested, or too long, to be checked; split it",
)


class Judged(NamedTuple):
    """What is said of code; it passes if both of the first are empty."""

    violations: list
    syntax_error: str | None = None
    transformed: str | None = None
    notes: tuple | list = ()


def check(code, policy, kind="code"):
    """Returns the Judged of code.

    Raises ValueError if the policy or the kind is none.
    """
    rules = _rules(json.dumps(policy, sort_keys=True))
    if kind == "command":
        return Judged(_check_command(code, rules))
    if kind == "install":
        return Judged(_check_install(code, rules))
    if kind != "code":
        raise ValueError(f"unknown kind {kind!r}; known are code, command and install")
    return _check_code(code, rules)


@functools.lru_cache(maxsize=64)
def _rules(text):
    return Rules(json.loads(text))


def _check_code(code, rules):
    """Returns a Judged of a cell."""
    cell = _Cell(code, rules)
    try:
        reading = transform.read(code, _parse, _manager)
        cell.judge(reading.source, reading.tree)
    except (SyntaxError, ValueError) as error:  # ValueError: null characters
        return Judged([], "".join(traceback.format_exception_only(error)))
    except (RecursionError, MemoryError):
        return Judged([cell.places.violation(1, 1, *_TOO_DEEP)])
    transformed = None if reading.source == code else reading.source
    return Judged(cell.violations(), None, transformed, reading.notes)


@functools.cache
def _manager():
    return transform.manager()


def _check_command(command, rules):
    if rules.commands is None and not rules.magics and rules.pip_packages is None:
        return []
    places = _Places(command)
    found = commands.check_alone(command, rules)
    told = [(*commands.place(command, one.at), one.rule, one.message) for one in found]
    return _few([places.violation(*one) for one in told])


def _check_install(code, rules):
    """Judges a line that installs packages as that of a cell, "%pip install NAME"."""
    program, _, line = code.removeprefix("%").partition(" ")
    found = commands.check_install_line(program, line, rules)
    return [_Places(code).violation(1, 1, one.rule, one.message) for one in found]


class _Cell:
    """A cell that is judged, with what its magics run."""

    def __init__(self, code, rules):
        self.places = _Places(code)
        self._rules = rules
        self._found = set()  # (line, column, rule, message)

    def violations(self):
        """Returns what was found, in order."""
        return _few([self.places.violation(*one) for one in sorted(self._found)])

    def judge(self, source, tree, above=0, depth=0):
        """Judges a piece of Python, which stands below so many lines and may have magics."""
        if self._rules.is_any and "get_ipython" in source:
            self._judge_magics(source, tree, above, depth)
        for line, at, *verdict in Judge(tree, self._rules).violations():
            self._found.add((*self.places.of(source, line, at, above), *verdict))

    def _judge_magics(self, source, tree, above, depth):
        def judge(code, lines, how):
            self._judge_inner(code, above + lines, how, depth + 1)

        def report(line, verdict, text):
            where = above + line, verdict.at + 1
            if text and verdict.at:
                where = self.places.find(above + line, text, verdict.at)
            elif line == node.lineno:
                where = self.places.of(source, line, node.col_offset, above)
            self._found.add((*where, *verdict[:2]))

        judged = magics.Magics(self._rules, judge, report)
        for node, *call in magics.take(tree):
            judged.check(node.lineno, *call, depth)
        for name in ast.walk(tree):
            if type(name) is ast.Name and name.id == "get_ipython":
                where = self.places.of(source, name.lineno, name.col_offset, above)
                self._found.add((*where, *_SHELL))

    def _judge_inner(self, code, above, how, depth):
        """Judges the Python that a magic runs, read as the magic reads it."""
        try:
            for source, tree in _readings(code, how):
                self.judge(source, tree, above, depth)
        except (SyntaxError, ValueError) as error:
            line = above + (getattr(error, "lineno", None) or 1)
            if how != magics.VALUE:  # which IPython leaves as it is
                self._found.add((line, 1, "can't be checked: what a magic runs", f"{error}"))


def _readings(code, how):
    """Yields what a magic may make of its code, as (source, tree)."""
    if _manager() is None:
        raise ValueError(transform.NEEDS_IPYTHON)
    if how == magics.TRANSFORMED:
        code = _manager().transform_cell(code)
    if how != magics.CELL:
        yield code, _parse(code)
        return
    reading = transform.read(code, _parse, _manager)
    yield reading.source, reading.tree
    if word := transform.automagic(code):
        source = _manager().transform_cell(word)
        yield source, _parse(source)


def _parse(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, _FILE, "exec", _TREE, dont_inherit=True)


def _few(violations):
    if len(violations) <= _MOST:
        return violations
    more = len(violations) - _MOST
    last = dict(violations[_MOST], rule="more", message=f"and {more} more")
    return [*violations[:_MOST], last]


class _Places:
    """Turns Python's places into those that people count."""

    def __init__(self, code):
        self._code = code
        self._lines = None

    def line(self, number):
        """Returns a line of the source."""
        if self._lines is None:
            self._lines = _LINE_END.split(self._code)
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def of(self, source, number, offset, above):
        """Returns the line and column of an offset in bytes, in a line of what was judged.

        above says how many lines stand above that source, which may be indented less.
        """
        line = _LINE_END.split(source)[number - 1]
        column = len(line.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1
        bare = line.strip()
        moved = self.line(above + number).find(bare) - (len(line) - len(line.lstrip()))
        return above + number, column + (moved if bare and moved > 0 else 0)

    def find(self, number, text, at):
        """Returns the line and column of an offset in a command that begins in a line."""
        found = self.line(number).find(text)
        if found >= 0:
            return number, found + at + 1
        word = text[at:].split(None, 1)[0]
        last = number
        while (found := self.line(last).find(word)) < 0 and self.line(last)[-1:] == "\\":
            last += 1
        return (last, found + 1) if found >= 0 else (number, 1)

    def violation(self, line, column, rule, message):
        """Returns a violation as it is told."""
        source = self.line(line).strip()
        if len(source) > _LONGEST_SOURCE:
            source = source[: _LONGEST_SOURCE - 1] + "…"
        return {
            "line": line,
            "column": column,
            "source": source,
            "rule": rule,
            "message": message,
        }


def answer(line):
    """Returns the answer to a line with a request, as a dict."""
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        code, policy = request["code"], request.get("policy") or {}
        judged = check(code, policy, request.get("kind", "code"))
        said = {name: value for name, value in judged._asdict().items() if value}
        return {"id": number, "violations": [], "syntax_error": None} | said
    except Exception as error:  # whoever asked must know, and refuse
        reason = f"{type(error).__name__}: {error}"
        return {"id": number, "violations": [], "syntax_error": None, "error": reason[:500]}


def serve(requests, answers):
    """Answers the requests of a stream of bytes until it ends."""
    sys.setrecursionlimit(_RECURSION)
    _read_everything()
    ipython.load()
    _import_everything()
    # Trees hold no cycles; looking for them would cost a fifth of each check.
    gc.freeze()
    gc.disable()
    for number, line in enumerate(requests, 1):
        answers.write(json.dumps(answer(line)).encode() + b"\n")
        answers.flush()
        if number % _COLLECT == 0:
            gc.collect()


def _read_everything():
    """Reads as Python what a session might, that has changed its own limits.

    What is a syntax error here is not checked: it must be one there as well.
    """
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)


def _import_everything():
    """Imports what any check needs before the first: files may be changed later."""
    for code in _SAMPLES:
        check(code, {"blocked_functions": ["open"], "commands": ["ls"], "pip_packages": ["x"]})
    check("ls", {"commands": ["ls"]}, "command")


def _main():
    # Deep code needs a deep stack, which only a thread can be given.
    threading.stack_size(_STACK)
    thread = threading.Thread(target=serve, args=(sys.stdin.buffer, sys.stdout.buffer))
    thread.start()
    thread.join()


if __name__ == "__main__":
    _main()
