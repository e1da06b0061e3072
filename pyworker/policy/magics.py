"""Judges magics: the calls of get_ipython() that IPython's syntax stands for.

    %name line          get_ipython().run_line_magic('name', 'line')
    %%name line, body   get_ipython().run_cell_magic('name', 'line', 'body')
    !command            get_ipython().system('command'), or getoutput where it is assigned

Such a call is taken out of the tree, and what it runs is judged: Python as Python, commands
as commands. Whatever else asks for get_ipython stays in the tree and is refused.
"""

import ast
import re
import string
from typing import NamedTuple

from pyworker.policy import commands
from pyworker.policy.commands import Verdict

_FORMS = {"run_line_magic": 2, "run_cell_magic": 3, "system": 1, "getoutput": 1, "show_usage": 0}
_WORDS = r"[\w -]*"

# Magics of a line that only show or set something, by what may stand behind them.
_HARMLESS = {
    **dict.fromkeys(("lsmagic", "pprint", "pwd", "quickref", "tb"), ""),
    **dict.fromkeys(("autoreload", "colors", "matplotlib", "reset", "xmode"), _WORDS),
    **dict.fromkeys(("who", "who_ls", "whos"), _WORDS),
    **dict.fromkeys(("pinfo", "pinfo2", "pdoc", "pdef", "psource", "psearch"), r"[\w.*%\[\]-]*"),
    "precision": r"[\w.%]*",
}
# Those of a cell whose body is only shown.
_SHOWN = frozenset(("HTML", "SVG", "html", "latex", "markdown", "svg"))
# Magics that do what a function does, and are judged as its mention.
_AS_FUNCTION = {
    "cd": "os.chdir",
    "env": "os.environ",
    "set_env": "os.environ",
    "file": "builtins.open",
    "writefile": "builtins.open",
}
# Magics that run Python, by the options that may stand before it.
_PYTHON = {
    "time": "",
    "timeit": r"(?:-(?:[nrp] ?\d+|[tcqo]+)\s+)*",
    "prun": r"(?:-(?:[rq]+|s \w+|l [\w.]+)\s+)*",
}
_CAPTURE = r"(?:--no-(?:stdout|stderr|display)\s*|[A-Za-z_]\w*\s*)*"
_SCRIPT = r"(?:--(?:out|err|proc)\s+\w+\s*|--(?:bg|no-raise-error)\s*)*"
_INSTALLERS = frozenset(("conda", "mamba", "micromamba", "pip", "uv"))
_LINES = frozenset(("!", "sx", "system"))  # of the shell, whose output is a list
_SHELLS = frozenset(("bash", "sh"))
_PROGRAMS = frozenset(("perl", "python", "python3", "ruby"))
_ALIASES = {  # of commands
    **{name: name for name in ("cat", "cp", "ls", "man", "mkdir", "more", "mv", "rm", "rmdir")},
    **dict.fromkeys(("ldir", "lf", "lk", "ll", "lx"), "ls"),
}
_CONFIG = re.compile(r"(?:InlineBackend\.\w+|InteractiveShell\.ast_node_interactivity)\s*=(.*)")
_DOLLAR = re.compile(r"\$\{?([A-Za-z_][\w.]*)")
_FIELD = re.compile(r"\{([^{}]+)\}")
_MOST_NESTED = 8  # magics in the bodies of magics
_PUT_IN = "Python's values are not put into it under --policy; write the value itself"


# How the Python is read that magics run: as by transform_cell(), as a cell, or as it is.
TRANSFORMED, CELL, VALUE = "transformed", "cell", "value"


class Call(NamedTuple):
    """A call that IPython's syntax stands for."""

    node: object
    method: str
    arguments: list


def take(tree):
    """Takes such calls out of a tree, in whose places nothing of note stays; returns them."""
    calls = []
    for node in ast.walk(tree):
        call = _read(node) if type(node) is ast.Call else None
        if call is not None:
            calls.append(call)
            node.func, node.args = ast.copy_location(ast.Constant(None), node), []
    return calls


def _read(node):
    function = node.func
    if type(function) is not ast.Attribute or node.keywords:
        return None
    shell = function.value
    if not (type(shell) is ast.Call and type(shell.func) is ast.Name):
        return None
    if shell.func.id != "get_ipython" or shell.args or shell.keywords:
        return None
    texts = [each.value for each in node.args if type(each) is ast.Constant]
    if len(texts) != len(node.args) or len(texts) != _FORMS.get(function.attr):
        return None
    return Call(node, function.attr, texts) if all(type(t) is str for t in texts) else None


