"""Programs made at random, and what the checker lets pass of them, run and watched.

    python -m pyworker.tests.policy.verify_fuzz SECONDS [SEED]

Each program is a few cells. Every cell is checked by itself, as a session's are, and
those that pass run one after the other in one namespace, in a child with an audit
hook. The hook knows the deeds of blocked functions by what they are called with,
stops them, and reports the program: it is an escape.
"""

import json
import random
import subprocess
import sys
import time

from pyworker.policy import verify

MARK = "fuzz-mark"  # what everything is called with
MODULE = "sched"  # a blocked module that nothing else imports

POLICY = {
    "blocked_functions": ["open", "eval", "exec", "os.system", "os.popen", "os.remove", "os.exec*"],
    "blocked_modules": ["subprocess", MODULE],
}

_STANDARD = (
    *("builtins", "codecs", "functools", "glob", "importlib", "inspect", "io", "json"),
    *("operator", "os", "random", "sys", "types"),
)
_NAMES = ("a", "b", "c", "f", "m", "o", "open", "os", "system", "eval")
_MODULES = ("os", "io", "builtins", "sys", "glob", "random", "json", "posix", "operator", MODULE)
_IMPORTABLE = (*_MODULES, "os.path", "importlib", "inspect", "functools", "types", "gc", "codecs")
_FUNCTIONS = ("open", "system", "eval", "exec", "remove", "getcwd", "len", "loads", "popen")
_TAME = ("getcwd", "len", "loads", "path", "name", "x")
_HARMLESS = ("len", "str", "print", "int", "sorted", "os.getcwd", "os.path.basename", "json.dumps")
_HIDDEN = ("__globals__", "__builtins__", "__self__", "__dict__", "__class__", "__code__")


