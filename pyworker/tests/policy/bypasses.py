"""Code that reaches something that is blocked, or might: each piece is refused."""
# ruff: noqa: E501

import re

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def fine(policy, rows):
    r"""Returns (policy, code) for each row: in it \n is a new line, and ## begins a heading."""
    return [
        (policy, re.sub(r"\\([nrt\\])", lambda escape: _ESCAPED[escape[1]], row))
        for row in rows.split("\n")
        if row and not row.startswith("##")
    ]


def reaching(policy, rows):
    """Returns (policy, code, how a rule begins that it breaks) for each row."""
    return [(policy, *code.split(" ⇒ ")) for policy, code in fine(policy, rows)]


OPEN = {"blocked_functions": ["open", "os.system", "eval", "os.exec*"]}
CLOSED = {"allowed_modules": ["numpy", "pandas.*", "math", "os.path"]}
NO_OS = {"blocked_modules": ["os", "subprocess"], "allowed_modules": ["*", "os.path"]}
LISTED = {"allowed_modules": ["pandas", "math", "numpy"]}
NO_READ = {"blocked_functions": ["pandas.read_csv"]}
NO_CTYPES = {"blocked_modules": ["ctypes", "mmap", "socket"]}
NO_TREE = {"blocked_attributes": ["__subclasses__"]}
NO_COMPILE = {"blocked_functions": ["compile", "input"]}

