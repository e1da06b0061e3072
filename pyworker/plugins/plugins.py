"""Plugins: functions of the operator's that code calls by name, as it calls len.

Each is a builtin that knows its signature and documentation from the start and
is loaded when it is first called. It belongs to the process: a copy has what was
loaded in its original, with its state.

Session variables reach plugins through their context and are in no namespace of
the user's. That is a guard rail: code that searches the process finds them.
"""

import _thread
import builtins
import os
import sys
import types

from pyworker import lazy_import, tracebacks
from pyworker.display import kinds

from . import plugin_modules, understudy_plugin
from .understudy_plugin import Context, PluginError

_LOADED = ("file", "source", "configuration", "broken")  # what a loaded plugin depends on


class Plugins:
    """The plugins of one session."""

    def __init__(self, log, workdir):
        self.log = log  # of a level and a message
        self.workdir = workdir  # a function that returns the path
        self.variables = {}
        self.by_name = {}
        self._helpers = ""  # stands for the helpers as they are on disk
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self):
        # One for all: a load changes what the names of modules mean. Who holds it may
        # be a thread that a copy does not have.
        self.loading = _thread.RLock()

    def equip(self, described, variables):
        """Makes these the plugins and session variables; what has not changed stays loaded.

        A change of the helpers has all plugins loaded anew.
        """
        self.variables = variables
        if described:
            self.offer()
        new = {one["name"]: one for one in described}
        helpers = described[0].get("helpers", "") if described else self._helpers
        if helpers != self._helpers:
            plugin_modules.forget_helpers(self.by_name)
        for name, plugin in list(self.by_name.items()):
            if helpers != self._helpers or not plugin.is_as(new.get(name)):
                plugin.unload()
            if name not in new:
                self._remove(name)
        self._helpers = helpers
        for name, one in new.items():
            known = name in self.by_name
            plugin = self.by_name.setdefault(name, Plugin(self))
            plugin.description = one
            if not hasattr(builtins, name):
                setattr(builtins, name, plugin)
            elif not known:
                said = f"plugin {name} is not there for code: Python has a builtin {name}"
                self.log("error", said)
        if self.by_name and not hasattr(builtins, "search_plugins"):  # a plugin may be called so
            builtins.search_plugins = self.search

    def search(self, words=""):
        """Returns the plugins whose name or description has all the words, by name first."""
        wanted = str(words).lower().split()

        def lacking(plugin):
            text = f"{plugin.__name__} {plugin.__doc__ or ''}".lower()
            return [word for word in wanted if word not in text]

        found = [one for one in self.by_name.values() if not lacking(one)]
        return sorted(found, key=lambda one: not any(word in one.__name__ for word in wanted))

    def _remove(self, name):
        plugin = self.by_name.pop(name)
        plugin.description = {**plugin.description, "broken": "it has been removed"}
        if vars(builtins).get(name) is plugin:
            delattr(builtins, name)

    def offer(self):
        """Has plugins find the module that they import; the user may have emptied sys.modules."""
        understudy_plugin.find = self.find
        sys.modules["understudy_plugin"] = understudy_plugin

    def files(self):
        """Returns the names of the files whose frames are a plugin's."""
        return {plugin.description["file"] for plugin in self.by_name.values()}

    def find(self, name):
        """Returns a plugin; raises PluginError if there is none of the name."""
        if name not in self.by_name:
            raise PluginError(f"there is no plugin {name}")
        return self.by_name[name]


