"""The modules of plugins: a package of their own, apart from the user's modules.

A plugin NAME is the module ``understudy_plugins.NAME``; a file beside it is a
*helper*, ``understudy_plugins.helper``, which all plugins share. A plugin gets
it by ``from . import helper`` at any time, and by ``import helper`` while it is
loaded, that is at the top of its file or of a helper's. Outside of that the bare
name means what it means to the user, who may have a module of that name too.

Nothing is written into the operator's folder: helpers have no bytecode files,
which also would hide a change within the same second.
"""

import importlib.machinery as machinery
import os
import sys
import types

from pyworker import sources

PACKAGE = "understudy_plugins"


def load(name, file, source, plugins):
    """Runs the source of a plugin in its module.

    plugins are the names of all of them, which are no helpers.
    """
    fullname, folder = f"{PACKAGE}.{name}", os.path.dirname(file)
    _open(folder)
    _Finder.plugins = frozenset(plugins)
    module = types.ModuleType(fullname)
    module.__file__, module.__package__ = file, PACKAGE
    module.__spec__ = machinery.ModuleSpec(fullname, None, origin=file)
    sources.add(file, source)
    sys.modules[fullname] = module
    try:
        code = compile(source, file, "exec", dont_inherit=True)
        with _Bare(_helpers_in(folder, plugins)):
            exec(code, vars(module))
    except BaseException:
        sys.modules.pop(fullname, None)
        raise


def drop(name):
    """Forgets the module of a plugin, or of a helper."""
    sys.modules.pop(f"{PACKAGE}.{name}", None)
    if (package := sys.modules.get(PACKAGE)) is not None:
        vars(package).pop(name, None)


def forget_helpers(plugins):
    """Has the helpers read anew by who imports them next. plugins are no helpers."""
    for package, _, name in [each.partition(".") for each in sys.modules if type(each) is str]:
        if package == PACKAGE and name and name.partition(".")[0] not in plugins:
            drop(name)


def _open(folder):
    """Has the package find modules of that folder from now on."""
    package = sys.modules.get(PACKAGE)
    if package is None:
        package = sys.modules[PACKAGE] = types.ModuleType(PACKAGE, "The operator's plugins.")
        package.__path__ = []
    if folder not in package.__path__:
        package.__path__.append(folder)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _helpers_in(folder, plugins):
    """Returns the names that stand for files beside the plugins.

    One that the standard library has too is reached by ``from . import`` alone: its
    other modules must not get the plugin's.
    """
    found = set()
    try:
        for entry in os.scandir(folder):
            name, suffix = os.path.splitext(entry.name)
            if suffix == ".py" or os.path.isfile(os.path.join(entry.path, "__init__.py")):
                found.add(name)
    except OSError:
        pass  # the source has come without its folder
    return found - set(plugins) - sys.stdlib_module_names


class _Loader(machinery.SourceFileLoader):
    """Loads source files, and leaves bytecode files alone."""

    def path_stats(self, path):
        raise OSError(f"the bytecode of {path} is not kept")


class _Finder:
    """Finds the modules of the package; bare names of helpers while a plugin is loaded."""

    bare = frozenset()
    plugins = frozenset()  # names of those that are loaded by a call, not by an import

    @classmethod
    def find_spec(cls, fullname, path=None, _target=None):
        top, _, name = fullname.partition(".")
        if top == PACKAGE and path is not None:
            if name in cls.plugins:
                raise ImportError(
                    f"{name} is a plugin, which is not imported: call {name}(), and put what "
                    "plugins share into a file of its own beside them",
                    name=fullname,
                )
            kinds = (
                (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
                (_Loader, machinery.SOURCE_SUFFIXES),
            )
            found = (machinery.FileFinder(one, *kinds).find_spec(fullname) for one in path)
            return next((spec for spec in found if spec is not None), None)
        if top in cls.bare:
            return machinery.ModuleSpec(fullname, _Alias(f"{PACKAGE}.{fullname}"))
        return None


class _Alias:
    """Loads a module that is another name for one of the package."""

    def __init__(self, real):
        self._real = real

    def create_module(self, _):
        __import__(self._real)
        module = sys.modules[self._real]
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # importing has put the alias's in its place


class _Bare:
    """While it is open, bare names of helpers mean them, whatever the user has imported.

    That holds for all threads: one that imports a module of such a name just then
    gets the helper.
    """

    def __init__(self, names):
        self._names = names

    def __enter__(self):
        self._outer, _Finder.bare = _Finder.bare, frozenset(self._names)
        self._users = self._take_out()

    def __exit__(self, *_):
        self._take_out()
        sys.modules.update(self._users)
        _Finder.bare = self._outer

    def _take_out(self):
        known = [name for name in list(sys.modules) if type(name) is str]
        taken = [name for name in known if name.partition(".")[0] in self._names]
        return {name: sys.modules.pop(name) for name in taken}
