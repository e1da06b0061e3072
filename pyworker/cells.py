"""Code as it is run: compiled into parts, with the values that are to be echoed.

A cell is cut at the top-level expressions whose values are echoed. All parts are
compiled before the first one runs, and each keeps its place in the source, so
that line numbers and carets are those of the cell.
"""

import _ast

from . import late, sources

COROUTINE = 0x80  # CO_COROUTINE: the part awaits at top level

_TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class Compiler:
    """Compiles the cells of one session; it remembers their __future__ imports."""

    def __init__(self, echo, transformers=lambda: None):
        self._echo = echo  # "all", "last" or "none"
        self._transformers = transformers  # returns what reads the notebook's dialect
        self._future = 0  # compiler flags
        self.notes = []  # sentences on how the last cell was read

    def compile(self, code, filename, read=None):
        """Returns the parts of a cell as a list of (code object, echoed).

        read, if given, is called with the statements of the cell.
        """
        code, tree = self._parse(code, filename)
        if read is not None:
            read(tree.body)
        if "__future__" in code:
            self._add_future(tree, filename)
        return [
            (self._compile_part(part, filename), isinstance(part, _ast.Expression))
            for part in _cut(tree.body, self._echoed(tree.body, code))
        ]

    def _parse(self, code, filename):
        """Returns the Python that is run, and its tree. What is plain Python pays nothing."""
        self.notes = []
        try:
            return code, self._tree(code, filename)
        except SyntaxError:
            pass
        reading = late.load_own("shell.transform").read(
            code, lambda source: self._tree(source, filename), self._transformers
        )
        self.notes = reading.notes
        if reading.source.count("\n") - code.count("\n") not in (0, 1):
            sources.add(filename, reading.source)
        return reading.source, reading.tree

    def _tree(self, source, filename):
        return compile(source, filename, "exec", _TREE | self._future, dont_inherit=True)

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