class Plugin:
    """A plugin as code finds it. The same object stands for it when it has changed."""

    __module__ = plugin_modules.PACKAGE

    def __init__(self, plugins):
        self.description = {}
        self._plugins = plugins
        self._loaded = None
        self._signature = None, None  # the text, and what was made of it

    def __call__(self, /, *args, **kwargs):
        target, _ = self.load()
        signature = self.__signature__
        if signature is None:
            return target(*args, **kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}") from None
        return target(**{**_defaults(signature), **bound.arguments})

    def __get__(self, _instance, _owner=None):
        return self  # has inspect and help() take it for a function

    def __repr__(self):
        written = self.__signature__ or "(...)"
        summary = (self.__doc__ or "").strip().partition("\n")[0]
        return f"<plugin {self.__name__}{written}{summary and ': '}{summary}>"

    def __reduce__(self):
        return find, (self.__name__,)

    @property
    def __name__(self):
        return self.description["name"]

    @property
    def __doc__(self):
        return self.description.get("doc") or None

    @property
    def __signature__(self):
        text = self.description.get("signature") or ""
        if self._signature[0] != text:
            self._signature = text, _parse_signature(text)
        return self._signature[1]

    def load(self):
        """Returns (what calls go to, the test or None); raises PluginError."""
        if reason := self.description.get("broken"):
            raise PluginError(f"plugin {self.__name__} is broken: {reason}; ask the operator")
        if (loaded := self._loaded) is not None:  # without waiting for another's load
            return loaded
        with self._plugins.loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self):
        described, name = self.description, self.__name__
        fullname = f"{plugin_modules.PACKAGE}.{name}"
        self._plugins.offer()
        understudy_plugin.take_marks(fullname)  # of a load that has failed
        try:
            names = self._plugins.by_name
            plugin_modules.load(name, described["file"], described["source"], names)
            targets, tests = understudy_plugin.take_marks(fullname)
            if len(targets) != 1 or len(tests) > 1:
                how = "more than one thing is" if targets else "nothing is"
                what = "@plugin.test" if len(tests) > 1 else "@plugin"
                raise PluginError(
                    f"plugin {name} can't be loaded: {how} under {what} in {described['file']}; "
                    "mark one function or class"
                )
            return self._made(targets[0]), next(iter(tests), None)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(_failure(name, error)) from error

    def _made(self, target):
        """Returns what calls go to, which has the context."""
        config = dict(self.description.get("configuration") or {})
        context = Context(self.__name__, config, self._plugins)
        if isinstance(target, type):
            made = target(context)
            self._compare(_signature_of(made), {})
            return made
        actual = _signature_of(target)
        taken = actual and actual.parameters.get("context")
        more = {"context": context} if taken and taken.kind is taken.KEYWORD_ONLY else {}
        self._compare(actual, more)
        return lazy_import.load("functools").partial(target, **more) if more else target

    def _compare(self, actual, context):
        """Raises PluginError unless a call of the described signature fits the actual one.

        context are the arguments that calls have beside the described ones.
        """
        described = self.__signature__
        if described is None or actual is None:
            return
        parameters = described.parameters
        given = [name for name, one in parameters.items() if one.default is not ...]
        for names in (parameters, given):
            try:
                actual.bind(**dict.fromkeys(names), **context)
            except TypeError as error:
                name = self.__name__
                raise PluginError(
                    f"plugin {name} can't be loaded: {name}.yaml describes {name}{described}, "
                    f"which does not fit {name}{actual} in {name}.py, called with the names: "
                    f"{error}"
                ) from None

    def run_test(self):
        """Runs its test; returns whether it has one."""
        _, test = self.load()
        if test is None:
            return False
        code = getattr(test, "__code__", None)
        returned = test() if code is not None and code.co_argcount == 0 else test(self)
        if isinstance(returned, types.CoroutineType):
            returned = lazy_import.load("asyncio").run(returned)
        if returned is not None:  # a generator has not run, a value is no verdict
            kind = kinds.name(type(returned))
            raise PluginError(
                f"the test of plugin {self.__name__} returned a value of type {kind}; "
                "a test returns nothing and raises, as by assert, when it fails"
            )
        return True

    def is_as(self, description):
        """Says whether what was loaded is what a description, if there is one, tells."""
        known = self.description
        return bool(description) and all(known.get(k) == description.get(k) for k in _LOADED)

    def unload(self):
        """Drops what was loaded; the next call loads it anew."""
        if self._loaded is not None:
            self._loaded = None
            plugin_modules.drop(self.__name__)


def find(name):
    """Returns a plugin as code finds it, when it is unpickled."""
    return getattr(builtins, name)


def _parse_signature(text):
    """Returns a Signature of "(a, b='x')", None if it is none."""
    names = {}
    try:
        exec(f"def made{text}: pass", names)
    except Exception:
        return None
    return _signature_of(names["made"])


def _signature_of(target):
    try:
        return lazy_import.load("inspect").signature(target)
    except (TypeError, ValueError):  # of C, which may have none
        return None


def _defaults(signature):
    """Returns the defaults for one call: what a plugin does to one ends there.

    "..." leaves a parameter's to the function.
    """
    copied = lazy_import.load("copy").deepcopy
    return {
        name: copied(one.default)
        for name, one in signature.parameters.items()
        if one.default is not one.empty and one.default is not ...
    }


def _failure(name, error):
    """Says on one line why a plugin can't be loaded, and where that was."""
    kind, where = kinds.name(type(error)), ""
    if isinstance(error, SystemExit):
        return f"plugin {name} can't be loaded: it exits"
    try:
        text = str(error)
    except Exception:
        text = ""
    places = [entry for entry in tracebacks.entries(error) if not tracebacks.is_own(entry)]
    if places and not isinstance(error, SyntaxError):  # which says it of its own accord
        file = places[-1].tb_frame.f_code.co_filename
        where = f" ({os.path.basename(file)}, line {places[-1].tb_lineno})"
    return f"plugin {name} can't be loaded: {kind}{text and ': '}{text}{where}"
