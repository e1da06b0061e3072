"""The InteractiveShell that get_ipython() returns: IPython's, with the server's parts in it."""

import atexit
import builtins
import os
import tempfile

from pyworker import late


class _Ours:
    """What is ours over IPython's class."""

    session = None

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
        profiles = late.load("IPython.core.profiledir").ProfileDir
        try:
            os.makedirs(self.ipython_dir, exist_ok=True)
            return profiles.create_profile_dir_by_name(self.ipython_dir, "default")
        except OSError:
            self.ipython_dir = tempfile.mkdtemp(prefix="ipython-")
            return profiles.create_profile_dir_by_name(self.ipython_dir, "default")

    def init_user_ns(self):
        """Has In, Out and get_ipython be builtins, so that they are no variables."""
        history = self.history_manager
        if history is not None:
            vars(builtins).update(In=history.input_hist_parsed, Out=history.output_hist)
            self.user_ns.update(
                _ih=history.input_hist_parsed, _oh=history.output_hist, _dh=history.dir_hist
            )
        builtins.get_ipython = self.get_ipython
        self.user_ns_hidden.update(self.user_ns)

    def system(self, cmd):
        """Runs a line of the shell's."""
        self.session.shell().run_line(self.var_expand(cmd, depth=1))

    def getoutput(self, cmd, split=True, depth=0):
        """Runs a line of the shell's; returns the lines that it printed."""
        text = self.session.shell().run_line(self.var_expand(cmd, depth=depth + 1), captured=True)
        kinds = late.load("IPython.utils.text")
        return kinds.SList(text.splitlines()) if split else kinds.LSString(text)

    def init_display_formatter(self):
        """Has values formatted as a model reads them."""
        self.display_formatter = late.load_own("display.formatter").make(self)

    def adopt(self, session):
        """Takes a session's __main__ for its own."""
        self.session, module = session, session.module
        self.ipython_dir = os.path.join(session.private_dir, "ipython")
        self.user_module, self.user_ns = module, vars(module)
        self.user_ns_hidden.clear()
        self.ns_table.update(user_global=vars(module), user_local=vars(module))
        if self.Completer is not None:
            self.Completer.namespace = self.Completer.global_namespace = vars(module)
        self.init_user_ns()


def make(module):
    """Makes the process's shell, with a module for its __main__."""
    interactive = late.load("IPython.core.interactiveshell").InteractiveShell
    publisher = late.load_own("display.publisher").publisher_class()
    config = late.load("traitlets.config").Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    kind = type(interactive)("NotebookShell", (_Ours, interactive), {})
    shell = kind.instance(
        config=config,
        user_module=module,
        ipython_dir=os.path.join(tempfile.gettempdir(), "ipython-unused"),
        display_pub_class=publisher,
        colors="nocolor",
        autoawait=False,
    )
    atexit.unregister(shell.atexit_operations)
    shell.input_transformer_manager = late.load_own("shell.transform").manager()
    return shell
