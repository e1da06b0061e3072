"""Code as it is run: compiled into parts, with the values that are to be echoed.

A cell is cut at the top-level expressions whose values are echoed. All parts are
compiled before the first one runs, and each keeps its place in the source, so
that line numbers and carets are those of the cell.
"""

import _ast

from . import lazy_import, sources
from .shell import transform

COROUTINE = 0x80  # CO_COROUTINE: the part awaits at top level

_TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class Compiler:
    """Compiles the cells of one session; it remembers their __future__ imports."""

    def __init__(self, echo, notebook=None):
        self._echo = echo  # "all", "last" or "none"
        self._notebook = notebook  # reads what is no plain Python
        self._future = 0  # compiler flags
        self.notes = []  # sentences on how the last cell was read
        self.transformed = None  # what it became, if it was no plain Python

    def compile(self, code, filename, read=None, raw=None):
        """Returns the parts of a cell as a list of (code object, echoed).

        read, if given, is called with the statements of the cell. raw is the cell as it was
        written, where somebody has transformed it already.
        """
        source, tree = self._parse(code, filename, raw)
        if read is not None:
            read(tree.body)
        if "__future__" in source:
            self._add_future(tree, filename)
        echoed = self._echoed(tree.body, source)
        written = code if raw is None else raw
        self.transformed = None
        if source is not written:
            self.transformed = source
            self._take_places(tree, source, written, filename)
        return [
            (self._compile_part(part, filename), isinstance(part, _ast.Expression))
            for part in _cut(tree.body, echoed)
        ]

    def _parse(self, code, filename, raw):
        """Returns the Python that is run, and its tree. What is plain Python pays nothing."""
        self.notes, word = [], ""
        try:
            tree = self._tree(code, filename)
            if raw is not None:
                self._notebook.check(tree)
                return code, tree
            if self._notebook is not None:
                word = self._notebook.magic_word(code, tree)
            if not word and not transform.is_misread(code, tree):
                return code, tree
        except SyntaxError:
            if raw is not None or self._notebook is None:
                raise
        reading = transform.read(
            word or code, lambda source: self._tree(source, filename), self._notebook.transformers
        )
        self._notebook.check(reading.tree)
        self.notes = reading.notes
        return reading.source, reading.tree

    def _take_places(self, tree, source, written, filename):
        """Has transformed lines be shown as they were written, or else as what they became."""
        before, after = written.splitlines(), source.splitlines()
        if len(before) < len(after):
            sources.add(filename, source)
            return
        changed = {
            number: len(old.rstrip().encode("utf-8", "surrogatepass"))
            for number, (old, new) in enumerate(zip(before, after), 1)
            if old != new
        }
        for node in lazy_import.load("ast").walk(tree):
            if getattr(node, "lineno", None) in changed:
                old = before[node.lineno - 1]
                node.col_offset = len(old) - len(old.lstrip())
            if getattr(node, "end_lineno", None) in changed:
                node.end_col_offset = changed[node.end_lineno]

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
