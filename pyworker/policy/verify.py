"""The checker of code: a process that says where code breaks the rules of a policy.

    python -I -S -B LIBRARY/pyworker/policy/verify.py

The server starts it by from_memory.py, so that it is none of the files in LIBRARY. It
reads requests from stdin and answers on stdout, a JSON object a line; the end of
stdin ends it. It runs nothing of what it reads. A request is {"id": any, "kind":
"code" or "command", "code": text, "policy": rules}; the answer has the same id and

    violations    a list of {"line", "column", "source", "rule", "message"}: lines and
                  columns count from 1, columns in characters; source is the line
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

from pyworker.policy import verify_commands
from pyworker.policy.verify_rules import Rules
from pyworker.policy.verify_uses import Judge

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
)

_TOO_DEEP = (
    "code that can't be checked",
    "the code is too deeply nested, or too long, to be checked; split it",
)


def check(code, policy, kind="code"):
    """Returns (list of violations, syntax error as text or None).

    Raises ValueError if the policy or the kind is none.
    """
    rules = _rules(json.dumps(policy, sort_keys=True))
    if kind == "command":
        return _check_command(code, rules), None
    if kind != "code":
        raise ValueError(f"unknown kind {kind!r}; known are code and command")
    return _check_code(code, rules)


@functools.lru_cache(maxsize=64)
def _rules(text):
    return Rules(json.loads(text))


def _check_code(code, rules):
    places = _Places(code)
    try:
        source, magics = _split(code)
        tree = _parse(source)
        found = Judge(tree, rules).violations()
    except (SyntaxError, ValueError) as error:  # ValueError: null characters
        return [], "".join(traceback.format_exception_only(error))
    except (RecursionError, MemoryError):
        return [places.violation(1, 1, *_TOO_DEEP)], None
    told = [(line, places.column(line, at), *verdict) for line, at, *verdict in found]
    for magic in magics:
        told += verify_commands.check_magic(magic, rules)
    return _few([places.violation(*one) for one in sorted(set(told))]), None


def _check_command(command, rules):
    if rules.commands is None and not rules.magics and rules.pip_packages is None:
        return []
    magics = _magics()
    commands = None if magics is None else magics.commands(command)
    places = _Places(command)
    found = verify_commands.check_alone(command, commands, rules)
    told = [(*verify_commands.place(command, one.at), one.rule, one.message) for one in found]
    return _few([places.violation(*one) for one in told])


def _split(code):
    """Returns the code as Python reads it, and its magics."""
    magics = _magics() if "%" in code or "!" in code else None
    return (code, []) if magics is None else magics.split(code)


def _magics():
    """Returns the module that finds magics; None where there is none, for sessions too."""
    try:
        import pyworker.shell.magics as magics
    except ModuleNotFoundError as error:
        if error.name != "pyworker.shell.magics":
            raise  # a magic that is not seen would be taken for a mere syntax error
        return None
    return magics


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

    def column(self, number, offset):
        """Returns the column, in characters from 1, of an offset in bytes of UTF-8."""
        line = self.line(number)
        if line.isascii():
            return offset + 1
        return len(line.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1

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
        violations, error = check(code, policy, request.get("kind", "code"))
        return {"id": number, "violations": violations, "syntax_error": error}
    except Exception as error:  # whoever asked must know, and refuse
        reason = f"{type(error).__name__}: {error}"
        return {"id": number, "violations": [], "syntax_error": None, "error": reason[:500]}


def serve(requests, answers):
    """Answers the requests of a stream of bytes until it ends."""
    sys.setrecursionlimit(_RECURSION)
    _read_everything()
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
