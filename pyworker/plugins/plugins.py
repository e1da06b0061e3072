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

from pyworker import late
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
        self._plugins = {}
        self._helpers = ""  # stands for the helpers as they are on disk
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self):
        # One for all: a load changes what the names of modules mean. Who holds it may
        # be a thread that a copy does not have.
        self.loading = _thread.RLock()

    def equip(self, described, variables):
        """Makes these the plugins and session variables; what has not changed stays loaded."""
        self.variables = variables
        described = {one["name"]: one for one in described}
        if described:
            self._offer()
        self._unload_changed(described)
        for name in self._plugins.keys() - described.keys():
            self._remove(name)
        for name, one in described.items():
            if name not in self._plugins:
                self._plugins[name] = Plugin(self)
                self._install(name)
            elif name not in vars(builtins):  # the user has deleted it
                self._install(name)
            self._plugins[name].description = one

    def files(self):
        """Returns the names of the files whose frames are a plugin's."""
        return {plugin.description["file"] for plugin in self._plugins.values()}

    def call(self, name, arguments):
        """Calls a plugin with arguments by name."""
        return self._find(name)(**arguments)

    def check(self, name):
        """Loads a plugin; raises PluginError if that fails."""
        self._find(name).load()

    def run_test(self, name):
        """Runs a plugin's test; returns whether it has one."""
        return self._find(name).run_test()

    def load(self, description):
        """Returns (what to call, the test or None) of a plugin."""
        name, file = description["name"], description["file"]
        self._offer()  # the user may have emptied sys.modules
        try:
            understudy_plugin.take_marks(f"{plugin_modules.PACKAGE}.{name}")
            module = plugin_modules.load(name, file, description["source"], set(self._plugins))
            marks = understudy_plugin.take_marks(module.__name__)
            loaded = self._make(description, marks)
        except PluginError:
            raise
        except Exception as error:
            plugin_modules.hide_machinery(error)
            raise PluginError(_failure(name, error)) from error
        except SystemExit as error:
            raise PluginError(f"plugin {name} can't be loaded: it exits") from error
        finally:
            understudy_plugin.take_marks(f"{plugin_modules.PACKAGE}.{name}")
        return loaded

    def _offer(self):
        """Has plugins find the module that they import."""
        understudy_plugin.serve(self)
        sys.modules["understudy_plugin"] = understudy_plugin

    def _make(self, description, marks):
        """Returns what calls go to, which has the context, and the test."""
        name = description["name"]
        if len(marks["plugin"]) != 1 or len(marks["test"]) > 1:
            how = "nothing is" if not marks["plugin"] else "more than one thing is"
            what = "@plugin.test" if len(marks["test"]) > 1 else "@plugin"
            raise PluginError(
                f"plugin {name} can't be loaded: {how} under {what} in {description['file']}; "
                "mark one function or class"
            )
        [target], test = marks["plugin"], next(iter(marks["test"]), None)
        context = Context(name, dict(description.get("configuration") or {}), self)
        if isinstance(target, type):
            made = target(context)
            _compare(description, made, {})
            return made, test
        takes = _takes_context(target)
        _compare(description, target, {"context": context} if takes else {})
        if takes:
            function = target

            def target(*args, **kwargs):
                return function(*args, **kwargs, context=context)

        return target, test

    def _find(self, name):
        plugin = self._plugins.get(name)
        if plugin is None:
            raise PluginError(f"there is no plugin {name}")
        return plugin

    def _install(self, name):
        if hasattr(builtins, name):
            self.log("error", f"plugin {name} is not there for code: Python has a builtin {name}")
        else:
            setattr(builtins, name, self._plugins[name])

    def _remove(self, name):
        plugin = self._plugins.pop(name)
        plugin.unload()
        plugin.description = {**plugin.description, "broken": "it has been removed"}
        if vars(builtins).get(name) is plugin:
            delattr(builtins, name)

    def _unload_changed(self, described):
        """Drops what is not as it was loaded; all, and the helpers, if one of those has changed."""
        changed = [
            name
            for name, plugin in self._plugins.items()
            if name not in described or not plugin.is_as(described[name])
        ]
        helpers = next((one.get("helpers", "") for one in described.values()), self._helpers)
        if helpers != self._helpers:
            changed = list(self._plugins)
            plugin_modules.forget_helpers(self._plugins)
            self._helpers = helpers
        for name in changed:
            self._plugins[name].unload()


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
        loaded = self._loaded
        if loaded is not None:  # without waiting for another's load
            return loaded
        with self._plugins.loading:
            if self._loaded is None:
                self._loaded = self._plugins.load(self.description)
            return self._loaded

    def run_test(self):
        """Runs its test; returns whether it has one."""
        _, test = self.load()
        if test is None:
            return False
        code = getattr(test, "__code__", None)
        returned = test() if code is not None and code.co_argcount == 0 else test(self)
        if isinstance(returned, types.CoroutineType):
            returned = late.load("asyncio").run(returned)
        if returned is not None:  # a generator has not run, a value is no verdict
            kind = kinds.name(type(returned))
            raise PluginError(
                f"the test of plugin {self.__name__} returned a value of type {kind}; "
                "a test returns nothing and raises, as by assert, when it fails"
            )
        return True

    def is_as(self, description):
        """Says whether what was loaded is what a description tells."""
        return all(self.description.get(key) == description.get(key) for key in _LOADED)

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
    return late.load("inspect").signature(names["made"])


def _defaults(signature):
    """Returns the defaults; "..." leaves a parameter's to the function."""
    defaults = {name: one.default for name, one in signature.parameters.items()}
    none = (signature.empty, ...)
    return {
        name: _own(value)
        for name, value in defaults.items()
        if not any(value is one for one in none)
    }


def _own(value):
    """Returns a default for one call: what a plugin does to it ends there."""
    if isinstance(value, (list, dict)):
        return late.load("copy").deepcopy(value)
    return value


def _compare(description, target, context):
    """Raises PluginError unless a call of the described signature fits the target's.

    context are the arguments that calls have beside the described ones.
    """
    described = _parse_signature(description.get("signature") or "")
    try:
        actual = late.load("inspect").signature(target)
    except (TypeError, ValueError):  # of C, which may have none
        return
    if described is None:
        return
    parameters = described.parameters
    given = [name for name, one in parameters.items() if one.default is not ...]
    for names in (parameters, given):
        try:
            actual.bind(**dict.fromkeys(names), **context)
        except TypeError as error:
            name = description["name"]
            raise PluginError(
                f"plugin {name} can't be loaded: {name}.yaml describes {name}{described}, which "
                f"does not fit {name}{actual} in {name}.py, called with the names: {error}"
            ) from None


def _takes_context(function):
    inspect = late.load("inspect")
    try:
        parameter = inspect.signature(function).parameters.get("context")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind is parameter.KEYWORD_ONLY


def _failure(name, error):
    """Says on one line why a plugin can't be loaded, and where that was."""
    kind = kinds.name(type(error))
    try:
        text = str(error)
    except Exception:
        text = ""
    where = ""
    trace, last = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != _failure.__code__.co_filename:
            last = trace
        trace = trace.tb_next
    if last is not None and not isinstance(error, SyntaxError):  # which says it of its own accord
        file = last.tb_frame.f_code.co_filename
        where = f" ({file.replace(chr(92), '/').rpartition('/')[2]}, line {last.tb_lineno})"
    text = f"{kind}: {text}" if text else kind
    return f"plugin {name} can't be loaded: {text}{where}"
