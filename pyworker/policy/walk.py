"""One walk over a syntax tree, in the order in which it runs: scopes, and what is bound.

What is certain at a place is its *flow*: the names that are bound there whatever happens,
with the texts that they have where those can be seen.
"""

import ast
import collections

# How a value is used: kept as a value; called; or only a part of it taken, or looked at.
KEPT, CALLED, PART = "kept", "called", "part"

# A class binds no names: those of its body are none in its methods, nor certain in it.
MODULE, FUNCTION, CLASS, COMPREHENSION = "module", "function", "class", "comprehension"

_BLOCKS = frozenset(("body", "orelse", "finalbody"))
_BINDING = ("id", "name", "asname", "rest")  # attributes of nodes
_MOST_TEXTS = 64
_LONGEST = 1_000  # characters of a text that is put together


class Scope:
    """Where names are bound."""

    __slots__ = ("bound", "counts", "globals", "imports", "kind", "node", "parent")

    def __init__(self, kind, parent, node):
        self.kind = kind
        self.parent = parent
        self.node = node
        self.bound = set()
        self.globals = set()
        self.imports = {}  # name: the paths that imports have given it
        self.counts = None  # how often names are bound here and in all that is within


class Walk:
    """Walks over one tree; visit_TYPE(node, use) sees a node of that type.

    Those of expressions return what these are, as (path, whether it is certain) each: nothing
    where it isn't known, and None if it has been refused.
    """

    def __init__(self, tree, rules):
        self._rules = rules
        self._found = set()  # (line, offset in bytes, rule, message)
        self._module = self._scope = Scope(MODULE, None, tree)
        # (scope, name): the texts that it is bound to, or the node of a tuple or of a
        # function, or None for anything else.
        self._flow = {}
        self._later = [(self._module, self._flow, tree.body)]

    def violations(self):
        """Returns (line, offset in bytes, rule, message) of each, lines from 1, in order."""
        for scope, flow, body in self._later:  # which grows by the bodies of functions
            self._scope, self._flow = scope, flow
            self.visit_all(body)
        return sorted(self._found)

    def report(self, node, verdict, place=None):
        """Notes what is wrong with a node."""
        if self._rules.is_on:
            self._found.add((*(place or (node.lineno, node.col_offset)), *verdict))

    def refuse(self, node, what, advice):
        """Notes that something can't be checked."""
        self.report(node, (f"can't be checked: {what}", advice))

    def visit(self, node, use=KEPT):
        """Sees a node, an expression in the use that is made of its value."""
        visitor = getattr(self, f"visit_{type(node).__name__}", None)
        return self.visit_parts(node) if visitor is None else visitor(node, use)

    def visit_all(self, nodes):
        """Sees all nodes of a list, which may hold None."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_parts(self, node, *_):
        """Sees what a node is made of."""
        for field in node._fields:
            child = getattr(node, field, None)
            if isinstance(child, ast.AST):
                self.visit(child)
            elif type(child) is list and field in _BLOCKS:
                self._visit_block(child)
            elif type(child) is list and child and not isinstance(child[0], str):
                self.visit_all(child)
        return ()

    def _visit_block(self, body):
        """Sees statements that may be left out: what they bind is certain in them only."""
        flow, self._flow = self._flow, dict(self._flow)
        self.visit_all(body)
        self._flow = flow

    # What is bound.

    def bind(self, name, node, value=None, path=None, is_certain=True):
        """Binds a name; path is that of an import."""
        scope = self._module if name in self._scope.globals else self._scope
        if scope is self._module:
            self.check_binding(name, node)
        while scope.kind is CLASS:
            scope, is_certain = scope.parent, False
        if path is not None:
            scope.imports.setdefault(name, []).append((path, True))
        if self._scope.kind is not CLASS:
            scope.bound.add(name)
        if is_certain:
            self._flow[scope, name] = value

    def owner(self, name):
        """Returns the scope in which a name is looked up here, the module's if none binds it."""
        scope = self._scope
        while scope.parent is not None and name not in scope.bound:
            scope = self._module if name in scope.globals else scope.parent
        return scope

    def bound_to(self, name):
        """Returns what a name is bound to here, None if anything might bind it again."""
        owner = self.owner(name)
        value = self._flow.get((owner, name))
        if value is not None and owner.counts is None:
            owner.counts = collections.Counter(
                getattr(node, field, None)
                for node in ast.walk(owner.node)
                for field in _BINDING
                if type(getattr(node, "ctx", None)) is not ast.Load
            )
        return value if value is not None and owner.counts[name] == 1 else None

    def texts(self, node):
        """Returns the list of texts that an expression can have, None if that can't be seen."""
        kind = type(node)
        if kind is ast.Constant:
            return [node.value] if type(node.value) is str else None
        if kind is ast.Name:
            value = self.bound_to(node.id)
            return value if type(value) is list else None
        if kind is ast.IfExp:
            return self._any_of((node.body, node.orelse))
        if kind is ast.FormattedValue and node.conversion in (-1, 115) and not node.format_spec:
            return self.texts(node.value)
        if kind is ast.JoinedStr:
            return self._joined(node.values)
        if kind is ast.BinOp and type(node.op) is ast.Add:
            return self._joined((node.left, node.right))
        if kind is ast.BinOp and type(node.op) is ast.Mult:
            times, values = getattr(node.right, "value", None), self.texts(node.left)
            if values and type(times) is int and len(max(values, key=len)) * times <= _LONGEST:
                return [value * times for value in values]
        return None

    def _any_of(self, nodes):
        found = [self.texts(node) for node in nodes]
        return None if None in found else [text for each in found for text in each]

    def _joined(self, nodes):
        values = [""]
        for node in nodes:
            more = self.texts(node)
            if more is None or len(values) * len(more) > _MOST_TEXTS:
                return None
            values = [value + text for value in values for text in more]
            if any(len(value) > _LONGEST for value in values):
                return None
        return values

    # Statements.

    def visit_Assign(self, node, _):
        self.visit(node.value)
        for target in node.targets:
            if type(target) is ast.Name:
                is_tuple = type(node.value) is ast.Tuple
                self.bind(target.id, target, node.value if is_tuple else self.texts(node.value))
            else:
                self.visit(target)

    def visit_AnnAssign(self, node, _):
        self.visit_all((node.annotation, node.value))
        if node.value is not None or type(node.target) is not ast.Name:
            self.visit(node.target)  # else it binds nothing

    def visit_NamedExpr(self, node, _):
        self.visit(node.value)
        scope = self._scope
        while self._scope.kind is COMPREHENSION:
            self._scope = self._scope.parent
        self.bind(node.target.id, node.target, is_certain=False)
        self._scope = scope
        return ()

    def visit_For(self, node, _):
        self.visit(node.iter)
        flow, self._flow = self._flow, dict(self._flow)
        self._bind_loop(node.target, node.iter)
        self.visit_all(node.body)
        self._flow = flow
        self._visit_block(node.orelse)

    visit_AsyncFor = visit_For

    def _bind_loop(self, target, items):
        """Binds what a loop goes over."""
        if type(target) is not ast.Name:
            self.visit(target)
            return
        if type(items) is ast.Name:
            items = self.bound_to(items.id)
        is_seen = isinstance(items, (ast.Tuple, ast.List, ast.Set))
        self.bind(target.id, target, self._any_of(items.elts) if is_seen else None)

    def visit_Global(self, node, _):
        for name in node.names:
            self.check_binding(name, node)
        self._scope.globals.update(node.names)

    def visit_ExceptHandler(self, node, _):
        self.visit_all((node.type,))
        if node.name:
            self.bind(node.name, node, is_certain=False)
            self.check_deletion(node.name, node)  # at its end
        self._visit_block(node.body)

    def visit_MatchAs(self, node, _):
        if name := getattr(node, "name", None) or getattr(node, "rest", None):
            self.bind(name, node, is_certain=False)
        self.visit_parts(node)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs

    # Definitions.

    def visit_FunctionDef(self, node, _):
        self.visit_all((*node.decorator_list, node.returns, *getattr(node, "type_params", ())))
        self.bind(node.name, node, node)
        self.visit_Lambda(node, _)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node, _):
        inner = Scope(FUNCTION, self._scope, node)
        for child in ast.iter_child_nodes(node.args):
            self.visit(child)
            if type(child) is ast.arg:
                inner.bound.add(child.arg)
        # Until it runs, other code may bind the names of the module to other texts.
        flow = {
            key: value if key[0] is not self._module or type(value) is ast.FunctionDef else None
            for key, value in self._flow.items()
        }
        self._later.append((inner, flow, [node.body] if type(node) is ast.Lambda else node.body))
        return [("builtins.function", True)]

    def visit_ClassDef(self, node, _):
        self.visit_all((*node.decorator_list, *node.bases, *node.keywords))
        self.visit_all(getattr(node, "type_params", ()))
        self.bind(node.name, node)
        self._scope = Scope(CLASS, self._scope, node)
        self.visit_all(node.body)
        self._scope = self._scope.parent

    def visit_ListComp(self, node, _):
        outer = self._scope
        inner = Scope(COMPREHENSION, outer, node)
        for generator in node.generators:
            self.visit(generator.iter)
            self._scope = inner
            self._bind_loop(generator.target, generator.iter)
            self.visit_all(generator.ifs)
        self.visit_all((node.key, node.value) if type(node) is ast.DictComp else (node.elt,))
        self._scope = outer
        return ()

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp
