"""Changes at any depth of the variables that a cell names."""

import collections
import types
import unittest
import weakref

from pyworker.display import nested, variables
from pyworker.tests.display.test_variables import Hostile, Plain
from pyworker.tests.libraries import needs, numpy, pandas


class NestedChanges(unittest.TestCase):
    def setUp(self):
        self.names = {}
        self.snapshot = variables.Snapshot(self.names)

    def look(self, code, **values):
        """Runs code as a cell; returns the difference."""
        self.names.update(values)
        self.snapshot.advance(self.names)
        compiled = compile(code, "<cell>", "exec")
        self.snapshot.look([compiled], self.names)
        exec(compiled, self.names)
        return {kind: names for kind, names in self.snapshot.advance(self.names).items() if names}

    def test_nested_changes_of_what_the_code_names(self):
        plain = type("Model", (), {"__module__": "__main__"})()
        plain.layers = [{"w": [1.0]}]
        self.names["run_cell_magic"] = lambda magic, line, cell: exec(cell, self.names)
        touch = types.FunctionType(compile("cfg['a'].append(1)", "", "exec"), self.names)
        for code, name, value in (
            ("cfg['a'].append(2)", "cfg", {"a": [1], "b": 2}),
            ("rows[500] = 1", "rows", [0] * 1000),
            ("rows[5]['x'] = 1", "rows", [{"x": 0} for _ in range(10)]),
            ("t[0].add(1)", "t", (set(), 1)),
            ("q[1][0] = 1", "q", collections.deque([0, [0]])),
            ("m.layers[0]['w'][0] += 1", "m", plain),
            ("run_cell_magic('time', '', 'cfg[0][0] = 1')", "cfg", [[0]]),
            ("touch()", "cfg", {"a": [1]}),
            ("(lambda: cfg['a'].append(1))()", "cfg", {"a": [1]}),
            ("b[99][0] = 1", "b", {i: bytearray(3) for i in range(100)}),
            ("l[500] = -2", "l", [-1] * 1000),
            ("l[0].reverse()", "l", [[-1, "x", -2]]),
            ("l[0][0] = True", "l", [[1]]),
            ("l[500] = 1.0", "l", [1] * 1000),
            ("l[500] = -0.0", "l", [0.0] * 1000),
            ("l[500] = 0", "l", [(1 << 61) - 1] * 1000),
            ("d[0]['k'] = -2", "d", [{"k": -1}]),
            ("k[0][-2] = k[0].pop(-1)", "k", [{-1: 5}]),
            ("s[0].remove(-1); s[0].add(-2)", "s", [{-1, "x"}]),
        ):
            with self.subTest(code):
                self.assertEqual({"changed": [name]}, self.look(code, touch=touch, **{name: value}))
                self.assertEqual({}, self.look(f"len(str({name}))"))

    def test_what_is_too_big_is_told_once(self):
        big = [[i] for i in range(100_000)]
        self.assertEqual({"not_compared": ["big"]}, self.look("big[500].append(1)", big=big))
        self.assertEqual({}, self.look("big[500].append(1)"))
        self.assertEqual({"changed": ["big"]}, self.look("big.append(1)"))
        self.assertEqual({}, self.look("1 + 1", other=big))
        self.assertEqual({"not_compared": ["other"]}, self.look("len(other)"))
        round_about = [1]
        round_about.append(round_about)
        self.assertEqual({}, self.look("len(r)", r=round_about))

    def test_what_is_too_much_together_is_told_too(self):
        """Of many small ones the last are not looked at; one that is too big takes nothing."""
        names = [f"v{i}" for i in range(8)]
        code = f"len({'), len('.join(['big', *names])}); "
        values = {name: [[0] * 9000] for name in names}
        found = self.look(f"{code} v0[0][500] = 1", big=[0] * 100_000, **values)
        self.assertEqual({"changed": ["v0"], "not_compared": ["big", "v5", "v6", "v7"]}, found)
        self.assertEqual({}, self.look(f"{code} v7[0][500] = 1"))  # told once
        self.assertEqual({"changed": ["v7"]}, self.look("v7[0][500] = 2"))

    def test_those_that_grow_have_changed(self):
        names = [f"v{i}" for i in range(8)]
        code = "; ".join(f"{name}[0] *= 9000" for name in names)
        found = self.look(code, still=[[0]], **{name: [[0]] for name in names})
        self.assertEqual({"changed": names}, found)

    def test_bytes_of_all_variables_together(self):
        size = nested.BYTES // 16  # checked for order, it costs as much as half of BYTES
        names = [f"b{i}" for i in range(5)]
        values = {name: bytearray(size) for name in names}
        code = "; ".join(f"{name}[{size // 2}] = 1" for name in names)
        found = self.look(code, **values)
        self.assertEqual({"changed": names[:4], "not_compared": ["b4"]}, found)
        self.assertEqual({"changed": ["b4"]}, self.look(f"b4[{size // 2}] = 2"))

    def test_a_look_holds_nothing(self):
        self.names["gone"] = gone = Plain()
        seen = weakref.ref(gone)
        del gone
        self.assertEqual(
            {"removed": ["gone"]}, self.look("del gone\nassert seen() is None", seen=seen)
        )

    def test_a_look_runs_no_code_of_the_user(self):
        self.assertEqual({}, self.look("x", x=[Hostile(a=1), {"k": Hostile()}]))
        change = "dict.__getitem__(x[0], 'a').append(1)"
        self.assertEqual({"changed": ["x"]}, self.look(change, x=[Hostile(a=[1])]))

    @needs("numpy", "pandas")
    def test_one_element_of_much(self):
        large = numpy.zeros(10**6)
        for code, name, value in (
            ("a[123_456] = 1", "a", large),
            ("a[1, 999] = 1", "a", numpy.zeros((1000, 1000), order="F")),
            ("a[3, 7] = 1", "a", numpy.zeros((300, 300))[::2, ::2]),
            ("a[[123_456, 654_321]] = a[[654_321, 123_456]]", "a", numpy.arange(10**6)),
            ("a[7]['n'] = 2", "a", numpy.array([{"n": 1}] * 100, object)),
            ("a[500] = True", "a", numpy.zeros(1003, bool)),
            ("d.loc[500, 's'] = 'y'", "d", pandas.DataFrame({"s": ["x"] * 1000, "n": 1})),
            ("d.loc[500_000, 'n'] = 2", "d", pandas.DataFrame({"n": [1.5] * 10**6})),
            ("d['a'].append(1)", "d", {"frame": large, "a": []}),
            ("g[1]['b'] = 'z'", "g", numpy.array([(1, "x")] * 3, [("a", "i4"), ("b", "O")])),
            ("k[1] = numpy.ma.masked", "k", numpy.ma.array([1, 2, 3])),
            ("t[3] = numpy.datetime64(5, 's')", "t", numpy.zeros(10**5, "M8[s]")),
            ("s[5] = None", "s", pandas.Series([1] * 1000, dtype="Int64")),
        ):
            with self.subTest(code):
                found = self.look(code, **{name: value, "numpy": numpy})
                self.assertEqual({"changed": [name]}, found)
                self.assertEqual({}, self.look(f"{name} is None"))
        huge = numpy.zeros(10**7)
        self.assertEqual({"not_compared": ["huge"]}, self.look("huge[12345] = 1", huge=huge))
