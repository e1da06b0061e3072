"""Values as JSON. Every encoding must be valid JSON, which encoded() checks."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import resource
import sys
import threading
import unittest
import uuid

from pyworker.display import encode
from pyworker.tests.libraries import needs, numpy, pandas

LIMIT = 1_000_000


def encoded(value, limit=LIMIT):
    """Returns (value, notes), as they come through JSON."""
    result = encode.encode(value, limit)
    assert result.encoding == "json", result.value
    return json.loads(json.dumps(result.value, allow_nan=False)), result.notes


class Color(enum.Enum):
    RED = "r"


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Point:
    x: int
    y: list


Pair = collections.namedtuple("Pair", "left right")


class Failing:
    def __repr__(self):
        raise ValueError("no")


class Model:
    def __init__(self, content):
        self.content = content

    def model_dump(self):
        if self.content is None:
            raise RuntimeError
        return self.content


class OldModel:
    __fields__ = ("a",)

    def dict(self):
        return {"a": 1}


class Attrs:
    __attrs_attrs__ = (type("A", (), {"name": "a"}),)
    a = (5,)


class Forms(unittest.TestCase):
    def check(self, cases):
        for value, expected in cases:
            with self.subTest(value=type(value).__name__):
                self.assertEqual((expected, []), encoded(value))

    def test_standard_types(self):
        self.check(
            (
                (None, None),
                (True, True),
                (2**70, 2**70),
                (1.5, 1.5),
                ("käse", "käse"),
                ([1, (2, [3])], [1, [2, [3]]]),
                ({"b": 1, "a": {}}, {"b": 1, "a": {}}),
                ({3, 1, 2}, [1, 2, 3]),
                (range(3), [0, 1, 2]),
                (collections.deque([1]), [1]),
                ({1: 2}.items(), [[1, 2]]),
                (collections.Counter("aab"), {"a": 2, "b": 1}),
                (collections.OrderedDict(a=1), {"a": 1}),
                (collections.ChainMap({"a": 1}), {"a": 1}),
                (array.array("i", [1, 2]), [1, 2]),
                (b"\xff", {"type": "bytes", "length": 1, "base64": "/w=="}),
                (memoryview(b"abcd")[::2], {"type": "bytes", "length": 2, "base64": "YWM="}),
                (1 + 2j, {"real": 1.0, "imag": 2.0}),
                (datetime.datetime(2026, 1, 2, 3), "2026-01-02T03:00:00"),
                (datetime.date(2026, 1, 2), "2026-01-02"),
                (datetime.time(3), "03:00:00"),
                (datetime.timedelta(minutes=1), 60.0),
                (decimal.Decimal("1.10"), "1.10"),
                (fractions.Fraction(1, 3), "1/3"),
                (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
                (pathlib.PurePosixPath("/a"), "/a"),
                (pathlib.Path("a"), "a"),
                (Color.RED, "r"),
                (Number.ONE, 1),
                (Point(1, [Color.RED]), {"x": 1, "y": ["r"]}),
                (Pair(1, 2), {"left": 1, "right": 2}),
                (Model({"a": Pair(1, 2)}), {"a": {"left": 1, "right": 2}}),
                (OldModel(), {"a": 1}),
                (Attrs(), {"a": [5]}),
            )
        )

    def test_keys(self):
        value = {1.5: "b", True: "c", None: "d", Color.RED: "e", (1, 2): "f"}
        value[datetime.date(2026, 1, 2)] = "g"
        expected = {
            "1.5": "b",
            "True": "c",
            "None": "d",
            "r": "e",
            "(1, 2)": "f",
            "2026-01-02": "g",
        }
        self.assertEqual((expected, []), encoded(value))
        found, notes = encoded({1: "a", "1": "b", "1 (str)": "c"})
        self.assertEqual(["a", "b", "c"], sorted(found.values()))
        self.assertIn("looks like another one", notes[0])

    def test_what_json_cannot_hold_becomes_null_and_is_named(self):
        found, notes = encoded({"a": [1, 2, 3, float("nan")], "b": -float("inf")})
        self.assertEqual({"a": [1, 2, 3, None], "b": None}, found)
        self.assertEqual(["NaN at ['a'][3] became null", "-infinity at ['b'] became null"], notes)
        notes = encoded([float("nan")] * 12)[1]
        self.assertTrue(notes[0].endswith("[9] became null (and at 2 more places)"), notes)

    def test_cycles_and_depth(self):
        value = [1]
        value.append({"again": value})
        found, notes = encoded(value)
        self.assertEqual([1, {"again": "<cycle>"}], found)
        self.assertIn("[1]['again']", notes[0])
        shared = [1]
        self.assertEqual(([[1], [1]], []), encoded([shared, shared]))
        deep = []
        for _ in range(100_000):
            deep = [deep]
        self.assertIn("nested deeper", encoded(deep)[1][0])

    def test_text_that_is_no_unicode(self):
        found, notes = encoded({"\ud800": "\udc80 \U0001f600"})
        self.assertEqual({"\ufffd": "\ufffd \U0001f600"}, found)
        self.assertEqual(2, notes[0].count("[") + notes[0].count("itself"))

    def test_what_has_no_form(self):
        result = encode.encode(threading.Lock(), LIMIT)
        self.assertEqual("repr", result.encoding)
        self.assertRegex(result.value, "<unlocked _thread.lock")
        result = encode.encode(Failing(), LIMIT)
        self.assertEqual("<Failing object; its __repr__ raised ValueError: no>", result.value)

        class Wordless(ValueError):
            __str__ = None

        class Broken:
            def __repr__(self):
                raise Wordless

        self.assertIn("its __repr__ raised Wordless", encode.encode(Broken(), LIMIT).value)
        found, notes = encoded([Failing(), len])
        self.assertEqual("<built-in function len>", found[1])
        self.assertEqual(2, len(notes))
        self.assertEqual("repr", encode.encode(Model(None), LIMIT).encoding)

    def test_a_long_repr_is_cut(self):
        kind = type("Long", (), {"__repr__": lambda self: "x" * 10**6})
        self.assertLess(len(encode.encode(kind(), LIMIT).value), 110_000)
        self.assertLess(len(encoded([kind()])[0][0]), 1100)

    def test_all_digits_or_hexadecimal(self):
        self.assertEqual((10**3800, []), encoded(10**3800))
        self.assertEqual(hex(10**5000), encoded(10**5000)[0])
        if hasattr(sys, "set_int_max_str_digits"):
            self.addCleanup(sys.set_int_max_str_digits, sys.get_int_max_str_digits())
            sys.set_int_max_str_digits(640)
            self.assertEqual(hex(10**1000), encoded(10**1000)[0])


class Limits(unittest.TestCase):
    def test_the_size_is_bounded_and_what_is_missing_is_counted(self):
        for value in (
            list(range(10**6)),
            {i: str(i) for i in range(10**5)},
            "x" * 10**7,
            b"x" * 10**7,
            [["x" * 100] * 100] * 100,
            [list(range(1000)) for _ in range(1000)],
            {"a": {"b": "é" * 10**6}},
        ):
            found, notes = encoded(value, 10_000)
            self.assertLess(len(json.dumps(found, ensure_ascii=False)), 25_000)
            self.assertIn("cut", notes[0])
        self.assertEqual("<", encoded(list(range(10**6)), 100)[0][-1][0])

    def test_an_endless_range(self):
        self.assertLess(len(encoded(range(10**12), 1000)[0]), 1000)


@needs("numpy")
class Numpy(unittest.TestCase):
    def test_forms(self):
        nan = float("nan")
        for value, expected in (
            (numpy.float64(1.5), 1.5),
            (numpy.int8(3), 3),
            (numpy.bool_(True), True),
            (numpy.str_("x"), "x"),
            (numpy.longdouble(1.5), 1.5),
            (numpy.array(5), 5),
            (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
            (numpy.array([1.5], "longdouble"), [1.5]),
            (numpy.array([1.5], "f2"), [1.5]),
            (numpy.array([1 + 2j]), [{"real": 1.0, "imag": 2.0}]),
            (numpy.datetime64("2026-01-02"), "2026-01-02"),
            (numpy.array(["2026-01-02", "NaT"], "M8[D]"), ["2026-01-02", None]),
            (numpy.timedelta64(1500, "ms"), 1.5),
            (numpy.timedelta64("NaT"), None),
            (numpy.ma.array([1, 2], mask=[0, 1]), [1, None]),
            (numpy.array([(1, 2.5)], [("a", int), ("b", float)]), [{"a": 1, "b": 2.5}]),
            (numpy.array([{"a": numpy.int64(1)}, None], object), [{"a": 1}, None]),
            (numpy.zeros((0, 2)), []),
            ({numpy.int64(3): numpy.float32(0.5)}, {"3": 0.5}),
        ):
            with self.subTest(value=repr(value)):
                self.assertEqual((expected, []), encoded(value))
        found, notes = encoded(numpy.array([[1, nan]]))
        self.assertEqual([[1.0, None]], found)
        self.assertEqual(["NaN at [0][1] became null"], notes)

    @unittest.skipUnless(sys.platform == "linux", "ru_maxrss is in KiB on Linux")
    def test_a_gigabyte_is_not_copied(self):
        value = numpy.zeros((5, 25_000_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, notes = encoded({"big": value})
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(after - before, 20_000)  # KiB
        big = found["big"]
        self.assertEqual(100, len(big.pop("head")))
        self.assertEqual(
            {"type": "ndarray", "shape": [5, 25_000_000], "dtype": "float64", "truncated": True},
            big,
        )
        self.assertEqual(["['big'] was cut: 124999900 elements were left out"], notes)


@needs("numpy", "pandas")
class Pandas(unittest.TestCase):
    def test_forms(self):
        for value, expected in (
            (
                pandas.Series([1, 2], name="s"),
                {"name": "s", "index": [0, 1], "data": [1, 2], "shape": [2]},
            ),
            (pandas.Index(["a"]), ["a"]),
            (pandas.Timestamp("2026-01-02"), "2026-01-02T00:00:00"),
            (pandas.Timedelta("1s"), 1.0),
            (pandas.NaT, None),
            (pandas.NA, None),
            (pandas.Categorical(["a", "b"]), ["a", "b"]),
            (pandas.array([1, None], dtype="Int64"), [1, None]),
            (pandas.Interval(0, 1), "(0, 1]"),
            (pandas.Period("2026-01"), "2026-01"),
        ):
            with self.subTest(value=repr(value)):
                self.assertEqual((expected, []), encoded(value))

    def test_frames(self):
        frame = pandas.DataFrame(
            {"n": [1, 2], "t": pandas.to_datetime(["2026-01-02", None]), ("a", "b"): [None, "x"]},
            index=["one", "two"],
        )
        found, notes = encoded(frame)
        self.assertEqual(["n", "t", ["a", "b"]], found["columns"])
        self.assertEqual(["one", "two"], found["index"])
        self.assertEqual([[1, "2026-01-02T00:00:00", None], [2, None, "x"]], found["data"])
        self.assertEqual([2, 3], found["shape"])
        self.assertNotIn("truncated", found)

    def test_large_frames_are_cut_by_rows(self):
        found, notes = encoded(pandas.DataFrame({"a": range(10**6), "b": 0.5}), 10_000)
        self.assertTrue(found["truncated"])
        self.assertEqual([10**6, 2], found["shape"])
        self.assertEqual(len(found["index"]), len(found["data"]))
        self.assertIn(f"{10**6 - len(found['data'])} rows were left out", notes[-1])
        wide, notes = encoded(pandas.DataFrame([[0] * 10_000] * 3), 10_000)
        self.assertLess(len(wide["columns"]), 10_000)
        self.assertTrue(wide["truncated"])
        series, _ = encoded(pandas.Series(range(10**6)), 10_000)
        self.assertTrue(series["truncated"])

    def test_odd_frames(self):
        for frame in (
            pandas.DataFrame(),
            pandas.DataFrame([[1, 2]], columns=["a", "a"]),
            pandas.DataFrame(index=[1, 2]),
        ):
            self.assertEqual(list(frame.shape), encoded(frame)[0]["shape"])
