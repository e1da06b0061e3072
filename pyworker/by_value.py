"""Functions and classes of the session, for processes that can't import them.

A Pool of the methods "spawn" and "forkserver" starts Pythons that have no __main__ of
ours: what they are sent by name they don't find, and multiprocessing makes them again
and again. So these get functions and classes by value, as joblib does it, where
cloudpickle is there, or the sender gets the error. Forks know the names.
"""

import sys
import types

from . import lazy_import
from .imports import when_imported

_REMEDY = (
    "{name} was defined in this session, and a worker of the method {method!r} can't import it: "
    "use multiprocessing.get_context('fork'), put it into a module file and import it, "
    "or install cloudpickle"
)


def install():
    """Has multiprocessing send what it should, as soon as it is imported."""
    when_imported("multiprocessing.reduction", _teach)


def _teach(reduction):
    def reducer_override(self, obj):
        is_named = isinstance(obj, (types.FunctionType, type))
        if is_named and getattr(obj, "__module__", None) == "__main__":
            if (method := _method()) and (data := _dump(obj, method)) is not None:
                return load, (data,)
        return NotImplemented

    reduction.ForkingPickler.reducer_override = reducer_override


def _method():
    """Returns the method of the processes that are sent something now, "" if it is fork's.

    The pickler isn't told for whom it works: for the process that is being started, or
    for those that are there.
    """
    spawning = lazy_import.load("multiprocessing.context").get_spawning_popen()
    children = sys.modules["multiprocessing.process"]._children
    for popen in (spawning, *(getattr(child, "_popen", None) for child in list(children))):
        if getattr(popen, "method", "fork") != "fork":
            return popen.method
    return ""


def _dump(obj, method):
    """Returns what load() takes; None where the worker finds the object by its name."""
    cloudpickle = _cloudpickle()
    if cloudpickle is None:
        name = obj.__qualname__
        if _is_in_code_file(name):
            return None
        raise lazy_import.load("pickle").PicklingError(_REMEDY.format(name=name, method=method))
    return cloudpickle.dumps(obj)


def _is_in_code_file(name):
    """Says whether the code file, which such a worker imports as __main__, defines a name."""
    try:
        with open(sys.modules["__main__"].__file__, encoding="utf-8") as file:
            text = file.read()
    except (AttributeError, OSError, UnicodeError):
        return False
    return lazy_import.load("re").search(rf"(?m)^(?:def|class) {name}\b", text) is not None


def _cloudpickle():
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            __import__(name)
            return sys.modules[name]
        except ImportError:
            continue
    return None


def load(data):
    """Makes the function or class in another process.

    It gets its name in __main__ there, so that what is sent back finds it by that.
    """
    obj = _cloudpickle().loads(data)
    setattr(sys.modules["__main__"], obj.__name__, obj)
    return obj
