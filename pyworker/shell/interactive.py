"""The InteractiveShell that get_ipython() returns: IPython's, with the server's parts in it."""

import atexit
import builtins
import json
import os
import sys
import tempfile

from pyworker import lazy_import

from . import expand


class _Ours:
    """What is ours over IPython's class."""

    session = None
    # As In tells it: a trait that is set for each cell takes three quarters of Notebook.enter().
    execution_count = property(
        lambda self: max(1, len(self.history_manager.input_hist_parsed) - 1), lambda *_: None
    )

    # Of the settings that IPython makes at its start the session keeps its own.

    def init_virtualenv(self):
        """Leaves sys.path as it is."""

    def init_sys_modules(self):
        """Leaves sys.modules as it is."""

    def init_prompts(self):
        """Leaves sys.ps1 unset: it makes libraries wait for a person."""

    def init_profile_dir(self, profile_dir):
        """Makes none: see _profile_dir_default."""

    def _profile_dir_default(self):
        os.makedirs(self.ipython_dir, exist_ok=True)
        kind = lazy_import.load("IPython.core.profiledir").ProfileDir
        return kind.create_profile_dir_by_name(self.ipython_dir, "default")

    def init_user_ns(self):
        """Has In, Out and get_ipython be builtins, so that they are no variables."""
        history = self.history_manager
        if self.session is not None:
            history.output_hist = self.session.outputs.out
        inputs, outputs = history.input_hist_parsed, history.output_hist
        vars(builtins).update(In=inputs, Out=outputs, get_ipython=self.get_ipython)
        self.user_ns.update(_ih=inputs, _oh=outputs, _dh=history.dir_hist)
        hidden = ("_ih", "_oh", "_dh", "__builtin__", "__builtins__")
        self.user_ns_hidden.update(dict.fromkeys(hidden))

    def init_display_formatter(self):
        """Has values formatted as a model reads them."""
        self.display_formatter = lazy_import.load_own("display.mime").make(self)

    def init_history(self):
        """Makes a history that is kept in memory alone."""
        manager = lazy_import.load("IPython.core.history").HistoryManager
        kind = type(manager)("History", (_Remembered, manager), {})
        self.history_manager = kind(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def adopt(self, session):
        """Takes a session's __main__ for its own; returns the list that In is."""
        self.session, module, history = session, session.module, self.history_manager
        # Set without notice: who hears of it has the directory made at once, where it may not be.
        self._trait_values["ipython_dir"] = os.path.join(session.private_dir, "ipython")
        self.user_module, self.user_ns = module, vars(module)
        self.user_ns_hidden.clear()
        self.ns_table.update(user_global=vars(module), user_local=vars(module))
        self.Completer.namespace = self.Completer.global_namespace = vars(module)
        self.init_user_ns()
        history.input_hist_raw = history.input_hist_parsed
        return history.input_hist_parsed

    # The session runs commands and code, and its record shows how they failed.

    def var_expand(self, cmd, depth=0, formatter=None, expanded=expand.expand):
        """Puts Python's values in; depth counts the frames up to the one that has locals."""
        names = dict(self.user_ns)
        try:
            names.update(sys._getframe(depth + 1).f_locals)
        except ValueError:
            pass  # the stack isn't so deep
        try:
            return expanded(cmd, names)
        except ValueError as error:
            raise lazy_import.load("IPython.core.error").UsageError(str(error)) from None

    def system(self, cmd):
        """Runs a line of the shell's."""
        self.session.shell().run_line(self.var_expand(cmd, 1, expanded=expand.prepared))

    system_piped = system_raw = system

    def getoutput(self, cmd, split=True, depth=0):
        """Runs a line of the shell's; returns the lines that it printed."""
        line = self.var_expand(cmd, depth + 1, expanded=expand.prepared)
        text = self.session.shell().run_line(line, captured=True)
        kinds = lazy_import.load("IPython.utils.text")
        return kinds.SList(text.splitlines()) if split else kinds.LSString(text)

    def run_cell(self, raw_cell, store_history=False, silent=False, *args, **more):
        """Runs a cell as the session does; what it raises is raised here."""
        self.session.run_inside(raw_cell, not silent)
        interactive = lazy_import.load("IPython.core.interactiveshell")
        info = interactive.ExecutionInfo(raw_cell, store_history, silent, True, None)
        return interactive.ExecutionResult(info)

    def transform_cell(self, raw_cell):
        """Reads what a magic runs: as it was judged, so no word of it becomes a magic."""
        return self.input_transformer_manager.transform_cell(raw_cell)

    def run_cell_magic(self, magic_name, line, cell):
        """Runs a magic; what it compiles has the lines of the cell that it stands in."""
        compiler, outer = self.compile, self.compile.body
        compiler.body = cell
        try:
            return super().run_cell_magic(magic_name, line, cell)
        finally:
            compiler.body = outer

    def safe_execfile(self, fname, *where, exit_ignore=False, **more):
        """Runs a file; what it raises goes on to the cell."""
        try:
            super().safe_execfile(fname, *where, **{**more, "raise_exceptions": True})
        except SystemExit:
            if not exit_ignore:
                raise

    def safe_execfile_ipy(self, fname, shell_futures=False, raise_exceptions=True):
        """Runs the cells of a notebook, or a file in its dialect."""
        with open(os.path.expanduser(fname), encoding="utf-8") as file:
            text = file.read()
        cells = [text]
        if str(fname).endswith(".ipynb"):
            found = json.loads(text)["cells"]
            cells = ["".join(c["source"]) for c in found if c["cell_type"] == "code"]
        for cell in cells:
            self.run_cell(cell, silent=True)

    def showtraceback(self, exc_tuple=None, *args, **more):
        """Raises what IPython would show, or shows what an earlier cell has raised."""
        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if error is not None:
            raise error
        last = getattr(sys, "last_value", None)
        print(self.session.describer.text(last) if last else "there was no exception")

    def debugger(self, force=False):
        """Opens the debugger where the last exception was raised."""
        last = getattr(sys, "last_value", None)
        if last is None:
            raise lazy_import.load("IPython.core.error").UsageError(
                "there was no exception to debug"
            )
        lazy_import.load("pdb").post_mortem(last.__traceback__)

    def set_next_input(self, s, replace=False):
        """Prints what a notebook would put into its next cell."""
        print(s)

    def enable_gui(self, gui=None):
        """Does nothing: no window is ever opened."""

    def enable_matplotlib(self, gui=None):
        """Does nothing: figures are captured whatever is asked for."""
        return "inline", "inline"

    def magic(self, arg_s):
        """Runs a line magic, as older notebooks call it."""
        name, _, line = arg_s.lstrip("%").partition(" ")
        return self.run_line_magic(name, line.strip(), _stack_depth=2)

    def advice(self, kind, name):
        """Says that there is no such magic, and what is near."""
        percent, other = ("%", "cell") if kind == "line" else ("%%", "line")
        if self.find_magic(name, other) is not None:
            right = ("%%" if other == "cell" else "%") + name
            return f"{percent}{name} is not there, but {right} is; nothing of the cell was run"
        known = [*self.magics_manager.lsmagic()[kind], *self.magics_manager.lsmagic()["line"]]
        near = lazy_import.load("difflib").get_close_matches(name, known, 1)
        said = f"; is {percent}{near[0]} meant?" if near else "; %lsmagic lists them."
        return f"there is no magic {percent}{name}{said} Nothing of the cell was run"


class _Remembered:
    """Finds the last inputs in memory; over IPython's history."""

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        """Returns the last n inputs, the present one not among them."""
        inputs = self.input_hist_raw if raw else self.input_hist_parsed
        end = len(inputs) - (not include_latest)
        chosen = range(max(1, end - (n or 10)), end)
        return [
            (0, i, (inputs[i], self.output_hist.get(i)) if output else inputs[i]) for i in chosen
        ]


class _Compiler:
    """Compiles for magics that run the body of a cell; over IPython's own compiler."""

    body = None  # of the cell magic that runs
    shell = None

    def ast_parse(self, source, filename="<unknown>", symbol="exec"):
        """Parses source; the body of a cell keeps the numbers of its lines there."""
        if self.body is not None and self.shell.session is not None:
            filename, code = self.shell.session.notebook.cell
            lead = len(code) - len(code.lstrip("\r\n")) + 1  # lines, that of the magic too
            source = "\n" * lead + source
        return super().ast_parse(source, filename, symbol)

    def __call__(self, source, filename, symbol):
        if filename.startswith("<timed") and self.body is not None:
            filename = self.shell.session.notebook.cell[0]
        return super().__call__(source, filename, symbol)


def make(module):
    """Makes the process's shell, with a module for its __main__."""
    module_of_shells = lazy_import.load("IPython.core.interactiveshell")
    interactive = module_of_shells.InteractiveShell
    modern = lazy_import.load("IPython").version_info >= (9,)
    caching = lazy_import.load("IPython.core.compilerop").CachingCompiler
    publisher = lazy_import.load_own("display.publisher").publisher_class()
    config = lazy_import.load("traitlets.config").Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    observe = lazy_import.load("traitlets").observe("ipython_dir")
    # IPython makes the directory as soon as it is named; here only what keeps something does.
    names = {"_ipython_dir_changed": observe(lambda *_: None)}
    kind = type(interactive)("NotebookShell", (_Ours, interactive), names)
    shell = kind.instance(
        config=config,
        user_module=module,
        ipython_dir=os.path.join(tempfile.gettempdir(), "ipython-unused"),
        display_pub_class=publisher,
        compiler_class=type("Compiler", (_Compiler, caching), {}),
        colors="nocolor" if modern else "NoColor",
        autoawait=False,
    )
    shell.compile.shell = shell
    shell.last_execution_result = module_of_shells.ExecutionResult(None)  # which %xdel looks into
    atexit.unregister(shell.atexit_operations)
    for callbacks in shell.events.callbacks.values():  # IPython's own, for what it runs itself
        callbacks.clear()
    shell.input_transformer_manager = lazy_import.load_own("shell.transform").manager()
    shell.set_hook("show_in_pager", _print, 0)
    for name, command in shell.alias_manager.aliases:  # no colours
        shell.alias_manager.define_alias(name, command.replace(" --color", ""))
    lazy_import.load_own("shell.overrides").register(shell)
    return shell


def _print(_shell, data, *args, **more):
    """Prints what IPython would show in a pager."""
    print(data.get("text/plain", "") if isinstance(data, dict) else data)
