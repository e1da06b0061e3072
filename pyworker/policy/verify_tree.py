"""One walk over a syntax tree: scopes, what is bound in them, and what is used.

The walk keeps a list of its own of what is still to be seen, so the depth of the
code doesn't matter. It decides nothing: names can only be told when all bindings
of their scope are known.
"""

import ast

MODULE, FUNCTION, CLASS, COMPREHENSION = "module", "function", "class", "comprehension"

# How a value is used: as any value; called; to nobody's harm; or set or deleted.
VALUE, CALLED, HARMLESS, CHANGED = "value", "called", "harmless", "changed"

# The steps from one value to another: x.name, x[key], getattr(x, name).
ATTRIBUTE, ITEM, BY_NAME = "attribute", "item", "by name"

_NO_NODES = frozenset(
    (
        *("ctx", "op", "ops", "id", "attr", "arg", "n", "s", "kind", "conversion", "level"),
        *("module", "asname", "type_comment", "str", "type_ignores", "simple", "is_async"),
    )
)


class Scope:
    """Where names are bound."""

    __slots__ = ("bound", "declared", "imports", "kind", "loops", "parent", "texts", "values")

    def __init__(self, kind, parent):
        self.kind = kind
        self.parent = parent
        self.bound = {}  # name: how often
        self.imports = {}  # name: paths
        self.values = {}  # name: the node that is assigned to it
        self.loops = {}  # name: the For whose target it is
        self.texts = {}  # name: what it can be, as far as that has been asked
        self.declared = {}  # name: ast.Global or ast.Nonlocal


class Use:
    """A value and what is taken from it: root, then steps of (kind, key, node)."""

    __slots__ = ("call", "role", "root", "scope", "steps")

    def __init__(self, root, steps, scope, role, call):
        self.root = root
        self.steps = steps
        self.scope = scope
        self.role = role
        self.call = call  # the Call, if the value is called


class Binding:
    """A name that is bound or deleted."""

    __slots__ = ("is_deleted", "name", "node", "path", "scope", "value")

    def __init__(self, scope, name, node, path=None, value=None, is_deleted=False):
        self.scope = scope
        self.name = name
        self.node = node
        self.path = path  # of an import
        self.value = value  # the node of its value, or the For
        self.is_deleted = is_deleted


class Walk:
    """What a tree holds."""

    def __init__(self, tree):
        self.module = Scope(MODULE, None)
        self.bindings = []
        self.names = []  # values that are a mere name, with their scopes
        self.uses = []
        self.imports = []  # Import and ImportFrom, with their scopes
        self.patterns = []  # MatchClass
        self.sources = set()  # ids of calls of whose value something is taken
        self.spreads = set()  # ids of calls whose value is only spread into format()
        self.lookups = set()  # ids of calls of globals() that are only asked "in"
        self._todo = [(statement, self.module) for statement in tree.body]
        self._run()
        for binding in self.bindings:
            _bind(binding, self.module)

    def _run(self):
        todo, handlers = self._todo, _HANDLERS
        while todo:
            node, scope = todo.pop()
            kind = type(node)
            handler = handlers.get(kind)
            if handler is not None:
                handler(self, node, scope)
                continue
            for field in _FIELDS[kind]:
                child = getattr(node, field)
                if child.__class__ is list:
                    for item in child:
                        if isinstance(item, ast.AST):
                            todo.append((item, scope))
                elif isinstance(child, ast.AST):
                    todo.append((child, scope))

    def _add(self, nodes, scope):
        self._todo.extend((node, scope) for node in nodes if node is not None)

    def bind(self, scope, name, node, **more):
        self.bindings.append(Binding(scope, name, node, **more))

    def use(self, node, scope, role=VALUE, call=None):
        """Notes how a value is come by, and leaves the rest to be walked."""
        steps, todo = [], self._todo
        while True:
            kind = type(node)
            if kind is ast.Attribute:
                steps.append((ATTRIBUTE, node.attr, node))
                node = node.value
            elif kind is ast.Subscript:
                steps.append((ITEM, node.slice, node))
                todo.append((node.slice, scope))
                node = node.value
            elif kind is ast.Call and _is_call_of(node, "getattr", (2, 3)):
                steps.append((BY_NAME, node.args[1], node))
                self.uses.append(Use(node.func, (), scope, CALLED, None))
                todo.extend((argument, scope) for argument in node.args[1:])
                node = node.args[0]
            elif kind is ast.Call and _is_call_of(node, "vars", (1,)):
                steps.append((ATTRIBUTE, "__dict__", node))
                self.uses.append(Use(node.func, (), scope, CALLED, None))
                node = node.args[0]
            else:
                break
        if kind is not ast.Name:
            todo.append((node, scope))
            if not steps:
                return
            self.sources.add(id(node))
        steps.reverse()
        self.uses.append(Use(node, steps, scope, role, call))

    def see_call(self, node, scope):
        if _is_call_of(node, "getattr", (2, 3)) or _is_call_of(node, "vars", (1,)):
            self.use(node, scope)
            return
        function = node.func
        if type(function) is ast.Name:
            self.uses.append(Use(function, (), scope, CALLED, node))
        else:
            self.use(function, scope, CALLED, node)
        arguments = node.args
        if arguments and type(function) is ast.Name and function.id in _TAKES_HARMLESS:
            self.use_harmlessly(arguments[0], scope)
            arguments = arguments[1:]
        self._todo.extend((argument, scope) for argument in arguments)
        for keyword in node.keywords:
            if keyword.arg is None and type(function) is ast.Attribute:
                if function.attr == "format":
                    self.spreads.add(id(keyword.value))
            self._todo.append((keyword.value, scope))

    def use_harmlessly(self, node, scope):
        if type(node) in _CHAIN:
            self.use(node, scope, HARMLESS)
        else:
            self._todo.append((node, scope))

    def enter_function(self, node, scope, body):
        inner = Scope(FUNCTION, scope)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += filter(None, (arguments.vararg, arguments.kwarg))
        for argument in every:
            self.bind(inner, argument.arg, argument)
            self.annotate(argument.annotation, scope)
        self._add(arguments.defaults, scope)
        self._add(arguments.kw_defaults, scope)
        self._add(body, inner)
        return inner

    def annotate(self, node, scope):
        """Sees an annotation; what is written as text may be evaluated later."""
        if node is None:
            return
        if type(node) is ast.Constant and type(node.value) is str and "(" in node.value:
            try:
                parsed = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return
            for inner in ast.walk(parsed):
                if hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
            node = parsed
        self._todo.append((node, scope))

    def enter_type_parameters(self, node, scope):
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return scope
        inner = Scope(COMPREHENSION, scope)
        for parameter in parameters:
            self.bind(inner, parameter.name, parameter)
            self._add((getattr(parameter, "bound", None),), inner)
            self._add((getattr(parameter, "default_value", None),), inner)
        return inner


