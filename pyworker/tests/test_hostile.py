"""Values that would hang, raise or lie if anybody asked them.

Whatever of the user's runs raises SystemExit, which no handler of ours swallows.
"""

import collections
import dataclasses
import datetime
import enum
import json
import random
import sys
import threading
import types
import unittest
import weakref

from pyworker.display import variables
from pyworker.display.describe import DEPTH, REPR_LIMIT, brief_repr
from pyworker.tests.libraries import needs, numpy, pandas


def run(*_, **__):
    raise SystemExit("code of the user's class was run")


# fmt: off
SPECIAL = (
    "__repr__", "__str__", "__format__", "__len__", "__iter__", "__getattribute__",
    "__getattr__", "__getitem__", "__eq__", "__hash__", "__sizeof__", "__bool__",
    "__contains__", "__index__", "__int__", "__float__", "__reduce_ex__", "__dir__",
    "__instancecheck__", "__subclasscheck__", "__array__", "__dataframe__", "_repr_html_",
    "items", "keys", "values",
)
# fmt: on


def hostile(name, *bases, metaclass=type, **more):
    """Returns a class whose every method runs code."""
    body = dict.fromkeys(SPECIAL, run)
    body["__class__"] = property(run)
    for each in ("shape", "dtype", "nbytes", "size", "columns", "index", "_mgr"):
        body[each] = property(run)
    return metaclass(name, bases, {**body, **more})


class Meta(type):
    """A metaclass that runs code for every question about its classes."""

    __eq__ = __hash__ = __getattribute__ = __instancecheck__ = __subclasscheck__ = __repr__ = run
    __dict__ = property(run)


