"""Holds what a tree uses and binds against the rules.

What a name is can be told for imports of this code and for builtins. A name that nothing
here binds may have been bound by code that ran before: where it is that of a module or a
builtin, it is taken for that. What is blocked is refused where it is mentioned, so nothing
needs to be known of what variables hold. Therefore modules that hold blocked functions are
used by their own names only, as os.NAME: a copy under another name would be a stranger to
the next piece of code.
"""

import ast
import itertools
import re

from pyworker.policy import routes
from pyworker.policy.walk import CALLED, FUNCTION, KEPT, PART, Walk

_LOOKS_UP = frozenset(("keys", "__contains__", "__len__"))
_UNKNOWN_DICT = "?.__dict__"  # of an object that isn't known
_UNSEEN = "write the name itself, where a check can see it"
_ONE_NAME = "take one name of it, as x[NAME], or ask for NAME in it"
# Names behind dots in the text of a method, and those of variables in that of df.query.
_NAMES = {
    **dict.fromkeys(("format", "format_map"), re.compile(r"[.\[](\w+)(?=[^{}]*\})")),
    **dict.fromkeys(("eval", "query"), re.compile(r"[.@]\s*(\w+)")),
}


class Judge(Walk):
    """Collects the violations of one tree."""

    def check_binding(self, name, node):
        """Checks a name that is bound at top level."""
        if verdict := self._rules.variable(name):
            self._found.add((node.lineno, node.col_offset, *verdict))
        if name in self._rules.guarded and self._rules.free[name] in routes.DIRECT:
            advice = f"{name} must stay the builtin; use another name"
            self.refuse(node, f"another {name}", advice)

    def check_deletion(self, name, node):
        """Checks a name that is deleted here: what it hid is there again."""
        is_top = self._scope is self._module or name in self._scope.globals
        if is_top and name in self._rules.guarded:
            advice = f"the builtin {name} would be back; leave it as it is"
            self.refuse(node, f"del {name}", advice)

    # Imports.

    def visit_Import(self, node, _):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            path = routes.canonical(alias.name if alias.asname else name)
            if verdict := self._rules.module(alias.name):
                self.report(alias, verdict)
            else:
                self._check_alias(alias, path)
            self.bind(name, alias, path=None if verdict else path)

    def visit_ImportFrom(self, node, _):
        module, names = routes.canonical(node.module or ""), [alias.name for alias in node.names]
        verdict = self._rules.module("." if node.level else module)
        if verdict and node.level:
            verdict = "can't be checked: relative import", "write the whole name of the module"
        elif verdict and "*" not in names:
            # As from os import path, where only os.path is allowed.
            fine = [not self._rules.module(f"{module}.{name}") for name in names]
            verdict = None if all(fine) else verdict
        if verdict:
            self.report(node, verdict)
        elif "*" in names and module in self._rules.careful:
            advice = "import what is needed by its name"
            self.refuse(node, f"from {node.module} import *", advice)
        for alias in node.names if "*" not in names else ():
            is_known = not verdict and not node.level
            path = self._import(alias, module) if is_known else None
            self.bind(alias.asname or alias.name, alias, path=path)

    def _import(self, alias, module):
        """Returns the path of what is imported from a module, None if it is refused."""
        path = self._rules.extend(module, alias.name)
        if verdict := self._rules.verdict(path) or self._rules.attribute(alias.name):
            self.report(alias, verdict)
            return None
        self._check_alias(alias, path)
        return path

    def _check_alias(self, alias, path):
        """Keeps modules that hold blocked functions under their own names."""
        name = alias.asname
        if name is None or (self._scope.kind is FUNCTION and name not in self._scope.globals):
            return
        if path in self._rules.careful and self._rules.free.get(name) != path:
            advice = f"import {path} by its own name, outside of a class"
            self.refuse(alias, f"{path} as {name}", advice)

    # Values.

    def visit_Name(self, node, use):
        if type(node.ctx) is ast.Load:
            return self._judge(self._lookup(node.id), node, use)
        self.bind(node.id, node, is_certain=type(node.ctx) is ast.Store)
        if type(node.ctx) is ast.Del:
            self.check_deletion(node.id, node)
        return ()

    def _lookup(self, name):
        """Returns what a name may be."""
        scope = self.owner(name)
        paths = scope.imports.get(name, ())
        is_sure = name not in self._rules.guarded or (scope, name) in self._flow
        if scope is not self._module or (name in scope.bound and is_sure):
            return paths
        return [*paths, *self._stranger(name)]

    def _stranger(self, name):
        """Returns what a name is that nothing binds here."""
        path = self._rules.free.get(name)
        if path is None:
            return ()
        return [(path, name in self._rules.guarded or path.startswith("builtins."))]

    def _judge(self, paths, node, use):
        """Returns the paths of a value that is used so, None after a violation."""
        for path, is_sure in paths:
            if use is PART and self._rules.is_doorway(path):
                continue
            verdict = self._rules.verdict(path) if is_sure else self._rules.guess(path)
            if not verdict and use is not CALLED and path in routes.DIRECT:
                shown = _shown(path)
                verdict = f"can't be checked: {shown}", f"call {shown} where it is named"
            if verdict or (use is KEPT and is_sure and (verdict := self._kept(path))):
                self.report(node, verdict)
                return None
        return paths

    def _kept(self, path):
        """Returns the verdict on what is copied, or passed on."""
        if _is_table(path):
            shown = _shown(path)
            return f"can't be checked: {shown}", f"use {shown}[NAME], or NAME in {shown}"
        if path not in self._rules.strong:
            return None
        return (
            f"can't be checked: {path} as a value",
            f"it may be the module {path}, which is used as {path}.NAME only, "
            "neither copied nor passed on",
        )

    def visit_Attribute(self, node, use):
        base = self.visit(node.value, PART)
        if base is None or (not base and self._rules.is_plain(node.attr)):
            return base
        return self._attribute(base, node.attr, node, use)

    def _attribute(self, base, name, node, use):
        """Returns what an attribute is; node is where it is taken."""
        table = _table_of(base)
        if _is_table(table):
            if name == "get" and use is CALLED:
                return [(f"{table}.get", False)]
            if name not in _LOOKS_UP:
                self.refuse(node, f"{_bare(table)}.{name}", _ONE_NAME)
            return () if name in _LOOKS_UP else None
        verdict = self._rules.attribute(name)
        if verdict and not _is_plain_hook(name, node):
            self.report(node, verdict, _place_of(node))
            return None
        if _is_changed(node):
            return ()
        base = () if table == _UNKNOWN_DICT else base
        if name == "__dict__" and not base:
            return [(_UNKNOWN_DICT, False)]
        return self._judge(self._rules.attributes(base, name), node, use)

    def visit_Subscript(self, node, use):
        base = self.visit(node.value, PART)
        self.visit(node.slice)
        table = _table_of(base or ())
        return self._item(table, node.slice, node, use) if table else base and ()

    def _item(self, table, key, node, use):
        """Returns what an item of a table is."""
        names = self.texts(key)
        if names is None:
            self.refuse(node, f"{_bare(table)}[…]", _UNSEEN)
            return None
        for verdict in filter(None, map(self._rules.attribute, names)):
            self.report(node, verdict)
            return None
        if _is_changed(node):
            return ()
        found = [one for name in names for one in self._content(table, name)]
        return self._judge(found, node, use)

    def _content(self, table, name):
        """Returns what a table has under a name."""
        if table in routes.NAMESPACES:
            return self._stranger(name)
        if table in routes.TABLES:
            return [(routes.canonical(name), True)]
        owner = table.removesuffix(".__dict__")
        return self._rules.attributes([] if owner == "?" else [(owner, True)], name)

    def visit_Compare(self, node, _):
        is_identity = all(type(operator) in (ast.Is, ast.IsNot) for operator in node.ops)
        self.visit(node.left, PART if is_identity else KEPT)
        for operator, side in zip(node.ops, node.comparators):
            is_lookup = type(operator) in (ast.In, ast.NotIn)
            self.visit(side, PART if is_identity or is_lookup else KEPT)
        return ()

    def visit_MatchClass(self, node, _):
        self.visit(node.cls, PART)
        for name in node.kwd_attrs:
            self._check_name(name, node)
        self.visit_all((*node.patterns, *node.kwd_patterns))

    def _check_name(self, name, node):
        """Checks an attribute of an object that isn't known, taken by its name."""
        path = self._rules.extend("", name)
        verdict = self._rules.attribute(name)
        if verdict or (path and (verdict := self._rules.verdict(path) or self._kept(path))):
            self.report(node, verdict)

    # Calls.

    def visit_Call(self, node, use):
        callee = self.visit(node.func, CALLED)
        for path, _ in callee or ():
            if path in _CALLS:
                return _CALLS[path](self, path, node, use)
            if path.endswith(".get") and _is_table(path.removesuffix(".get")) and node.args:
                return self._call_get(path.removesuffix(".get"), node, use)
        self._visit_arguments(node)
        method = getattr(node.func, "attr", None)
        if method in _NAMES:
            taken = [node.func.value] if method.startswith("format") else node.args[:1]
            names = [
                _NAMES[method].findall(text) for one in taken for text in self.texts(one) or ()
            ]
            for name in itertools.chain.from_iterable(names):
                self._check_name(name, node)
        return callee and [(f"{path}()", True) for path, _ in callee if "()" not in path]

    def _visit_arguments(self, node, first=0):
        self.visit_all(node.args[first:])
        for keyword in node.keywords:
            is_spread = keyword.arg is None and getattr(node.func, "attr", "") == "format"
            self.visit(keyword.value, PART if is_spread else KEPT)

    def _call_get(self, table, node, use):
        self._visit_arguments(node)
        if self.texts(node.args[0]) is not None:
            return self._item(table, node.args[0], node, use)
        self.refuse(node, f"{_bare(table)}.get", _ONE_NAME)
        return None

    def _call_getattr(self, path, node, use):
        if not _has_plain(node, (2, 3)):
            self._visit_arguments(node)
            self.refuse(node, "getattr", "write getattr(object, name)")
            return None
        base = self.visit(node.args[0], PART)
        self._visit_arguments(node, 1)
        if base is None:
            return None
        names = self.texts(node.args[1])
        if names is None:
            start = _prefix(node.args[1])
            is_harmless = start and not self._rules.may_begin(start)
            if start.startswith("__") or (base and not is_harmless):
                shown = _shown(base[0][0]) if base else "…"
                self.refuse(node, f"getattr({shown}, …)", _UNSEEN)
                return None
        found = [self._attribute(base, name, node, use) for name in names or ()]
        return None if None in found else [one for each in found for one in each]

    def _call_setattr(self, path, node, use):
        """Checks setattr and delattr; hasattr takes nothing."""
        if node.args:
            self.visit(node.args[0], PART)
        self._visit_arguments(node, 1)
        names = self.texts(node.args[1]) if len(node.args) > 1 else None
        for name in names or () if path in routes.DIRECT else ():
            if verdict := self._rules.attribute(name):
                self.report(node, verdict)
        return ()

    def _call_namespace(self, path, node, use):
        if path == "builtins.vars" and _has_plain(node, (1,)):
            base = self.visit(node.args[0], PART)
            return base if base is None else self._attribute(base, "__dict__", node, use)
        self._visit_arguments(node)
        return self._judge([(f"{path}()", True)], node, use)

    def _call_import(self, path, node, use):
        self._visit_arguments(node)
        shown, modules = _shown(path), []
        names = self.texts(node.args[0]) if node.args else None
        if names is None or {keyword.arg for keyword in node.keywords} - {"fromlist"}:
            advice = "write import NAME, or the name of the module as text"
            self.refuse(node, f"{shown}(…)", advice)
            return None
        for name in names:
            verdict = self._rules.module(name)
            if name.startswith("."):
                what = f"can't be checked: {shown}({name!r})"
                verdict = what, "write the whole name of the module"
            if verdict:
                self.report(node, verdict)
                return None
            name = name.partition(".")[0] if path == "builtins.__import__" else name
            modules.append((routes.canonical(name), True))
        return self._judge(modules, node, use)

    def _call_operator(self, path, node, use):
        self._visit_arguments(node)
        for argument in node.args if path.endswith("attrgetter") else node.args[:1]:
            names = self.texts(argument)
            if names is None:
                self.refuse(node, path, _UNSEEN)
            for name in ".".join(names or ()).split("."):
                self._check_name(name, node)
        return ()

    def _call_timeit(self, path, node, use):
        self._visit_arguments(node)
        for argument in node.args[:2]:
            value = self.bound_to(argument.id) if type(argument) is ast.Name else argument
            if type(value) not in (ast.Lambda, ast.FunctionDef):
                advice = "give it a lambda, as lambda: f(x), or a def of this code"
                self.refuse(node, path, advice)
        if not node.args or {None, "stmt", "setup", "globals"} & {k.arg for k in node.keywords}:
            self.refuse(node, path, "give it a function or a lambda, not text")
        return ()