class Maker:
    """Makes programs of one seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._chance = self._random.random
        self._boldness = 0.5  # how often what is blocked is named

    def program(self):
        """Returns the cells of a program."""
        if self._chance() < 0.5:
            return self._purposeful()
        self._boldness = self._pick((0.05, 0.2, 0.6))
        return [self._cell() for _ in range(self._random.randint(1, 4))]

    def _cell(self):
        count = self._random.randint(1, 4)
        lines = [self._import() for _ in range(self._random.randint(0, 2))]
        return "\n".join(lines + [self._statement(0) for _ in range(count)])

    def _pick(self, items):
        return self._random.choice(items)

    def _name(self):
        return self._pick(_NAMES)

    def _function(self):
        return self._pick(_FUNCTIONS if self._chance() < self._boldness else _TAME)

    def _hidden(self):
        return self._pick(_HIDDEN) if self._chance() < self._boldness else self._name()

    def _purposeful(self):
        """Returns a program that does reach something, if no step of it is refused."""
        cells, name = ["\n".join(f"import {module}" for module in _STANDARD)], "x1"
        if self._chance() < 0.5:
            module = self._pick(("os", "io", "builtins"))
            cells.append(f"import {module} as x0")
            value = f"x0.{'system' if module == 'os' else 'open'}"
        else:
            cells.append(self._bound("x0", self._way_to_os()))
            value = self._taken("x0", "system") if self._chance() < 0.5 else self._way_to_function()
        cells.append(self._bound(name, value))
        for i in range(self._random.randint(0, 2)):
            cells.append(self._bound(f"x{i + 2}", name))
            name = f"x{i + 2}"
        cells.append(self._pick((f"{name}({MARK!r})", f"list(map({name}, [{MARK!r}]))")))
        if self._chance() < 0.3:
            return ["\n".join(cells)]
        return cells

    def _plainly(self, text):
        """Returns an expression for a text that has that value."""
        while True:
            found = self._text(text)
            if found not in _NAMES:
                return found

    def _way_to_os(self):
        text = self._plainly("os")
        return self._pick(
            (
                "os",
                "glob.os",
                "random._os",
                f"__import__({text})",
                f"importlib.import_module({text})",
                f"sys.modules[{text}]",
                f"sys.modules.get({text})",
                f"getattr(glob, {text})",
                f"vars(glob)[{text}]",
                f"glob.__dict__[{text}]",
                f"globals()[{text}]",
                f"globals().get({text})",
                "(lambda: 0).__globals__['os']",
                f"dict(inspect.getmembers(glob))[{text}]",
                f"operator.attrgetter({text})(glob)",
            )
        )

    def _taken(self, module, name):
        """Returns an expression for what a module holds."""
        text = self._plainly(name)
        return self._pick(
            (
                f"{module}.{name}",
                f"{module}.{name}",
                f"getattr({module}, {text})",
                f"vars({module})[{text}]",
                f"{module}.__dict__[{text}]",
                f"operator.attrgetter({text})({module})",
                f"functools.reduce(getattr, [{text}], {module})",
            )
        )

    def _way_to_function(self):
        return self._pick(
            (
                lambda: self._pick(("open", "eval", "exec", "io.open", "codecs.open")),
                lambda: self._taken("builtins", self._pick(("open", "eval"))),
                lambda: self._taken("io", "open"),
                lambda: self._taken("glob.os", "system"),
                lambda: self._taken(self._way_to_os(), "remove"),
                lambda: "json.codecs.open",
                lambda: "json.codecs.builtins.open",
                lambda: "print.__self__.open",
                lambda: f"globals()[{self._plainly('__builtins__')}].open",
                lambda: f"(lambda: 0).__globals__[{self._plainly('__builtins__')}].open",
                lambda: f"(lambda: 0).__builtins__[{self._plainly('open')}]",
                lambda: "inspect.currentframe().f_builtins['open']",
                lambda: "sys._getframe().f_builtins['open']",
            )
        )()

    def _bound(self, name, value):
        """Returns a statement that binds a name to a value, in one of many ways."""
        return self._pick(
            (
                f"{name} = {value}",
                f"{name}, _ = {value}, 1",
                f"{name}: object = {value}",
                f"({name} := {value})",
                f"for {name} in [{value}]: pass",
                f"[({name} := y) for y in [{value}]]",
                f"def make(v={value}): return v\n{name} = make()",
                f"def make():\n    global {name}\n    {name} = {value}\nmake()",
                f"class C:\n    v = staticmethod({value})\n{name} = C.v",
                f"class C: pass\nC.v = staticmethod({value})\n{name} = C.v",
                f"match {value}:\n    case {name}: pass",
                f"with contextlib.nullcontext({value}) as {name}: pass",
                f"globals()[{self._plainly(name)}] = {value}",
                f"{name} = {{'k': {value}}}['k']",
                f"{name} = (lambda: {value})()",
                f"{name} = functools.partial({value})",
                f"{name} = {value} if {name!r} else len",
                f"try: 1 / 0\nexcept Exception: {name} = {value}",
                f"if 0: open = 1\n{name} = open",
                f"for open in []: pass\n{name} = open",
                f"open = 1\ndel open\n{name} = {value}",
            )
        )

    def _import(self):
        module = self._pick(_IMPORTABLE)
        return self._pick(
            (
                f"import {module}",
                f"import {module}",
                f"import {module} as {self._name()}",
                f"from {module} import {self._pick((self._function(), self._pick(_MODULES)))}",
                f"from {module} import {self._function()} as {self._name()}",
                f"from {module} import *",
                f"from os import {self._pick(('path', 'system', 'getcwd'))} as {self._name()}",
            )
        )

    def _text(self, text):
        """Returns an expression for a text that shows it, or does not."""
        half = len(text) // 2
        return self._pick(
            (
                repr(text),
                f"{text[:half]!r} + {text[half:]!r}",
                f"''.join([{text[:half]!r}, {text[half:]!r}])",
                f"{text[::-1]!r}[::-1]",
                f"f'{text[:half]}{{{text[half:]!r}}}'",
                f"str({text!r})",
                f"''.join(chr(x) for x in {[ord(char) for char in text]})",
                self._name(),
            )
        )

    def _module(self, depth):
        module = self._pick(_MODULES)
        return self._pick(
            (
                module,
                module,
                self._name(),
                f"{self._pick(_MODULES)}.{module}",
                f"{self._name()}.{module}",
                f"{self._name()}._{module}",
                f"__import__({self._text(module)})",
                f"importlib.import_module({self._text(module)})",
                f"sys.modules[{self._text(module)}]",
                f"getattr({self._pick(_MODULES)}, {self._text(module)})",
                f"globals()[{self._text(module)}]",
                f"globals().get({self._text(module)})",
                f"({self._value(depth + 1)})",
            )
        )

    def _value(self, depth):
        """Returns an expression that may be a function, blocked or not."""
        name = self._function()
        if depth > 3:
            return self._pick((name, self._name(), self._pick(_HARMLESS)))
        if self._chance() < 0.4:
            return self._wrapped(depth)
        return self._pick(
            (
                lambda: name,
                lambda: self._pick(_HARMLESS),
                lambda: self._name(),
                lambda: f"{self._module(depth)}.{name}",
                lambda: f"{self._module(depth)}.{name}",
                lambda: f"{self._name()}.{self._name()}",
                lambda: f"getattr({self._module(depth)}, {self._text(name)})",
                lambda: f"vars({self._module(depth)})[{self._text(name)}]",
                lambda: f"{self._module(depth)}.__dict__[{self._text(name)}]",
                lambda: f"globals()[{self._text(name)}]",
                lambda: f"vars().get({self._text(name)})",
                lambda: f"locals()[{self._text(name)}]",
                lambda: f"__builtins__[{self._text(name)}]",
                lambda: f"{self._value(depth + 1)}.{self._hidden()}",
                lambda: f"{self._value(depth + 1)}.{self._hidden()}[{self._text(name)}]",
                lambda: f"getattr({self._value(depth + 1)}, {self._text(self._hidden())})",
                lambda: f"operator.attrgetter({self._text(name)})({self._module(depth)})",
                lambda: f"types.FunctionType({self._value(depth + 1)}.__code__, globals())",
                lambda: f"dict(inspect.getmembers({self._module(depth)}))[{self._text(name)}]",
                lambda: f"inspect.currentframe().f_builtins[{self._text(name)}]",
            )
        )()

    def _wrapped(self, depth):
        value = self._value(depth + 1)
        name = self._name()
        return self._pick(
            (
                f"({value})",
                f"[{value}][0]",
                f"{{'k': {value}}}['k']",
                f"(lambda: {value})()",
                f"(lambda {name}={value}: {name})()",
                f"({value} if a else {value})",
                f"({name} := {value})",
                f"next(iter([{value}]))",
                f"[{name} for {name} in [{value}]][0]",
                f"functools.partial({value})",
                f"max([{value}], key=id)",
                f"type('T', (), {{'t': staticmethod({value})}}).t",
                f"(None or {value})",
                f"functools.reduce(getattr, [{self._text(self._function())}], {value})",
            )
        )

    def _call(self):
        value = self._value(0)
        return self._pick(
            (
                f"{value}({MARK!r})",
                f"{value}({MARK!r})",
                f"list(map({value}, [{MARK!r}]))",
                f"sorted([{MARK!r}], key={value})",
                f"{self._name()}.{self._name()}({MARK!r})",
                f"{self._name()}['k']({MARK!r})",
                f"f'{{{self._name()}({MARK!r})}}'",
            )
        )

    def _statement(self, depth):
        value, name = self._value(0), self._name()
        if self._chance() < 0.35:
            return self._call()
        plain = (
            lambda: f"{name} = {value}",
            lambda: f"{name}, {self._name()} = {value}, {self._module(0)}",
            lambda: f"{name}: object = {value}",
            lambda: f"{name} = {self._module(0)}",
            lambda: f"{name} = {self._text(self._function())}",
            lambda: f"{name} = {{'k': {value}}}",
            lambda: f"del {name}",
            lambda: f"{name}.{self._name()} = {value}",
            lambda: f"setattr({name}, {self._text(self._name())}, {value})",
            lambda: f"globals()[{self._text(name)}] = {value}",
            lambda: self._import(),
        )
        if depth > 2:
            return self._pick(plain)()
        body = _indented(self._statement(depth + 1))
        nested = (
            lambda: f"def {name}({self._name()}={value}):\n{body}\n    return {self._value(0)}",
            lambda: f"def {name}(*_):\n    global {self._name()}\n{body}\n{name}()",
            lambda: f"class {name}:\n{body}\n    {self._name()} = {value}",
            lambda: f"class {name}:\n    def {self._name()}(self, x):\n{_indented(body)}\n{name}()",
            lambda: f"for {name} in [{value}, len]:\n{body}",
            lambda: f"if {name}:\n{body}\nelse:\n    {name} = {value}",
            lambda: f"try:\n{body}\nexcept Exception as {name}:\n{body}\n",
            lambda: f"try:\n{body}\nfinally:\n    {name} = {value}",
            lambda: f"match {value}:\n    case {name}:\n{_indented(body)}",
            lambda: (
                f"match {self._module(0)}:\n    case object({self._function()}={name}):"
                f"\n{_indented(body)}"
            ),
            lambda: f"with contextlib.nullcontext({value}) as {name}:\n{body}",
            lambda: f"@{value}\ndef {name}(*_):\n{body}",
        )
        return self._pick((*plain, *nested))()


def _indented(text):
    return "\n".join(f"    {line}" for line in text.split("\n"))


def passed(program, check):
    """Returns the cells of a program that the checker lets pass."""
    cells = []
    for cell in program:
        violations, error, *_ = check(cell, POLICY)
        if not violations and error is None:
            cells.append(cell)
    return cells


def escapes(seed, count, check=verify.check):
    """Runs what passes of count programs; returns (escapes, how many cells have run).

    An escape is (the program's cells, what it has done).
    """
    maker = Maker(seed)
    programs = [passed(maker.program(), check) for _ in range(count)]
    programs = [program for program in programs if program]
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", _CHILD, MARK, MODULE],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"the child ended with {done.returncode}: {done.stderr[-2000:]}")
    found = [(programs[i], deed) for i, deed in json.loads(done.stdout.splitlines()[-1])]
    return found, sum(map(len, programs))


# Runs the programs of stdin; prints a list of (number of a program, its deed).
_CHILD = r"""
import builtins, codecs, contextlib, glob, inspect, io, json, operator, os, random, sys, types
import functools, gc, importlib
mark, module = sys.argv[1:]
programs = json.load(sys.stdin)
deeds, watched, present = [], [False], [0]
true = {m: dict(vars(m)) for m in (builtins, os, io, sys, glob, json, random, operator, codecs)}
tables = dict(sys.modules)
EVENTS = ("open", "compile", "exec", "subprocess.Popen", "import")

def holds(argument):
    if isinstance(argument, bytes):
        argument = argument.decode("utf-8", "replace")
    if isinstance(argument, (list, tuple)):
        return any(holds(one) for one in argument)
    return isinstance(argument, str) and mark in argument

def hook(event, arguments):
    if not watched[0]:
        return
    if event == "import":
        wrong = arguments[0] in (module, "subprocess")
    elif event.startswith("os.") or event in EVENTS:
        wrong = any(map(holds, arguments))
    else:
        return
    if wrong:
        deeds.append((present[0], f"{event} {arguments!r}"[:200]))
        raise RuntimeError("stopped")

def repair():
    # A cell may have put anything anywhere.
    for m, names in true.items():
        now = vars(m)
        for name in [n for n in now if n not in names]:
            del now[name]
        now.update(names)
    for name in [n for n in sys.modules if n not in tables]:
        del sys.modules[name]
    sys.modules.update(tables)

class Endless(BaseException):
    pass

def count(*_):
    # Some programs call themselves twice and catch what comes of it.
    calls[0] += 1
    if calls[0] > 20_000:
        raise Endless

calls, profile = [0], sys.setprofile
sys.addaudithook(hook)
out, nothing = sys.stdout, open(os.devnull, "w")
make, run, Error, Anything = compile, exec, SyntaxError, BaseException
for i, cells in enumerate(programs):
    present[0] = i
    names = {"__name__": "__main__", "__builtins__": builtins, "contextlib": contextlib}
    for cell in cells:
        try:
            code = make(cell, "<cell>", "exec", 0x2000, dont_inherit=True)
        except Error:
            continue  # a tree that is none of Python's
        sys.stdout = nothing
        watched[0], calls[0] = True, 0
        profile(count)
        try:
            run(code, names)
        except Anything:
            pass
        watched[0] = False
        profile(None)
    repair()
    sys.stdout = out
out.write("\n" + json.dumps(deeds) + "\n")
"""


def _main(seconds=60, seed=None):
    seed = int(seed) if seed else random.randrange(10**9)
    end, ran = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        found, cells = escapes(seed, 2_000)
        ran += cells
        for program, deed in found:
            print(f"seed {seed}: {deed}")
            print("\n# next cell\n".join(program), end="\n\n")
        if found:
            sys.exit(1)
        seed += 1
    print(f"{ran} cells have run; nothing blocked was reached")


if __name__ == "__main__":
    _main(*sys.argv[1:])
