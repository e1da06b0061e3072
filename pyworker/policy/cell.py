"""Judges a cell: its Python, and its magics, which are calls that IPython's syntax stands for.

    %name line          get_ipython().run_line_magic('name', 'line')
    %%name line, body   get_ipython().run_cell_magic('name', 'line', 'body')
    !command            get_ipython().system('command'), or getoutput where it is assigned

Such a call is taken out of the tree, and what it runs is judged: Python as Python, commands
as commands. Whatever else asks for get_ipython is refused, and so is a magic in no table.
"""

import ast
import functools
import re
import string
import warnings

from pyworker.policy import commands
from pyworker.policy.judge import Judge
from pyworker.policy.places import Places, lines
from pyworker.shell import transform

_TREE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FORMS = {"run_line_magic": 2, "run_cell_magic": 3, "system": 1, "getoutput": 1, "show_usage": 0}
_MOST_NESTED = 8  # magics in the bodies of magics
_SHELL = "can't be checked: get_ipython", "write magics as %name, and commands as !command"
_PUT_IN = "Python's values are not put into it under --policy; write the value itself"
_INSTEAD = {
    "%run": "what a file holds can't be checked; write its code here, or import it",
    "%load": "write the code itself",
    "%debug": "no debugger runs under a policy; print what you need",
    "%javascript": "no scripts run in what is shown",
    "%config": "set InlineBackend.NAME to a plain value, or leave",
    "%load_ext": "load autoreload only",
}
_DOLLAR = re.compile(r"\$\{?([A-Za-z_][\w.]*)")
_FIELD = re.compile(r"\{([^{}]+)\}")

# How the Python is read that magics run: as by transform_cell(), as a cell, or as it is.
_TRANSFORMED, _CELL, _VALUE = "transformed", "cell", "value"
_SCRIPT = "script"  # of the shell


@functools.cache
def transformer():
    """Returns IPython's transformer of cells, None without IPython."""
    return transform.manager()


def read(code):
    """Returns the Reading of a cell; raises SyntaxError and ValueError, for null characters."""
    return transform.read(code, _parse, transformer)


def _parse(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, "<cell>", "exec", _TREE, dont_inherit=True)


