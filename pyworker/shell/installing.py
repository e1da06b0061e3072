"""Installs packages for a session and its branches, with pip or uv.

pip comes first: it sees what the interpreter has and adds only what is missing, where
uv would install all that a package needs once more.
"""

import contextlib
import os
import re
import sys
import types
from typing import NamedTuple

from pyworker import late

MOST_NOTES = 5
_NO_PROGRAM = 127  # exit code, as of shells
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_NOTHING = (
    "there is neither pip nor uv for this interpreter: ask the user to have one put into "
    "the server's Python environment"
)


class Outcome(NamedTuple):
    """What an installation came to."""

    exit_code: int
    record: dict  # {"installed": [{"name", "version", "before" if there was one}]}
    notes: list  # sentences for the reader


def install(packages, shell, arguments):
    """Installs what the arguments ask for; pip's words go to stdout.

    They are "packages", a list of requirements, and "hosts", which can be reached: none
    where it is empty, any where it is missing.
    """
    if not packages.root:
        raise RuntimeError("this interpreter has no place for packages")
    hosts = arguments.get("hosts")
    with _alone(packages.root):
        code = make(packages, shell)
        before, known = _versions([packages.site]), _versions(_own_folders())
        if not code:
            code = _run(packages, shell, arguments["packages"], hosts == [])
        after = _versions([packages.site])
    late.load("importlib").invalidate_caches()
    changed = [
        _Change(found, before.get(name) or known.get(name))
        for name, found in sorted(after.items())
        if name not in before or before[name].version != found.version
    ]
    notes = list(filter(None, map(_about_imported, changed)))[:MOST_NOTES]
    if code and hosts is not None:
        notes.append(about_network(hosts))
    return Outcome(code, {"installed": [change.record() for change in changed]}, notes)


def make(packages, shell):
    """Makes the environment if there is none yet; returns an exit code."""
    if packages.is_made():
        return 0
    code = shell.run_program([sys.executable, "-I", "-m", "venv", "--without-pip", packages.root])
    if not code:
        packages.finish(_own_folders())
    return code


class _Package(NamedTuple):
    """A package as it was when it was found."""

    name: str
    version: str
    distribution: object  # which reads what is there when it is asked


class _Change(NamedTuple):
    """A package that was installed, and what was there before, if anything."""

    now: _Package
    before: _Package | None

    def record(self):
        record = {"name": self.now.name, "version": self.now.version}
        return record | ({"before": self.before.version} if self.before else {})


@contextlib.contextmanager
def _alone(root):
    """Keeps branches from installing into the environment at the same time."""
    try:
        fcntl = late.load("fcntl")
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


def _run(packages, shell, wanted, offline):
    """Runs pip or uv; returns its exit code."""
    folders = _own_folders()
    if _has_pip():
        quietly = ["--disable-pip-version-check", "--no-input", "--no-color"]
        more = ["--progress-bar", "off", "--no-warn-script-location"]
        more += ["--no-index"] if offline else []
        argv = [*pip(packages.python()), *quietly, "install", *more]
    elif uv := late.load("shutil").which("uv"):
        more = ["--offline"] if offline else []
        constraints = _write_constraints(packages, folders, wanted)
        argv = [uv, "--color", "never", "pip", "install", "--python", packages.python()]
        argv += ["--link-mode", "copy", "--constraints", constraints, *more]
    else:
        print(_NOTHING, flush=True)
        return _NO_PROGRAM
    return shell.run_program([*argv, "--", *wanted])


NO_TOOL = (
    "there is neither a pip in it nor uv on the PATH to install with; !python -m ensurepip puts "
    "pip into it, or ask the user"
)


def tool(place):
    """Returns what %pip runs: "pip", "uv", the Python of setup, which has pip, or "" for none."""
    if _has_pip():
        return "pip"
    if uv := late.load("shutil").which("uv"):
        return uv
    below = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    python = os.path.join(place.own, *below) if place.own else ""
    return python if os.path.exists(python) else ""


def argv(python, words, place):
    """Returns the command line of a %pip for the environment of a Python.

    Environments that uv has made have no pip.
    """
    quietly = ["--disable-pip-version-check", "--no-input"]
    chosen = tool(place)
    if chosen == "pip":
        return [*pip(python), *quietly, *words]
    if not chosen:
        return [python, "-I", "-c", "import sys; sys.exit(sys.argv[1])", f"%pip: {NO_TOOL}"]
    if os.path.basename(chosen).startswith("uv"):
        verb, rest = words[:1], words[1:]
        return [chosen, "--color", "never", "pip", *verb, "--python", python, *rest]
    return [*pip(chosen), "--python", python, *quietly, *words]


def is_closed():
    """Says whether pip can't or must not install into the interpreter's environment."""
    sysconfig = late.load("sysconfig")
    if not os.access(sysconfig.get_path("purelib"), os.W_OK):
        return True
    mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(mark)


def reaches_index(hosts):
    """Says whether the index of packages is among the hosts that can be reached."""
    return all(_is_listed(each, hosts) for each in _index_hosts())


