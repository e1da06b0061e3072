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

import functools
import gc
import importlib
import threading
import traceback
from typing import NamedTuple

from pyworker.policy import commands, ipython
from pyworker.policy.cell import Cell, read
from pyworker.policy.places import Places
from pyworker.policy.rules import Rules

_COLLECT = 500  # requests between two looks for cycles
_RECURSION = 4_000  # frames; the parser takes three levels of code for one
_STACK = 64 << 20  # bytes; only what is used of it is memory


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
    if kind == "code":
        return _check_code(code, rules)
    if kind == "command":
        found = commands.check_alone(code, rules)
    elif kind == "install":  # as that of a cell, "%pip install NAME"
        program, _, line = code.removeprefix("%").partition(" ")
        found = commands.check_install_line(program, line, rules)
    else:
        raise ValueError(f"unknown kind {kind!r}; known are code, command and install")
    places = Places(code)
    for verdict in found:
        places.add(1, code, verdict.at, verdict)
    return Judged(places.told())


@functools.lru_cache(maxsize=64)
def _rules(text):
    return Rules(json.loads(text))


def _check_code(code, rules):
    """Returns the Judged of a cell."""
    cell = Cell(code, rules)
    try:
        reading = read(code)
        cell.judge(reading.source, reading.tree)
    except (SyntaxError, ValueError) as error:  # ValueError: null characters
        return Judged([], "".join(traceback.format_exception_only(error)))
    except (RecursionError, MemoryError):
        advice = "the code is too deeply nested, or too long, to be checked; split it"
        cell = Cell(code, rules)
        cell.places.add(1, "", 0, ("code that can't be checked", advice))
        return Judged(cell.places.told())
    changed = None if reading.source == code else reading.source
    return Judged(cell.places.told(), None, changed, reading.notes)


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
    if hasattr(sys, "set_int_max_str_digits"):
        # As in a session that has done so: what is no syntax error there must be none here.
        sys.set_int_max_str_digits(0)
    import_everything()
    # Trees hold no cycles; looking for them would cost a fifth of each check.
    gc.freeze()
    gc.disable()
    for number, line in enumerate(requests, 1):
        answers.write(json.dumps(answer(line)).encode() + b"\n")
        answers.flush()
        if number % _COLLECT == 0:
            gc.collect()


def import_everything():
    """Imports what a check would import late: files may be changed by then."""
    ipython.load()
    for name in ("textwrap", "unicodedata"):  # the last for names beyond ASCII
        importlib.import_module(name)


if __name__ == "__main__":
    # Deep code needs a deep stack, which only a thread can be given.
    threading.stack_size(_STACK)
    thread = threading.Thread(target=serve, args=(sys.stdin.buffer, sys.stdout.buffer))
    thread.start()
    thread.join()
