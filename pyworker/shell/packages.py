"""The packages that a session and its branches have installed for themselves.

They are in a virtual environment of their own, on top of the interpreter's, which it
does not change: pip finds there what the interpreter has, and adds what is missing.
The session is no process of that environment. It only has its packages on the path,
before the interpreter's own, so that a newer version is the one that is imported.
"""

import os
import types

from pyworker import lazy_import

_BASE = "understudy_base.pth"  # names the interpreter's own packages; written last
_SCHEME = "nt" if os.name == "nt" else "posix_prefix"  # of the layout of environments
_ENVIRONMENT = {
    "name": "this Python",
    "shared_by": "every program that runs it",
    "uv": False,
    "own": "",
    "no_pip": False,
    "no_shell": False,
    "install": False,
}


def environment(said):
    """Returns what the server says of the environment of this Python: see protocol.go."""
    return types.SimpleNamespace(**_ENVIRONMENT | said)


class Packages:
    """Where one session finds what it has installed."""

    def __init__(self, workdir, confined, hosts):
        self.confined = confined  # the interpreter's own environment can't be written to
        self.hosts = hosts  # that can be reached, as pypi.org; None: any
        self.root = ""  # the environment; "" while there is no place for one
        self.site = ""  # its packages
        self._workdir = workdir

    def find(self, root):
        """Takes the environment at root; it may not be made yet, but by a branch by now."""
        if root != self.root and root:
            self.root, self.site = root, _path("purelib", root)
        if self.site and not self._workdir.has(self.site) and os.path.isdir(self.site):
            self._workdir.add(self.site)
            # The Pythons that the session starts find the packages too.
            rest = os.environ.get("PYTHONPATH", "")
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [self.site, rest]))

    def is_used(self):
        """Says whether %pip installs into it, as the interpreter's own is closed."""
        return self.confined and bool(self.root)

    def is_made(self):
        """Says whether the environment can be used."""
        return os.path.exists(os.path.join(self.site, _BASE))

    def finish(self, folders):
        """Has the environment find the interpreter's own packages, in these folders."""
        with open(os.path.join(self.site, _BASE), "w", encoding="utf-8") as file:
            file.writelines(f"{folder}\n" for folder in folders)
        self.find(self.root)

    def python(self):
        """Returns the path of the Python that installs into the environment."""
        return python_of(self.root)


def python_of(environment):
    """Returns the path of the Python of a virtual environment."""
    return os.path.join(
        _path("scripts", environment), "python.exe" if os.name == "nt" else "python"
    )


def _path(kind, environment):
    folders = {"base": environment, "platbase": environment}
    return lazy_import.load("sysconfig").get_path(kind, _SCHEME, folders)
