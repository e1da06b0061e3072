"""Code as it is run: compiled into parts, with the values that are to be echoed.

A cell is cut at the top-level expressions whose values are echoed. All parts are
compiled before the first one runs, and each keeps its place in the source, so
that line numbers and carets are those of the cell.
"""

import _ast
import re

from . import late

COROUTINE = 0x80  # CO_COROUTINE: the part awaits at top level

_TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_MAGIC = re.compile(r"[\n\r=][ \t\f]*[%!]")


class Compiler:
    """Compiles the cells of one session; it remembers their __future__ imports."""

    def __init__(self, echo, keep=None):
        self._echo = echo  # "all", "last" or "none"
        self._keep = keep  # takes a magic and returns its number
        self._future = 0  # compiler flags

    def compile(self, code, filename, read=None):
        """Returns the parts of a cell as a list of (code object, echoed).

        read, if given, is called with the statements of the cell.
        """
        tree = self._parse(code, filename)
        if read is not None:
            read(tree.body)
        if "__future__" in code:
            self._add_future(tree, filename)
        return [
            (self._compile_part(part, filename), isinstance(part, _ast.Expression))
            for part in _cut(tree.body, self._echoed(tree.body, code))
        ]

    def _parse(self, code, filename):
        flags = _TREE | self._future
        if may_have_magics(code):
            return late.load_own("shell.magictree").parse(code, filename, flags, self._keep)
        return compile(code, filename, "exec", flags, dont_inherit=True)

    def _compile_part(self, part, filename):
        mode = "eval" if isinstance(part, _ast.Expression) else "exec"
        flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | self._future
        return compile(part, filename, mode, flags, dont_inherit=True)

    def _echoed(self, body, code):
        """Returns the set of positions in body whose values are echoed."""
        places = range(len(body)) if self._echo == "all" else range(len(body))[-1:]
        if self._echo == "none":
            return frozenset()
        chosen = [i for i in places if isinstance(body[i], _ast.Expr)]
        if ";" in code:
            lines = code.encode().splitlines()
            chosen = [i for i in chosen if not _is_silenced(body[i], lines)]
        return frozenset(chosen)

    def _add_future(self, tree, filename):
        """Takes over the cell's own "from __future__ import", as the REPL does."""
        # Compiled whole, it refuses an import that doesn't stand at the beginning.
        whole = compile(tree, filename, "exec", _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        import __future__

        for name in __future__.all_feature_names:
            self._future |= whole.co_flags & getattr(__future__, name).compiler_flag


def may_have_magics(code):
    """Says quickly whether code may have magics (magics.py); little other code does."""
    return ("%" in code or "!" in code) and _MAGIC.search("\n" + code) is not None


def _cut(body, echoed):
    """Yields a Module for each run of statements, an Expression for each echo."""
    start = 0
    for i in sorted(echoed):
        if start < i:
            yield _ast.Module(body=body[start:i], type_ignores=[])
        yield _ast.Expression(body=body[i].value)
        start = i + 1
    if start < len(body) or not body:
        yield _ast.Module(body=body[start:], type_ignores=[])


def _is_silenced(statement, lines):
    """Says whether a ";" and nothing more follows the statement on its line."""
    rest = lines[statement.end_lineno - 1][statement.end_col_offset :].strip()
    return rest[:1] == b";" and rest[1:].strip()[:1] in (b"", b"#")
