"""The variable that measures a run."""

from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase

NUMBERS = [
    ("score = 3", 3),
    ("score = -0.25", -0.25),
    ("score = 10 ** 18", 1e18),
    ("class F(float):\n  def __float__(self): 1 / 0\nscore = F(2.5)", 2.5),
    ("class I(int):\n  def __int__(self): 1 / 0\n  __index__ = __int__\nscore = I(7)", 7),
    ("import enum\nclass E(enum.IntEnum):\n  A = 4\nscore = E.A", 4),
    ("from decimal import Decimal\nscore = Decimal('0.5')", 0.5),
    ("from fractions import Fraction\nscore = Fraction(1, 4)", 0.25),
]

PROBLEMS = [
    ("x = 1", "score is not defined"),
    ("score = None", "score is None"),
    ("score = True", "score is a bool, not a number"),
    ("score = '0.9'", "score is a str, not a number"),
    ("score = [0.9]", "score is a list, not a number"),
    ("score = 1j", "score is a complex, not a number"),
    ("score = float('nan')", "score is nan"),
    ("score = -float('inf')", "score is -inf"),
    ("score = 10 ** 400", "score is a larger int than a float can hold"),
    ("from fractions import Fraction\nscore = Fraction(10 ** 400)", "score is a larger Fraction"),
    ("from decimal import Decimal\nscore = Decimal('NaN')", "score is nan"),
    ("from decimal import Decimal\nclass D(Decimal): pass\nscore = D(1)", "score is a D, not"),
    ("class C:\n  def __float__(self): return 1.0\nscore = C()", "score is a C, not a number"),
    ("class C:\n  def item(self): return 1.0\nC.__module__ = 'torch'\nscore = C()", "is a C, not"),
    ("score = 1\ndel score", "score is not defined"),
    ("score = 1\n1 / 0", "the run failed after it was measured"),
    ("1 / 0\nscore = 1", "the run failed before it was measured"),
    ("score =", "the run failed before it was measured"),
]

NUMPY_NUMBERS = [
    ("np.float64(0.5)", 0.5),
    ("np.float32(0.5)", 0.5),
    ("np.int8(-3)", -3),
    ("np.longdouble(0.5)", 0.5),
    ("np.array(0.5)", 0.5),
    ("np.array([[2]])", 2),
    ("np.array([0.5], dtype=np.longdouble)", 0.5),
    ("np.array([0.5], dtype=object)", 0.5),
    ("np.matrix([0.5])", 0.5),
    ("np.ma.array([0.5])", 0.5),
    ("type('A', (np.ndarray,), {'item': None})((1,), buffer=np.array([0.5]))", 0.5),
]

NUMPY_PROBLEMS = [
    ("np.float64('nan')", "score is nan"),
    ("np.bool_(True)", "score is a bool, not a number"),
    ("np.array([True])", "score is a bool, not a number"),
    ("np.zeros((3, 4))", "score is an array of 12 values, not a number"),
    ("np.array([])", "score is an array of 0 values, not a number"),
    ("np.complex128(1)", "score is a complex128, not a number"),
    ("np.array(['a'])", "score is a str, not a number"),
    ("np.datetime64('2020-01-01', 'ns')", "score is a datetime64, not a number"),
    ("np.ma.masked", "score is masked"),
    ("np.array([object()])", "score is an object, not a number"),
]

PANDAS_NUMBERS = [("pd.Series([0.5])", 0.5), ("pd.Series([1, 2]).mean()", 1.5)]

PANDAS_PROBLEMS = [
    ("pd.Series([1, 2])", "score is a Series of 2 values, not a number"),
    ("pd.NA", "score is a NAType, not a number"),
    ("pd.DataFrame({'a': [1]})", "score is a DataFrame, not a number"),
]