class Magics:
    """Judges the magics of one piece of code.

    judge(code, lines, how) judges what they run as Python, which stands below so many lines.
    report(line, verdict, text) takes what is wrong: at the offset that the verdict has in the
    text, if there is one.
    """

    def __init__(self, rules, judge, report):
        self._rules, self._judge, self._report = rules, judge, report

    def check(self, line, method, arguments, depth):
        """Judges one call."""
        if depth > _MOST_NESTED:
            self._refuse(line, "magics in magics", "they are too many, one in the other")
        elif method in ("system", "getoutput"):
            self._check_command(line, arguments[0])
        elif method == "run_line_magic":
            self._check_line(line, *arguments)
        elif method == "run_cell_magic":
            self._check_cell(line, *arguments)

    def _refuse(self, line, what, advice, text=""):
        self._report(line, Verdict(f"can't be checked: {what}", advice), text)

    def _take(self, line, verdicts, text=""):
        for verdict in verdicts:
            if verdict is not None:
                self._report(line, Verdict(*verdict), text)

    # One line.

    def _check_line(self, line, name, text):
        text = text.strip()
        if name in _PYTHON:
            self._check_python(line, name, text, None)
        elif name in _INSTALLERS:
            verdicts = commands.check_install_line(name, text, self._rules)
            self._take(line, verdicts, f"%{name}")
        elif name in _LINES and not self._is_filled(line, name, text):
            self._check_command(line, text)
        elif name in _ALIASES and not self._is_filled(line, name, text):
            self._check_command(line, f"{_ALIASES[name]} {text}")
        elif name not in ("writefile", "file"):
            self._check_other(line, name, text)
        else:
            self._forbid(line, f"%{name}")

    def _check_other(self, line, name, text):
        if name in _AS_FUNCTION:
            if not self._is_filled(line, name, text):
                self._take(line, [self._rules.verdict(_AS_FUNCTION[name])])
        elif name == "load_ext":
            self._check_extension(line, text)
        elif name == "config":
            if not _is_setting(text):
                self._refuse(line, "%config", "set InlineBackend.NAME to a plain value, or leave")
        elif name not in _HARMLESS:
            self._forbid(line, f"%{name}")
        elif not re.fullmatch(_HARMLESS[name], text):
            self._refuse(line, f"%{name}", _PUT_IN)

    def _forbid(self, line, shown):
        advice = _INSTEAD.get(shown, "write it as Python")
        self._report(line, Verdict(f"{shown} is not allowed under --policy", advice), "")

    def _is_filled(self, line, name, text):
        """Says, and reports, whether IPython would put Python's values into a line."""
        if not re.search(r"[{$]", text):
            return False
        self._refuse(line, f"%{name}", _PUT_IN)
        return True

    def _check_extension(self, line, text):
        if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
            self._refuse(line, "%load_ext", _PUT_IN)
        elif text != "autoreload":  # it is handed the shell, which runs anything
            self._refuse(line, "%load_ext", "load autoreload only")

    # A cell.

    def _check_cell(self, line, name, text, body):
        text = text.strip()
        if name in _PYTHON:
            self._check_python(line, name, text, body)
        elif name == "capture":
            self._check_names(line, name, text, _CAPTURE)
            self._judge(body, line, CELL)
        elif name in _SHELLS:
            self._check_names(line, name, text, _SCRIPT)
            self._check_script(line, body)
        elif name in _LINES:
            self._check_names(line, name, text, "")
            self._check_script(line, body)
        elif name in _PROGRAMS or name == "script":
            program = text if name == "script" else f"{name} {text}"
            if not self._is_filled(line, f"%{name}", text):
                self._check_command(line, program)
        elif name in ("file", "writefile"):
            self._check_other(line, name, text)
        elif name in _SHOWN:
            self._check_names(line, name, text, _WORDS)
        else:
            self._forbid(line, f"%%{name}")

    def _check_names(self, line, name, text, pattern):
        """Checks the line of a magic that may bind names."""
        if not re.fullmatch(pattern, text):
            self._refuse(line, f"%%{name} {text}", "leave out what stands behind it")
            return
        for word in text.split():
            if word[0] != "-":
                self._take(line, [self._rules.variable(word)])

    # What they run.

    def _check_python(self, line, name, text, body):
        code = text[re.match(_PYTHON[name], text).end() :]
        if code.startswith("-") or "--no" in code:
            self._refuse(line, f"%{name} {code.split()[0]}", "leave out the option")
        elif name == "prun" and body is not None:
            self._judge(f"{code}\n{body}", line - 1, TRANSFORMED)
        else:
            self._judge(code, line - 1, TRANSFORMED)
            if body is not None:
                self._judge(body, line, TRANSFORMED)

    def _check_command(self, line, text):
        command = text.strip()
        has_values = re.search(r"[{$]", command) is not None
        if has_values and commands.is_limited(self._rules):
            self._report(line, Verdict(commands.UNCLEAR[0], _PUT_IN), command)
            return
        self._take(line, commands.check_in_code(command, self._rules), command)
        for code in _values(command):
            self._judge(code, line - 1, VALUE)

    def _check_script(self, line, body):
        for verdict in commands.check_in_code(body, self._rules):
            below, column = commands.place(body, verdict.at)
            self._report(line + below, verdict._replace(at=column - 1), "")


_INSTEAD = {
    "%run": "what a file holds can't be checked; write its code here, or import it",
    "%load": "write the code itself",
    "%debug": "no debugger runs under a policy; print what you need",
    "%javascript": "no scripts run in what is shown",
}


def _is_setting(text):
    match = _CONFIG.fullmatch(text)
    if match is None or re.search(r"[{$]", text):
        return False
    try:
        ast.literal_eval(match[1].strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


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
