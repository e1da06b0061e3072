"""What is done to a module of somebody else's as soon as it is imported."""

import sys

_actions = {}  # module name -> action, until it is imported


def after(name, action):
    """Calls action with a module, now if it has been imported, else when it is."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _actions[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder:
    """Finds nothing itself: it has the other finders find, and acts after the import."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _actions:
            return None
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            if (spec := find_spec(fullname, path, target)) is not None:
                _act_after(spec.loader, _actions.pop(fullname))
                break
        else:
            spec = None
        if not _actions and self in sys.meta_path:
            sys.meta_path.remove(self)
        return spec


def _act_after(loader, action):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the class's own method shows again
        execute(module)
        action(module)

    loader.exec_module = exec_module


_finder = _Finder()
