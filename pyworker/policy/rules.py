"""The rules of a policy, made ready for quick questions about dotted names.

A *path* is what a name or an attribute resolves to, as "os.system"; builtins are
"builtins.open"; what comes of calling a class is "pathlib.Path()". A *verdict* is
(rule, message), or None if nothing speaks against it.
"""

import bisect
import builtins
import fnmatch
import functools
import itertools
import re
import sys

from pyworker.policy import routes

_LONGEST_PATH = 24  # names; what is behind a longer one is as if nothing was known of it
_MOST_LISTED = 200  # characters of what is allowed, in one message; there may be many messages
_MOST_KEPT = 20_000  # answers kept; there are as many paths as code has names for

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
        self.is_doorway = self._modules.is_doorway
        functions = list(policy.get("blocked_functions") or ())
        self._attributes = frozenset(policy.get("blocked_attributes") or ())
        # Whether code must be looked at name by name.
        self.is_on = self._modules.is_on or bool(functions or self._attributes)
        functions += self._environment() if self.is_on else []
        functions = {path for name in functions for path in _with_relatives(name)}
        self._functions = _any_of(functions)
        self._variables = policy.get("allowed_variables")
        keep = functools.lru_cache(_MOST_KEPT)
        self.module, self.verdict, self.guess, self.extend, self.is_plain = map(
            keep, (self._module, self._verdict, self._guess, self._extend, self._is_plain)
        )
        self._prepare(functions)

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

    def _prepare(self, functions):
        """Collects the modules that need care, and what a name without a binding is."""
        refused = {name for name in _STANDARD if self._modules.refused(name) is not None}
        holders = {path.rpartition(".")[0] for path in functions if "()" not in path}
        holders = {module for path in holders for module in _prefixes(path)}
        holders = set(itertools.filterfalse(_is_pattern, holders))
        # Those that are used by their own names only, neither copied nor passed on.
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
        # Those that are imported by their own names only.
        self.careful = self.strong | holders | (weak & set(_STANDARD)) | {"IPython"}
        names = {path.partition(".")[2] for path in functions if path.startswith("builtins.")}
        names |= {*dir(builtins), "__builtins__", "__loader__", "__spec__"}
        self.free = (
            {name: name for name in _STANDARD if not name.startswith("_")}
            | routes.USUAL_NAMES
            | routes.SAME_MODULES
            | {name: f"builtins.{name}" for name in names}
        )
        # What may be bound to something else only where that is certain.
        self.guarded = frozenset(
            name
            for name, path in self.free.items()
            if path in self.strong
            or name in self._leaks
            or path in routes.DIRECT
            or (path.startswith("builtins.") and self.verdict(path))
        )

    def _module(self, name):
        """Returns the verdict on the import of a module, or on the use of one."""
        name = routes.canonical(name)
        verdict = self._modules.verdict(name)
        for prefix in _prefixes(name):
            if not verdict and prefix in routes.MODULES and not self._modules.names(prefix):
                return f"can't be checked: {prefix}", routes.MODULES[prefix]
        return verdict

    def _verdict(self, path):
        """Returns the verdict on the mention of a path."""
        verdict = self.guess(path)
        if verdict or path.startswith("builtins.") or "()" in path:
            return verdict
        return self.module(path)

    def _guess(self, path):
        """Returns the verdict on a path whose first name may be a variable of the user's."""
        shown = path.removeprefix("builtins.").replace("()", "")
        if self._functions.match(path):
            message = f"the function {shown} is blocked"
            if path.startswith("builtins."):
                message += "; if it is a variable of yours, give that another name"
            return f"blocked function {shown}", message
        if path in routes.FUNCTIONS and not self._modules.names(_root(path)):
            return f"can't be checked: {path.removeprefix('builtins.')}", routes.FUNCTIONS[path]
        return None

    def attribute(self, name):
        """Returns the verdict on an attribute of any object."""
        if name in self._attributes:
            return f"blocked attribute {name}", f"the attribute {name} is blocked"
        advice = routes.ATTRIBUTES.get(name)
        return None if advice is None else (f"can't be checked: {name}", advice)

    def variable(self, name):
        """Returns the verdict on a name that is bound at top level."""
        if self._variables is None or is_one_of(name, self._variables):
            return None
        message = f"names that are allowed: {listed(self._variables, name)}"
        return f"variable {name} is not allowed", message

    def _is_plain(self, name):
        """Says whether an attribute tells nothing where the object isn't known."""
        return not (self.attribute(name) or self.attributes((), name) or name == "__dict__")

    def attributes(self, paths, name):
        """Returns what an attribute is, as (path, whether it is certain).

        paths are those of the object, in the same form; there are none if it isn't known.
        """
        if not paths:
            path, bare = self.extend("", name), name.lstrip("_")
            if path:
                return [(path, True)]
            return [(routes.canonical(bare), False)] if bare in self._words else []
        if any(path.count(".") >= _LONGEST_PATH for path, _ in paths):
            return self.attributes((), name)
        found = []
        for path, is_sure in paths:
            longer = self.extend(path, name)
            # It must be a module, though the name of the object may be anything's.
            is_held = longer in self._held and _root(path) not in _STANDARD
            is_module = is_held or longer in self.strong or longer in self._leaks
            found.append((longer, is_sure or is_module))
        return found

    def _extend(self, path, name):
        """Returns the path of an attribute; path is "" for an object that isn't known."""
        bare = name.lstrip("_") or name
        if bare in self._leaks:
            return bare
        if not path:
            return routes.DISTINCT.get(name, "")
        full = f"{path}.{name}"
        if full not in routes.NO_MODULES and bare != path.rpartition(".")[2]:
            if bare in self._words and _root(path) in _STANDARD:
                return bare
            if bare in self._held and "()" not in path and not path.startswith("builtins."):
                return bare
        return routes.SAME_FUNCTIONS.get(full, full)

    def may_begin(self, prefix):
        """Says whether an attribute that leads astray begins so."""
        return prefix.startswith("_") or any(word.startswith(prefix) for word in self._words)


