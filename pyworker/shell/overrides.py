"""Magics of ours, over IPython's of the same names: those that run programs, and a few settings."""

import shlex
import subprocess

from pyworker import lazy_import

from . import expand

_PROGRAMS = ("conda", "mamba", "micromamba")
_INTERPRETERS = ("bash", "sh", "python", "python3", "perl", "ruby")


def register(shell):
    """Puts our magics over IPython's."""
    ours, known = _Magics(shell), shell.magics_manager.magics
    partial = lazy_import.load("functools").partial
    known["line"].update({name: partial(ours.program, name) for name in _PROGRAMS})
    for name in ("pip", "uv", "config", "lsmagic", "pdb"):
        known["line"][name] = getattr(ours, name)
    known["cell"].update({name: partial(ours.script, name) for name in _INTERPRETERS})
    known["cell"]["script"] = partial(ours.script, "")


class _Magics:
    def __init__(self, shell):
        self._shell = shell
        self._config = shell.find_line_magic("config")
        self._lsmagic = shell.find_line_magic("lsmagic")

    def pip(self, line):
        """Runs pip for the session's environment: %pip install NAME."""
        self._shell.session.shell().run_pip(line)

    def uv(self, line):
        """Runs uv; %uv pip install NAME installs into the session's environment."""
        verb, _, rest = line.strip().partition(" ")
        if verb == "pip":
            return self.pip(rest)
        self._shell.system(f"uv {line}")

    def program(self, name, line):
        """Runs the program that has the magic's name."""
        self._shell.system(f"{name} {line}")

    def config(self, line):
        """Sets a setting of IPython's; those of the inline backend change nothing here."""
        if not line.strip().startswith("InlineBackend"):
            return self._config(line)

    def lsmagic(self, line):
        """Lists the magics."""
        print(self._lsmagic(line))

    def pdb(self, line):
        """Says what to do in the place of a debugger that opens by itself."""
        print("the debugger doesn't open by itself here; after an exception, use %debug")

    def script(self, name, line, cell):
        """Has a program run the body of the cell."""
        shell = self._shell
        usage = lazy_import.load("IPython.core.error").UsageError
        parser = lazy_import.load("IPython.core.magics.script").ScriptMagics.shebang.parser
        options, argv = parser.parse_known_args(shlex.split(f"{name} {line}"))
        if not argv:
            raise usage("%%script wants the name of a program")
        if argv[0] in ("bash", "sh") and (unseen := expand.pythons(cell, shell.user_ns)):
            raise usage(
                f"${unseen} is Python's, and a script of {argv[0]} does not see it: nothing was "
                f"run. Write {unseen}=VALUE in the script, set os.environ[{unseen!r}] first, or "
                "use lines that begin with !, which take Python's values"
            )
        runner, kept = shell.session.shell(), {"out": options.out, "err": options.err}
        if options.bg:
            process = runner.start_script(argv, cell)
            return shell.user_ns.update({options.proc: process} if options.proc else {})
        printed, code = runner.run_script(argv, cell, [end for end in kept if kept[end]])
        shell.user_ns.update((name, text) for name, text in zip(kept.values(), printed) if name)
        if code and options.raise_error:
            raise subprocess.CalledProcessError(code, f"%%{argv[0]}")
