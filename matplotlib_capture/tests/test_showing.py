"""Which figures are captured, when, in which order, how often."""

import os
import threading
import unittest

import matplotlib
from matplotlib import pyplot as plt
from matplotlib._pylab_helpers import Gcf

import matplotlib_capture

from .executions import FigureTestCase, pixels, plot, titles

SCENES = """
== show captures every open figure in order of creation
first = plot("one")
plot("two")
plt.figure(first.number)  # activated again: still the first
plt.show()
assert shown() == ["one", "two"] and plt.get_fignums() == []
-> one | two

== figures left open are captured at the end
plot("shown")
plt.show()
plot("left")
plot("left too")
assert shown() == ["shown"]
-> shown | left | left too

== equal figures are each captured
for _ in range(3):
    plt.title("equal")
    plt.show()
-> equal | equal | equal

== a figure closed without show
plot("closed")
plt.close()
plot("kept")
-> kept

== figures without pyplot are not captured
from matplotlib.figure import Figure
figure = Figure()
figure.subplots().plot([1, 2])
figure.savefig(own("own.png"))
->

== a figure shows itself, at once and once
figure = plot("mine")
plot("other")
figure.show()
assert shown() == ["mine"] and len(plt.get_fignums()) == 2
-> mine | other

== changed after show it comes again
plot("before").show()
plt.title("after")
-> before | after

== saved after show it comes once, whatever its layout
for layout in ("none", "tight", "constrained"):
    figure = plot(layout, layout=layout)
    figure.show()
    figure.savefig(own("own.png"))
    plt.show()
-> none | tight | constrained

== a closed figure can be saved and shown again
kept = plot("kept")
plt.show()
kept.savefig(own("own.png"))
-> kept
kept.axes[0].set_title("kept and changed")
kept.show()
-> kept and changed
kept.show()
-> kept and changed
plt.show()
->
plt.figure(kept)  # made current again
plt.title("again")
-> again

== an unpickled figure
import pickle
data = pickle.dumps(plot("pickled"))
plt.close()
pickle.loads(data)
-> pickled

== closed figures are freed
import gc, weakref
kept = weakref.ref(plot("freed"))
plt.show()
-> freed
gc.collect()
assert kept() is None
->

== pauses give one capture
_, axes = plt.subplots()
(line,) = axes.plot([0, 0])
for k in range(5):
    line.set_ydata([0, k])
    axes.set_title(f"step {k}")
    plt.pause(0.001)
assert shown() == []
plt.show()
-> step 4

== paused and closed it is captured at the close
for k in range(2):
    plot(f"round {k}")
    plt.pause(0.001)
    plt.close()
plot("never shown")
plt.close("all")
-> round 0 | round 1

== interactive mode keeps figures open and shows changes only
plt.ion()
plot("first")
plt.draw()
plt.show()
plt.show()
plt.title("second")
plt.show()
assert len(plt.get_fignums()) == 1
-> first | second

== show without blocking
plt.ioff()
plot("one")
plt.show(block=False)
assert shown() == ["one"]
plt.pause(0.001)
plt.close()
plot("two")
plt.show(block=False)
-> one | two

== waiting for a button ends
plot("no buttons here")
assert plt.waitforbuttonpress() is None
-> no buttons here

== figures have number one again
plot("one")
-> one
assert plot("two").number == 1
-> two
"""


class ShowTest(FigureTestCase):
    def test_scenes(self):
        self.play(SCENES)

    def test_from_another_thread(self):
        shown_by = []

        def work():
            plot("from a thread")
            plt.show()

        matplotlib_capture.begin(
            lambda _: shown_by.append(threading.current_thread().name),
            directory=self.directory,
            prefix="1",
            max_side=900,
        )
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        matplotlib_capture.end()
        self.assertEqual(shown_by, ["worker"])

    def test_threads_showing_at_once_give_each_figure_once(self):
        # pyplot numbers figures without a lock, so two threads may share a
        # number, as here every other one does with the next; what is shown must
        # come all the same, and once. Two may even get the same figure, hence the lock.
        making = threading.Lock()

        def work(k):
            with making:
                figure = plot(f"thread {k}")
                if k % 2:
                    Gcf.figs.pop(figure.number)
            figure.show()

        def code():
            threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        captured = titles(self.execute(code))
        self.assertEqual(sorted(captured), [f"thread {k}" for k in range(4)])

    def test_what_is_shown_is_what_was_drawn(self):
        """The capture holds the figure as it was at show, not as it became."""

        def code():
            plot("red", facecolor="red")
            plt.show(block=False)
            plt.gcf().set_facecolor("blue")

        red, blue = self.execute(code)
        self.assertEqual(tuple(pixels(red.preview)[0, 0]), (255, 0, 0))
        self.assertEqual(tuple(pixels(blue.path)[0, 0]), (0, 0, 255))


class NoStaleFigureTest(FigureTestCase):
    def failing(self, error, code, captured):
        """Run code that ends with an exception; nothing of it may be left for the next."""
        with self.assertRaises(error):
            self.execute(code)
        self.assertEqual(titles(self.captures), captured)
        said = self.stderr
        self.assertEqual(self.execute(lambda: plt.show()), [])
        return said

    def test_after_an_exception(self):
        def code():
            plot("open when it failed")
            raise RuntimeError

        self.failing(RuntimeError, code, ["open when it failed"])

    def test_an_interrupt_ends_all_drawing(self):
        def left_open():
            plot("shown")
            _interrupted_figure()
            plot("not reached")

        def all_shown():
            left_open()
            plt.show()

        def one_shown():
            figure = _interrupted_figure()
            plot("not reached")
            figure.show()

        self.failing(KeyboardInterrupt, left_open, ["shown"])
        self.failing(KeyboardInterrupt, all_shown, ["shown"])
        self.assertIn("not shown: 1", self.failing(KeyboardInterrupt, one_shown, []))


class OutsideTest(FigureTestCase):
    def test_nothing_is_captured_outside_an_execution(self):
        captures = self.execute(lambda: None)
        try:
            figure = plot("outside")
            plt.show()
            figure.show()
            self.assertEqual(plt.get_fignums(), [1], "show() outside does nothing")
            figure.savefig(os.path.join(os.path.dirname(self.directory), "own.png"))
        finally:
            plt.close("all")
        self.assertEqual(captures, [])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_nothing_is_captured_in_a_forked_child(self):
        def code():
            plot("the parent's")
            pid = os.fork()
            if pid == 0:
                try:
                    plt.show()
                    os._exit(0 if not self.captures and plt.get_fignums() else 1)
                finally:
                    os._exit(2)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)

        self.assertEqual(titles(self.execute(code)), ["the parent's"])


def _interrupted_figure():
    figure = plot("interrupted")

    def interrupt(*_):
        raise KeyboardInterrupt

    figure.axes[0].xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(interrupt))
    return figure
