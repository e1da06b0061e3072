"""The description of variables and the difference an execution makes."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import time
import types
import unittest

from pyworker.display import variables
from pyworker.display.describe import brief_repr
from pyworker.tests.libraries import needs, numpy, pandas


class Hostile(dict):
    """Runs nothing: each method that might be called fails the test."""

    def _forbidden(self, *_):
        raise AssertionError("code of the user's class was run")

    __repr__ = __str__ = __len__ = __iter__ = __getattribute__ = __getitem__ = _forbidden
    __eq__ = __hash__ = __sizeof__ = __bool__ = items = keys = values = _forbidden
    __class__ = property(_forbidden)


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    y: object


class Plain:
    pass


class Text(str):
    pass


UTC_REPR = "datetime.datetime(2026, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"


class Changes(unittest.TestCase):
    def setUp(self):
        self.names = {}
        self.snapshot = variables.Snapshot(self.names)

    def change(self, **values):
        self.names.update(values)
        return {kind: names for kind, names in self.difference().items() if names}

    def difference(self):
        return self.snapshot.advance(self.names)

    def test_names(self):
        self.assertEqual({"added": ["a", "b"]}, self.change(b=1, a=2, _hidden=3, __x__=4))
        self.assertEqual({}, self.change(a=2))
        self.assertEqual({"changed": ["a"]}, self.change(a=3))
        del self.names["b"]
        self.names[5] = 6
        self.assertEqual({"removed": ["b"]}, self.change())
        self.assertEqual({"added": ["f", "m", "t"]}, self.change(f=len, m=time, t=Plain))

    def test_changes_in_place(self):
        values = {
            "a": [1.5],
            "b": {1: [2]},
            "c": {1},
            "d": bytearray(b"abc"),
            "e": list(range(1000)),
            "f": Plain(),
            "g": {i: i for i in range(1000)},
        }
        self.change(**values)
        values["a"][0] = 2.5
        values["a"][0] = 3.5
        values["b"][1] = 3
        values["c"].add(2)
        values["d"][0] = 0
        values["e"].append(1)
        values["f"].fitted = True
        values["g"][1000] = 1
        self.assertEqual({"changed": list("abcdefg")}, self.change())
        self.assertEqual({}, self.change())

    def test_rebinding_is_seen_though_an_id_is_used_again(self):
        self.change(x=Plain())
        for _ in range(10):
            del self.names["x"]
            self.assertEqual({"changed": ["x"]}, self.change(x=Plain()))

    @needs("numpy")
    def test_arrays(self):
        values = {
            "a": numpy.zeros(10),
            "b": numpy.zeros(10**6),
            "c": numpy.zeros((4, 4))[::2],
            "d": numpy.array([None, 1], object),
            "e": numpy.zeros(3, "M8[s]"),
            "f": numpy.zeros(2, [("n", int)]),
        }
        self.change(**values)
        self.assertEqual({}, self.change())
        values["a"][3] = 1
        values["b"][:] = 1
        values["c"][1, 1] = 1
        values["d"][0] = 2
        values["e"][1] = 5
        values["f"]["n"][1] = 5
        self.assertEqual({"changed": list("abcdef")}, self.change())

    @needs("numpy", "pandas")
    def test_frames(self):
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        series = pandas.Series([1, 2])
        self.change(frame=frame, series=series)
        self.assertEqual({}, self.change())
        for change in (
            lambda: frame.__setitem__("c", 1),
            lambda: frame.loc.__setitem__((0, "a"), 7),
            lambda: setattr(frame, "columns", list("xyz")),
            lambda: frame.__delitem__("z"),
        ):
            change()
            self.assertEqual({"changed": ["frame"]}, self.change())
        series[0] = 9
        self.assertEqual({"changed": ["series"]}, self.change())

    def test_many_variables_are_capped_in_the_record(self):
        found = self.change(**{f"x{i:05}": i for i in range(3000)})
        self.assertEqual(1000, len(found["added"]))
        self.assertEqual("x00999", found["added"][-1])
        self.assertEqual({"added": 2000}, found["more"])

    @needs("numpy")
    def test_structured_arrays(self):
        import numpy as np

        inner = [("c", "O"), ("d", "f4")]
        array = np.zeros(3, dtype=[("a", "i4"), ("b", "O"), ("n", inner)])
        self.change(array=array)
        self.assertEqual({}, self.change())
        array["b"][1] = "new"
        self.assertEqual({"changed": ["array"]}, self.change())
        array["n"]["c"][2] = "new"
        self.assertEqual({"changed": ["array"]}, self.change())
        array["a"][0] = 1
        self.assertEqual({"changed": ["array"]}, self.change())


class Descriptions(unittest.TestCase):
    def describe(self, **values):
        listed = variables.describe(values, patience=60)["variables"]
        return {entry.pop("name"): entry for entry in listed}

    def order(self, values):
        listed = variables.describe(values, patience=60)["variables"]
        return [entry["name"] for entry in listed]

    def test_what_is_listed(self):
        names = {"b": 1, "a": 2, "_c": 3, "f": len, "m": time, "t": Plain, 5: 6, Text("s"): 7}
        self.assertEqual(["a", "b"], self.order(names))

    def test_order(self):
        """What holds values, the largest first, comes before plain values by name."""
        day = datetime.date(2026, 1, 2)
        names = {"z": 1, "a": "text", "short": [1], "long": [0] * 99, "s": "x" * 9999, "d": day}
        self.assertEqual(["s", "long", "short", "a", "d", "z"], self.order(names))

    @needs("numpy", "pandas")
    def test_data_comes_first(self):
        names = {
            "n": numpy.float64(1),
            "zero": numpy.array(1),
            "long": [0] * 99999,
            "small": numpy.zeros(3),
            "large": pandas.Series(range(1000)),
            "empty": pandas.DataFrame(),
        }
        self.assertEqual(["large", "empty", "small", "long", "n", "zero"], self.order(names))

    def test_more_than_can_be_listed(self):
        names = {f"x{i:06}": i for i in range(variables.LISTED + 7)}
        names["data"] = [1]
        found = variables.describe(names)
        self.assertEqual((variables.LISTED, 8), (len(found["variables"]), found["left_out"]))
        self.assertEqual("data", found["variables"][0]["name"])

    def test_without_time_there_are_no_values(self):
        (entry,) = variables.describe({"x": [1, 2]}, patience=0)["variables"]
        self.assertEqual(("x", "list", ""), (entry["name"], entry["type"], entry["repr"]))

    def test_builtin_values(self):
        found = self.describe(x=[1, 2], s="abc", n=5)
        del found["x"]["size"]
        self.assertEqual({"length": 2, "type": "list", "repr": "[1, 2]"}, found.pop("x"))
        self.assertEqual((3, "'abc'"), (found["s"]["length"], found["s"]["repr"]))
        self.assertNotIn("length", found["n"])
        self.assertTrue(all(entry["size"] > 0 for entry in found.values()))

    def test_reprs(self):
        recursive = []
        recursive.append(recursive)
        for value, expected in (
            ((1,), "(1,)"),
            (set(), "set()"),
            ({1: "a"}, "{1: 'a'}"),
            (frozenset([1]), "frozenset({1})"),
            (recursive, "[[[[…]]]]"),
            (Point(1, [Color.RED]), "Point(x=1, y=[<Color.RED>])"),
            (Plain(), "<pyworker Plain object>"),
            (ValueError("v"), "ValueError('v')"),
            (collections.deque([1], 5), "deque([1])"),
            (types.SimpleNamespace(a=1), "SimpleNamespace(a=1)"),
            (range(3), "range(0, 3)"),
            (range(0, 9, 2), "range(0, 9, 2)"),
            (range(1 << 5000), "range(0, <int of 5001 bits>)"),
            (fractions.Fraction(1, 3), "Fraction(1, 3)"),
            (fractions.Fraction(1, 1 << 20000), "<Fraction object>"),
            (decimal.Decimal("1.50"), "Decimal('1.50')"),
            (pathlib.PurePosixPath("/x"), "PurePosixPath('/x')"),
            (array.array("d", [1.5]), "<array of 1 d: [1.5]>"),
            (datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), UTC_REPR),
            (datetime.date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
            (1 << 5000, "<int of 5001 bits>"),
            (Hostile(a=1), "{'a': 1}"),
        ):
            self.assertEqual(expected, brief_repr(value))

    def test_reprs_are_short(self):
        nested = [[["x"] * 99] * 99]
        for value in ("x" * 10**7, list(range(10**6)), {"a": ["b" * 10**6] * 100}, nested):
            text = brief_repr(value)
            self.assertTrue(450 < len(text) <= 500)
            self.assertTrue(text.endswith("…"))

    @needs("numpy", "pandas")
    def test_libraries(self):
        found = self.describe(
            a=numpy.zeros((2, 3)),
            f=pandas.DataFrame({"n": [1, 2]}),
            s=pandas.Series([Plain()]),
            t=pandas.Timestamp("2026-01-02"),
            o=numpy.array([Plain(), None], object),
            n=numpy.float64(1.5),
            labelled=pandas.Series({"schema": 1, "columns": 2}),
        )
        self.assertIn("Series of 2 int64", found["labelled"]["repr"])
        self.assertEqual(([2, 3], 48), (found["a"]["shape"], found["a"]["size"]))
        zeros = "0.0, 0.0, 0.0, 0.0, 0.0, 0.0"
        self.assertEqual(f"<ndarray of 2x3 float64: [{zeros}]>", found["a"]["repr"])
        self.assertEqual([2, 1], found["f"]["shape"])
        self.assertEqual("<DataFrame, 2 rows x 1 columns: 'n': int64>", found["f"]["repr"])
        self.assertEqual("<Series of 1 object: [<pyworker Plain object>]>", found["s"]["repr"])
        self.assertEqual(
            "<ndarray of 2 object: [<pyworker Plain object>, None]>", found["o"]["repr"]
        )
        self.assertEqual("float64(1.5)", found["n"]["repr"])