_CALLS = {
    **dict.fromkeys(("builtins.__import__", "importlib.import_module"), Judge._call_import),
    "builtins.getattr": Judge._call_getattr,
    **{f"builtins.{verb}attr": Judge._call_setattr for verb in ("has", "set", "del")},
    **{f"builtins.{name}": Judge._call_namespace for name in ("globals", "locals", "vars")},
    **{f"operator.{kind}": Judge._call_operator for kind in ("attrgetter", "methodcaller")},
    **{f"timeit.{name}": Judge._call_timeit for name in ("Timer", "repeat", "timeit")},
}


def _has_plain(call, counts):
    """Says whether a call has so many arguments, all of them plain ones."""
    is_starred = any(type(argument) is ast.Starred for argument in call.args)
    return len(call.args) in counts and not call.keywords and not is_starred


def _prefix(node):
    """Returns how a text begins that is put together, "" if that can't be seen."""
    while type(node) is ast.BinOp and type(node.op) is ast.Add:
        node = node.left
    if type(node) is ast.JoinedStr and node.values:
        node = node.values[0]
    return node.value if type(node) is ast.Constant and type(node.value) is str else ""


def _table_of(paths):
    """Returns the table that a value may be, "" if there is none."""
    return next((path for path, _ in paths if path == _UNKNOWN_DICT or _is_table(path)), "")


def _is_table(path):
    return path in routes.TABLES or (path.endswith(".__dict__") and path != _UNKNOWN_DICT)


def _is_changed(node):
    """Says whether an attribute or an item is set or deleted."""
    return type(getattr(node, "ctx", None)) in (ast.Store, ast.Del)


def _is_plain_hook(name, node):
    """Says whether it is super().__getattribute__, of a class's own method."""
    function = getattr(getattr(node, "value", None), "func", None)
    return name == "__getattribute__" and getattr(function, "id", None) == "super"


def _shown(path):
    """Returns a path as it is written in code."""
    return path.removeprefix("?." if path.endswith("__dict__") else "builtins.")


def _bare(table):
    return _shown(table).removesuffix("()")


def _place_of(node):
    """Returns (line, offset) of the name behind the dot."""
    if type(node) is not ast.Attribute:
        return node.lineno, node.col_offset
    offset = node.end_col_offset - len(node.attr.encode("utf-8", "surrogatepass"))
    return node.end_lineno, max(offset, 0)
