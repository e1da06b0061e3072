"""Holds what a tree uses and binds against the rules.

What a name is can be told for imports of this code and for builtins. A name that
nothing here binds may have been bound by code that ran before: where it is that of
a module or a builtin, it is taken for that. Therefore modules that hold blocked
functions are used by their own names only, as os.NAME: a copy under another name
would be a stranger to the next piece of code.
"""

import ast
import itertools
import re

from . import verify_routes as routes
from .verify_constants import prefix, texts
from .verify_names import Names
from .verify_tree import (
    ATTRIBUTE,
    CALLED,
    CHANGED,
    CLASS,
    FUNCTION,
    ITEM,
    VALUE,
    Use,
    Walk,
)

_FIELD = re.compile(r"@\s*([^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)")  # in the text of df.query
_HIDDEN = re.compile(r"\.\s*(__\w+)")
_TAKES_TEXT = frozenset(("eval", "query"))
_LOOKS_UP = frozenset(("keys", "__contains__", "__len__"))
_UNSEEN = "write the name itself, where a check can see it"


class Judge:
    """Collects the violations of one tree, as (node, place, rule, message)."""

    def __init__(self, tree, rules):
        self._rules = rules
        self._walk = Walk(tree)
        self._found = {}
        self._resolver = Names(tree, self._walk, rules)

    def violations(self):
        """Returns (line, offset in bytes, rule, message) of each, lines from 1, in order."""
        walk = self._walk
        for binding in walk.bindings:
            if binding.scope is walk.module:
                self._check_binding(binding)
        if self._rules.is_on:
            for node, scope in walk.imports:
                self._check_import(node, scope)
            for binding in walk.bindings:
                if binding.name == "__match_args__":
                    self._check_match_args(binding)
            for node in walk.patterns:
                self._check_pattern(node)
            self._check_names()
            for use in walk.uses:
                self._check_use(use)
        return sorted(self._found)

    def _report(self, node, verdict, place=None):
        line, offset = place or (node.lineno, node.col_offset)
        self._found[(line, offset, *verdict)] = None

    def _refuse(self, node, what, advice):
        self._report(node, (f"can't be checked: {what}", advice))

    # What is bound.

    def _check_binding(self, binding):
        name, node = binding.name, binding.node
        verdict = self._rules.variable(name)
        if verdict:
            self._report(node, verdict)
        if not self._rules.is_on or name not in self._rules.guarded:
            return
        path = self._rules.free[name]
        if binding.is_deleted and path.startswith("builtins."):
            self._refuse(
                node, f"del {name}", f"the builtin {name} would be back; leave it as it is"
            )
        elif path in routes.DIRECT and type(node) is not ast.Global:
            self._refuse(node, f"another {name}", f"{name} must stay the builtin; use another name")

    def _check_import(self, node, scope):
        if type(node) is ast.Import:
            for alias in node.names:
                self._check_module(alias.name, alias)
                self._check_alias(alias, alias.name, scope)
            return
        if node.level:
            if self._rules.module("."):
                self._refuse(node, "relative import", "write the whole name of the module")
            return
        if self._check_module(node.module, node, node.names):
            return
        for alias in node.names:
            if alias.name == "*":
                self._check_star(node)
                continue
            path = self._extend_import(node.module, alias.name)
            verdict = self._rules.verdict(path) or self._rules.attribute(alias.name)
            if verdict:
                self._report(alias, verdict)
            elif path in self._rules.careful:
                self._check_alias(alias, path, scope)

    def _extend_import(self, module, name):
        return self._rules.extend(routes.canonical(module), name)

    def _check_module(self, name, node, names=()):
        verdict = self._rules.module(name)
        if not verdict:
            return False
        if names and all(
            alias.name != "*" and not self._rules.module(f"{name}.{alias.name}") for alias in names
        ):
            return False  # from os import path, where only os.path is allowed
        self._report(node, verdict)
        return True

    def _check_star(self, node):
        module = routes.canonical(node.module)
        if module in self._rules.careful:
            self._refuse(node, f"from {node.module} import *", "import what is needed by its name")

    def _check_alias(self, alias, path, scope):
        """Keeps modules that hold blocked functions under their own names."""
        path = routes.canonical(path)
        if alias.asname is None and scope.kind is not CLASS:
            return
        bound = alias.asname or alias.name.partition(".")[0]
        if scope.kind is FUNCTION and scope.declared.get(bound) is not ast.Global:
            return
        if path in self._rules.careful and self._rules.free.get(bound) != path:
            if scope.kind is CLASS and path not in self._rules.strong:
                return
            if self._rules.module(path):
                return  # said already
            advice = f"import {path} by its own name, outside of a class"
            self._refuse(alias, f"{path} as {bound}", advice)

    def _check_pattern(self, node):
        for name in node.kwd_attrs:
            verdict = self._rules.attribute(name) or self._leak(name)
            if verdict:
                self._report(node, verdict)

    def _check_match_args(self, binding):
        names = [
            texts(item, binding.scope)
            for item in getattr(binding.value, "elts", None) or (binding.value,)
        ]
        if None in names:
            self._refuse(binding.node, "__match_args__", "write it as a tuple of names")
            return
        for name in itertools.chain.from_iterable(names):
            self._check_text_attribute(name, binding.node)

    def _leak(self, name):
        path = self._rules.extend("", name)
        if not path:
            return None
        return self._rules.verdict(path) or _kept(path)

    # What is used.

    def _check_names(self):
        """Checks what is used by its mere name; most names are strangers."""
        free = self._rules.free
        imported = {binding.name for binding in self._walk.bindings if binding.path is not None}
        for node, scope in self._walk.names:
            if node.id in free or node.id in imported:
                self._check_use(Use(node, (), scope, VALUE, None))

    def _is_plain(self, use):
        """Says quickly whether all steps from an unknown object are harmless."""
        is_plain = self._rules.is_plain
        return all(kind is ATTRIBUTE and is_plain(key) for kind, key, _ in use.steps) and not (
            len(use.steps) > 1 and any(self._rules.is_word(key) for _, key, _ in use.steps)
        )

    def _check_use(self, use):
        root = use.root
        if use.call is not None:
            self._check_keywords(use.call)
        if type(root) is ast.Name:
            paths = self._resolver.lookup(root, use.scope)
            if not paths and not use.steps:
                return
        else:
            paths = self._resolver.result(root, use.scope)
        if not paths and self._is_plain(use):
            if use.call is not None:
                self._check_method(use)
            return
        self._follow(use, paths)

    def _follow(self, use, paths):
        """Goes from a root along the steps; paths are (path, whether it is certain)."""
        first = use.steps[0] if use.steps else None
        doorway = first is not None and any(self._rules.is_doorway(path) for path, _ in paths)
        if not doorway and self._judge_paths(paths, use.root):
            return
        if first is not None and _is_namespace(use.root):
            self._walk.lookups.add(id(use.root))
        before = ""
        last = len(use.steps) - 1
        for i, (kind, key, node) in enumerate(use.steps):
            is_set = i == last and use.role is CHANGED
            table = next(filter(_is_table, (path for path, _ in paths)), None)
            if table and kind is not ITEM:
                for name in (key,) if kind is ATTRIBUTE else texts(key, use.scope) or ("…",):
                    self._take_method(table, name, use, i == last)
                return
            if kind is ITEM:
                paths = self._take_item(use, key, node, paths, before)
                names = ()
            elif kind is ATTRIBUTE:
                names = (key,)
            else:
                names = self._names(key, node, use.scope, paths)
            before = names[0] if names else ""
            if kind is not ITEM:
                paths = self._take(names, node, paths, is_set, use.steps[i - 1] if i else None)
            if paths is None:
                return
            if not is_set and self._judge_paths(paths, use.root if kind is ATTRIBUTE else node):
                return
        self._check_end(use, paths)

    def _take(self, names, node, paths, is_set, previous):
        """Returns the paths of attributes, None after a violation."""
        found = []
        for name in names:
            verdict = self._rules.attribute(name)
            if verdict and not self._is_plain_hook(name, node):
                self._report(node, verdict, _place_of(node))
                return None
            if is_set:
                continue
            known = [(self._rules.extend(path, name), sure) for path, sure in paths]
            if not known:
                path = self._rules.extend("", name) or self._pair(previous, name)
                known = [(path, True)] if path else []
            known = [(path, sure or path in self._rules.strong) for path, sure in known]
            if any(self._rules.holds(path, name) for path, _ in paths):
                known = [(path, True) for path, _ in known]
            found += known
        return found

    def _is_plain_hook(self, name, node):
        """Says whether it is super().__getattribute__, of a class's own method."""
        value = getattr(node, "value", None)
        return name == "__getattribute__" and _is_call(value, "super")

    def _pair(self, previous, name):
        """Returns the path of x.io.open, where it is blocked, whatever x is."""
        if previous is None or previous[0] is not ATTRIBUTE:
            return ""
        module = previous[1].lstrip("_")
        if not self._rules.is_word(module):
            return ""
        path = self._rules.extend(routes.canonical(module), name)
        return path if self._rules.guess(path) else ""

    def _names(self, key, node, scope, paths):
        """Returns the names that getattr may be given."""
        names = texts(key, scope)
        if names is not None:
            return names
        start = prefix(key)
        if start.startswith("__") or (paths and not (start and not self._rules.may_begin(start))):
            shown = _shown(paths[0][0]) if paths else "…"
            self._refuse(node, f"getattr({shown}, …)", _UNSEEN)
        return ()

    def _take_item(self, use, key, node, paths, before):
        """Returns the paths of an item, None after a violation."""
        names = texts(key, use.scope)
        tables = [path for path, _ in paths if _is_table(path)]
        for name in names or ():
            verdict = self._rules.attribute(name)
            if verdict:
                self._report(node, verdict)
                return None
        if tables:
            if names is None:
                self._refuse(node, f"{_shown(tables[0])}[…]", _UNSEEN)
                return None
            return [(self._item_path(tables[0], name), True) for name in names]
        if before == "__dict__" and names is None:
            self._refuse(node, "__dict__[…]", _UNSEEN)
            return None
        if before in ("__dict__", "modules"):
            leaks = [self._rules.extend("", name) for name in names or ()]
            return [(path, True) for path in leaks if path]
        return []

    def _item_path(self, table, name):
        if table in routes.TABLES:
            return routes.canonical(name)
        if table in routes.NAMESPACES:
            return self._rules.free.get(name, name)
        return self._rules.extend(table.removesuffix(".__dict__"), name)

    def _judge_paths(self, paths, node):
        for path, sure in paths:
            verdict = self._rules.verdict(path) if sure else self._rules.guess(path)
            if verdict:
                self._report(node, verdict)
                return True
        return False

    def _check_end(self, use, paths):
        """Checks the value at the end of the steps in the use that is made of it."""
        for path, sure in paths:
            if path in routes.DIRECT:
                self._check_direct(path, use)
            elif use.role is VALUE:
                if sure and path in self._rules.strong:
                    self._report(use.root, _kept(path))
                elif path in routes.TABLES or path.endswith(".__dict__"):
                    self._check_table(path, use)
        if use.role is CALLED and use.call is not None:
            self._check_method(use)

    def _check_direct(self, path, use):
        """Checks a function that must be called where it is named, by its own name."""
        if use.role is CALLED:
            if use.call is None:
                return  # getattr, and its step has been taken
            if type(use.root) is ast.Name and (not use.steps or not path.startswith("builtins.")):
                self._check_call(path, use.call, use.scope)
                return
        shown = _shown(path)
        self._refuse(use.root, shown, f"call {shown} where it is named")

    def _check_table(self, path, use):
        """Checks a table of modules, or of what a module holds, that is used as a whole."""
        if id(_last(use)) not in self._walk.lookups:
            self._refuse(use.root, path, "take one name of it, or ask for NAME in it")

    def _take_method(self, table, name, use, is_last):
        """Checks a method of a table of modules, of variables, or of what a module holds."""
        if name in _LOOKS_UP:
            return
        if name == "get" and is_last and use.call is not None and use.call.args:
            names = texts(use.call.args[0], use.scope)
            if names is not None:
                for text in names:
                    self._take_whole(table, text, use)
                return
        shown = f"{_shown(table)}.{name}"
        self._refuse(use.root, shown, "take one name of it, as x[NAME], or ask for NAME in it")

    def _take_whole(self, table, name, use):
        """Checks an item of a table that nothing is taken from at once."""
        path = self._item_path(table, name)
        sure = table not in routes.NAMESPACES or name in self._rules.guarded
        if not self._judge_paths([(path, sure)], use.root) and path in self._rules.strong:
            self._report(use.root, _kept(path))

    # What is called.

    def _check_call(self, path, call, scope):
        if path in routes.IMPORTERS:
            self._check_importer(path, call, scope)
        elif path in routes.NAMESPACES:
            self._check_whole_namespace(path, call)
        elif path.startswith("operator."):
            self._check_operator(path, call, scope)
        elif path.startswith("timeit."):
            self._check_timeit(path, call)
        elif path in ("builtins.setattr", "builtins.delattr"):
            self._check_change(call, scope)
        elif path == "builtins.getattr":
            self._refuse(call, "getattr", "write getattr(object, name)")

    def _check_importer(self, path, call, scope):
        shown = _shown(path)
        names = texts(call.args[0], scope) if call.args else None
        if names is None or any(
            keyword.arg in (None, "name", "package") for keyword in call.keywords
        ):
            self._refuse(
                call, f"{shown}(…)", "write import NAME, or the name of the module as text"
            )
            return
        for name in names:
            verdict = self._rules.module(name)
            module = routes.canonical(name)
            if name.startswith("."):
                self._refuse(call, f"{shown}({name!r})", "write the whole name of the module")
            elif verdict:
                self._report(call, verdict)
            elif module in self._rules.strong and id(call) not in self._walk.sources:
                self._report(call, _kept(module))

    def _check_whole_namespace(self, path, call):
        if id(call) in self._walk.lookups or id(call) in self._walk.spreads:
            return
        if path == "builtins.vars" and call.args:
            return
        shown = _shown(path)
        self._refuse(call, f"{shown}()", f"use {shown}()[NAME], or NAME in {shown}()")

    def _check_operator(self, path, call, scope):
        arguments = call.args if path.endswith("attrgetter") else call.args[:1]
        for argument in arguments:
            names = texts(argument, scope)
            if names is None:
                self._refuse(call, path, _UNSEEN)
                return
            for name in ".".join(names).split("."):
                self._check_text_attribute(name, call)

    def _check_text_attribute(self, name, node):
        verdict = self._rules.attribute(name) or self._leak(name)
        if verdict:
            self._report(node, verdict)

    def _check_keywords(self, call):
        for keyword in call.keywords:
            if keyword.arg == "eval_str" and not _is_false(keyword.value):
                self._refuse(call, "eval_str", "it evaluates text; leave it out")

    def _check_timeit(self, path, call):
        defined = self._walk.module.values
        for argument in call.args[:2]:
            if type(argument) is ast.Lambda:
                continue
            if type(argument) is ast.Name and argument.id not in defined:
                if self._walk.module.bound.get(argument.id):
                    continue
            self._refuse(call, path, "give it a lambda, as lambda: f(x), or a def of this code")
            return
        if not call.args or any(k.arg in (None, "stmt", "setup", "globals") for k in call.keywords):
            self._refuse(call, path, "give it a function or a lambda, not text")

    def _check_change(self, call, scope):
        names = texts(call.args[1], scope) if len(call.args) > 1 else None
        for name in names or ():
            verdict = self._rules.attribute(name)
            if verdict:
                self._report(call, verdict)

    def _check_method(self, use):
        """Checks methods of text, and of data frames, that take names in a text."""
        if not use.steps or use.steps[-1][0] is not ATTRIBUTE:
            return
        name, node = use.steps[-1][1], use.steps[-1][2]
        if name in ("format", "format_map"):
            self._check_format(node.value, use)
        elif name in _TAKES_TEXT and use.call.args:
            for text in texts(use.call.args[0], use.scope) or ():
                self._check_query(text, use)
        elif name in ("__getattribute__", "__getattr__", "__getitem__", "pop") and use.call.args:
            for text in texts(use.call.args[-1], use.scope) or ():
                verdict = self._rules.attribute(text)
                if verdict:
                    self._report(use.call, verdict)

    def _check_format(self, value, use):
        import string

        for text in texts(value, use.scope) or ():
            try:
                fields = [field for _, field, _, _ in string.Formatter().parse(text) if field]
            except ValueError:
                continue
            for field in fields:
                for name in re.split(r"[.\[\]]+", field)[1:]:
                    if name:
                        self._check_text_attribute(name, use.call)

    def _check_query(self, text, use):
        for chain in _FIELD.findall(text):
            root, *names = re.split(r"\s*\.\s*", chain)
            node = ast.copy_location(ast.Name(id=root, ctx=ast.Load()), use.call)
            steps = []
            for name in names:
                node = ast.copy_location(ast.Attribute(value=node, attr=name), use.call)
                steps.append((ATTRIBUTE, name, node))
            while type(node) is ast.Attribute:
                node = node.value
            inner = Use(node, steps, use.scope, VALUE, None)
            self._check_use(inner)
        for name in _HIDDEN.findall(text):
            self._check_text_attribute(name, use.call)


def _is_call(node, name):
    return type(node) is ast.Call and type(node.func) is ast.Name and node.func.id == name


def _is_false(node):
    return type(node) is ast.Constant and node.value is False


def _is_table(path):
    return path in routes.TABLES or path in routes.NAMESPACES or path.endswith(".__dict__")


def _is_namespace(node):
    return (
        type(node) is ast.Call
        and not node.args
        and any(_is_call(node, name) for name in ("globals", "locals", "vars"))
    )


def _shown(path):
    """Returns a path as it is written in code."""
    return path if path.endswith("__dict__") else path.removeprefix("builtins.")


def _last(use):
    return use.steps[-1][2] if use.steps else use.root


def _kept(path):
    return (
        f"can't be checked: {path} as a value",
        f"it may be the module {path}, which is used as {path}.NAME only, "
        "neither copied nor passed on",
    )


def _place_of(node):
    """Returns (line, offset) of the name behind the dot."""
    if type(node) is not ast.Attribute:
        return node.lineno, node.col_offset
    offset = node.end_col_offset - len(node.attr.encode("utf-8", "surrogatepass"))
    return node.end_lineno, max(offset, 0)