def make(kind, *arguments):
    """Makes an instance without asking its class's methods."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if base.__module__ == "builtins" or base is kind:
            return base.__new__(kind, *arguments)
    raise TypeError


class Lying(enum.Enum):
    """An Enum whose member has another name than it had."""

    A = 1


class Zone(datetime.tzinfo):
    utcoffset = dst = tzname = __repr__ = __str__ = run


@dataclasses.dataclass
class Record:
    value: object

    __repr__ = run


class Name(str):
    __format__ = __str__ = __repr__ = run


def dictionary_of_ones_own(_):
    run()


PLAIN = hostile("Plain")
ONES_OWN_DICT = type("OnesOwnDict", (), {"__dict__": property(dictionary_of_ones_own)})


def values():
    """Returns hostile values by name."""
    found = {
        "plain": object.__new__(PLAIN),
        "asked": object.__new__(hostile("Asked", metaclass=Meta)),
        "one's own __dict__": ONES_OWN_DICT(),
        "says numpy": object.__new__(hostile("ndarray", __module__="numpy")),
        "says pandas": object.__new__(hostile("DataFrame", __module__="pandas")),
        "says PIL": object.__new__(hostile("Image", __module__="PIL.Image")),
        "says datetime": object.__new__(hostile("datetime", __module__="datetime")),
        "no module": object.__new__(hostile("Strange", __module__=property(run))),
        "name": object.__new__(type(Name("Named"), (), {"__repr__": run})),
        "exception": BaseException.__new__(hostile("Failure", ValueError), "x"),
        "zone": datetime.datetime(2026, 1, 2, tzinfo=Zone()),
        "time": datetime.time(1, tzinfo=Zone()),
        "record": Record(object.__new__(PLAIN)),
        "simple": types.SimpleNamespace(a=object.__new__(PLAIN)),
        "proxy": weakref.proxy(KEPT),
        "dead proxy": weakref.proxy(Record(1)),
        "generator": (run() for _ in [1]),
        "class": hostile("Class", metaclass=Meta),
        "module": hostile("Module", types.ModuleType)("m"),
        "long name": type("n" * 10**6, (), {})(),
    }
    for base in (list, tuple, dict, set, frozenset, str, bytes, bytearray, int, float):
        found[f"{base.__name__} of one's own"] = base.__new__(hostile("Own", base))
    key = object.__new__(type("Key", (), {"__repr__": run}))
    found["key"] = {key: {key}, "x": [key]}
    Lying.A._name_ = object.__new__(PLAIN)
    found["member"] = Lying.A
    record = Record(1)
    vars(record)[object()] = 2
    found["field"] = record
    deep = []
    for _ in range(100_000):
        deep = [deep]
    found["deep"] = deep
    circle = collections.deque([{}])
    circle[0][1] = circle.copy()
    circle.append(circle)
    found["circle"] = circle
    found["huge"] = {"bits": 1 << (1 << 20), "text": "x" * 10**7, "range": range(1 << (1 << 20))}
    return found


KEPT = Record(1)


def library_values():
    """Returns hostile values that libraries hold."""
    plain = object.__new__(PLAIN)
    circle = numpy.empty(2, object)
    circle[0], circle[1] = circle, plain
    nested = numpy.empty((), object)
    nested[()] = nested
    view = hostile("Array", numpy.ndarray, __array_finalize__=lambda *_: None)
    column = object.__new__(type("Column", (), {"__repr__": run}))
    frame = pandas.DataFrame({"a": [plain, plain]}, dtype=object)
    frame.columns = pandas.Index([column], dtype=object)
    moments = pandas.Series([datetime.datetime(2026, 1, 2)])
    Zoned = type("Zoned", (datetime.tzinfo,), {"utcoffset": lambda *_: datetime.timedelta(0)})
    zoned = moments.dt.tz_localize(Zoned())
    stamp = zoned.iloc[0]
    Zoned.utcoffset = Zoned.__repr__ = Zoned.__str__ = run
    return {
        "objects": circle,
        "nested": nested,
        "array": numpy.ndarray.__new__(numpy.ndarray, (2, 2)).view(view),
        "number": numpy.float64.__new__(hostile("Number", numpy.float64), 1),
        "frame": frame,
        "table": hostile("Table", pandas.DataFrame).__new__(pandas.DataFrame),
        "groups": frame.groupby([1, 2]),
        "zoned": zoned,
        "stamp": stamp,
        "long double": numpy.longdouble(1.5),
    }


class Hostile(unittest.TestCase):
    def check(self, names):
        snapshot = variables.Snapshot({})
        snapshot.advance(names)
        snapshot.advance(names)
        found = variables.describe(names, patience=60)
        json.dumps(found)
        for entry in found["variables"]:
            self.assertLessEqual(len(entry["repr"]), REPR_LIMIT)
            self.assertLessEqual(len(entry["type"]), 200)
            self.assertLess(entry["size"], 1 << 40, entry)
        return {entry["name"]: entry for entry in found["variables"]}

    def test_nothing_of_it_runs(self):
        names = values()
        found = self.check(names)
        self.assertEqual({"class", "module"}, names.keys() - found.keys())
        for name, text in {
            "plain": "<Plain object>",
            "asked": "<Asked object>",
            "says numpy": "<ndarray object>",
            "zone": "<datetime object>",
            "record": "Record(value=<Plain object>)",
            "member": "<Lying.…>",
            "field": "Record(value=1)",
            "key": "{<Key object>: {<Key object>}, 'x': [<Key object>]}",
            "dict of one's own": "{}",
            "deep": "[[[[…]]]]",
        }.items():
            self.assertEqual(text, found[name]["repr"])

    def test_in_containers(self):
        for name, value in values().items():
            with self.subTest(name):
                self.check({"x": [value], "y": {1: (value,)}})

    @needs("numpy", "pandas")
    def test_nothing_runs_in_libraries(self):
        found = self.check(library_values())
        self.assertEqual([2, 2], found["array"]["shape"])
        self.assertEqual([2, 1], found["frame"]["shape"])
        self.assertIn("<Column object>: object", found["frame"]["repr"])
        self.assertEqual("<Series of 1 DatetimeTZDtype>", found["zoned"]["repr"])
        self.assertEqual("longdouble(1.5)", found["long double"]["repr"])
        self.assertNotIn("shape", found["groups"])

    def test_what_changes_meanwhile(self):
        names = {"d": dict.fromkeys(range(100)), "l": list(range(100)), "s": set(range(100))}
        stop = threading.Event()

        def change():
            i = 0
            while not stop.is_set():
                i += 1
                names["d"][i] = names["d"].pop(i - 100, None)
                names["l"][:] = names["l"] + [i] if i % 100 else []
                names["s"] ^= {i % 200}
                names[f"new{i % 50}"] = i
                names.pop(f"new{(i + 25) % 50}", None)

        threads = [threading.Thread(target=change) for _ in range(2)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for _ in range(300):
                self.check(names)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)


class Generated(unittest.TestCase):
    """Of builtin values, a brief repr that is whole is repr's."""

    ATOMS = (None, True, 0, -5, 1.5, 2j, "", "it's", "käse\n", b"\x00", ..., range(3), 10**50)

    def value(self, dice, depth):
        if depth == 0 or dice.random() < 0.3:
            return dice.choice(self.ATOMS)
        items = [self.value(dice, depth - 1) for _ in range(dice.randrange(4))]
        keys = [dice.choice(self.ATOMS) for _ in items]
        kind = dice.choice([list, tuple, dict, set, frozenset, collections.deque, bytearray])
        if kind is dict:
            return dict(zip(keys, items))
        if kind is bytearray:
            return bytearray(len(items))
        return kind(keys if kind in (set, frozenset) else items)

    def test_generated(self):
        whole = 0
        for seed in range(3000):
            value = self.value(random.Random(seed), DEPTH)
            expected, got = repr(value), brief_repr(value)
            self.assertLessEqual(len(got), REPR_LIMIT, seed)
            if len(expected) <= REPR_LIMIT and "…" not in got:
                whole += 1
                self.assertEqual(expected, got, seed)
            for limit in (1, 7, 40):
                short = brief_repr(value, limit)
                self.assertLessEqual(len(short), limit)
                self.assertTrue(expected.startswith(short.rstrip("…")) or "…" in got, seed)
        self.assertGreater(whole, 2000)
