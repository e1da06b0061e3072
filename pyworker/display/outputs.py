"""What was echoed: _, __, ___, _1 and Out.

Out keeps the last values, as many as COUNT_LIMIT, and of large ones no more than
SIZE_LIMIT bytes together: a table that was looked at once must not stay for ever.
"""

import builtins
import math
import sys

from . import describe, kinds

COUNT_LIMIT = 100  # values that Out keeps
SIZE_LIMIT = 64 << 20  # bytes of them, as far as that can be told
_UNDERSCORES = ("_", "__", "___")
_BUILTINS = vars(builtins)
_SAMPLE = 20  # elements of a container that are measured
_LARGE = 100_000  # values of an array or a table that is measured


class Outputs:
    """The values that a session has echoed."""

    def __init__(self, namespace):
        self.out = {}  # by execution
        self._namespace = namespace
        self._last = (None, None, None)  # of _, __, ___
        self._sizes = {}
        self._total = 0

    def install(self):
        """Has code find Out."""
        builtins.Out = self.out

    def keep(self, execution, value, small=False):
        """Takes what was echoed last; a name that the user, or gettext, has given a value stays.

        small says that there is no need to measure it.
        """
        if value is self.out:
            return
        names, last = self._namespace, self._last
        self._last = value, last[0], last[1]
        if not callable(_BUILTINS.get("_")):
            for name, ours, new in zip(_UNDERSCORES, last, self._last):
                if names.get(name, ours) is ours:
                    names[name] = new
        size = 0 if small else _size(value)
        if size > SIZE_LIMIT:
            self._drop(execution)
            return
        self._total += size - self._sizes.pop(execution, 0)  # of an earlier value of the cell
        self.out[execution], self._sizes[execution] = value, size
        names[f"_{execution}"] = value

        while len(self._sizes) > COUNT_LIMIT or self._total > SIZE_LIMIT:
            self._drop(next(iter(self._sizes)))

    def _drop(self, execution):
        value = self.out.pop(execution, self)
        self._total -= self._sizes.pop(execution, 0)
        if self._namespace.get(f"_{execution}", self._last) is value:
            del self._namespace[f"_{execution}"]


def _size(value, depth=2):
    """Returns about how many bytes a value has."""
    kind = type(value)
    try:
        if (known := describe.known(value)) is not None:
            extent = math.prod(describe.shape(known) or (_LARGE,))
            measured = extent >= _LARGE  # that may take a while
            return int(describe.memory(known) or 0) if measured else 0
        base = kinds.container(kind)
        if base is None:
            return sys.getsizeof(value)
        size = base.__sizeof__(value)
        if depth and base in (list, tuple, dict):
            items = list(base.values(value)) if base is dict else value
            if sample := items[:: len(items) // _SAMPLE + 1]:
                size += sum(_size(each, depth - 1) for each in sample) * len(items) // len(sample)
        return size
    except Exception:
        return 0  # of what can't say it