class Cell:
    """A cell that is judged, with what its magics run."""

    def __init__(self, code, rules):
        self.places = Places(code)
        self._rules = rules
        self._above = self._depth = 0  # lines above the piece that is judged; magics around it
        self._source, self._node = [], None  # its lines; the call of the magic

    def judge(self, source, tree):
        """Judges a piece of Python, which may have magics."""
        self._source = lines(source)
        if self._rules.is_any and "get_ipython" in source:
            self._judge_magics(tree)
        for line, offset, *verdict in Judge(tree, self._rules).violations():
            self._add(line, offset, verdict)

    def _add(self, line, offset, verdict):
        """Notes a verdict on an offset in bytes in a line of the piece."""
        text = self._source[line - 1]
        at = len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "replace"))
        self.places.add(self._above + line, text, at, verdict)

    def _judge_magics(self, tree):
        for node in list(ast.walk(tree)):
            call = _magic(node)
            if call is None:
                continue
            node.func, node.args = ast.copy_location(ast.Constant(None), node), []
            self._node = node
            if self._depth > _MOST_NESTED:
                self._refuse("magics in magics", "they are too many, one in the other")
            else:
                self._check(*call)
        for node in ast.walk(tree):
            if type(node) is ast.Name and node.id == "get_ipython":
                self._add(node.lineno, node.col_offset, _SHELL)

    def _check(self, method, *arguments):
        is_cell = method == "run_cell_magic"
        if method in ("system", "getoutput"):
            self._check_command(arguments[0])
        elif method != "show_usage":
            name, text, body = (*arguments, None)[:3]
            check, argument = (_CELLS if is_cell else _LINES).get(name, (Cell._forbid, "%%"))
            self._shown = f"%%{name}" if is_cell else f"%{name}"
            check(self, argument, text.strip(), body)

    # What is said of a magic, in the place of its call.

    def _say(self, verdict, text=""):
        node, at = self._node, getattr(verdict, "at", 0)
        if text and at:
            self.places.add(self._above + node.lineno, text, at, verdict)
        else:
            self._add(node.lineno, node.col_offset, verdict)

    def _refuse(self, what, advice):
        self._say((f"can't be checked: {what}", advice))

    def _forbid(self, *_):
        advice = _INSTEAD.get(self._shown.replace("%%", "%"), "write it as Python")
        self._say((f"{self._shown} is not allowed under --policy", advice))

    def _is_filled(self, text):
        """Says, and tells, whether IPython would put Python's values into a line."""
        if re.search(r"[{$]", text):
            self._refuse(self._shown, _PUT_IN)
            return True
        return False

    # Kinds of magics: what is said of them in the tables, the line behind them, the body.

    def _plain(self, pattern, text, body):
        """Magics that only show or set something: pattern is what may stand behind them."""
        if not re.fullmatch(pattern, text):
            self._refuse(self._shown, _INSTEAD.get(self._shown, _PUT_IN))

    def _bodied(self, argument, text, body):
        """Magics of a cell, by the options and names that may stand behind them, and the body."""
        pattern, kind = argument
        if not re.fullmatch(pattern, text):
            self._refuse(f"{self._shown} {text}", "leave out what stands behind it")
            text = ""
        for word in text.split():  # names that they bind
            if word[0] != "-" and (verdict := self._rules.variable(word)):
                self._say(verdict)
        if kind == _CELL:
            self._run(body, 0, _CELL)
        for verdict in commands.check_in_code(body, self._rules) if kind == _SCRIPT else ():
            self.places.add(self._above + self._node.lineno + 1, body, verdict.at, verdict)

    def _program(self, name, text, body):
        if not self._is_filled(text):
            self._check_command(f"{name} {text}")

    def _function(self, path, text, body):
        """Magics that do what a function does, and are judged as its mention."""
        verdict = None if self._is_filled(text) else self._rules.verdict(path)
        if verdict:
            self._say(verdict)

    def _install(self, name, text, body):
        for verdict in commands.check_install_line(name, text, self._rules):
            self._say(verdict)

    def _python(self, options, text, body):
        """Magics that run Python, which may stand behind such options."""
        code, shown = text[re.match(options, text).end() :], self._shown.replace("%%", "%")
        if code.startswith("-") or "--no" in code:
            self._refuse(f"{shown} {code.split()[0]}", "leave out the option")
        elif shown == "%prun" and body is not None:
            self._run(f"{code}\n{body}", -1, _TRANSFORMED)
        else:
            self._run(code, -1, _TRANSFORMED)
            self._run(body or "", 0, _TRANSFORMED)

    def _check_command(self, text):
        command = text.strip()
        if commands.is_limited(self._rules) and re.search(r"[{$]", command):
            self._say((commands.UNCLEAR[0], _PUT_IN))
            return
        for verdict in commands.check_in_code(command, self._rules):
            self._say(verdict, command)
        for code in _values(command):
            self._run(code, -1, _VALUE)

    def _run(self, code, below, how):
        """Judges the Python that a magic runs, which stands so many lines below it."""
        around = self._above, self._depth, self._source, self._node
        self._above, self._depth = self._above + self._node.lineno + below, self._depth + 1
        try:
            for source, tree in _readings(code, how):
                self.judge(source, tree)
        except (SyntaxError, ValueError) as error:
            if how != _VALUE:  # which IPython leaves as it is
                line = self._above + (getattr(error, "lineno", None) or 1)
                self.places.add(line, "", 0, ("can't be checked: what a magic runs", f"{error}"))
        self._above, self._depth, self._source, self._node = around