# (policy, code, how the rule begins of one of the violations)
BYPASSES = [
    *reaching(OPEN, r"""
## A builtin and its other names.
open('x') ⇒ blocked function open
f = open; f('x') ⇒ blocked function open
f, g = open, print; f('x') ⇒ blocked function open
f: object = open ⇒ blocked function open
(f := open)('x') ⇒ blocked function open
(open)('x') ⇒ blocked function open
[open][0]('x') ⇒ blocked function open
{'a': open}['a']('x') ⇒ blocked function open
map(open, names) ⇒ blocked function open
def f(p, opener=open): return opener(p) ⇒ blocked function open
lambda p, o=open: o(p) ⇒ blocked function open
lambda p: open(p) ⇒ blocked function open
for f in (open,): f('x') ⇒ blocked function open
with open('x') as f: pass ⇒ blocked function open
@open\ndef f(): pass ⇒ blocked function open
class A: o = open ⇒ blocked function open
class A:\n    if 0:\n        open = 1\n    o = open ⇒ blocked function open
class A:\n    open = print\n    def m(self): return open('x') ⇒ blocked function open
def f(): return open\nf()('x') ⇒ blocked function open
async def f():\n    async with open('x'): pass ⇒ blocked function open
x = [open(n) for n in names] ⇒ blocked function open
f'{open("x").read()}' ⇒ blocked function open
match open:\n    case f: f('x') ⇒ blocked function open
del f[open('x')] ⇒ blocked function open
import io; io.open('x') ⇒ blocked function open
from io import open as o ⇒ blocked function open
from io import open ⇒ blocked function open
import _io; _io.open('x') ⇒ blocked function open
import _pyio; _pyio.open('x') ⇒ blocked function open
import io; io.FileIO('x') ⇒ blocked function io.FileIO
import codecs; codecs.open('x') ⇒ blocked function codecs.open
import os; os.open('x', 0) ⇒ blocked function os.open
import tokenize; tokenize.open('x') ⇒ blocked function tokenize.open
import tokenize; tokenize._builtin_open('x') ⇒ blocked function open
import pathlib; pathlib.Path('x').open() ⇒ blocked function pathlib.Path.open
from pathlib import Path as P; P('x').read_text() ⇒ blocked function pathlib.Path
import builtins; builtins.open('x') ⇒ blocked function open
import builtins as b ⇒ can't be checked: builtins as b
from builtins import open as o; o('x') ⇒ blocked function open
ｏｐｅｎ('x') ⇒ blocked function open
ﬁ = 1; import os; os.𝓼𝔂𝓼𝓽𝓮𝓶('ls') ⇒ blocked function os.system
## Where a binding does not shadow the builtin for certain.
if x:\n    open = 1\nopen('x') ⇒ blocked function open
open('x')\nopen = 1 ⇒ blocked function open
def f(): return open('x')\nf()\nopen = 1 ⇒ blocked function open
open = 1\ndel open ⇒ can't be checked: del open
open = 1\ndef f():\n    global open\n    del open ⇒ can't be checked: del open
try: pass\nexcept E as open: pass ⇒ can't be checked: del open
for open in []: pass\nopen('x') ⇒ blocked function open
open: int\nopen('x') ⇒ blocked function open
def f():\n    global open\n    return open ⇒ blocked function open
[open for x in y]\n[x for open in y] ⇒ blocked function open
try:\n    open = g()\nexcept E:\n    open('x') ⇒ blocked function open
## Modules and their functions.
import os; os.system('ls') ⇒ blocked function os.system
os.system('ls') ⇒ blocked function os.system
import os as o; o.system('ls') ⇒ blocked function os.system
import os as o ⇒ can't be checked: os as o
from os import system as s; s('ls') ⇒ blocked function os.system
from os import * ⇒ can't be checked: from os import *
import posix; posix.system('ls') ⇒ blocked function os.system
from posix import system ⇒ blocked function os.system
import os; os.execv('/bin/sh', []) ⇒ blocked function os.execv
import os; o = os; o.system('ls') ⇒ can't be checked: os as a value
o = os ⇒ can't be checked: os as a value
f(os) ⇒ can't be checked: os as a value
import os\ndef f(): return os ⇒ can't be checked: os as a value
import os; [os][0].system('ls') ⇒ can't be checked: os as a value
import os; x.m = os ⇒ can't be checked: os as a value
import os\nmatch os:\n    case object(system=s): s('ls') ⇒ can't be checked: os as
import os\nos == x ⇒ can't be checked: os as a value
import os\nos ⇒ can't be checked: os as a value
import os\nq = %time os ⇒ can't be checked: os as a value
import os\n%timeit -o os ⇒ can't be checked: os as a value
def f():\n    import os as o\n    return o ⇒ can't be checked: os as a value
def f():\n    global o\n    import os as o ⇒ can't be checked: os as o
class A:\n    import os\nA.os.system(1) ⇒ blocked function os.system
class A:\n    import io\nA.io.open('x') ⇒ blocked function open|can't be checked
from glob import os as o; o.system('ls') ⇒ blocked function os.system
import glob; glob.os.system('ls') ⇒ blocked function os.system
import random; random._os.system('ls') ⇒ blocked function os.system
import pandas as pd; pd.io.common.os.system('ls') ⇒ blocked function os.system
x.os.system('ls') ⇒ blocked function os.system
x.y[0].os.system('ls') ⇒ blocked function os.system
f().os.system('ls') ⇒ blocked function os.system
x.io.open('x') ⇒ blocked function open
import os.path as p; p.os.system('ls') ⇒ blocked function os.system
from os import path; path.genericpath.os.system('ls') ⇒ blocked function os.system
import json; json.codecs.open('x') ⇒ blocked function codecs.open
match glob:\n    case object(os=o): o.system('ls') ⇒ can't be checked: os as
import asyncio.events as e; e.os.system('ls') ⇒ blocked function os.system
## getattr and its kin.
import builtins; getattr(builtins, 'ev' + 'al')('1') ⇒ blocked function eval
import os; getattr(os, 'system')('ls') ⇒ blocked function os.system
import os; getattr(os, f'{"sys"}tem') ⇒ blocked function os.system
import os; getattr(os, ''.join(['sys', 'tem'])) ⇒ can't be checked: getattr(os
import os; getattr(os, 'metsys'[::-1]) ⇒ can't be checked: getattr(os
import os; getattr(os, ''.join(reversed('metsys'))) ⇒ can't be checked: getattr(os
import os; getattr(os, 'SYSTEM'.lower()) ⇒ can't be checked: getattr(os
import os; getattr(os, 'syst3m'.replace('3', 'e')) ⇒ can't be checked: getattr(os
import os; getattr(os, b'system'.decode()) ⇒ can't be checked: getattr(os
import os; n = 'system'; getattr(os, n) ⇒ blocked function os.system
import os\nfor n in ('getcwd', 'system'): getattr(os, n) ⇒ blocked function os.system
import os; getattr(os, 'a' if x else 'system') ⇒ blocked function os.system
import os; getattr(os, name) ⇒ can't be checked: getattr(os
import os; n = 'a'; n = g(); getattr(os, n) ⇒ can't be checked: getattr(os
import os; n = 'getcwd'\ndef f(): return getattr(os, n) ⇒ can't be checked: getattr
import glob; getattr(glob, name) ⇒ can't be checked: getattr(glob
getattr(print, name) ⇒ can't be checked: getattr(print
getattr(lambda: 0, name) ⇒ can't be checked: getattr
g = getattr ⇒ can't be checked: getattr
map(getattr, a, b) ⇒ can't be checked: getattr
getattr(*a) ⇒ can't be checked: getattr
getattr = f ⇒ can't be checked: another getattr
import functools; functools.reduce(getattr, ['os'], x) ⇒ can't be checked: getattr
getattr(x, 'os').system('ls') ⇒ blocked function os.system
getattr(getattr(glob, 'os'), 'system') ⇒ blocked function os.system
vars(os)['system'] ⇒ blocked function os.system
import builtins; vars(builtins)['open'] ⇒ blocked function open
import builtins; builtins.__dict__['open'] ⇒ blocked function open
import builtins; d = builtins.__dict__ ⇒ can't be checked: builtins.__dict__
import builtins; vars(builtins)[name] ⇒ can't be checked: builtins.__dict__[…]
__builtins__['open'] ⇒ can't be checked: __builtins__
__builtins__.open ⇒ can't be checked: __builtins__
globals()['open']('x') ⇒ blocked function open
globals()['__builtins__'] ⇒ can't be checked: __builtins__
globals()[name] ⇒ can't be checked: globals[…]
globals().get('os').system('ls') ⇒ can't be checked: os|blocked function os.system
globals().get(name) ⇒ can't be checked: globals.get
g = globals() ⇒ can't be checked: globals()
f(**globals()) ⇒ can't be checked: globals()
globals().update(x) ⇒ can't be checked: globals.update
g = globals; g() ⇒ can't be checked: globals
vars()['open'] ⇒ blocked function open
locals()['os'].system('ls') ⇒ blocked function os.system
import sys; sys.modules['os'].system('ls') ⇒ blocked function os.system
import sys; sys.modules[name] ⇒ can't be checked: sys.modules[…]
import sys; sys.modules.get('os').system('ls') ⇒ blocked function os.system
import sys; g = sys.modules.get ⇒ can't be checked: sys.modules.get
g = globals.get ⇒ can't be checked: globals
import glob; glob.__dict__.get('os') ⇒ can't be checked: os as a value
import sys; sys.modules.values() ⇒ can't be checked: sys.modules.values
import sys; m = sys.modules ⇒ can't be checked: sys.modules
from sys import modules as m; m['os'].system('ls') ⇒ blocked function os.system
import sys; s = sys ⇒ can't be checked: sys as a value
import operator; operator.attrgetter('os.system')(glob) ⇒ can't be checked: os as
import operator; operator.attrgetter(name) ⇒ can't be checked: operator.attrgetter
from operator import attrgetter as a; a('__globals__') ⇒ can't be checked: __globals__
import operator; operator.methodcaller(name)(x) ⇒ can't be checked: operator.method
## Imports that are calls.
__import__('os').system('ls') ⇒ blocked function os.system
__import__('o' + 's').system('ls') ⇒ blocked function os.system
__import__(name) ⇒ can't be checked: __import__
m = __import__('os') ⇒ can't be checked: os as a value
i = __import__ ⇒ can't be checked: __import__
import importlib; importlib.import_module('os').system('x') ⇒ blocked function os.sys
import importlib as i; i.import_module('os').system('x') ⇒ blocked function os.sys
from importlib import import_module as m; m(name) ⇒ can't be checked: importlib.imp
import importlib; importlib.util.spec_from_file_location('a', 'b') ⇒ can't be checked
import importlib.machinery ⇒ can't be checked: importlib.machinery
x.loader.load_module() ⇒ can't be checked: load_module
import runpy ⇒ can't be checked: runpy
import pkgutil; pkgutil.resolve_name('os:system') ⇒ can't be checked: pkgutil
import ctypes ⇒ can't be checked: ctypes
import _ctypes ⇒ can't be checked: ctypes
import pickle; pickle.loads(b) ⇒ can't be checked: pickle.loads
from pickle import load ⇒ can't be checked: pickle.load
import pickle as p ⇒ can't be checked: pickle as p
import marshal ⇒ can't be checked: marshal
import __main__ ⇒ can't be checked: __main__
from unittest.mock import patch ⇒ can't be checked: unittest.mock
from unittest import mock ⇒ can't be checked: unittest.mock
import code; code.interact() ⇒ can't be checked: code
import timeit; timeit.timeit('open(1)') ⇒ can't be checked: timeit.timeit
import timeit; timeit.timeit(text) ⇒ can't be checked: timeit.timeit
## Code as text.
exec('x') ⇒ can't be checked: exec
compile('x', 'y', 'exec') ⇒ can't be checked: compile
e = exec ⇒ can't be checked: exec
df.query('@pd.io.common.os.system(1)') ⇒ can't be checked: os as
df.eval('@os.system(1)') ⇒ can't be checked: os as a value
df.query('@f.__globals__') ⇒ can't be checked: __globals__
import pandas as pd; pd.eval(text) ⇒ can't be checked: pandas.eval
'{0.__globals__}'.format(f) ⇒ can't be checked: __globals__
'{x.__globals__[a]}'.format_map(d) ⇒ can't be checked: __globals__
import string; string.Formatter() ⇒ can't be checked: string.Formatter
from __future__ import barry_as_FLUFL ⇒ can't be checked: __future__.barry
## The inside of objects.
f.__globals__['open'] ⇒ can't be checked: __globals__
print.__self__.open('x') ⇒ can't be checked: __self__
().__class__.__base__.__subclasses__() ⇒ can't be checked: __subclasses__
f.__code__ = g.__code__ ⇒ can't be checked: __code__
setattr(f, '__code__', c) ⇒ can't be checked: __code__
object.__getattribute__(f, '__globals__') ⇒ can't be checked: __get
type(f).__dict__['__globals__'].__get__(f) ⇒ can't be checked: __globals__
g.gi_frame.f_builtins ⇒ can't be checked: gi_frame
e.__traceback__.tb_frame ⇒ can't be checked: tb_frame
import sys; sys._getframe() ⇒ can't be checked: sys._getframe
import inspect; inspect.currentframe() ⇒ can't be checked: inspect.currentframe
import gc; gc.get_objects() ⇒ can't be checked: gc.get_objects
import types; types.FunctionType(c, {}) ⇒ can't be checked: types.FunctionType
x.FunctionType(c, {}) ⇒ can't be checked: types.FunctionType
np.__builtins__['open'] ⇒ can't be checked: __builtins__
__loader__.load_module('os') ⇒ can't be checked: __loader__
match f:\n    case object(__globals__=g): pass ⇒ can't be checked: __globals__
"""),
    *reaching(CLOSED, r"""
## Modules.
import requests ⇒ module requests is not allowed
import math, requests ⇒ module requests is not allowed
import requests.sessions as s ⇒ module requests is not allowed
from requests import get ⇒ module requests is not allowed
from . import x ⇒ can't be checked: relative import
import os ⇒ module os is not allowed
import os.path; os.getcwd() ⇒ module os is not allowed
from os import path, system ⇒ module os is not allowed
import pandas as pd; pd.io.common.os.getcwd() ⇒ module os is not allowed
__import__('requests') ⇒ module requests is not allowed
import importlib ⇒ module importlib is not allowed
def f():\n    import socket ⇒ module socket is not allowed
import mathematics ⇒ module mathematics is not allowed
"""),
    *reaching({"allowed_modules": []}, r"""
import math ⇒ module math is not allowed
"""),
    *reaching(NO_OS, r"""
import os ⇒ blocked module os
import posix ⇒ blocked module os
import os.path; os.getcwd() ⇒ blocked module os
from os import getcwd ⇒ blocked module os
import glob; glob.os.getcwd() ⇒ blocked module os
import glob; x = glob.os ⇒ blocked module os
from glob import os ⇒ blocked module os
import asyncio; asyncio.subprocess.create_subprocess_exec ⇒ blocked module subpr
import sys; sys.modules['subprocess'] ⇒ blocked module subprocess
__import__('subprocess', fromlist=['run']) ⇒ blocked module subprocess|can't be
for m in ('math', 'os'): __import__(m) ⇒ blocked module os
eval('1') ⇒ can't be checked: eval
"""),
    *reaching({"blocked_modules": ["xml.sax"]}, r"""
from xml import sax ⇒ blocked module xml.sax
import xml.sax.handler ⇒ blocked module xml.sax
import xml; xml.sax ⇒ blocked module xml.sax
"""),
    *reaching({"blocked_modules": ["py*"]}, r"""
import pytest ⇒ blocked module pytest
"""),
    *reaching({"blocked_functions": ["numpy.load"]}, r"""
## Functions of other libraries.
import numpy as np; np.load(x) ⇒ blocked function
np.load(x) ⇒ blocked function numpy.load
from numpy.lib import load ⇒ blocked function
import numpy as n ⇒ can't be checked: numpy as n
"""),
    *reaching({"blocked_functions": ["getattr"]}, r"""
getattr(x, 'y') ⇒ blocked function getattr
"""),
    *reaching({"blocked_functions": ["vars"]}, r"""
vars(x) ⇒ blocked function vars
"""),
    *reaching({"blocked_functions": ["io.open"]}, r"""
open('x') ⇒ blocked function open
"""),
    *reaching({"blocked_functions": ["builtins.open"]}, r"""
open('x') ⇒ blocked function open
"""),
    *reaching({"blocked_functions": ["os.unlink"]}, r"""
import os; os.remove('x') ⇒ blocked function os.rem
"""),
    *reaching(NO_COMPILE, r"""
input() ⇒ blocked function input
import re, builtins; builtins.compile ⇒ blocked function compile
"""),
    *reaching({"blocked_attributes": ["secret"]}, r"""
## Attributes.
x.secret ⇒ blocked attribute secret
x.secret = 1 ⇒ blocked attribute secret
del x.secret ⇒ blocked attribute secret
x.a.secret.b() ⇒ blocked attribute secret
f().secret ⇒ blocked attribute secret
getattr(x, 'sec' + 'ret') ⇒ blocked attribute secret
setattr(x, 'secret', 1) ⇒ blocked attribute secret
delattr(x, 'secret') ⇒ blocked attribute secret
'{.secret}'.format(x) ⇒ blocked attribute secret
f'{x.secret}' ⇒ blocked attribute secret
from m import secret ⇒ blocked attribute secret
match x:\n    case A(secret=s): pass ⇒ blocked attribute secret
import operator; operator.attrgetter('a.secret') ⇒ blocked attribute secret
"""),
    *reaching({"allowed_variables": ["x", "df_*"]}, r"""
## Variables.
y = 1 ⇒ variable y is not allowed
x, (y, *z) = f() ⇒ variable y is not allowed
y: int = 1 ⇒ variable y is not allowed
y += 1 ⇒ variable y is not allowed
import y ⇒ variable y is not allowed
import a as y ⇒ variable y is not allowed
from a import y ⇒ variable y is not allowed
def y(): pass ⇒ variable y is not allowed
class y: pass ⇒ variable y is not allowed
for y in a: pass ⇒ variable y is not allowed
with a as y: pass ⇒ variable y is not allowed
x = (y := 1) ⇒ variable y is not allowed
[y := x for x in a] ⇒ variable y is not allowed
try: pass\nexcept E as y: pass ⇒ variable y is not allowed
match x:\n    case [1, y]: pass ⇒ variable y is not allowed
match x:\n    case {'a': 1, **y}: pass ⇒ variable y is not allowed
match x:\n    case [*y]: pass ⇒ variable y is not allowed
def x():\n    global y\n    y = 1 ⇒ variable y is not allowed
del y ⇒ variable y is not allowed
if a:\n    while b:\n        y = 1 ⇒ variable y is not allowed
"""),
    *reaching(NO_CTYPES, r"""
## Modules that libraries hold, functions that run text, names put together.
from numpy.ctypeslib import ctypes ⇒ blocked module ctypes
import numpy as np; np.ctypeslib.ctypes.CDLL(None) ⇒ blocked module ctypes
np.ctypeslib.ctypes.CDLL(None) ⇒ blocked module ctypes
o=object; n="_"*2+"subclasses"+"_"*2; getattr(o,n)() ⇒ can't be checked: __subclasses__
getattr(w.__init__, "_"*2+"globals"+"_"*2)["system"]("x") ⇒ can't be checked: __globals__
getattr(o, f"__{n}__") ⇒ can't be checked: getattr(…, …)
t=type(type(1)); t.__dict__[n](object) ⇒ can't be checked: __dict__[…]
import importlib.abc; importlib.abc.InspectLoader.source_to_code("x") ⇒ can't be checked: importlib.abc
import importlib; importlib.abc.InspectLoader ⇒ can't be checked: importlib.abc
import typing; typing.get_type_hints(f) ⇒ can't be checked: typing.get_type_hints
from typing import get_type_hints ⇒ can't be checked: typing.get_type_hints
import numpy as np; np.testing.runstring("x",{}) ⇒ can't be checked: numpy.testing.runstring
from numpy.testing import measure ⇒ can't be checked: numpy.testing.measure
import multiprocessing; multiprocessing.util.spawnv_passfds(b"x") ⇒ can't be checked: multiprocessing.util
import multiprocessing.util as u ⇒ can't be checked: multiprocessing.util
import uuid; uuid._get_command_stdout("x") ⇒ can't be checked: uuid._get_command_stdout
import distutils.spawn ⇒ can't be checked: distutils.spawn
from distutils.spawn import spawn ⇒ can't be checked: distutils.spawn
from setuptools._distutils import spawn ⇒ can't be checked: setuptools._distutils
import setuptools; setuptools._distutils.spawn ⇒ can't be checked: distutils.spawn
import multiprocessing as mp; r,w = mp.Pipe() ⇒ can't be checked: multiprocessing.Pipe
from multiprocessing.reduction import ForkingPickler ⇒ can't be checked: multiprocessing.reduction
pd.read_pickle(b) ⇒ can't be checked: pandas.read_pickle
import pandas as pd; pd.read_pickle(b) ⇒ can't be checked: pandas.read_pickle
x.read_pickle(b) ⇒ can't be checked: pandas.read_pickle
import joblib; joblib.load("x") ⇒ can't be checked: joblib.load
from pandas.io.common import mmap ⇒ blocked module mmap
import joblib; joblib.externals.cloudpickle.loads(b) ⇒ can't be checked: cloudpickle
"""),
    *reaching(LISTED, r"""
pd.io.common.tarfile.open("x","w") ⇒ module tarfile is not allowed
import pandas as pd; pd.io.common.codecs.open("x") ⇒ module codecs is not allowed
from pandas.io.common import zipfile ⇒ module zipfile is not allowed
from pandas.io.clipboard import ctypes ⇒ module ctypes is not allowed
import pandas.io.common as q; q.tarfile ⇒ module tarfile is not allowed
"""),
    *reaching(NO_READ, r"""
import pandas as pd; q = pd; q.read_csv("x") ⇒ can't be checked: pandas as a value
(pd,)[0].read_csv ⇒ can't be checked: pandas as a value
f(pd) ⇒ can't be checked: pandas as a value
import pandas as pd; f(pd) ⇒ can't be checked: pandas as a value
"""),
]  # fmt: skip

# Code under OPEN that reaches past the rules and passes: docs/policy.md says so.
LIMITS = [
    "def f(x: \"__import__('os').system('x')\"): pass",
    "import inspect; inspect.signature(f, eval_str=True)",
    "class P:\n    __match_args__ = ('os',)",
    "import json; json" + ".a" * 30 + ".load",
    "getattr(x, ''.join(['o', 's']))",
]
