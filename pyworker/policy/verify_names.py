"""What the names of a tree resolve to: imports of its own, builtins, and strangers."""

import ast
import bisect

from . import verify_routes as routes
from . import verify_settled
from .verify_constants import texts
from .verify_tree import CLASS

_LAST = (float("inf"), 0)  # behind every place


class Names:
    """The names of one tree."""

    def __init__(self, tree, walk, rules):
        self._tree = tree
        self._walk = walk
        self._rules = rules
        self._known = {}
        self._settled = {}

    def result(self, root, scope):
        """Returns the paths of what a call gives, as far as that is known."""
        if type(root) is ast.Lambda or type(root) is not ast.Call:
            return [("builtins.function", True)] if type(root) is ast.Lambda else []
        path = self._callee(root.func, scope)
        if path in routes.IMPORTERS and root.args:
            names = texts(root.args[0], scope) or ()
            return [
                (name.partition(".")[0] if path == "builtins.__import__" else name, True)
                for name in map(routes.canonical, names)
                if not self._rules.module(name)
            ]
        if path in routes.NAMESPACES:
            return [(path, True)] if not root.args else []
        return [(f"{path}()", True)] if path else []

    def _callee(self, node, scope):
        names = []
        while type(node) is ast.Attribute:
            names.append(node.attr)
            node = node.value
        if type(node) is not ast.Name or len(names) > 10:
            return ""
        for path, _ in self.lookup(node, scope):
            for name in reversed(names):
                path = self._rules.extend(path, name)
            return path
        return ""

    def lookup(self, node, scope):
        """Returns what a name may be: a list of (path, whether it is certain)."""
        key = scope, node.id
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(node.id, scope)
        paths, is_bound = known
        free = self._rules.free.get(node.id) if is_bound is not True else None
        if free is None:
            return paths
        is_guarded = node.id in self._rules.guarded
        if is_bound == "at top level" and (not is_guarded or self._is_settled(node)):
            return paths
        return [*paths, (free, is_guarded or free.startswith("builtins."))]

    def _find(self, name, scope):
        """Returns the paths of imports, and True, "at top level" or False for bound."""
        module, paths, inner = self._walk.module, [], scope
        while inner is not module:
            if inner.declared.get(name) is ast.Global:
                break
            if name in inner.bound and (inner.kind is not CLASS or inner is scope):
                paths += self._imported(inner, name)
                if inner.kind is not CLASS:
                    return paths, True
            inner = inner.parent
        if name not in module.bound:
            return paths, False
        return paths + self._imported(module, name), "at top level"

    def _imported(self, scope, name):
        paths = map(routes.canonical, scope.imports.get(name, ()))
        refused = [(path, self._rules.module(path)) for path in paths]
        return [
            (self._relocated(path), True)
            for path, verdict in refused
            if not verdict or self._is_parent(path)
        ]

    def _relocated(self, path):
        """Returns the path of what "from x import os" gives."""
        module, _, name = path.rpartition(".")
        return self._rules.extend(module, name) if module and path != "os.path" else path

    def _is_parent(self, path):
        """Says whether "import os.path" has bound the name of a module that is refused."""
        return any(
            alias.name.startswith(f"{path}.") and not self._rules.module(alias.name)
            for node, _ in self._walk.imports
            if type(node) is ast.Import
            for alias in node.names
        )

    def _is_settled(self, node):
        """Says whether at this place the code itself has certainly bound a name."""
        spans = self._settled.get(node.id)
        if spans is None:
            spans = self._settled[node.id] = verify_settled.spans(self._tree, node.id)
        place = node.lineno, node.col_offset
        i = bisect.bisect_right(spans, (place, _LAST)) - 1
        return i >= 0 and place < spans[i][1]
