"""Installs packages for a session and its branches, with pip or uv.

pip comes first: it sees what the interpreter has and adds only what is missing, where
uv would install all that a package needs once more.
"""

import contextlib
import os
import re
import sys

from pyworker import lazy_import

from . import missing
from .packages import python_of

MOST_NOTES = 5
NO_TOOL = (
    "there is neither a pip in it nor uv on the PATH to install with; !python -m ensurepip puts "
    "pip into it, or ask the user"
)
_QUIETLY = ("--disable-pip-version-check", "--no-input")
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def install(session, arguments):
    """Installs arguments["packages"] into the session's own environment.

    arguments["hosts"] can be reached: none where it is empty, any where it is missing. Returns
    (exit code, record, sentences for the reader); the record's "installed" is a list of
    {"name", "version", "before" if there was one}.
    """
    packages, hosts = session.packages, arguments.get("hosts")
    if not packages.root:
        raise RuntimeError("this interpreter has no place for packages")
    with _alone(packages.root):
        watch = Watch(packages, own=True)
        code = make(packages, session.shell())
        if not code:
            wanted = arguments["packages"]
            options = _options(packages, session.environment, wanted, offline=hosts == [])
            words = ["install", *options, "--", *wanted]
            line = argv(packages.python(), words, session.environment)
            code = session.shell().run_program(line)
    lazy_import.load("importlib").invalidate_caches()
    changes, installed = watch.changes(), []
    for found, before in changes:
        record = {"name": found.metadata["Name"], "version": found.version}
        installed.append(record | ({"before": before} if before else {}))
    notes = about_imported(changes)
    if code and hosts is not None:
        notes.append(missing.about_network(hosts))
    return code, {"installed": installed}, notes


def make(packages, shell):
    """Makes the environment if there is none yet; returns an exit code."""
    if packages.is_made():
        return 0
    code = shell.run_program([sys.executable, "-I", "-m", "venv", "--without-pip", packages.root])
    if not code:
        packages.finish(_own_folders())
    return code


@contextlib.contextmanager
def _alone(root):
    """Keeps branches from installing into the environment at the same time."""
    try:
        fcntl = lazy_import.load("fcntl")
    except ImportError:
        yield
        return
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, ".installing"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for the installation in another branch", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def tool(environment):
    """Returns what installs: "pip", uv's path, a Python's of setup, which has pip, or ""."""
    if _has_pip():
        return "pip"
    if uv := lazy_import.load("shutil").which("uv"):
        return uv
    python = python_of(environment.own) if environment.own else ""
    return python if os.path.exists(python) else ""


def argv(python, words, environment):
    """Returns the command line of a %pip for the environment of a Python.

    Environments that uv has made have no pip.
    """
    chosen = tool(environment)
    if chosen == "pip":
        return [*_pip(python), *_QUIETLY, *words]
    if not chosen:
        return [python, "-I", "-c", "import sys; sys.exit(sys.argv[1])", f"%pip: {NO_TOOL}"]
    if _is_uv(chosen):
        return [chosen, "--color", "never", "pip", *words[:1], "--python", python, *words[1:]]
    return [*_pip(chosen), "--python", python, *_QUIETLY, *words]


def _options(packages, environment, wanted, offline):
    """Returns the options for an installation into an environment of the session's own."""
    if not _is_uv(tool(environment)):
        quietly = ["--no-color", "--progress-bar", "off", "--no-warn-script-location"]
        return [*quietly, *(["--no-index"] if offline else [])]
    # uv takes the versions that the interpreter has, but for what was asked for: others
    # would not go with libraries that are compiled for these.
    asked = {_normal(match[1]) for match in map(_NAME.match, wanted) if match}
    path = os.path.join(packages.root, "constraints.txt")
    with open(path, "w", encoding="utf-8") as file:
        for name, (version, _) in _found(_own_folders()).items():
            if name not in asked:
                file.write(f"{name}=={version}\n")
    more = ["--offline"] if offline else []
    return ["--link-mode", "copy", "--constraints", path, *more]


def _is_uv(chosen):
    return os.path.basename(chosen).startswith("uv")


def _has_pip():
    return (
        lazy_import.load("importlib.machinery").PathFinder.find_spec("pip", _own_folders())
        is not None
    )


def _pip(python):
    # Past a pip.py in the working directory, where Python can do that.
    safely = ["-P"] if sys.version_info >= (3, 11) else []
    return [python, *safely, "-m", "pip"]


def is_closed():
    """Says whether pip can't or must not install into the interpreter's environment."""
    sysconfig = lazy_import.load("sysconfig")
    if not os.access(sysconfig.get_path("purelib"), os.W_OK):
        return True
    mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(mark)


def _own_folders():
    """Returns the folders in which the interpreter's own packages are."""
    site = lazy_import.load("site")
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [*own, *site.getsitepackages()]


class Watch:
    """What an installation changes where it goes: into the session's own environment, or not."""

    def __init__(self, packages, own):
        self._folders = [packages.site] if own else _own_folders()
        self._there = _found(self._folders)
        self._before = {**_found(_own_folders()), **self._there}

    def changes(self):
        """Returns (distribution, the version before or "") of what is new, or another version."""
        at, none = lazy_import.load("importlib.metadata").Distribution.at, ("", "")
        return [
            (at(path), self._before.get(name, none)[0])
            for name, (version, path) in sorted(_found(self._folders).items())
            if self._there.get(name, none)[0] != version
        ]


def notes(changes, packages, environment):
    """Returns sentences on what a line has installed: whom it concerns, what stays as it was."""
    if not changes:
        return []
    said = "installed for this interpreter and its branches"
    if not packages.is_used():
        said = f"installed into {environment.name} ({sys.prefix}), for {environment.shared_by}"
    return [said, *about_imported(changes)]


def _found(folders):
    """Returns (version, folder of metadata) of packages by name; the first of a name counts."""
    found = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):
                if entry.endswith(".dist-info"):
                    name, _, version = entry.removesuffix(".dist-info").partition("-")
                    found.setdefault(_normal(name), (version, os.path.join(folder, entry)))
    return found


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def about_imported(changes):
    """Says which versions an import gives where earlier ones had been imported."""
    preload, said = sys.modules.get("pyworker.fork.preload"), []
    for found, before in changes:
        modules = set((found.read_text("top_level.txt") or "").split())
        modules = modules or {file.parts[0].partition(".")[0] for file in found.files or ()}
        if not any(getattr(sys.modules.get(name), "__file__", None) for name in modules):
            continue
        name, version, old = found.metadata["Name"], found.version, before or "another version"
        if preload and preload.loaded.intersection(modules):
            said.append(
                f"every interpreter of this server begins with {name} {old} imported (--preload): "
                f"only child processes find {version}"
            )
        else:
            said.append(
                f"{name} was imported before and stays at {old} here; after operation restart, "
                f"which drops all variables, it is {version}"
            )
    return said[:MOST_NOTES]
