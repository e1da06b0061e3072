"""IPython beside a session's executor: its shell, made when something first asks for it.

The session runs the code. The shell brings magics, the display formatter, events, and what
libraries ask get_ipython() for; its namespace is the session's __main__.
"""

import _ast
import builtins
import re
import sys
import types

from pyworker import lazy_import, sources

from . import changed, transform

INPUTS = 1000  # cells that In remembers

_NAMED = re.compile(r"\b(?:IPython|In|Out|_i|_ih|_oh)\b")
_INPUT = re.compile(r"\b_i(?:ii?|\d{1,9})?\b")
# What "pwd", "pip --version", "ls > x" and "time (f())" are to Python.
_WORDS = (_ast.Name, _ast.BinOp, _ast.Compare, _ast.Call)
_MAGICS = ("run_line_magic", "run_cell_magic")
_shell = None  # of this process, which a zygote may have made for its forks


class Notebook:
    """The notebook's side of one session."""

    def __init__(self, session):
        self._session = session
        self._adopted = False
        self._number = 0  # of the present execution
        self._inputs = []  # the shell's, which In is
        self.cell = ("", "")  # the present one: its file name, and its code as written

    def begin(self):
        """Has code find get_ipython() and its like, in a session that has just been made."""
        builtins.exit = builtins.quit = _Exit()
        if _shell is not None:
            self._adopt()
        elif lazy_import.load("importlib.util").find_spec("IPython") is not None:
            for name in ("get_ipython", "display"):
                setattr(builtins, name, self._on_first_use(name))

    @property
    def shell(self):
        """The InteractiveShell of the session, made on first use; None without IPython."""
        if not self._adopted:
            self._adopt()
        return _shell

    @property
    def is_made(self):
        """Says whether the session has asked for its shell."""
        return self._adopted and _shell is not None

    def transformers(self):
        """Returns the TransformerManager that reads cells, or what little there is without."""
        if _shell is None:
            self._adopted = False  # IPython may have been installed just now
        if self.shell is not None:
            return _shell.input_transformer_manager
        plain = lazy_import.load_own("shell.plain")
        setattr(builtins, plain.NAME, plain.Shell(self._session))
        return plain.Transformers()

    def enter(self, number, filename, code):
        """Begins a cell: In has it, and so has what runs parts of it."""
        self.cell, self._number = (filename, code), number
        if self.is_made:
            self._remember(number, code)
        elif not self._adopted and _NAMED.search(code):
            self._adopt()

    def magic_word(self, code, tree):
        """Returns a cell like "pwd" as the magic that it names, "" if it isn't one."""
        first = tree.body[0] if len(tree.body) == 1 else None
        if type(first) is not _ast.Expr or type(first.value) not in _WORDS:
            return ""
        magic = transform.automagic(code)
        name = magic[1:].split(None, 1)[0] if magic else ""
        if not name or name in vars(self._session.module) or hasattr(builtins, name):
            return ""
        return magic if self.shell is not None and _shell.automagic else ""

    def check(self, tree):
        """Raises UsageError for a magic that there isn't, before anything of its cell runs."""
        ast = lazy_import.load("ast")
        found = list(filter(None, (_magic(n) for n in ast.walk(tree) if type(n) is ast.Call)))
        if any(name in ("load_ext", "reload_ext", "alias") for _, name in found):
            return
        for kind, name in found:
            if self.shell is not None and _shell.find_magic(name, kind) is None:
                raise lazy_import.load("IPython.core.error").UsageError(_shell.advice(kind, name))

    def before(self, code):
        """Tells those who listen that a cell begins; returns what after() wants."""
        if not self._is_heard():
            return None
        interactive = lazy_import.load("IPython.core.interactiveshell")
        info = interactive.ExecutionInfo(code, True, False, True, None)
        self._trigger("pre_execute")
        self._trigger("pre_run_cell", info)
        return interactive.ExecutionResult(info)

    def after(self, result, error):
        """Tells those who listen, from this cell on perhaps, that a cell has ended."""
        if self._is_heard():
            if result is not None:
                result.error_in_exec = error
            self._trigger("post_execute")
            if result is not None:
                self._trigger("post_run_cell", result)

    def changed(self, request):
        """Returns sentences on modules that a cell imports whose files have changed since."""
        if "import" not in request["code"] or request["kind"] != "code" or self._is_heard():
            return []
        return changed.notes(request["code"], self._session.workdir.path)

    def _is_heard(self):
        """Says whether somebody, as %autoreload, listens to what happens to cells."""
        return self.is_made and any(_shell.events.callbacks.values())

    def _trigger(self, event, *arguments):
        for function in list(_shell.events.callbacks[event]):
            try:
                function(*arguments)
            except Exception as error:
                text = self._session.describer.text(error)
                print(f"what is registered for {event} failed:\n{text}", file=sys.stderr)

    def _adopt(self):
        self._adopted = True
        if make() is not None:
            self._inputs = _shell.adopt(self._session)
            if self._number:  # the cell that has asked for it
                self._remember(self._number, self.cell[1])

    def _on_first_use(self, name):
        def first(*args, **kwargs):
            for each in ("get_ipython", "display"):
                delattr(builtins, each)
            self._adopt()
            if _shell is None:  # IPython is there, and can't be imported
                raise NameError(f"name {name!r} is not defined: {transform.NEEDS_IPYTHON}")
            return getattr(builtins, name)(*args, **kwargs)

        first.__name__ = first.__qualname__ = name
        return first

    def _remember(self, number, code):
        inputs, names = self._inputs, vars(self._session.module)
        for earlier in range(len(inputs), number):  # before there was a shell
            inputs.append(sources.text(f"<cell {earlier}>"))
        inputs[number:] = [code.rstrip("\n")]
        if number > INPUTS:
            inputs[number - INPUTS] = ""
        if "_i" in code:  # made when they are asked for: names slow the comparison of variables
            for name in _INPUT.findall(code):
                back = len(name) - 1 if name[-1] == "i" else 0
                at = number - back if back else int(name[2:])
                names[name] = inputs[at] if 0 < at < number else ""


