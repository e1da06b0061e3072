"""The packages that a session and its branches have installed for themselves.

They are in a virtual environment of their own, on top of the interpreter's, which it
does not change: pip finds there what the interpreter has, and adds what is missing.
The session is no process of that environment. It only has its packages on the path,
before the interpreter's own, so that a newer version is the one that is imported.
"""

import os
import sys

_BASE = "understudy_base.pth"  # names the interpreter's own packages; written last


class Environment:
    """What the server says of the environment of this Python: see protocol.go."""

    def __init__(self, said):
        self.name = said.get("name", "this Python")
        self.shared_by = said.get("shared_by", "every program that runs it")
        self.uv = said.get("uv", False)
        self.own = said.get("own", "")
        self.no_pip = said.get("no_pip", False)
        self.no_shell = said.get("no_shell", False)
        self.install = said.get("install", False)


class Packages:
    """Where one session finds what it has installed."""

    def __init__(self, place, confined, hosts):
        self.confined = confined  # the interpreter's own environment can't be written to
        self.hosts = hosts  # that can be reached, as pypi.org; None: any
        self.root = ""  # the environment; "" while there is no place for one
        self.site = ""  # its packages
        self._place = place

    def find(self, root):
        """Takes the environment at root; it may not be made yet, but by a branch by now."""
        if not root:
            return
        if root != self.root:
            self.root, self.site = root, _site_of(root)
        if not self._place.has(self.site) and os.path.isdir(self.site):
            self._place.add(self.site)
            _tell_children(self.site)

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
        if os.name == "nt":
            return os.path.join(self.root, "Scripts", "python.exe")
        return os.path.join(self.root, "bin", "python")


def _site_of(root):
    if os.name == "nt":
        return os.path.join(root, "Lib", "site-packages")
    free = "t" if "t" in getattr(sys, "abiflags", "") else ""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}{free}"
    return os.path.join(root, "lib", version, "site-packages")


def _tell_children(site):
    """Has the Pythons that the session starts find the packages too."""
    rest = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [site, rest]))