class _ModuleRules:
    """allowed_modules and blocked_modules: the longest name that fits decides."""

    def __init__(self, allowed, blocked):
        self.is_on = allowed is not None or bool(blocked)
        self.blocks = bool(blocked)
        self._is_closed = allowed is not None
        self._allowed = {
            name.removesuffix(".*") for name in set(allowed or ()) - set(blocked or ())
        }
        given = dict.fromkeys(allowed or (), True) | dict.fromkeys(blocked or (), False)
        self._rules = {routes.canonical(n.removesuffix(".*")): fine for n, fine in given.items()}
        self._patterns = list(filter(_is_pattern, self._rules))

    def names(self, module):
        """Says whether a module is allowed by its own name."""
        return self._rules.get(module, False)

    def is_doorway(self, module):
        """Says whether a module is refused and something below it is allowed."""
        return bool(self._allowed_below(module)) and self.refused(module) is not None

    def _allowed_below(self, module):
        return sorted(n for n, fine in self._rules.items() if fine and n.startswith(f"{module}."))

    def verdict(self, name):
        module = self.refused(name)
        if module is None:
            return None
        if module:
            return self._blocked(module)
        message = f"modules that are allowed: {listed(self._allowed, name)}"
        return f"module {_root(name)} is not allowed", message

    def refused(self, name):
        """Returns the module that is blocked, "" where none is but this one isn't allowed."""
        if not self.is_on:
            return None
        for prefix in _prefixes(name):
            if prefix in self._rules:
                return None if self._rules[prefix] else prefix
        fits = [
            self._rules[pattern]
            for pattern in self._patterns
            if any(fnmatch.fnmatchcase(prefix, pattern) for prefix in _prefixes(name))
        ]
        if fits or not self._is_closed:
            return None if all(fits) else name
        return ""

    def _blocked(self, name):
        message = f"the module {name} is blocked"
        if below := self._allowed_below(name):
            message += f"; allowed of it: import {listed(below)}"
        return f"blocked module {name}", message


def _with_relatives(name):
    """Yields the paths, and patterns of them, that a name in blocked_functions stands for."""
    path = routes.canonical(name) if "." in name else f"builtins.{name}"
    path = routes.SAME_FUNCTIONS.get(path, path)
    yield path
    if path == "builtins.open":
        yield "io.open"
    elif not path.startswith("builtins."):
        # Packages pass on what their modules hold.
        yield f"{_root(path)}.*.{path.rpartition('.')[2]}"
    yield from routes.RELATIVES.get(path, ())


def _any_of(patterns):
    """Returns the expression for all names that fit one of some patterns."""
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")


def _root(path):
    return path.partition(".")[0]


def _prefixes(path):
    """Yields a path, what it is below, what that is below, and so on."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _is_pattern(name):
    return re.search(r"[*?\[]", name) is not None


def is_one_of(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def listed(names, wanted=""):
    """Returns what is allowed, as text: what begins like the wanted name first."""
    names = sorted(set(names))
    # The nearest are beside its place: code may ask for thousands of names.
    at = bisect.bisect(names, wanted)
    near = [name for name in names[max(0, at - 3) : at + 3] if name[:1] == wanted[:1]]
    near.sort(key=lambda name: -_alike(name, wanted))
    names = [*near, *(name for name in names if name not in near)]
    ends = itertools.accumulate(len(name) + len(", ") for name in names)
    shown = names[: max(1, sum(1 for _ in itertools.takewhile(_MOST_LISTED.__ge__, ends)))]
    more = len(names) - len(shown)
    text = ", ".join(shown) or "none"
    return f"{text} and {more} more, in the server's policy" if more else text


def _alike(name, wanted):
    """Returns how many characters two names have in common at their beginning."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(name, wanted)))
