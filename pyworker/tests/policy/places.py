"""Where in the code a violation is, and what Python says of code that is none."""

# (code, [(line, column, source)]) under OPEN
PLACES = [
    ("open('x')", [(1, 1, "open('x')")]),
    ("\n\n  \nx = 1\n\nf = open", [(6, 5, "f = open")]),
    ("x = 1; y = open", [(1, 12, "x = 1; y = open")]),
    ("é = 'äöü'; f = open", [(1, 16, "é = 'äöü'; f = open")]),
    ("s = '😀😀'; f(open)", [(1, 13, "s = '😀😀'; f(open)")]),
    ("if x:\n    g(1,\n      open)", [(3, 7, "open)")]),
    ("x = 1\r\nopen\r\nopen(2)", [(2, 1, "open"), (3, 1, "open(2)")]),
    ("x = 1\ropen", [(2, 1, "open")]),
    ("x = 1\n\x0copen(1)", [(2, 2, "open(1)")]),
    ("if x:\n\topen(1)", [(2, 2, "open(1)")]),
    ("'''\n\n'''\nopen", [(4, 1, "open")]),
    ("x = '''\nopen''' ; open", [(2, 11, "open''' ; open")]),
    ("x = 1 + \\\n  open", [(2, 3, "open")]),
    ("(x\n .y\n .__globals__)", [(3, 3, ".__globals__)")]),
    ("a.b.__globals__.c", [(1, 5, "a.b.__globals__.c")]),
    ("import os\nos.system('a')", [(2, 1, "os.system('a')")]),
    ("from os import (getcwd,\n  system)", [(2, 3, "system)")]),
    ("def f(a, b=open): pass", [(1, 12, "def f(a, b=open): pass")]),
    ("@open\ndef f(): pass", [(1, 2, "@open")]),
    ("x = [\n  1,\n  open,\n  eval]", [(3, 3, "open,"), (4, 3, "eval]")]),
    ("eval(open('x').read())", [(1, 1, None), (1, 6, None)]),
    ("# coding: latin-1\nx = 'é'; open", [(2, 10, "x = 'é'; open")]),
    ("x = '\u2028'\nopen", [(2, 1, "open")]),
    ("f(" + "a, " * 100 + "open)", [(1, 303, "f(" + "a, " * 65 + "a, "[:2] + "…")]),
]

# Code, and how what Python says of it ends.
SYNTAX = [
    ("x = (", "SyntaxError: '(' was never closed\n"),
    ("def f(:\n pass", "SyntaxError: invalid syntax\n"),
    (
        "if x:\npass",
        "IndentationError: expected an indented block after 'if' statement on line 1\n",
    ),
    ("open('x'", "SyntaxError: '(' was never closed\n"),
    ("x = 'a", "SyntaxError: unterminated string literal (detected at line 1)\n"),
    ("\tx = 1\n        y = 2", "Error: unexpected indent\n"),
]
