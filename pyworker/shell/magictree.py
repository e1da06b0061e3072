"""The syntax tree of a cell with magics: each is a call that runs it.

The calls have the places of the magics, so tracebacks point at the user's own
line. They name a magic by its number: only what was found in a cell can be run.
"""

import _ast

from pyworker import late

from . import magics

CALLED = "__magic__"  # the builtin that runs a magic, given its number


def parse(code, filename, flags, keep):
    """Returns the tree of a cell; keep(magic) returns the number of a magic."""
    source, found = magics.split(code)
    lines = magics.with_plain_ends(code).split("\n")
    for magic in found:
        if magic.problem:
            raise _error(magic.problem, magic, filename, lines)
    try:
        tree = compile(source, filename, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        if found and error.lineno and error.lineno <= len(lines):
            error.text = lines[error.lineno - 1]
        raise
    if found:
        _put_calls(tree, found, filename, lines, keep)
    return tree


def _put_calls(tree, found, filename, lines, keep):
    places = {
        (magic.line, _bytes_before(lines, magic.line, magic.column)): magic for magic in found
    }
    for node in late.load("ast").walk(tree):
        value = getattr(node, "value", None)
        if isinstance(value, _ast.Constant):
            magic = places.pop((value.lineno, value.col_offset), None)
            if magic is not None:
                node.value = _call(magic, value.col_offset, lines, keep(magic))
                _stretch(node, node.value)
    for magic in places.values():  # as in the default of a lambda's argument
        message = "a magic is a line of its own, or what is assigned to variables"
        raise _error(message, magic, filename, lines)


def _call(magic, start, lines, number):
    place = {
        "lineno": magic.line,
        "col_offset": start,
        "end_lineno": magic.end_line,
        "end_col_offset": _bytes_before(lines, magic.end_line, magic.end_column),
    }
    name = _ast.Name(id=CALLED, ctx=_ast.Load(), **place)
    return _ast.Call(func=name, args=[_ast.Constant(value=number, **place)], keywords=[], **place)


def _stretch(statement, call):
    """Has the statement end where its call does."""
    statement.end_lineno, statement.end_col_offset = call.end_lineno, call.end_col_offset


def _bytes_before(lines, line, column):
    """Returns how many bytes, as trees count, stand before a column."""
    return len(lines[line - 1][: column - 1].encode("utf-8", "surrogatepass"))


def _error(problem, magic, filename, lines):
    place = (filename, magic.line, magic.column, lines[magic.line - 1])
    if magic.end_line == magic.line:
        place += (magic.line, magic.end_column)
    return SyntaxError(problem, place)
