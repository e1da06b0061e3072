"""Lines for the shell where IPython is not installed: !command, %pip and its like, no more.

A project's environment seldom has IPython, and "%pip install NAME" is what an answer says of
a module that is missing.
"""

import re
import sys

from . import expand

NAME = "__shell__"  # the builtin that such a line becomes a call of
_INSTALLERS = "pip|uv|conda|mamba"
_LINE = re.compile(
    r"(?m)^([ \t]*(?:[A-Za-z_]\w*[ \t]*=[ \t]*)?)"
    rf"(?:!(?![!=])[ \t]*(\S.*)|%({_INSTALLERS})(?:[ \t]+(.*))?)$"
)


class Transformers:
    """Stands in for IPython's TransformerManager."""

    def transform_cell(self, cell):
        """Returns the cell with its lines for the shell as calls."""
        return _LINE.sub(_as_call, cell)


def _as_call(match):
    before, command, installer, rest = match.groups()
    if installer:
        return f"{before}{NAME}.install({installer!r}, {rest or ''!r})"
    return f"{before}{NAME}.{'getoutput' if '=' in before else 'system'}({command!r})"


class Shell:
    """What the calls are of."""

    def __init__(self, session):
        self._session = session

    def system(self, command):
        """Runs a line of the shell's."""
        self._session.shell().run_line(self._expanded(command))

    def getoutput(self, command):
        """Runs a line of the shell's; returns the lines that it printed."""
        text = self._session.shell().run_line(self._expanded(command), captured=True)
        return text.splitlines()

    def install(self, program, line):
        """Runs pip for the session's environment, or another installer."""
        line = self._expanded(line)
        if program == "pip":
            self._session.shell().run_pip(line)
        else:
            self._session.shell().run_line(f"{program} {line}")

    def _expanded(self, command):
        names = {**vars(self._session.module), **sys._getframe(2).f_locals}
        return expand.prepared(command, names)