class Watch:
    """What a line of %pip changes in the folders that it installs into."""

    def __init__(self, packages):
        self._own = packages.confined and bool(packages.root)
        self._folders = [packages.site] if self._own else _own_folders()
        self._before = self._look()

    def notes(self, place):
        """Returns sentences on what was installed: whom it concerns, and what stays as it was."""
        after = self._look()
        new = [after[name] for name in sorted(after.keys() - self._before.keys())]
        if not new:
            return []
        if self._own:
            said = "installed for this interpreter and its branches"
        else:
            said = f"installed into {place.name} ({sys.prefix}), for {place.shared_by}"
        old = {_normal(name.partition("-")[0]): name for name in self._before.keys() - after.keys()}
        notes = [_about_imported(_change(each, old)) for each in new]
        return [said, *list(filter(None, notes))[:MOST_NOTES]]

    def _look(self):
        found = {}
        for folder in self._folders:
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    if name.endswith(".dist-info"):
                        found[name] = os.path.join(folder, name)
        return found


def _change(path, old):
    """Returns the _Change that a new folder of metadata is of; old are those that went."""
    distribution = late.load("importlib.metadata").Distribution.at(path)
    now = _Package(distribution.metadata["Name"], distribution.version, distribution)
    before = old.get(_normal(now.name))
    if before is None:
        return _Change(now, None)
    version = before.removesuffix(".dist-info").partition("-")[2]
    return _Change(now, _Package(now.name, version, None))


def _has_pip():
    return late.load("importlib.machinery").PathFinder.find_spec("pip", _own_folders()) is not None


def pip(python):
    """Returns the beginning of a command line that runs pip in the environment of a Python."""
    # Past a pip.py in the working directory, where Python can do that.
    safely = ["-P"] if sys.version_info >= (3, 11) else []
    return [python, *safely, "-m", "pip"]


def _write_constraints(packages, folders, wanted):
    """Has uv take the versions that the interpreter has, but for what was asked for.

    Other versions would not go with libraries that are compiled for these.
    """
    asked = {_normal(match[1]) for match in map(_NAME.match, wanted) if match}
    path = os.path.join(packages.root, "constraints.txt")
    with open(path, "w", encoding="utf-8") as file:
        for name, found in _versions(folders).items():
            if name not in asked:
                file.write(f"{name}=={found.version}\n")
    return path


def _own_folders():
    """Returns the folders in which the interpreter's own packages are."""
    site = late.load("site")
    folders = list(site.getsitepackages())
    if site.ENABLE_USER_SITE:
        folders.insert(0, site.getusersitepackages())
    return folders


def _versions(folders):
    """Returns the packages in the folders by name; the first of a name counts."""
    found = {}
    for each in late.load("importlib.metadata").distributions(path=folders):
        name = each.metadata["Name"] if each.metadata else None
        if name and each.version:
            found.setdefault(_normal(name), _Package(name, each.version, each))
    return found


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _about_imported(change):
    """Says which version an import gives where an earlier one had been imported."""
    name, version, distribution = change.now
    modules = _modules(distribution)
    if not any(map(_is_imported, modules)):
        return ""
    old = change.before.version if change.before else "another version"
    preload = sys.modules.get("pyworker.fork.preload")
    if preload and preload.loaded.intersection(modules):
        return (
            f"every interpreter of this server begins with {name} {old} imported (--preload): "
            f"only child processes find {version}"
        )
    return (
        f"{name} was imported before and stays at {old} here; after operation restart, which "
        f"drops all variables, it is {version}"
    )


def _modules(distribution):
    """Returns the names that a distribution can be imported by."""
    names = set((distribution.read_text("top_level.txt") or "").split())
    for file in () if names else distribution.files or ():
        name, _, ending = file.parts[0].partition(".")
        if name and name != "__pycache__" and not ending.endswith(("dist-info", "data")):
            names.add(name)
    return names


def _is_imported(name):
    module = sys.modules.get(name)
    return type(module) is types.ModuleType and bool(vars(module).get("__file__"))


def about_network(hosts):
    """Says what the network has to do with a failure, and what the server would need."""
    missing = [each for each in _index_hosts() if not _is_listed(each, hosts)]
    if not hosts:
        return (
            "the sandbox has no network, so only files can be installed: for an index of packages "
            f"ask the user to start the server with --allow-net {','.join(missing)}"
        )
    said = f"the sandbox reaches no host but {', '.join(hosts)} (--allow-net)"
    if missing:
        more = ",".join([*hosts, *missing])
        said += f"; for the index of packages ask the user to start it with --allow-net {more}"
    return said


def _index_hosts():
    """Returns the hosts that pip and uv ask, as --allow-net takes them."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        address = os.environ.get(name, "").rpartition("://")[2].partition("/")[0]
        if address:
            return [address.rpartition("@")[2]]
    return ["pypi.org", "files.pythonhosted.org"]


def _is_listed(host, hosts):
    host = host.lower().removesuffix(":443")
    for pattern in hosts:
        pattern = pattern.lower().removesuffix(":443")
        if pattern == host or (pattern[:2] == "*." and host.endswith(pattern[1:])):
            return True
    return False
