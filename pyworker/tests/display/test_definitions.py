"""Functions, classes and imports of a namespace."""

import unittest

from pyworker.display import variables

CODE = """
from __future__ import annotations
import json, os.path as paths
from typing import Any, List
from math import sqrt
from textwrap import dedent
from pathlib import Path
import functools

def plain(x, y): pass
def every(a, b=1, *rest, c, d="long text that goes on and on", **more): pass
def keyed(*, k): pass
async def later(n=None): pass
async def stream():
    yield 1
def deco(function):
    @functools.wraps(function)
    def inner(*arguments): pass
    return inner
@deco
def decorated(size: int): pass
@functools.lru_cache
def cached(n): pass
short = lambda v: v
_hidden = lambda: 0
class Model: pass
class Meta(type): pass
class Made(metaclass=Meta): pass
bound = Model().__init__
"""


def describe(code, **more):
    names = {"__name__": "__main__", **more}
    exec(compile(code, "<cell 1>", "exec"), names)
    return variables.describe(names, patience=60), names


class Definitions(unittest.TestCase):
    def test_kinds(self):
        found, _ = describe(CODE)
        functions = [
            "cached(n)",
            "deco(function)",
            "decorated(size)",
            "every(a, b=1, *rest, c, d='long text that goe…, **more)",
            "keyed(*, k)",
            "async later(n=None)",
            "plain(x, y)",
            "short(v)",
            "async stream()",
        ]
        self.assertEqual(functions, found["functions"])
        self.assertEqual(["Made", "Meta", "Model"], found["classes"])
        imports = "Any List Path annotations dedent functools json paths sqrt"
        names = (name.partition(" ")[0] for name in found["imports"])
        self.assertEqual(imports, " ".join(names))
        self.assertRegex(found["imports"][7], r"^paths \((posix|nt)path\)$")
        self.assertEqual(["bound"], [entry["name"] for entry in found["variables"]])

    def test_what_was_tampered_with(self):
        """Attributes of functions may be of classes that run code."""
        found, _ = describe("""
class Evil(tuple):
    def _run(self, *_): raise SystemExit("code of the user's class was run")
    __iter__ = __len__ = __getitem__ = __bool__ = __repr__ = _run
class Keyed(dict):
    def _run(self, *_): raise SystemExit("code of the user's class was run")
    __iter__ = __len__ = __getitem__ = __bool__ = __contains__ = get = _run
def f(a, b): pass
f.__defaults__ = Evil((1, 2))
def g(a, b, *, c): pass
g.__defaults__ = tuple(range(9))
g.__kwdefaults__ = Keyed(c=Evil((3,)))
g.__wrapped__ = 5
def h(): pass
h.__wrapped__ = h
""")
        wanted = ["f(a=1, b=2)", "g(a=7, b=8, *, c=(3,))", "h()"]
        self.assertEqual(wanted, found["functions"])

    def test_long_signatures_and_many_names(self):
        many = "\n".join(f"def f{i}(): pass" for i in range(variables.DEFINED + 5))
        found, _ = describe(f"def a({', '.join(f'p{i}' for i in range(200))}): pass\n{many}")
        self.assertEqual(variables.DEFINED, len(found["functions"]))
        self.assertEqual(variables.SIGNATURE_LIMIT, len(found["functions"][0]))