class _Exit:
    """What exit and quit are: they end the cell, and say so."""

    def __repr__(self):
        return "exit() ends the cell; the interpreter and its variables stay"

    def __call__(self, code=None):
        raise SystemExit(code)


def make():
    """Returns the process's shell, made for a module of its own; None without IPython."""
    global _shell
    if _shell is None:
        hooks = sys.displayhook, sys.excepthook
        path, sys.path = (
            sys.path,
            lazy_import.standard_path(),
        )  # a glob.py of the user's is none of IPython's
        try:
            _shell = lazy_import.load_own("shell.interactive").make(types.ModuleType("__main__"))
        except ImportError:
            return None
        except BaseException:  # half made: nobody is to find it
            if module := sys.modules.get("IPython.core.interactiveshell"):
                module.InteractiveShell.clear_instance()
            raise
        finally:
            sys.path = path
            sys.displayhook, sys.excepthook = hooks
    return _shell


def warm():
    """Makes the shell in a zygote, and runs one of each kind of magic for its forks.

    What they import and fill is then shared, and a session that uses them writes little.
    """
    try:
        if (shell := make()) is None:
            return
        if hasattr(shell.magics_manager, "load_all_lazy_magics"):  # since IPython 9
            shell.magics_manager.load_all_lazy_magics()
        shell.display_formatter.format(1)
        shell.transform_cell("%who\nx = !ls {x} $y\nlen?\n")
        shell.transform_cell("%%time\n1\n")
        shell.var_expand("$x {x}")
        with lazy_import.load("contextlib").redirect_stdout(lazy_import.load("io").StringIO()):
            shell.run_line_magic("who", "")
            shell.run_line_magic("time", "1")
            shell.run_line_magic("pinfo", "len")
        lazy_import.load_own("shell.shell")
    except Exception as error:  # of another version of IPython, say
        print(f"IPython can't be prepared: {type(error).__name__}: {error}", file=sys.stderr)


def _magic(call):
    """Returns ("line" or "cell", name) of a call that runs a magic, else None."""
    function = call.func
    if getattr(function, "attr", None) not in _MAGICS or not call.args:
        return None
    receiver, name = function.value, getattr(call.args[0], "value", None)
    if getattr(getattr(receiver, "func", None), "id", None) != "get_ipython":
        return None
    return (function.attr.split("_")[1], name) if isinstance(name, str) else None
