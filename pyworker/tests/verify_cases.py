"""Code for the checker, by what it must say of it.

BYPASSES reach something that is blocked, or might: each is refused, with a rule that
begins as given. FALSE_ALARMS are what people write, and pass under the shipped lists.
"""

OPEN = {"blocked_functions": ["open", "os.system", "eval", "os.exec*"]}
CLOSED = {"allowed_modules": ["numpy", "pandas.*", "math", "os.path"]}
NO_OS = {"blocked_modules": ["os", "subprocess"], "allowed_modules": ["*", "os.path"]}
NO_COMPILE = {"blocked_functions": ["compile", "input"]}

# (policy, code, how the rule begins of one of the violations)
BYPASSES = [
    # A builtin and its other names.
    (OPEN, "open('x')", "blocked function open"),
    (OPEN, "f = open; f('x')", "blocked function open"),
    (OPEN, "f, g = open, print; f('x')", "blocked function open"),
    (OPEN, "f: object = open", "blocked function open"),
    (OPEN, "(f := open)('x')", "blocked function open"),
    (OPEN, "(open)('x')", "blocked function open"),
    (OPEN, "[open][0]('x')", "blocked function open"),
    (OPEN, "{'a': open}['a']('x')", "blocked function open"),
    (OPEN, "map(open, names)", "blocked function open"),
    (OPEN, "def f(p, opener=open): return opener(p)", "blocked function open"),
    (OPEN, "lambda p, o=open: o(p)", "blocked function open"),
    (OPEN, "lambda p: open(p)", "blocked function open"),
    (OPEN, "for f in (open,): f('x')", "blocked function open"),
    (OPEN, "with open('x') as f: pass", "blocked function open"),
    (OPEN, "@open\ndef f(): pass", "blocked function open"),
    (OPEN, "class A: o = open", "blocked function open"),
    (OPEN, "class A:\n    if 0:\n        open = 1\n    o = open", "blocked function open"),
    (
        OPEN,
        "class A:\n    open = print\n    def m(self): return open('x')",
        "blocked function open",
    ),
    (OPEN, "def f(): return open\nf()('x')", "blocked function open"),
    (OPEN, "async def f():\n    async with open('x'): pass", "blocked function open"),
    (OPEN, "x = [open(n) for n in names]", "blocked function open"),
    (OPEN, "f'{open(\"x\").read()}'", "blocked function open"),
    (OPEN, "match open:\n    case f: f('x')", "blocked function open"),
    (OPEN, "del f[open('x')]", "blocked function open"),
    (OPEN, "import io; io.open('x')", "blocked function open"),
    (OPEN, "from io import open as o", "blocked function open"),
    (OPEN, "from io import open", "blocked function open"),
    (OPEN, "import _io; _io.open('x')", "blocked function open"),
    (OPEN, "import _pyio; _pyio.open('x')", "blocked function open"),
    (OPEN, "import io; io.FileIO('x')", "blocked function io.FileIO"),
    (OPEN, "import codecs; codecs.open('x')", "blocked function codecs.open"),
    (OPEN, "import os; os.open('x', 0)", "blocked function os.open"),
    (OPEN, "import tokenize; tokenize.open('x')", "blocked function tokenize.open"),
    (OPEN, "import tokenize; tokenize._builtin_open('x')", "blocked function open"),
    (OPEN, "import pathlib; pathlib.Path('x').open()", "blocked function pathlib.Path.open"),
    (OPEN, "from pathlib import Path as P; P('x').read_text()", "blocked function pathlib.Path"),
    (OPEN, "import builtins; builtins.open('x')", "blocked function open"),
    (OPEN, "import builtins as b", "can't be checked: builtins as b"),
    (OPEN, "from builtins import open as o; o('x')", "blocked function open"),
    (OPEN, "ｏｐｅｎ('x')", "blocked function open"),
    (OPEN, "\ufb01 = 1; import os; os.𝓼𝔂𝓼𝓽𝓮𝓶('ls')", "blocked function os.system"),
    # Where a binding does not shadow the builtin for certain.
    (OPEN, "if x:\n    open = 1\nopen('x')", "blocked function open"),
    (OPEN, "open('x')\nopen = 1", "blocked function open"),
    (OPEN, "def f(): return open('x')\nf()\nopen = 1", "blocked function open"),
    (OPEN, "open = 1\ndel open", "can't be checked: del open"),
    (OPEN, "open = 1\ndef f():\n    global open\n    del open", "can't be checked: del open"),
    (OPEN, "try: pass\nexcept E as open: pass", "can't be checked: del open"),
    (OPEN, "for open in []: pass\nopen('x')", "blocked function open"),
    (OPEN, "open: int\nopen('x')", "blocked function open"),
    (OPEN, "def f():\n    global open\n    return open", "blocked function open"),
    (OPEN, "[open for x in y]\n[x for open in y]", "blocked function open"),
    (OPEN, "try:\n    open = g()\nexcept E:\n    open('x')", "blocked function open"),
    # Modules and their functions.
    (OPEN, "import os; os.system('ls')", "blocked function os.system"),
    (OPEN, "os.system('ls')", "blocked function os.system"),
    (OPEN, "import os as o; o.system('ls')", "blocked function os.system"),
    (OPEN, "import os as o", "can't be checked: os as o"),
    (OPEN, "from os import system as s; s('ls')", "blocked function os.system"),
    (OPEN, "from os import *", "can't be checked: from os import *"),
    (OPEN, "import posix; posix.system('ls')", "blocked function os.system"),
    (OPEN, "from posix import system", "blocked function os.system"),
    (OPEN, "import os; os.execv('/bin/sh', [])", "blocked function os.execv"),
    (OPEN, "import os; o = os; o.system('ls')", "can't be checked: os as a value"),
    (OPEN, "o = os", "can't be checked: os as a value"),
    (OPEN, "f(os)", "can't be checked: os as a value"),
    (OPEN, "import os\ndef f(): return os", "can't be checked: os as a value"),
    (OPEN, "import os; [os][0].system('ls')", "can't be checked: os as a value"),
    (OPEN, "import os; x.m = os", "can't be checked: os as a value"),
    (OPEN, "import os\nmatch os:\n    case object(system=s): s('ls')", "can't be checked: os as"),
    (OPEN, "import os\nos == x", "can't be checked: os as a value"),
    (OPEN, "def f():\n    import os as o\n    return o", "can't be checked: os as a value"),
    (OPEN, "def f():\n    global o\n    import os as o", "can't be checked: os as o"),
    (OPEN, "class A:\n    import os\nA.os.system(1)", "blocked function os.system"),
    (OPEN, "class A:\n    import io\nA.io.open('x')", "blocked function open|can't be checked"),
    (OPEN, "from glob import os as o; o.system('ls')", "blocked function os.system"),
    (OPEN, "import glob; glob.os.system('ls')", "blocked function os.system"),
    (OPEN, "import random; random._os.system('ls')", "blocked function os.system"),
    (OPEN, "import pandas as pd; pd.io.common.os.system('ls')", "blocked function os.system"),
    (OPEN, "x.os.system('ls')", "blocked function os.system"),
    (OPEN, "x.y[0].os.system('ls')", "blocked function os.system"),
    (OPEN, "f().os.system('ls')", "blocked function os.system"),
    (OPEN, "x.io.open('x')", "blocked function open"),
    (OPEN, "import os.path as p; p.os.system('ls')", "blocked function os.system"),
    (OPEN, "from os import path; path.genericpath.os.system('ls')", "blocked function os.system"),
    (OPEN, "import json; json.codecs.open('x')", "blocked function codecs.open"),
    (OPEN, "match glob:\n    case object(os=o): o.system('ls')", "can't be checked: os as"),
    (OPEN, "class P:\n    __match_args__ = ('os',)", "can't be checked: os as"),
    (OPEN, "import asyncio.events as e; e.os.system('ls')", "blocked function os.system"),
    # getattr and its kin.
    (OPEN, "import builtins; getattr(builtins, 'ev' + 'al')('1')", "blocked function eval"),
    (OPEN, "import os; getattr(os, 'system')('ls')", "blocked function os.system"),
    (OPEN, "import os; getattr(os, f'{\"sys\"}tem')", "blocked function os.system"),
    (OPEN, "import os; getattr(os, ''.join(['sys', 'tem']))", "blocked function os.system"),
    (OPEN, "import os; getattr(os, 'metsys'[::-1])", "blocked function os.system"),
    (OPEN, "import os; getattr(os, ''.join(reversed('metsys')))", "blocked function os.system"),
    (OPEN, "import os; getattr(os, 'SYSTEM'.lower())", "blocked function os.system"),
    (OPEN, "import os; getattr(os, 'syst3m'.replace('3', 'e'))", "blocked function os.system"),
    (OPEN, "import os; getattr(os, b'system'.decode())", "blocked function os.system"),
    (OPEN, "import os; n = 'system'; getattr(os, n)", "blocked function os.system"),
    (
        OPEN,
        "import os\nfor n in ('getcwd', 'system'): getattr(os, n)",
        "blocked function os.system",
    ),
    (OPEN, "import os; getattr(os, 'a' if x else 'system')", "blocked function os.system"),
    (OPEN, "import os; getattr(os, name)", "can't be checked: getattr(os"),
    (OPEN, "import os; n = 'a'; n = g(); getattr(os, n)", "can't be checked: getattr(os"),
    (OPEN, "import os; n = 'getcwd'\ndef f(): return getattr(os, n)", "can't be checked: getattr"),
    (OPEN, "import glob; getattr(glob, name)", "can't be checked: getattr(glob"),
    (OPEN, "getattr(print, name)", "can't be checked: getattr(print"),
    (OPEN, "getattr(lambda: 0, name)", "can't be checked: getattr"),
    (OPEN, "g = getattr", "can't be checked: getattr"),
    (OPEN, "map(getattr, a, b)", "can't be checked: getattr"),
    (OPEN, "getattr(*a)", "can't be checked: getattr"),
    (OPEN, "getattr = f", "can't be checked: another getattr"),
    (OPEN, "import functools; functools.reduce(getattr, ['os'], x)", "can't be checked: getattr"),
    (OPEN, "getattr(x, 'os').system('ls')", "blocked function os.system"),
    (OPEN, "getattr(getattr(glob, 'os'), 'system')", "blocked function os.system"),
    (OPEN, "vars(os)['system']", "blocked function os.system"),
    (OPEN, "import builtins; vars(builtins)['open']", "blocked function open"),
    (OPEN, "import builtins; builtins.__dict__['open']", "blocked function open"),
    (OPEN, "import builtins; d = builtins.__dict__", "can't be checked: builtins.__dict__"),
    (OPEN, "import builtins; vars(builtins)[name]", "can't be checked: builtins.__dict__[…]"),
    (OPEN, "__builtins__['open']", "can't be checked: __builtins__"),
    (OPEN, "__builtins__.open", "can't be checked: __builtins__"),
    (OPEN, "globals()['open']('x')", "blocked function open"),
    (OPEN, "globals()['__builtins__']", "can't be checked: __builtins__"),
    (OPEN, "globals()[name]", "can't be checked: globals[…]"),
    (OPEN, "globals().get('os').system('ls')", "can't be checked: os|blocked function os.system"),
    (OPEN, "globals().get(name)", "can't be checked: globals.get"),
    (OPEN, "g = globals()", "can't be checked: globals()"),
    (OPEN, "f(**globals())", "can't be checked: globals()"),
    (OPEN, "globals().update(x)", "can't be checked: globals.update"),
    (OPEN, "g = globals; g()", "can't be checked: globals"),
    (OPEN, "vars()['open']", "blocked function open"),
    (OPEN, "locals()['os'].system('ls')", "blocked function os.system"),
    (OPEN, "import sys; sys.modules['os'].system('ls')", "blocked function os.system"),
    (OPEN, "import sys; sys.modules[name]", "can't be checked: sys.modules[…]"),
    (OPEN, "import sys; sys.modules.get('os').system('ls')", "can't be checked: os as a value"),
    (OPEN, "import sys; g = sys.modules.get", "can't be checked: sys.modules.get"),
    (OPEN, "g = globals.get", "can't be checked: globals.get"),
    (OPEN, "import glob; glob.__dict__.get('os')", "can't be checked: os as a value"),
    (OPEN, "import sys; sys.modules.values()", "can't be checked: sys.modules.values"),
    (OPEN, "import sys; m = sys.modules", "can't be checked: sys.modules"),
    (OPEN, "from sys import modules as m; m['os'].system('ls')", "blocked function os.system"),
    (OPEN, "import sys; s = sys", "can't be checked: sys as a value"),
    (OPEN, "import operator; operator.attrgetter('os.system')(glob)", "can't be checked: os as"),
    (OPEN, "import operator; operator.attrgetter(name)", "can't be checked: operator.attrgetter"),
    (
        OPEN,
        "from operator import attrgetter as a; a('__globals__')",
        "can't be checked: __globals__",
    ),
    (OPEN, "import operator; operator.methodcaller(name)(x)", "can't be checked: operator.method"),
    # Imports that are calls.
    (OPEN, "__import__('os').system('ls')", "blocked function os.system"),
    (OPEN, "__import__('o' + 's').system('ls')", "blocked function os.system"),
    (OPEN, "__import__(name)", "can't be checked: __import__"),
    (OPEN, "m = __import__('os')", "can't be checked: os as a value"),
    (OPEN, "i = __import__", "can't be checked: __import__"),
    (
        OPEN,
        "import importlib; importlib.import_module('os').system('x')",
        "blocked function os.sys",
    ),
    (OPEN, "import importlib as i; i.import_module('os').system('x')", "blocked function os.sys"),
    (OPEN, "from importlib import import_module as m; m(name)", "can't be checked: importlib.imp"),
    (
        OPEN,
        "import importlib; importlib.util.spec_from_file_location('a', 'b')",
        "can't be checked",
    ),
    (OPEN, "import importlib.machinery", "can't be checked: importlib.machinery"),
    (OPEN, "x.loader.load_module()", "can't be checked: load_module"),
    (OPEN, "import runpy", "can't be checked: runpy"),
    (OPEN, "import pkgutil; pkgutil.resolve_name('os:system')", "can't be checked: pkgutil"),
    (OPEN, "import ctypes", "can't be checked: ctypes"),
    (OPEN, "import _ctypes", "can't be checked: ctypes"),
    (OPEN, "import pickle; pickle.loads(b)", "can't be checked: pickle.loads"),
    (OPEN, "from pickle import load", "can't be checked: pickle.load"),
    (OPEN, "import pickle as p", "can't be checked: pickle as p"),
    (OPEN, "import marshal", "can't be checked: marshal"),
    (OPEN, "import __main__", "can't be checked: __main__"),
    (OPEN, "from unittest.mock import patch", "can't be checked: unittest.mock"),
    (OPEN, "from unittest import mock", "can't be checked: unittest.mock"),
    (OPEN, "import code; code.interact()", "can't be checked: code"),
    (OPEN, "import timeit; timeit.timeit('open(1)')", "can't be checked: timeit.timeit"),
    (OPEN, "import timeit; timeit.timeit(text)", "can't be checked: timeit.timeit"),
    # Code as text.
    (OPEN, "exec('x')", "can't be checked: exec"),
    (OPEN, "compile('x', 'y', 'exec')", "can't be checked: compile"),
    (OPEN, "e = exec", "can't be checked: exec"),
    (OPEN, "def f(x: \"__import__('os').system('x')\"): pass", "blocked function os.system"),
    (OPEN, "df.query('@pd.io.common.os.system(1)')", "blocked function os.system"),
    (OPEN, "df.eval('@os.system(1)')", "blocked function os.system"),
    (OPEN, "df.query('@f.__globals__')", "can't be checked: __globals__"),
    (OPEN, "import pandas as pd; pd.eval(text)", "can't be checked: pandas.eval"),
    (OPEN, "'{0.__globals__}'.format(f)", "can't be checked: __globals__"),
    (OPEN, "'{x.__globals__[a]}'.format_map(d)", "can't be checked: __globals__"),
    (OPEN, "import string; string.Formatter()", "can't be checked: string.Formatter"),
    (OPEN, "from __future__ import barry_as_FLUFL", "can't be checked: __future__.barry"),
    # The inside of objects.
    (OPEN, "f.__globals__['open']", "can't be checked: __globals__"),
    (OPEN, "print.__self__.open('x')", "can't be checked: __self__"),
    (OPEN, "().__class__.__base__.__subclasses__()", "can't be checked: __subclasses__"),
    (OPEN, "f.__code__ = g.__code__", "can't be checked: __code__"),
    (OPEN, "setattr(f, '__code__', c)", "can't be checked: __code__"),
    (OPEN, "object.__getattribute__(f, '__globals__')", "can't be checked: __get"),
    (OPEN, "type(f).__dict__['__globals__'].__get__(f)", "can't be checked: __globals__"),
    (OPEN, "g.gi_frame.f_builtins", "can't be checked: gi_frame"),
    (OPEN, "e.__traceback__.tb_frame", "can't be checked: tb_frame"),
    (OPEN, "import sys; sys._getframe()", "can't be checked: sys._getframe"),
    (OPEN, "import inspect; inspect.currentframe()", "can't be checked: inspect.currentframe"),
    (OPEN, "import gc; gc.get_objects()", "can't be checked: gc.get_objects"),
    (OPEN, "import types; types.FunctionType(c, {})", "can't be checked: types.FunctionType"),
    (OPEN, "x.FunctionType(c, {})", "can't be checked: types.FunctionType"),
    (OPEN, "np.__builtins__['open']", "can't be checked: __builtins__"),
    (OPEN, "__loader__.load_module('os')", "can't be checked: __loader__"),
    (OPEN, "match f:\n    case object(__globals__=g): pass", "can't be checked: __globals__"),
    # Modules.
    (CLOSED, "import requests", "module requests is not allowed"),
    (CLOSED, "import math, requests", "module requests is not allowed"),
    (CLOSED, "import requests.sessions as s", "module requests is not allowed"),
    (CLOSED, "from requests import get", "module requests is not allowed"),
    (CLOSED, "from . import x", "can't be checked: relative import"),
    (CLOSED, "import os", "module os is not allowed"),
    (CLOSED, "import os.path; os.getcwd()", "module os is not allowed"),
    (CLOSED, "from os import path, system", "module os is not allowed"),
    (CLOSED, "import pandas as pd; pd.io.common.os.getcwd()", "module os is not allowed"),
    (CLOSED, "__import__('requests')", "module requests is not allowed"),
    (CLOSED, "import importlib", "module importlib is not allowed"),
    (CLOSED, "def f():\n    import socket", "module socket is not allowed"),
    (CLOSED, "import mathematics", "module mathematics is not allowed"),
    ({"allowed_modules": []}, "import math", "module math is not allowed"),
    (NO_OS, "import os", "blocked module os"),
    (NO_OS, "import posix", "blocked module os"),
    (NO_OS, "import os.path; os.getcwd()", "blocked module os"),
    (NO_OS, "from os import getcwd", "blocked module os"),
    (NO_OS, "import glob; glob.os.getcwd()", "blocked module os"),
    (NO_OS, "import glob; x = glob.os", "blocked module os"),
    (NO_OS, "from glob import os", "blocked module os"),
    (NO_OS, "import asyncio; asyncio.subprocess.create_subprocess_exec", "blocked module subpr"),
    (NO_OS, "import sys; sys.modules['subprocess']", "blocked module subprocess"),
    (NO_OS, "__import__('subprocess', fromlist=['run'])", "blocked module subprocess|can't be"),
    (NO_OS, "for m in ('math', 'os'): __import__(m)", "blocked module os"),
    (NO_OS, "eval('1')", "can't be checked: eval"),
    ({"blocked_modules": ["xml.sax"]}, "from xml import sax", "blocked module xml.sax"),
    ({"blocked_modules": ["xml.sax"]}, "import xml.sax.handler", "blocked module xml.sax"),
    ({"blocked_modules": ["xml.sax"]}, "import xml; xml.sax", "blocked module xml.sax"),
    ({"blocked_modules": ["py*"]}, "import pytest", "blocked module pytest"),
    # Functions of other libraries.
    ({"blocked_functions": ["numpy.load"]}, "import numpy as np; np.load(x)", "blocked function"),
    ({"blocked_functions": ["numpy.load"]}, "np.load(x)", "blocked function numpy.load"),
    ({"blocked_functions": ["numpy.load"]}, "from numpy.lib import load", "blocked function"),
    ({"blocked_functions": ["numpy.load"]}, "import numpy as n", "can't be checked: numpy as n"),
    ({"blocked_functions": ["getattr"]}, "getattr(x, 'y')", "blocked function getattr"),
    ({"blocked_functions": ["vars"]}, "vars(x)", "blocked function vars"),
    ({"blocked_functions": ["io.open"]}, "open('x')", "blocked function open"),
    ({"blocked_functions": ["builtins.open"]}, "open('x')", "blocked function open"),
    ({"blocked_functions": ["os.unlink"]}, "import os; os.remove('x')", "blocked function os.rem"),
    (NO_COMPILE, "input()", "blocked function input"),
    (NO_COMPILE, "import re, builtins; builtins.compile", "blocked function compile"),
    # Attributes.
    ({"blocked_attributes": ["secret"]}, "x.secret", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "x.secret = 1", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "del x.secret", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "x.a.secret.b()", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "f().secret", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "getattr(x, 'sec' + 'ret')", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "setattr(x, 'secret', 1)", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "delattr(x, 'secret')", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "'{.secret}'.format(x)", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "f'{x.secret}'", "blocked attribute secret"),
    ({"blocked_attributes": ["secret"]}, "from m import secret", "blocked attribute secret"),
    (
        {"blocked_attributes": ["secret"]},
        "match x:\n    case A(secret=s): pass",
        "blocked attribute secret",
    ),
    (
        {"blocked_attributes": ["secret"]},
        "import operator; operator.attrgetter('a.secret')",
        "blocked attribute secret",
    ),
    # Variables.
    *(
        ({"allowed_variables": ["x", "df_*"]}, code, "variable y is not allowed")
        for code in (
            "y = 1",
            "x, (y, *z) = f()",
            "y: int = 1",
            "y += 1",
            "import y",
            "import a as y",
            "from a import y",
            "def y(): pass",
            "class y: pass",
            "for y in a: pass",
            "with a as y: pass",
            "x = (y := 1)",
            "[y := x for x in a]",
            "try: pass\nexcept E as y: pass",
            "match x:\n    case [1, y]: pass",
            "match x:\n    case {'a': 1, **y}: pass",
            "match x:\n    case [*y]: pass",
            "def x():\n    global y\n    y = 1",
            "del y",
            "if a:\n    while b:\n        y = 1",
        )
    ),
]

