"""What was echoed: _, __, ___, _1 and Out.

Out keeps the last values, as many as COUNT_LIMIT, and of large ones no more than
SIZE_LIMIT bytes together: a table that was looked at once must not stay for ever.
"""

import builtins
import sys

COUNT_LIMIT = 100  # values that Out keeps
SIZE_LIMIT = 64 << 20  # bytes of them, as far as that can be told
_UNDERSCORES = ("_", "__", "___")
_SAMPLE = 20  # elements of a container that are measured


class Outputs:
    """The values that a session has echoed."""

    def __init__(self, namespace):
        self.out = {}  # by execution
        self._namespace = namespace
        self._last = (None, None, None)  # of _, __, ___
        self._sizes = {}

    def install(self):
        """Has code find Out."""
        builtins.Out = self.out

    def keep(self, execution, value):
        """Takes what was echoed last; a name that the user, or gettext, has given a value stays."""
        if value is self.out:
            return
        names, last = self._namespace, self._last
        self._last = value, last[0], last[1]
        if not callable(vars(builtins).get("_")):
            for name, ours, new in zip(_UNDERSCORES, last, self._last):
                if names.get(name, ours) is ours:
                    names[name] = new
        self._drop(execution)  # an earlier value of the cell
        self.out[execution], self._sizes[execution] = value, _size(value, 2)
        names[f"_{execution}"] = value
        if self._sizes[execution] > SIZE_LIMIT:
            self._drop(execution)
        while len(self._sizes) > COUNT_LIMIT or sum(self._sizes.values()) > SIZE_LIMIT:
            self._drop(next(iter(self._sizes)))

    def _drop(self, execution):
        value = self.out.pop(execution, self)
        self._sizes.pop(execution, None)
        if self._namespace.get(f"_{execution}") is value:
            del self._namespace[f"_{execution}"]


def _size(value, depth):
    """Returns about how many bytes a value has: an array or a table says it itself."""
    try:
        for method in ("memory_usage", "estimated_size"):  # of pandas and polars
            if measure := getattr(type(value), method, None):
                size = measure(value)
                return int(size.sum() if hasattr(size, "sum") else size)
        size = getattr(type(value), "nbytes", None) and int(value.nbytes)
        size = size or sys.getsizeof(value)
        if depth and type(value) in (list, tuple, dict) and value:
            items = list(value.values()) if type(value) is dict else value
            sample = items[:: len(items) // _SAMPLE + 1]
            size += sum(_size(each, depth - 1) for each in sample) * len(items) // len(sample)
        return size
    except Exception:
        return 0  # of what can't say it
