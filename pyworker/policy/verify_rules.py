"""The rules of a policy, made ready for quick questions about dotted names.

A *path* is what a name or an attribute resolves to, as "os.system"; builtins are
"builtins.open"; what comes of calling a class is "pathlib.Path()". A *verdict* is
(rule, message), or None if nothing speaks against it.
"""

import builtins
import fnmatch
import re
import sys

from . import verify_routes as routes

_LONGEST_PATH = 24  # names; each costs a question, and a question looks at all before it
_MOST_KEPT = 20_000  # verdicts kept; there are as many paths as code has names for

_STANDARD = sys.stdlib_module_names
_KEYS = frozenset(
    (
        *("allowed_modules", "blocked_modules", "blocked_functions", "blocked_attributes"),
        *("allowed_variables", "magics", "pip_packages", "commands"),
    )
)


class Rules:
    """A policy; see internal/policy for the meaning of its keys."""

    def __init__(self, policy):
        unknown = sorted(set(policy) - _KEYS)
        if unknown:
            raise ValueError(f"unknown rule {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
        self.is_any = bool(policy)
        self.magics = policy.get("magics") or {}
        self.pip_packages = policy.get("pip_packages")
        self.commands = policy.get("commands")
        self._modules = _ModuleRules(policy.get("allowed_modules"), policy.get("blocked_modules"))
        functions = list(policy.get("blocked_functions") or ())
        self._attributes = frozenset(policy.get("blocked_attributes") or ())
        if self._modules.is_on or functions or self._attributes:
            functions += self._environment()
        self._functions = _FunctionRules(functions)
        self._variables = _patterns(policy.get("allowed_variables"))
        # Whether code must be looked at name by name.
        self.is_on = self._modules.is_on or bool(self._functions.names or self._attributes)
        self._seen = {}  # path: verdict on its mention
        self._imported = {}  # module: verdict on its import
        self._extended = {}  # (path, name): path
        self._plain = {}  # name: whether it says nothing behind an unknown object
        self._prepare()

    def _environment(self):
        """Returns what code could tell programs with to be, or do, something else.

        By PATH another program has an allowed name; by PIP_INDEX_URL another package.
        """
        limited = (("shell", self.commands), ("pip", self.pip_packages))
        if any(
            names is not None and "*" not in names and self.magics.get(kind) != "refuse"
            for kind, names in limited
        ):
            return ["os.environ", "os.environb", "os.putenv", "os.unsetenv"]
        return []

    def _prepare(self):
        """Collects the modules that need care, and what a name without a binding is."""
        refused = {name for name in _STANDARD if self._modules.verdict(name)}
        holders = set(self._functions.holders)
        self.strong = frozenset(
            {"builtins", "sys"} | {m if _root(m) in _STANDARD else _root(m) for m in holders}
        )
        weak = {_root(path) for path in (*routes.FUNCTIONS, *routes.DIRECT, *routes.MODULES)}
        # A standard module's attribute of this name is that module.
        self._words = (self.strong | (refused if self._modules.blocks else set()) | weak) & set(
            _STANDARD
        )
        self._held = routes.HELD & (self.strong | refused | weak)
        self._leaks = routes.LEAKS & (self.strong | refused | weak)
        self.careful = self.strong | holders | {m for m in weak if m in _STANDARD} | {"IPython"}
        self.free = {name: name for name in _STANDARD if not name.startswith("_")}
        self.free.update(routes.USUAL_NAMES)
        self.free.update((old, new) for old, new in routes.SAME_MODULES.items())
        self.free.update({name: f"builtins.{name}" for name in dir(builtins)})
        for name in self._functions.builtins:
            self.free[name] = f"builtins.{name}"
        for name in ("__builtins__", "__loader__", "__spec__"):
            self.free[name] = f"builtins.{name}"
        # What may be bound to something else only where that is certain.
        self.guarded = frozenset(
            name
            for name, path in self.free.items()
            if path in self.strong
            or name in self._leaks
            or path in routes.DIRECT
            or (path.startswith("builtins.") and self.verdict(path))
        )

    def module(self, name):
        """Returns the verdict on the import of a module, or on the use of one."""
        name = routes.canonical(name)
        try:
            return self._imported[name]
        except KeyError:
            _bound(self._imported)
            verdict = self._imported[name] = (
                _too_long(name) or self._modules.verdict(name) or self._route_module(name)
            )
            return verdict

    def _route_module(self, name):
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            prefix = ".".join(parts[:end])
            if prefix in routes.MODULES and not self._modules.names(prefix):
                return f"can't be checked: {prefix}", routes.MODULES[prefix]
        return None

    def verdict(self, path):
        """Returns the verdict on the mention of a path."""
        try:
            return self._seen[path]
        except KeyError:
            _bound(self._seen)
            verdict = self._seen[path] = _too_long(path) or self._judge(path)
            return verdict

    def _judge(self, path):
        verdict = self._functions.verdict(path)
        if verdict or path.startswith("builtins.") or "()" in path:
            return verdict or self._route(path)
        return self._route(path) or self.module(path)

    def _route(self, path):
        advice = routes.FUNCTIONS.get(path)
        if advice is None or self._modules.names(_root(path)):
            return None
        return f"can't be checked: {path.removeprefix('builtins.')}", advice

    def guess(self, path):
        """Returns the verdict on a path whose first name may be a variable of the user's."""
        return _too_long(path) or self._functions.verdict(path) or self._route(path)

    def is_doorway(self, module):
        """Says whether a module is refused and something below it is allowed."""
        return self._modules.is_doorway(module)

    def attribute(self, name):
        """Returns the verdict on an attribute of any object."""
        if name in self._attributes:
            return f"blocked attribute {name}", f"the attribute {name} is blocked"
        advice = routes.ATTRIBUTES.get(name)
        return None if advice is None else (f"can't be checked: {name}", advice)

    def is_plain(self, name):
        """Says whether an attribute tells nothing where the object isn't known."""
        plain = self._plain.get(name)
        if plain is None:
            _bound(self._plain)
            plain = self._plain[name] = not (self.attribute(name) or self.extend("", name))
        return plain

    def extend(self, path, name):
        """Returns the path of an attribute; path is "" for an object that isn't known."""
        key = path, name
        extended = self._extended.get(key)
        if extended is None:
            _bound(self._extended)
            extended = self._extended[key] = self._extend(path, name)
        return extended

    def _extend(self, path, name):
        bare = name.lstrip("_") or name
        if bare in self._leaks:
            return bare
        if not path:
            return routes.DISTINCT.get(name, "")
        full = f"{path}.{name}"
        if bare in self._held and "()" not in path and full not in routes.NO_MODULES:
            if not path.startswith("builtins.") and bare != path:
                return bare
        if (
            bare in self._words
            and _root(path) in _STANDARD
            and full not in routes.NO_MODULES
            and bare != path.rpartition(".")[2]
        ):
            return bare
        return routes.SAME_FUNCTIONS.get(full, full)

    def holds(self, path, name):
        """Says whether a library, or what has its usual name, gives a module that is refused."""
        return (
            name.lstrip("_") in self._held
            and _root(path) not in _STANDARD
            and self.extend(path, name) in self._held
        )

    def is_word(self, name):
        """Says whether a module that needs care has this name."""
        return name in self._words

    def may_begin(self, prefix):
        """Says whether an attribute that leads astray begins so."""
        return prefix.startswith("_") or any(word.startswith(prefix) for word in self._words)

    def variable(self, name):
        """Returns the verdict on a name that is bound at top level."""
        if self._variables is None or self._variables.fullmatch(name):
            return None
        return f"variable {name} is not allowed", "use one of the names that the policy allows"


def _too_long(path):
    if path.count(".") < _LONGEST_PATH:
        return None
    shown = ".".join(path.split(".", 3)[:3])
    return (
        f"can't be checked: {shown}. …",
        "it is a chain of too many names; keep a part of it in a variable",
    )


def _bound(kept):
    if len(kept) > _MOST_KEPT:
        kept.clear()


class _ModuleRules:
    """allowed_modules and blocked_modules: the longest name that fits decides."""

    def __init__(self, allowed, blocked):
        self.is_on = allowed is not None or bool(blocked)
        self.blocks = bool(blocked)
        self._is_closed = allowed is not None
        self._rules = {}
        self._patterns = []
        for names, is_allowed in ((allowed or (), True), (blocked or (), False)):
            for name in names:
                self._add(name, is_allowed)

    def _add(self, name, is_allowed):
        plain = routes.canonical(name.removesuffix(".*"))
        if re.search(r"[*?\[]", plain):
            self._patterns.append((re.compile(fnmatch.translate(plain)), is_allowed))
        else:
            self._rules[plain] = is_allowed

    def names(self, module):
        """Says whether a module is allowed by its own name."""
        return self._rules.get(module, False)

    def is_doorway(self, module):
        return any(
            allowed and _is_below(name, module) for name, allowed in self._rules.items()
        ) and bool(self.verdict(module))

    def verdict(self, name):
        if not self.is_on:
            return None
        prefix = name
        while prefix:
            is_allowed = self._rules.get(prefix)
            if is_allowed is not None:
                return None if is_allowed else self._blocked(prefix)
            prefix = prefix.rpartition(".")[0]
        fits = [is_allowed for pattern, is_allowed in self._patterns if _fits(pattern, name)]
        if fits:
            return None if all(fits) else self._blocked(name)
        if not self._is_closed:
            return None
        return f"module {_root(name)} is not allowed", "import one of the modules that are allowed"

    def _blocked(self, name):
        below = sorted(n for n, allowed in self._rules.items() if allowed and _is_below(n, name))
        message = f"the module {name} is blocked"
        if below:
            message += f"; allowed of it: import {', import '.join(below)}"
        return f"blocked module {name}", message


class _FunctionRules:
    """blocked_functions, by path, and by first and last name where modules pass them on."""

    def __init__(self, names):
        self.names = frozenset(names)
        self.builtins, self.holders = set(), set()
        self._exact, self._ends, self._patterns = {}, {}, []
        for name in names:
            self._add(name)

    def _add(self, name):
        path = _function(name)
        if re.search(r"[*?\[]", path):
            self._patterns.append((re.compile(fnmatch.translate(path)), name))
        else:
            self._exact[path] = name
            self._add_end(path, name)
            for relative in routes.RELATIVES.get(path, ()):
                self._exact[relative] = name
                if "()" not in relative:
                    self._hold(relative)
        self.builtins.update([path.partition(".")[2]] if path.startswith("builtins.") else [])
        self._hold(path)
        if path == "builtins.open":
            self._hold("io.open")

    def _add_end(self, path, name):
        root, _, rest = path.partition(".")
        if root != "builtins":
            self._ends[root, rest.rpartition(".")[2]] = name

    def _hold(self, path):
        parts = path.split(".")
        for end in range(1, len(parts)):
            if re.search(r"[*?\[]", parts[end - 1]):
                break
            self.holders.add(".".join(parts[:end]))

    def verdict(self, path):
        if not self.names:
            return None
        name = self._exact.get(path)
        if name is None and "." in path:
            name = self._ends.get((_root(path), path.rpartition(".")[2]))
        if name is None:
            name = next((n for pattern, n in self._patterns if pattern.match(path)), None)
        if name is None:
            return None
        shown = path.removeprefix("builtins.").replace("()", "")
        message = f"the function {shown} is blocked"
        if path.startswith("builtins."):
            message += "; if it is a variable of yours, give that another name"
        return f"blocked function {shown}", message


def _function(name):
    """Returns the path that a name in blocked_functions stands for."""
    if "." not in name:
        return f"builtins.{name}"
    root, _, rest = name.partition(".")
    path = f"{routes.SAME_MODULES.get(root, root)}.{rest}"
    return routes.SAME_FUNCTIONS.get(path, path)


def _root(path):
    return path.partition(".")[0]


def _fits(pattern, name):
    while name:
        if pattern.match(name):
            return True
        name = name.rpartition(".")[0]
    return False


def _is_below(name, module):
    return name.startswith(f"{module}.")


def _patterns(names):
    if names is None:
        return None
    return re.compile("|".join(fnmatch.translate(name) for name in names) or r"(?!)")