def _magic(node):
    """Returns the method and the texts of a call that IPython's syntax stands for."""
    method = node.func if type(node) is ast.Call and not node.keywords else None
    if type(method) is not ast.Attribute or method.attr not in _FORMS:
        return None
    texts = [each.value for each in node.args if type(each) is ast.Constant]
    is_plain = len(texts) == len(node.args) == _FORMS[method.attr]
    if ast.unparse(method.value) != "get_ipython()" or not is_plain:
        return None
    return (method.attr, *texts) if all(type(text) is str for text in texts) else None


def _readings(code, how):
    """Yields what a magic may make of its code, as (source, tree)."""
    if transformer() is None:
        raise ValueError(transform.NEEDS_IPYTHON)
    if how == _TRANSFORMED:
        code = transformer().transform_cell(code)
    if how != _CELL:
        yield code, _parse(code)
        return
    reading = read(code)
    yield reading.source, reading.tree
    if word := transform.automagic(code):
        source = transformer().transform_cell(word)
        yield source, _parse(source)


def _values(command):
    """Returns the Python that is evaluated in a command: {expression} and $name.

    What can't be read as a whole is read piece by piece, as pyworker/shell/expand.py does.
    """
    values = _DOLLAR.findall(command) + _FIELD.findall(command)
    try:
        for _, field, rest, _ in string.Formatter().parse(command):
            if field is not None:
                values.append(f"{field}:{rest}" if rest else field)
    except ValueError:
        pass
    return sorted({value.strip() for value in values})


def _each(names, *check):
    return dict.fromkeys(names.split(), check)


_WORDS = r"[\w -]*"
_CONFIG = r"""(?:InlineBackend\.\w+|InteractiveShell\.ast_node_interactivity) *=[\w .,'"\[\]-]*"""
_CAPTURED = r"(?:--no-(?:stdout|stderr|display)\s*|[A-Za-z_]\w*\s*)*"
_OF_SCRIPTS = r"(?:--(?:out|err|proc)\s+\w+\s*|--(?:bg|no-raise-error)\s*)*"
# Magics that run Python, by the options that may stand before it.
_PYTHON = {
    **_each("time", Cell._python, ""),
    **_each("timeit", Cell._python, r"(?:-(?:[nrp] ?\d+|[tcqo]+)\s+)*"),
    **_each("prun", Cell._python, r"(?:-(?:[rq]+|s \w+|l [\w.]+)\s+)*"),
}
_LINES = {
    **_PYTHON,
    **_each("lsmagic pprint pwd quickref tb", Cell._plain, ""),
    **_each("autoreload colors matplotlib reset xmode who who_ls whos", Cell._plain, _WORDS),
    **_each("pinfo pinfo2 pdoc pdef psource psearch", Cell._plain, r"[\w.*%\[\]-]*"),
    **_each("precision", Cell._plain, r"[\w.%]*"),
    **_each("config", Cell._plain, _CONFIG),
    # An extension is handed the shell, which runs anything.
    **_each("load_ext", Cell._plain, "autoreload"),
    **_each("cd", Cell._function, "os.chdir"),
    **_each("env set_env", Cell._function, "os.environ"),
    **{name: (Cell._install, name) for name in ("conda", "mamba", "micromamba", "pip", "uv")},
    **_each("! sx system", Cell._program, ""),
    **_each("ldir lf lk ll lx", Cell._program, "ls"),
    **{
        name: (Cell._program, name)
        for name in ("cat", "cp", "ls", "man", "mkdir", "more", "mv", "rm", "rmdir")
    },
}
_CELLS = {
    **_PYTHON,
    **_each("HTML SVG html latex markdown svg", Cell._bodied, (_WORDS, "")),
    **_each("capture", Cell._bodied, (_CAPTURED, _CELL)),
    **_each("bash sh", Cell._bodied, (_OF_SCRIPTS, _SCRIPT)),
    **_each("! sx system", Cell._bodied, ("", _SCRIPT)),
    **{name: (Cell._program, name) for name in ("perl", "python", "python3", "ruby")},
    **_each("script", Cell._program, ""),
    **_each("file writefile", Cell._function, "builtins.open"),
}