# (policy or None for the shipped lists, code)
FALSE_ALARMS = [
    (OPEN, "import re; re.compile('x')"),
    (NO_COMPILE, "import re; p = re.compile('x')"),
    (NO_COMPILE, "from re import compile\ncompile('x')"),
    (NO_COMPILE, "model.compile(optimizer='adam', loss='mse')"),
    (NO_COMPILE, "def step(input): return input + 1"),
    (NO_COMPILE, "input = torch.rand(3)\nprint(input.shape)"),
    (NO_COMPILE, "for input, target in batches:\n    loss(model(input), target)"),
    (NO_COMPILE, "if ready:\n    input = 3\n    print(input)"),
    (OPEN, "x.open()"),
    (OPEN, "from PIL import Image; im = Image.open('x.png')"),
    (OPEN, "print('open(\"x\")', '!ls', '__import__')"),
    (OPEN, "# open('x')\nx = 1"),
    (OPEN, "df['open'] = df.open.shift(1)"),
    (OPEN, "df.plot(open='a')"),
    (OPEN, "open = df['open']\nclose = df['close']\nprint((close - open).mean())"),
    (OPEN, "class Candle:\n    open: float\n    close: float"),
    (OPEN, "def f(open, close): return close - open"),
    (OPEN, "[open + 1 for open in opens]"),
    (OPEN, "for open, close in rows:\n    print(open, close)"),
    (OPEN, "with a as open:\n    print(open)"),
    (OPEN, "def f():\n    open = 1\n    return lambda: open"),
    (
        OPEN,
        "import os\nos.getcwd()\nos.path.join('a', 'b')\nos.environ['A'] = 'b'\nos.listdir('.')",
    ),
    (OPEN, "import os\nos.makedirs('out', exist_ok=True)"),
    (OPEN, "from os import path, getcwd"),
    (OPEN, "import os.path as osp\nosp.join('a', 'b')"),
    (OPEN, "os.path.exists('x')"),
    (OPEN, "import os\nhasattr(os, 'fork')"),
    (OPEN, "import os\nos"),
    (OPEN, "getattr(os, 'cpu_count')()"),
    (OPEN, "def f():\n    import os as o\n    return o.getcwd()"),
    (OPEN, "import sys\nsys.version_info >= (3, 10)\nprint(sys.argv, file=sys.stderr)"),
    (OPEN, "import sys\n'pandas' in sys.modules"),
    (OPEN, "import sys\nsys.path.append('lib')\nsys.getsizeof(x)"),
    (OPEN, "import io\nbuffer = io.BytesIO()\nio.StringIO('a')"),
    (OPEN, "import ast\nast.literal_eval('[1]')"),
    (OPEN, "'df' in globals()"),
    (OPEN, "globals()['x'] = 1\nglobals().get('df')"),
    (OPEN, "'{a} {b}'.format(**locals())"),
    (OPEN, "'{0.real} {1[0]}'.format(1, [2])"),
    (OPEN, "import pickle\npickle.dumps(x)"),
    (OPEN, "import gc\ngc.collect()"),
    (OPEN, "import types\nisinstance(x, types.GeneratorType)\ntypes.SimpleNamespace(a=1)"),
    (OPEN, "import inspect\ninspect.signature(f)\ninspect.getsource(f)"),
    (OPEN, "import timeit\ntimeit.timeit(lambda: f(1), number=10)"),
    (OPEN, "import timeit\ndef f(): pass\nprint(timeit.timeit(f, number=10))"),
    (OPEN, "import importlib.util\nimportlib.util.find_spec('torch') is not None"),
    (OPEN, "import importlib\nimportlib.import_module('numpy')"),
    (OPEN, "import importlib.metadata\nimportlib.metadata.version('pandas')"),
    (OPEN, "for m in ['numpy', 'pandas']:\n    print(__import__(m).__version__)"),
    (OPEN, "import operator\nsorted(a, key=operator.attrgetter('size'))\noperator.itemgetter(1)"),
    (OPEN, "from operator import itemgetter\nitemgetter('os')(x)"),
    (OPEN, "x.__dict__\nx.__class__.__name__\ntype(x).__name__\nf.__doc__\nx.__init__()"),
    (OPEN, "vars(args)\nvars(self).items()"),
    (OPEN, "self.io = 3\nself.signal.types.code"),
    (OPEN, "import datetime\ndatetime.datetime.now().time()\ndatetime.time(1)"),
    (OPEN, "df.query('price > @limit and open < close')"),
    (OPEN, "df.eval('a = b + c')"),
    (OPEN, "import skimage.io as skio\nskio.imread('x')"),
    (OPEN, "from scipy import io, signal\nio.loadmat('x.mat')\nsignal.butter(4, 0.1)"),
    (OPEN, "from scipy import io as sio\nsio.loadmat('x.mat')"),
    (OPEN, "import torch.multiprocessing as mp"),
    (OPEN, "import plotly.io as pio\npio.renderers.default = 'png'"),
    (OPEN, "from collections import abc\nabc.Mapping"),
    (OPEN, "code = 'a'\nprint(code.upper(), token, signal.mean(), types, site, test[0])"),
    (OPEN, "x = signal\ny = resource.shape"),
    (CLOSED, "print(signal.mean(), code, test, array.shape, random.x, statistics)"),
    (CLOSED, "import numpy as np\nimport pandas.io.json\nfrom math import pi\nnp.linalg.norm(x)"),
    (CLOSED, "from os import path\npath.join('a', 'b')"),
    (CLOSED, "import os.path\nos.path.join('a', 'b')"),
    (NO_OS, "import os.path\nos.path.exists('a')\nimport json, requests"),
    (NO_OS, "osp.join('a')"),
    (
        {"allowed_modules": ["*", "pickle"], "blocked_functions": ["open"]},
        "import pickle\npickle.load(f)",
    ),
    ({"allowed_variables": ["x", "df_*"]}, "x = 1\ndf_a = x\nprint(y)"),
    ({"allowed_variables": ["x"]}, "def x(a):\n    b = a\n    return [c for c in b]"),
    ({"allowed_variables": ["x"]}, "x = [y for y in z]\nx.y = 1\nx['y'] = 1"),
    ({"allowed_variables": ["x"]}, "x = lambda y: y"),
    (
        {"blocked_attributes": ["secret"]},
        "secret = 1\nprint('secret')",
    ),
    ({}, "eval('1'); import os; os.system; getattr(os, n); y = 1"),
    ({"blocked_functions": []}, "open('x')"),
    # What agents send.
    (
        None,
        """
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns
df = pd.read_csv("sales.csv", parse_dates=["date"])
df.columns = [c.strip().lower().replace(" ", "_") for c in df.columns]
print(df.head(), df.dtypes, df.isna().sum(), sep="\\n")
df["month"] = df["date"].dt.to_period("M")
monthly = df.groupby("month").agg(total=("price", "sum"), n=("price", "size"))
ax = monthly["total"].plot(kind="bar")
ax.set_ylabel("total")
plt.savefig("monthly.png")
plt.show()
""",
    ),
    (
        None,
        """
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipe = make_pipeline(StandardScaler(), RandomForestClassifier())
search = GridSearchCV(pipe, {"randomforestclassifier__max_depth": [2, None]}, n_jobs=-1)
search.fit(X_train, y_train)
print(search.best_params_, search.score(X_test, y_test))
""",
    ),
    (
        None,
        """
class Config:
    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)
    def get(self, name, default=None):
        return getattr(self, name, default)
    def __repr__(self):
        return f"{self.__class__.__name__}({self.__dict__})"
c = Config(a=1)
print(c, hasattr(c, "b"), [n for n in dir(c) if not n.startswith("_")])
""",
    ),
    (None, "getattr(df, col)"),
    (None, "for how in ['mean', 'std']:\n    print(getattr(df['a'], how)())"),
    (None, "import numpy as np\nfor f in ('mean', 'std'):\n    print(getattr(np, f)(x))"),
    (None, "import scipy.stats\nfor n in ['norm', 'expon']:\n    getattr(scipy.stats, n).fit(x)"),
    (None, "import scipy.special as s\ngetattr(s, f'gamma{kind}')(x)"),
    (
        None,
        "import numpy as np, pandas as pd\n"
        "for m in (np, pd):\n"
        "    print(m.__name__, m.__version__)",
    ),
    (
        None,
        "import os\n"
        "for root, dirs, files in os.walk('.'):\n"
        "    print(os.path.join(root, files[0]))",
    ),
    (
        None,
        "from pathlib import Path\n"
        "for p in Path('.').glob('*.csv'):\n"
        "    pd.read_csv(p)\n"
        "Path('a') / 'b'",
    ),
    (None, "import json\nprint(json.dumps({'a': 1}, indent=2))"),
    (None, "import requests\nr = requests.get('https://example.org/a.json', timeout=5)\nr.json()"),
    (None, "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('select 1').fetchall()"),
    (None, "import warnings\nwarnings.filterwarnings('ignore')"),
    (None, "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport tensorflow as tf"),
    (None, "import time\nt = time.time()\nprint(time.perf_counter() - t)"),
    (None, "import random\nrandom.seed(0)\nrandom.random()"),
    (None, "from datetime import datetime, timedelta, time\ndatetime.now() - timedelta(1)"),
    (None, "import re\nmatches = re.findall(r'\\d+', text)\nre.compile('a').sub('b', c)"),
    (None, "import sys\nprint(sys.version, sys.platform, sys.executable)"),
    (None, "from collections import Counter, defaultdict\ncounts = Counter(words).most_common(3)"),
    (
        None,
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n"
        "    list(pool.map(f, xs))",
    ),
    (None, "import asyncio\nasync def g():\n    await asyncio.sleep(0)\nawait g()"),
    (
        None,
        "from dataclasses import dataclass, field\n"
        "@dataclass\n"
        "class P:\n"
        "    xs: list[int] = field(default_factory=list)",
    ),
    (
        None,
        "from typing import Optional\ndef f(x: 'Optional[int]' = None) -> 'pd.DataFrame': return x",
    ),
    (
        None,
        "from functools import lru_cache, partial\n"
        "@lru_cache(maxsize=None)\n"
        "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)",
    ),
    (
        None,
        "import torch\n"
        "from torch import nn\n"
        "model = nn.Sequential(nn.Linear(2, 1))\n"
        "model.eval()\n"
        "list(model.modules())",
    ),
    (None, "df.apply(lambda row: row['a'] + row.b, axis=1)"),
    (
        None,
        "df.pipe(f).assign(z=lambda d: d.x / d.y).replace({'a': 'b'}).rename(columns=str.lower)",
    ),
    (None, "items.remove(3); d.pop('x'); s.replace('a', 'b'); x.system; x.kill; x.fork"),
    (None, "def main():\n    pass\nif __name__ == '__main__':\n    main()"),
    (None, "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\nxp.zeros(3)"),
    (
        None,
        "match command:\n"
        "    case {'op': op, **rest}: pass\n"
        "    case Point(x=0, y=y): print(y)\n"
        "    case _: pass",
    ),
    (
        None,
        "import scipy.signal as sig\nfrom scipy import signal\nsignal.find_peaks(x)\nsig.welch(x)",
    ),
    (None, "import polars as pl\npl.scan_csv('x').filter(pl.col('a') > 1).collect()"),
    (None, "import statsmodels.api as sm\nprint(sm.OLS(y, sm.add_constant(X)).fit().summary())"),
    (
        None,
        "import plotly.express as px\nfig = px.line(df, x='a', y='b')\nfig.write_html('a.html')",
    ),
    (None, "x = input('a number: ')"),
    (None, "id = 3; type = 'a'; list = [1]; dir = 'data'; vars_ = 1; hash = {}; file = 1"),
    (None, "print(f'{x:>{width}} {y!r} {z=}')"),
    (None, "@property\ndef f(self): return super().__getattribute__(name)"),
    (None, "a = b = c = 0\na += 1\n(x, *y), z = f()\nlambda *a, **k: (a, k)"),
]

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
