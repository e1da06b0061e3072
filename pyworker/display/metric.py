"""The variable that measures a trial: a finite number, or why it is none.

What a run did not assign itself does not count: a branch begins with its parent's
variables, and would be judged by its parent's number. So a number that is there
before the run is replaced by an equal one for the time of the run: whatever is there
afterwards and is another object was assigned. Small ints can't be told apart like
that; of them only what the code assigns in any case counts. Loaded late, for few
runs are measured.

No code of a user's class is run for it: subclasses of int, float and numpy's arrays
are read through the class of the library, and of other classes only those count
that are at home in a known library.
"""

import ast
import math

from . import kinds, libraries

NAME_LIMIT = 100  # characters of a variable's or a class's name in a problem

_ABSENT = object()
_TENSORS = frozenset(("tensorflow", "jax", "jaxlib", "cupy", "torch", "xarray"))
_EXACT = frozenset((("decimal", "Decimal"), ("fractions", "Fraction")))
_REAL = "iuf"  # kinds of dtypes
_DEEPEST = 3  # values within values


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
        before, stand_in, value = self._before, self._stand_in, self._take()
        if failed:
            measured = value is not _ABSENT and value is not stand_in
            when = "after" if measured else "before"
            return {"problem": f"the run failed {when} it was measured"}
        if value is _ABSENT:
            return {"problem": f"{self.label} is not defined"}
        if value is stand_in and not self._certain:
            problem = f"{self.label} was not assigned by this run"
            if stand_in is before:
                problem += ", or only in a branch of it and as before: assign it in any case"
            return {"problem": problem}
        try:
            return {"value": _number(value, 0)}
        except _Unfit as problem:
            return {"problem": f"{self.label} {problem}"}

    def _take(self):
        """Returns what is there after the run, and ends that anything stands in."""
        value = self._namespace.get(self._name, _ABSENT)
        if value is self._stand_in and value is not self._before:
            self._namespace[self._name] = self._before  # nothing has changed it
        self._before = self._stand_in = _ABSENT
        return value


class _Unfit(Exception):
    """A value that is no metric; its text goes on after the variable's name."""


def _copy(value):
    """Returns an equal number that is another object; the value where none can be had."""
    kind = type(value)
    if kind is float:
        return value * 1.0  # keeps also what a nan and a negative zero are
    if kind is int:
        return value * 1  # a small one is always the same object
    if kinds.library(kind) == "numpy" and "generic" in map(kinds.name, kinds.bases(kind)):
        return value.copy()
    return value


def _binds(statement, name):
    """Says whether a statement of the module binds a name whenever it doesn't raise."""
    kind = type(statement)
    if kind is ast.Assign:
        targets = statement.targets
    elif kind is ast.AugAssign or (kind is ast.AnnAssign and statement.value is not None):
        targets = [statement.target]
    elif kind is ast.Import or kind is ast.ImportFrom:
        return any((each.asname or each.name) == name for each in statement.names)
    elif kind is ast.Expr:
        return any(_binds(each, name) for each in _run_by_magic(statement.value))
    else:
        return False
    return any(
        type(node) is ast.Name and node.id == name and type(node.ctx) is ast.Store
        for target in targets
        for node in ast.walk(target)
    )


def _run_by_magic(call):
    """Returns the statements in the body of a %%time or %%capture, as far as they are Python."""
    if type(call) is not ast.Call or getattr(call.func, "attr", "") != "run_cell_magic":
        return []
    magic, _, body, *_ = [*(getattr(each, "value", None) for each in call.args), *[None] * 3]
    if magic not in ("time", "capture") or type(body) is not str:
        return []
    try:
        return ast.parse(body).body
    except (SyntaxError, ValueError):
        return []


def _number(value, depth):
    """Returns a value as a finite float."""
    kind = type(value)
    if kind is bool or value is None:
        raise _Unfit("is None" if value is None else "is a bool, not a number")
    if kinds.derives(kind, float):
        return _finite(float.__float__(value))
    if kinds.derives(kind, int):
        return _finite(_as_float(int.__int__(value), "int"))
    if (kinds.home(kind), kinds.name(kind)) in _EXACT:
        return _finite(_exact(value, kind))
    if depth < _DEEPEST:
        inner = _inside(value, kind)
        if inner is not _ABSENT:
            return _number(inner, depth + 1)
    raise _Unfit(f"is {_one(kind)}, not a number")


def _exact(value, kind):
    if kinds.name(kind) == "Decimal" and value.is_nan():
        return math.nan  # float() refuses one that signals
    return _as_float(value, kinds.name(kind))


def _as_float(value, name):
    try:
        return float(value)
    except OverflowError:
        raise _Unfit(f"is a larger {name} than a float can hold") from None


def _finite(number):
    if math.isfinite(number):
        return number
    raise _Unfit(f"is {number}")  # nan, inf or -inf


def _inside(value, kind):
    """Returns the one value in a library's scalar or array, _ABSENT where there is none."""
    for base in kinds.bases(kind):
        package = kinds.library(base)
        if package == "numpy" and kinds.name(base) == "ndarray":
            return _from_array(value, kind)
    package = kinds.library(kind)
    if package == "numpy":
        return _from_scalar(value, kind)
    if package == "pandas" and kinds.name(kind) == "Series":
        return _from_series(value)
    if package in _TENSORS:
        return _from_tensor(value, kind)
    return _ABSENT


def _from_array(value, kind):
    array = libraries.plain(value)
    if array.size != 1:
        raise _Unfit(_many(kind, array.size))
    if kinds.library(kind) == "numpy" and kinds.name(kind).startswith("Masked"):
        if value.mask.any():
            raise _Unfit("is masked")
    return _from_scalar(array, type(array))


def _from_scalar(value, kind):
    """Returns the Python value of numpy's scalar or of an array of one element."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or kinds.library(type(dtype)) != "numpy":
        return _ABSENT
    if dtype.kind in _REAL and dtype.itemsize > 8:  # a longdouble's item is a longdouble
        return float(value.reshape(()) if value.shape else value)
    if dtype.kind in _REAL + "bO":
        return value.item()
    noun = _one(kind) + f" of {dtype!s:.60}" if value.shape else _article(str(dtype))
    raise _Unfit(f"is {noun}, not a number")


def _from_series(value):
    if len(value) != 1:
        raise _Unfit(_many(type(value), len(value)))
    return value.item() if libraries.is_plain_series(value) else _ABSENT


def _from_tensor(value, kind):
    """Returns the value of a tensor that is there; nothing is computed for it."""
    reader = libraries.reader(kind)
    if kinds.library(kind) == "xarray" and (reader is None or reader.size(value) is None):
        return _ABSENT  # it would have to be computed
    shape = getattr(value, "shape", None)
    if shape is None:  # a model, say
        return _ABSENT
    count = math.prod(int(n) for n in shape)
    if count != 1:
        raise _Unfit(_many(kind, count))
    if kinds.library(kind) == "tensorflow":
        return value.numpy()
    return value.item()


def _many(kind, count):
    return f"is {_one(kind)} of {count} values, not a number"


def _one(kind):
    name = kinds.name(kind)
    return _article("array" if name == "ndarray" else name)


def _article(noun):
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun:.{NAME_LIMIT}}"
