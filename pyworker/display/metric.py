"""The variable that measures a trial: a finite number, or why it is none.

What a run did not assign itself does not count: a branch begins with its parent's
variables, and would be judged by its parent's number. So a number that is there
before the run is replaced by an equal one for the time of the run: whatever is there
afterwards and is another object was assigned. Small ints can't be told apart like
that; of them only what the code assigns in any case counts. Loaded late, for few
runs are measured.

No code of a user's class is run for it: subclasses of int and float are read by the
builtin's method, all else only where its class is a known library's (describe.py).
"""

import ast
import math

from . import describe, kinds

NAME_LIMIT = 100  # characters of a variable's or a class's name in a problem

_ABSENT = object()


class Watch:
    """Watches one variable through one run."""

    def __init__(self, name, namespace):
        self.label = f"{name:.{NAME_LIMIT}}"  # in problems
        self._name = name
        self._namespace = namespace
        # Held, so that its id can't become another's.
        self._before = namespace.get(name, _ABSENT)
        self._stand_in = self._before  # what is there instead while the run goes on
        self._certain = False  # the code binds the name whatever happens

    def begin(self, statements):
        """Says that the cell of these statements is about to run."""
        self._certain = any(_binds(each, self._name) for each in statements)
        self._stand_in = _copy(self._before)
        if self._stand_in is not self._before:
            self._namespace[self._name] = self._stand_in

    def end(self, failed):
        """Returns the fields of "metric". failed says that the run has raised."""
        before, stand_in = self._before, self._stand_in
        self._before = self._stand_in = _ABSENT
        value = self._namespace.get(self._name, _ABSENT)
        is_new = value is not stand_in
        if not is_new and value is not before:
            self._namespace[self._name] = before
        if failed:
            when = "after" if is_new and value is not _ABSENT else "before"
            return {"problem": f"the run failed {when} it was measured"}
        if value is _ABSENT:
            return {"problem": f"{self.label} is not defined"}
        if not is_new and not self._certain:
            problem = f"{self.label} was not assigned by this run"
            if stand_in is before:
                problem += ", or only in a branch of it and as before: assign it in any case"
            return {"problem": problem}
        try:
            return {"value": _number(value)}
        except _Unfit as problem:
            return {"problem": f"{self.label} {problem}"}


class _Unfit(Exception):
    """A value that is no metric; its text goes on after the variable's name."""


def _copy(value):
    """Returns an equal number that is another object; the value where none can be had."""
    kind = type(value)
    if kind is float or kind is int:
        return value * kind(1)  # keeps also what a nan and a negative zero are
    if kinds.library(kind) == "numpy" and "generic" in map(kinds.name, kinds.bases(kind)):
        return value.copy()
    return value


def _binds(statement, name):
    """Says whether a statement of the module assigns a name whenever it doesn't raise."""
    assigns = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign))
    if not assigns or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for target in targets
        for node in ast.walk(target)
    )


def _number(value):
    """Returns a value as a finite float."""
    kind = type(value)
    if kind is bool or value is None:
        raise _Unfit("is None" if value is None else "is a bool, not a number")
    try:
        if kinds.derives(kind, float):
            number = float.__float__(value)
        elif kinds.derives(kind, int):
            number = float(int.__int__(value))
        elif kinds.library(kind) in ("decimal", "fractions"):
            number = float(value)
        else:
            return _number(_inside(value, kind))
    except OverflowError:
        raise _Unfit(f"is a larger {kinds.name(kind)} than a float can hold") from None
    if not math.isfinite(number):
        raise _Unfit(f"is {number}")  # nan, inf or -inf
    return number


def _inside(value, kind):
    """Returns the one value in a library's scalar, array or tensor."""
    known, name = describe.known(value), kinds.name(kind)
    noun = "array" if name == "ndarray" else name
    noun = f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun:.{NAME_LIMIT}}"
    read = getattr(known, "item", None) or getattr(known, "numpy", None)
    dtype = getattr(getattr(known, "dtype", None), "kind", "")
    is_lazy = kinds.library(kind) == "xarray" and describe.memory(known) is None
    if read is None or is_lazy or dtype in ("c", "m", "M"):  # a time's item may be an int
        raise _Unfit(f"is {noun}, not a number")
    count = math.prod(describe.shape(known) or ())
    if count != 1:
        raise _Unfit(f"is {noun} of {count} values, not a number")
    if name.startswith("Masked") and known.mask.any():
        raise _Unfit("is masked")
    item = read()
    return float(item) if dtype == "f" else item  # a longdouble's item is a longdouble