# Two runs: what the first leaves must not be taken for the second's.
INHERITED = "score was not assigned by this run"
UNSURE = f"{INHERITED}, or only in a branch of it and as before: assign it in any case"
FAILING = "try: score = undefined()\nexcept NameError: pass"
SECOND = [
    ("score = 5.5", "x = 1", {"problem": INHERITED}),
    ("score = 5.5", "score = 5.5", {"value": 5.5}),
    ("score = best = 0.5", "score = best", {"value": 0.5}),
    ("score = best = 0.5", "try: score = best\nexcept NameError: pass", {"value": 0.5}),
    ("score = 0.5", "score = score", {"value": 0.5}),
    ("score = -0.0", "score += 0", {"value": 0}),
    ("score = 5.5", "for score in [5.5]: pass", {"value": 5.5}),
    ("score = 5.5", "if (score := 5.5): pass", {"value": 5.5}),
    ("score = 5.5", "[score := n for n in [5.5]]", {"value": 5.5}),
    ("score = 5.5", "def f():\n  global score\n  score = 5.5\nf()", {"value": 5.5}),
    ("score = 5.5", "class C:\n  global score\n  score = 5.5", {"value": 5.5}),
    ("score = 5.5", "match 5.5:\n  case score: pass", {"value": 5.5}),
    ("score = 10 ** 20", "if True: score = 10 ** 20", {"value": 1e20}),
    # Stores that are there and don't run.
    ("score = 0.9", FAILING, {"problem": INHERITED}),
    ("score = 0.9", "if '': score = .1", {"problem": INHERITED}),
    ("score = 0.9", "def f():\n  global score\n  score = 1", {"problem": INHERITED}),
    ("score = 0.9", "for score in []: pass", {"problem": INHERITED}),
    ("score = float('nan')", FAILING, {"problem": INHERITED}),
    ("score = 1000", FAILING, {"problem": INHERITED}),
    # Ints that are always the same object.
    ("score = 5", "score = 5", {"value": 5}),
    ("score = 5", "score += 0", {"value": 5}),
    ("score = 5", "score: int = 5", {"value": 5}),
    ("score = 5", "score: int", {"problem": UNSURE}),
    ("score = 5", "(score, x), y = (5, 1), 2", {"value": 5}),
    ("score = 5", "import asyncio\nawait asyncio.sleep(0)\nscore = 5", {"value": 5}),
    ("score = 5", "1\n2\nscore = 5\n3", {"value": 5}),
    ("score = 5", "x = 1", {"problem": UNSURE}),
    ("score = 5", "if True: score = 5", {"problem": UNSURE}),
    ("score = 5", FAILING, {"problem": UNSURE}),
    ("score = 5.5", "def f():\n  score = 7\nf()", {"problem": INHERITED}),
    ("score = 5.5", "class C:\n  score = 7", {"problem": INHERITED}),
    ("score = 5.5", "lambda score: score.score\nprint(score)", {"problem": INHERITED}),
    ("score = 5.5\ndef f():\n  global score\n  score = 5.25", "f()", {"value": 5.25}),
    ("score = 5.5", "globals()['score'] = 6.5", {"value": 6.5}),
    ("score = 5.5", "exec('score = 6.5')", {"value": 6.5}),
    ("score = 5", "del score", {"problem": "score is not defined"}),
    ("score = 5", "raise ValueError", {"problem": "the run failed before it was measured"}),
    ("score = 5.5", "raise ValueError", {"problem": "the run failed before it was measured"}),
    ("score = 5.5", "return", {"problem": "the run failed before it was measured"}),
    ("score = 5", "import math as score", {"problem": "score is a module, not a number"}),
]


