"""What a plugin imports: ``from understudy_plugin import plugin``.

A plugin is a NAME.yaml, which says what agents see, and a NAME.py with one function or
class under the decorator ``@plugin``, and perhaps a test under ``@plugin.test``. Arguments
have the names of the YAML's parameters. A function that has a keyword-only parameter
``context`` gets a Context there. A class is constructed with the Context when it is first
called in a session, and kept: what its ``__call__`` stores in self is there in the next call.
"""

import builtins
import types

_NAME = "understudy_plugin"  # by which plugins and tracebacks know this module
_TEXT_LIMIT = 10_000  # characters of one line of log

_found = {}  # the name of a plugin's module -> [(decorator, what it was put on)]


class PluginError(Exception):
    """A plugin can't be used: it is broken, or can't be loaded."""

    __module__ = _NAME


class Context:
    """What a plugin finds in a session beside its arguments."""

    __module__ = _NAME
    __slots__ = ("config", "_host", "_name")

    def __init__(self, name, config, host):
        self.config = config  # a dict: the configuration that the YAML declares
        self._name = name
        self._host = host

    @property
    def session_variables(self):
        """The session variables as they are now: a read-only mapping of str to str."""
        return types.MappingProxyType(self._host.variables)

    @property
    def workdir(self):
        """The absolute path of the session's working directory."""
        return self._host.workdir()

    def log(self, text):
        """Writes a line to the server's log, where the operator sees it and agents don't."""
        self._host.log("info", f"plugin {self._name}: {str(text)[:_TEXT_LIMIT]}")

    def artifact(self, obj, name=None, kind=None):
        """Keeps an object as a file for the reader of the answer, as artifact() in code does.

        Raises PluginError where this server keeps no artifacts.
        """
        keep = getattr(builtins, "artifact", None)
        if keep is None:
            raise PluginError("this server keeps no artifacts")
        return keep(obj, name, kind)


class _Decorator:
    """The decorator plugin, with plugin.test."""

    __module__ = _NAME
    __slots__ = ()

    def __call__(self, target):
        """Marks the function, or the class with __call__, that is the plugin."""
        if isinstance(target, type) and "__call__" not in dir(target):
            raise TypeError(f"@plugin: class {target.__name__} has no __call__")
        return _mark("@plugin", target)

    def test(self, function):
        """Marks the function that tests the plugin; it may take the plugin as its argument.

        ``understudy plugins test`` calls it in a session. It raises, as by assert,
        when the plugin does not do what it should.
        """
        return _mark("@plugin.test", function)


plugin = _Decorator()


def find(name):
    """Returns a plugin of this process's session, which puts its own function here."""
    raise PluginError(f"there is no plugin {name} in this process")


def check(name):
    """Loads a plugin; raises PluginError if that fails."""
    find(name).load()


def run_test(name):
    """Runs the test of a plugin; returns whether it has one.

    Raises what the test raises, and PluginError when the plugin can't be loaded.
    """
    return find(name).run_test()


def take_marks(module):
    """Returns what was marked in a module: ([under @plugin], [under @plugin.test])."""
    found = _found.pop(module, [])
    return tuple([one for m, one in found if m == mark] for mark in ("@plugin", "@plugin.test"))


def _mark(mark, target):
    if not callable(target) or not isinstance(getattr(target, "__module__", None), str):
        raise TypeError(f"{mark} goes on a function or a class, not on {type(target).__name__}")
    _found.setdefault(target.__module__, []).append((mark, target))
    return target
