"""A figure that can't be drawn is an error in text; warnings name the user's line."""

import io
import linecache
import os
import sys
import threading
import warnings
from unittest import mock

from matplotlib import pyplot as plt

import matplotlib_capture
from matplotlib_capture import messages

from .executions import FigureTestCase, plot, titles

USER_CODE = """\
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter
def label(value, position):
    return 1 / 0
def draw():
    plt.plot([1, 2]); plt.title("Sales")
    plt.gca().xaxis.set_major_formatter(FuncFormatter(label))
def draw_unknown_letter():
    plt.plot([1, 2]); plt.title("\\U0001F9FF?")
    plt.show()
"""


def _user_module():
    """Code as a session runs it: under a name of its own, known to linecache."""
    lines = USER_CODE.splitlines(keepends=True)
    linecache.cache["<cell 3>"] = (len(USER_CODE), None, lines, "<cell 3>")
    namespace = {"__name__": "__main__"}
    exec(compile(USER_CODE, "<cell 3>", "exec"), namespace)
    return namespace


class FailureTest(FigureTestCase):
    def test_the_others_still_come(self):
        def code():
            plot("before")
            plot(r"$\frac{$")
            plot("after")
            with self.assertRaises(ValueError) as caught:
                plt.show()
            self.assertEqual(
                _notes(caught.exception), [r'Figure 2 ("$\frac{$") could not be drawn.']
            )
            plot("later")

        self.assertEqual(titles(self.execute(code)), ["before", "after", "later"])
        self.assertEqual(len(self.files()), 3)
        self.assertEqual((self.failure, self.stderr), (None, ""))

    def test_one_that_was_left_open(self):
        self.assertEqual(self.execute(_user_module()["draw"]), [])
        self.assertIsInstance(self.failure, ZeroDivisionError)
        self.assertEqual(_notes(self.failure), ['Figure 1 ("Sales") could not be drawn.'])
        self.assertEqual(self.stderr, "")

    def test_beside_an_exception_of_the_code(self):
        """The code's own is the execution's; this one is told in a line, with its place."""

        def code():
            _user_module()["draw"]()
            raise LookupError

        with self.assertRaises(LookupError):
            self.execute(code)
        self.assertEqual(
            self.stderr,
            'Figure 1 ("Sales") could not be shown: ZeroDivisionError: '
            "division by zero (<cell 3>, line 4: return 1 / 0)\n",
        )

    def test_each_fails_once_and_the_first_is_raised(self):
        def code():
            plot(r"$\frac{$")
            plot(r"$\sqrt{$")
            with self.assertRaisesRegex(ValueError, "frac"):
                plt.show(block=False)

        self.execute(code)
        self.assertIsNone(self.failure)
        self.assertIn("sqrt", self.stderr)

    def test_at_the_close_of_a_saved_figure(self):
        def code():
            figure = plot("saved")
            figure.savefig(os.path.join(os.path.dirname(self.directory), "own.png"))
            figure.axes[0].set_title(r"$\frac{$")
            plt.close()

        self.execute(code)
        self.assertIsInstance(self.failure, ValueError)

    def test_exit_while_drawing_is_a_failure_too(self):
        def code():
            figure = plot("leaves")
            figure.axes[0].xaxis.set_major_formatter(lambda *_: sys.exit(3))

        self.assertEqual(self.execute(code), [])
        self.assertIsInstance(self.failure, SystemExit)

    def test_exception_that_cannot_be_read(self):
        class Broken(Exception):
            def __str__(self):
                raise RuntimeError

        def fail(*_):
            raise Broken

        def code():
            plot("broken").axes[0].xaxis.set_major_formatter(fail)
            raise LookupError

        with self.assertRaises(LookupError):
            self.execute(code)
        self.assertIn("Broken: (its message can't be read)", self.stderr)

    def test_receiver_that_fails(self):
        def emit(_):
            raise BrokenPipeError("gone")

        def code():
            matplotlib_capture.begin(emit, directory=self.directory, prefix="1", max_side=99)
            plot("sent to nobody")

        self.execute(code)
        self.assertIn("BrokenPipeError: gone", self.stderr)

    def test_closed_stderr(self):
        captures = []
        closed, fallback = io.StringIO(), io.StringIO()
        closed.close()
        with mock.patch.multiple(sys, stderr=closed, __stderr__=fallback):
            matplotlib_capture.begin(
                captures.append, directory=self.directory, prefix="1", max_side=900
            )
            plot(r"$\frac{$")
            plot("good")
            matplotlib_capture.end(failed=True)
        self.assertIn("could not be shown", fallback.getvalue())
        self.assertEqual(titles(captures), ["good"])


def _notes(error):
    return error.__notes__


class WarningTest(FigureTestCase):
    def caught(self, code):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            self.execute(code)
        return caught

    def test_at_the_line_that_shows(self):
        (warning,) = self.caught(_user_module()["draw_unknown_letter"])
        self.assertIn("no installed font has the letters \U0001f9ff", str(warning.message))
        self.assertEqual((warning.filename, warning.lineno), ("<cell 3>", 10))

    def test_at_the_end_of_the_execution(self):
        """Only the worker's frames are there then; it runs in a thread of its own."""
        loop = os.path.join(
            os.path.dirname(os.path.dirname(messages.__file__)), "pyworker", "loop.py"
        )
        namespace = {"end": matplotlib_capture.end}
        exec(compile("def work(): end()", loop, "exec"), namespace)

        def code():
            plt.suptitle("\U0001f9ff")
            thread = threading.Thread(target=namespace["work"])
            thread.start()
            thread.join()

        (warning,) = self.caught(code)
        self.assertTrue(warning.filename.startswith("<Figure 1"), warning.filename)

    def test_once_for_each_figure_even_with_a_preview(self):
        def code():
            for _ in range(2):
                plt.figure(figsize=(8, 8), dpi=300)
                plt.suptitle("\U0001f9ff")

        self.assertEqual(len(self.caught(code)), 2)

    def test_filters_of_the_user_hold(self):
        def code():
            warnings.simplefilter("ignore")
            plt.suptitle("\U0001f9ff")

        self.assertEqual(self.caught(code), [])
