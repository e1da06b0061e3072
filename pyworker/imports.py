"""What is done to a library when somebody imports it, or has imported it."""

import sys

_waiting = {}  # what is to be called with the module, by its name


def when_imported(name, action):
    """Calls action with a module: now where it is there, else after its import."""
    if (module := sys.modules.get(name)) is not None:
        _act(action, module)
        return
    _waiting[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """An import finder that acts after the imports that are waited for; it finds nothing."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _waiting:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            if (spec := finder.find_spec(fullname, path, target)) is not None:
                if hasattr(spec.loader, "exec_module"):
                    _act_after(spec.loader)
                return spec
        return None


_finder = _Finder()


def _act_after(loader):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the class's own method shows again
        execute(module)
        action = _waiting.pop(module.__name__, None)
        if not _waiting and _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        if action is not None:
            _act(action, module)

    loader.exec_module = exec_module


def _act(action, module):
    try:
        action(module)
    except Exception:
        pass  # a module of the user's of that name, or another version: it does as elsewhere