def _is_call_of(node, name, counts):
    function = node.func
    return (
        type(function) is ast.Name
        and function.id == name
        and len(node.args) in counts
        and not node.keywords
        and not any(type(argument) is ast.Starred for argument in node.args)
    )


def _bind(binding, module):
    """Enters a binding where its name belongs."""
    scope, name = binding.scope, binding.name
    declared = scope.declared.get(name)
    if declared is ast.Global:
        binding.scope = scope = module
        _enter(scope, binding, 2)
    elif declared is ast.Nonlocal:
        while scope.parent is not None:
            scope = scope.parent
            if scope.kind is FUNCTION:
                _enter(scope, binding, 2)
    else:
        _enter(scope, binding, 1)


def _enter(scope, binding, times):
    name = binding.name
    scope.bound[name] = scope.bound.get(name, 0) + times
    if binding.path is not None:
        scope.imports.setdefault(name, []).append(binding.path)
    elif type(binding.value) is ast.For:
        scope.loops[name] = binding.value
    elif binding.value is not None:
        scope.values[name] = binding.value


def _see_name(walk, node, scope):
    kind = type(node.ctx)
    if kind is ast.Load:
        walk.names.append((node, scope))
    else:
        walk.bind(scope, node.id, node, is_deleted=kind is ast.Del)


def _see_chain(walk, node, scope):
    walk.use(node, scope, VALUE if type(node.ctx) is ast.Load else CHANGED)


def _see_call(walk, node, scope):
    walk.see_call(node, scope)


def _see_constant(walk, node, scope):
    pass


def _see_expression(walk, node, scope):
    walk._todo.append((node.value, scope))  # its value is kept: as _ and in Out


def _see_compare(walk, node, scope):
    sides = [node.left, *node.comparators]
    for operator, side in zip(node.ops, node.comparators):
        if type(operator) in (ast.In, ast.NotIn):
            walk.lookups.add(id(side))
    if all(type(operator) in (ast.Is, ast.IsNot) for operator in node.ops):
        for side in sides:
            walk.use_harmlessly(side, scope)
    else:
        walk._add(sides, scope)


def _see_assignment(walk, node, scope):
    if len(node.targets) == 1 and type(node.targets[0]) is ast.Name:
        walk.bind(scope, node.targets[0].id, node.targets[0], value=node.value)
    else:
        walk._add(node.targets, scope)
    walk._todo.append((node.value, scope))


def _see_annotated(walk, node, scope):
    walk.annotate(node.annotation, scope)
    if node.value is not None:
        walk._todo.append((node.value, scope))
    elif type(node.target) is ast.Name and scope.kind is not FUNCTION:
        return  # at top level it binds nothing
    walk._todo.append((node.target, scope))


def _see_augmented(walk, node, scope):
    target = node.target
    if type(target) is ast.Name:
        walk.uses.append(Use(target, (), scope, VALUE, None))
    walk._add((target, node.value), scope)


def _see_walrus(walk, node, scope):
    outer = scope
    while outer.kind is COMPREHENSION:
        outer = outer.parent
    walk.bind(outer, node.target.id, node.target)
    walk._todo.append((node.value, scope))