class Metrics(WorkerCase):
    def measure(self, worker, code):
        """Returns what the variable score came to."""
        worker.begin(code, "", metric_var_name="score")
        return worker.finish().metric

    def check(self, worker, code, want):
        metric = self.measure(worker, code)
        if type(want) is not str:
            self.assertEqual({"value": want}, metric)
        else:
            self.assertEqual(["problem"], list(metric))
            self.assertIn(want, metric["problem"])

    def test_values(self):
        worker = self.start()
        for code, want in NUMBERS + PROBLEMS:
            worker.run("globals().pop('score', None)")
            with self.subTest(code):
                self.check(worker, code, want)

    @needs("numpy")
    def test_values_of_numpy(self):
        worker = self.start(init_code="import numpy as np")
        for expression, want in NUMPY_NUMBERS + NUMPY_PROBLEMS:
            with self.subTest(expression):
                self.check(worker, f"score = {expression}", want)

    @needs("pandas")
    def test_values_of_pandas(self):
        worker = self.start(init_code="import pandas as pd")
        for expression, want in PANDAS_NUMBERS + PANDAS_PROBLEMS:
            with self.subTest(expression):
                self.check(worker, f"score = {expression}", want)

    def test_what_an_earlier_run_left_is_not_this_ones(self):
        worker = self.start()
        for first, second, want in SECOND:
            with self.subTest(second):
                self.assertTrue(worker.run(first).ok)
                self.assertEqual(want, self.measure(worker, second))

    @needs("IPython")
    def test_what_magics_run_assigns(self):
        worker = self.start()
        self.assertTrue(worker.run("score = 5.5").ok)
        for code in ("%%time\nscore = 5.5", "%%capture out\nscore = 5.5", "%time score = 5.5"):
            with self.subTest(code):
                self.assertEqual({"value": 5.5}, self.measure(worker, code))
        self.assertIn("was not assigned", self.measure(worker, "%%time\nx = 5")["problem"])

    def test_what_the_run_did_not_assign_stays_what_it_was(self):
        worker = self.start()
        worker.run("score = mine = 0.5")
        worker.begin("x = score", "", metric_var_name="score")
        self.assertEqual({"added": ["x"], "changed": [], "removed": []}, worker.finish().variables)
        self.assertTrue(worker.value("score is mine"))

    @needs("numpy")
    def test_what_an_earlier_run_left_of_numpys(self):
        worker = self.start(init_code="import numpy as np")
        for kind in ("float64", "float32", "int64"):
            with self.subTest(kind):
                self.assertTrue(worker.run(f"score = best = np.{kind}(3)").ok)
                self.assertEqual({"problem": INHERITED}, self.measure(worker, FAILING))
                self.assertEqual({"value": 3}, self.measure(worker, "if True: score = best"))

    def test_nothing_is_measured_unasked(self):
        worker = self.start()
        self.assertNotIn("metric", worker.run("score = 1").done)
        loaded = "'pyworker.display.metric' in __import__('sys').modules"
        self.assertFalse(worker.value(loaded))
        self.measure(worker, "score = 1")
        self.assertTrue(worker.value(loaded))
        self.assertNotIn("metric", worker.run("score = 1").done)

    def test_an_earlier_value_goes_with_the_run(self):
        worker = self.start()
        worker.run("class C:\n  def __del__(self): print('gone')\nscore = C()")
        worker.begin("score = 1", "", metric_var_name="score")
        self.assertEqual(["gone"], worker.finish().stdout.split())

    def test_commands_and_plugins_are_not_measured(self):
        worker = self.start()
        worker.begin("true", "", "command", metric_var_name="score")
        self.assertNotIn("metric", worker.finish().done)

    def test_a_long_name_is_cut(self):
        worker = self.start()
        worker.begin("x = 1", "", metric_var_name="n" * 1000)
        self.assertEqual("n" * 100 + " is not defined", worker.finish().metric["problem"])

    def test_an_interrupt_ends_a_value_that_takes_its_time(self):
        worker = self.start()
        source = (
            "import time\nclass ArrayImpl:\n  shape = ()\n"
            "  def item(self):\n    print('reading', flush=True)\n    time.sleep(600)\n"
        )
        with open(f"{worker.workdir}/jaxlib.py", "w") as file:
            file.write(source)
        worker.begin("import jaxlib\nscore = jaxlib.ArrayImpl()", "", metric_var_name="score")
        worker.wait_for_line("reading")
        worker.interrupt()
        answer = worker.finish()
        self.assertEqual({"problem": "the reading of score was interrupted"}, answer.metric)
        self.assertTrue(answer.ok)