def _see_for(walk, node, scope):
    if type(node) is ast.For and type(node.target) is ast.Name:
        walk.bind(scope, node.target.id, node.target, value=node)
    else:
        walk._todo.append((node.target, scope))
    walk._todo.append((node.iter, scope))
    walk._add(node.body, scope)
    walk._add(node.orelse, scope)


def _see_function(walk, node, scope):
    walk.bind(scope, node.name, node)
    walk._add(node.decorator_list, scope)
    around = walk.enter_type_parameters(node, scope)
    walk.enter_function(node, around, node.body)
    walk.annotate(node.returns, around)


def _see_lambda(walk, node, scope):
    walk.enter_function(node, scope, [node.body])


def _see_class(walk, node, scope):
    walk.bind(scope, node.name, node)
    walk._add(node.decorator_list, scope)
    around = walk.enter_type_parameters(node, scope)
    walk._add(node.bases, around)
    walk._add([keyword.value for keyword in node.keywords], around)
    walk._add(node.body, Scope(CLASS, around))


def _see_alias_statement(walk, node, scope):
    walk._todo.append((node.name, scope))
    walk._todo.append((node.value, walk.enter_type_parameters(node, scope)))


def _see_comprehension(walk, node, scope):
    inner = Scope(COMPREHENSION, scope)
    for i, generator in enumerate(node.generators):
        walk._todo.append((generator.iter, inner if i else scope))
        if type(generator.target) is ast.Name:
            walk.bind(inner, generator.target.id, generator.target, value=_as_loop(generator))
        else:
            walk._todo.append((generator.target, inner))
        walk._add(generator.ifs, inner)
    if type(node) is ast.DictComp:
        walk._add((node.key, node.value), inner)
    else:
        walk._todo.append((node.elt, inner))


def _as_loop(generator):
    return ast.For(target=generator.target, iter=generator.iter, body=[], orelse=[])


def _see_declaration(walk, node, scope):
    for name in node.names:
        scope.declared[name] = type(node)
        if type(node) is ast.Global:
            walk.bind(scope, name, node)


def _see_handler(walk, node, scope):
    if node.name:
        walk.bind(scope, node.name, node, is_deleted=True)  # at its end
    walk._add((node.type,), scope)
    walk._add(node.body, scope)


def _see_import(walk, node, scope):
    walk.imports.append((node, scope))
    for alias in node.names:
        path = alias.name if alias.asname else alias.name.partition(".")[0]
        walk.bind(scope, alias.asname or path, alias, path=path)


def _see_import_from(walk, node, scope):
    walk.imports.append((node, scope))
    if node.level:
        return
    for alias in node.names:
        if alias.name != "*":
            path = f"{node.module}.{alias.name}"
            walk.bind(scope, alias.asname or alias.name, alias, path=path)


def _see_match_as(walk, node, scope):
    if node.name:
        walk.bind(scope, node.name, node)
    walk._add((getattr(node, "pattern", None),), scope)


def _see_match_mapping(walk, node, scope):
    if node.rest:
        walk.bind(scope, node.rest, node)
    walk._add(node.keys, scope)
    walk._add(node.patterns, scope)


def _see_match_class(walk, node, scope):
    walk.patterns.append(node)
    walk.use_harmlessly(node.cls, scope)
    walk._add(node.patterns, scope)
    walk._add(node.kwd_patterns, scope)


class _Fields(dict):
    """The fields of a node's class that may hold nodes."""

    def __missing__(self, kind):
        self[kind] = fields = tuple(name for name in kind._fields if name not in _NO_NODES)
        return fields


_FIELDS = _Fields()
_CHAIN = frozenset((ast.Name, ast.Attribute, ast.Subscript))
_TAKES_HARMLESS = frozenset(("hasattr", "setattr", "delattr"))
_HANDLERS = {
    ast.AnnAssign: _see_annotated,
    ast.Assign: _see_assignment,
    ast.AsyncFor: _see_for,
    ast.AsyncFunctionDef: _see_function,
    ast.Attribute: _see_chain,
    ast.AugAssign: _see_augmented,
    ast.Call: _see_call,
    ast.ClassDef: _see_class,
    ast.Compare: _see_compare,
    ast.Constant: _see_constant,
    ast.DictComp: _see_comprehension,
    ast.ExceptHandler: _see_handler,
    ast.Expr: _see_expression,
    ast.For: _see_for,
    ast.FunctionDef: _see_function,
    ast.GeneratorExp: _see_comprehension,
    ast.Global: _see_declaration,
    ast.Import: _see_import,
    ast.ImportFrom: _see_import_from,
    ast.Lambda: _see_lambda,
    ast.ListComp: _see_comprehension,
    ast.MatchAs: _see_match_as,
    ast.MatchClass: _see_match_class,
    ast.MatchMapping: _see_match_mapping,
    ast.MatchStar: _see_match_as,
    ast.Name: _see_name,
    ast.NamedExpr: _see_walrus,
    ast.Nonlocal: _see_declaration,
    ast.SetComp: _see_comprehension,
    ast.Subscript: _see_chain,
}
if hasattr(ast, "TypeAlias"):
    _HANDLERS[ast.TypeAlias] = _see_alias_statement
