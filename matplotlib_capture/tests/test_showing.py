"""Which figures are captured, when, in which order, how often."""

import gc
import os
import pickle
import threading
import unittest
import weakref

import matplotlib
from matplotlib import pyplot as plt
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure

import matplotlib_capture

from .executions import FigureTestCase, pixels, plot, titles


class ShowTest(FigureTestCase):
    def test_show_captures_every_open_figure_in_order_of_creation(self):
        def code():
            first = plot("one")
            plot("two")
            plt.figure(first.number)  # activated again: still the first
            plt.show()
            self.assertEqual(titles(self.captures), ["one", "two"])
            self.assertEqual(plt.get_fignums(), [])

        self.assertEqual(titles(self.execute(code)), ["one", "two"])

    def test_figures_left_open_are_captured_at_the_end(self):
        def code():
            plot("shown")
            plt.show()
            plot("left")
            plot("left too")
            self.assertEqual(len(self.captures), 1)

        self.assertEqual(titles(self.execute(code)), ["shown", "left", "left too"])

    def test_show_in_a_loop(self):
        def code():
            for k in range(4):
                plt.plot(range(k + 2))
                plt.title(f"round {k}")
                plt.show()
                plt.close()

        self.assertEqual(titles(self.execute(code)), [f"round {k}" for k in range(4)])

    def test_equal_figures_are_each_captured(self):
        def code():
            for _ in range(3):
                plt.plot([1, 2])
                plt.show()

        captures = self.execute(code)
        self.assertEqual(len(captures), 3)
        self.assertEqual(len({capture.path for capture in captures}), 3)

    def test_a_figure_closed_without_show_is_not_captured(self):
        def code():
            plot("closed")
            plt.close()
            plot("kept")

        self.assertEqual(titles(self.execute(code)), ["kept"])

    def test_figures_without_pyplot_are_not_captured(self):
        def code():
            figure = Figure()
            figure.subplots().plot([1, 2])
            figure.savefig(os.path.join(os.path.dirname(self.directory), "own.png"))

        self.assertEqual(self.execute(code), [])

    def test_nothing_open(self):
        self.assertEqual(self.execute(lambda: plt.show()), [])
        self.assertEqual(self.files(), [])

    def test_from_another_thread(self):
        shown_by = []

        def emit(capture):
            shown_by.append(threading.current_thread().name)

        def work():
            plot("from a thread")
            plt.show()

        matplotlib_capture.begin(emit, directory=self.directory, prefix="1", max_side=900)
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


class FigureShowTest(FigureTestCase):
    def test_captures_at_once_and_once(self):
        def code():
            figure = plot("mine")
            plot("other")
            figure.show()
            self.assertEqual(titles(self.captures), ["mine"])
            self.assertEqual(len(plt.get_fignums()), 2)

        self.assertEqual(titles(self.execute(code)), ["mine", "other"])

    def test_changed_after_show_comes_again(self):
        def code():
            figure = plot("before")
            figure.show()
            plt.title("after")

        self.assertEqual(titles(self.execute(code)), ["before", "after"])

    def test_saved_after_show_comes_once(self):
        for layout in ("none", "tight", "constrained"):
            with self.subTest(layout):

                def code(layout=layout):
                    figure = plot(
                        "once",
                        tight_layout=layout == "tight",
                        constrained_layout=layout == "constrained",
                    )
                    figure.show()
                    figure.savefig(os.path.join(self.directory, "own.png"))
                    plt.show()

                self.assertEqual(titles(self.execute(code)), ["once"])

    def test_closed_figure_can_be_saved_and_shown_again(self):
        kept = []

        def first():
            kept.append(plot("kept"))
            plt.show()
            kept[0].savefig(os.path.join(self.directory, "own.png"))

        def second():
            kept[0].axes[0].set_title("kept and changed")
            kept[0].show()

        self.assertEqual(titles(self.execute(first)), ["kept"])
        self.assertEqual(titles(self.execute(second)), ["kept and changed"])
        self.assertEqual(titles(self.execute(lambda: kept[0].show())), ["kept and changed"])
        self.assertEqual(self.execute(lambda: plt.show()), [])

    def test_closed_figure_made_current_again(self):
        kept = []
        self.execute(lambda: kept.append(plot("kept")))

        def code():
            plt.figure(kept[0])
            plt.title("again")

        self.assertEqual(titles(self.execute(code)), ["again"])

    def test_unpickled_figure(self):
        def code():
            data = pickle.dumps(plot("pickled"))
            plt.close()
            pickle.loads(data)

        self.assertEqual(titles(self.execute(code)), ["pickled"])

    def test_closed_figures_are_freed(self):
        kept = []

        def code():
            kept.append(weakref.ref(plot("freed")))
            plt.show()

        self.execute(code)
        gc.collect()
        self.assertIsNone(kept[0]())


class InteractiveTest(FigureTestCase):
    def test_pauses_give_one_capture(self):
        def code():
            _, axes = plt.subplots()
            (line,) = axes.plot([0, 0])
            for k in range(5):
                line.set_ydata([0, k])
                axes.set_title(f"step {k}")
                plt.pause(0.001)
            self.assertEqual(self.captures, [])
            plt.show()

        self.assertEqual(titles(self.execute(code)), ["step 4"])

    def test_paused_and_closed_is_captured_at_the_close(self):
        def code():
            for k in range(2):
                plot(f"round {k}")
                plt.pause(0.001)
                plt.close()
            plot("never shown")
            plt.close("all")

        self.assertEqual(titles(self.execute(code)), ["round 0", "round 1"])

    def test_interactive_mode_keeps_figures_open_and_shows_changes_only(self):
        def code():
            plt.ion()
            plot("first")
            plt.draw()
            plt.show()
            plt.show()
            plt.title("second")
            plt.show()
            self.assertEqual(len(plt.get_fignums()), 1)

        self.assertEqual(titles(self.execute(code)), ["first", "second"])

    def test_show_without_blocking(self):
        def code():
            plot("one")
            plt.show(block=False)
            self.assertEqual(titles(self.captures), ["one"])
            plt.pause(0.001)
            plt.close()
            plot("two")
            plt.show(block=False)

        self.assertEqual(titles(self.execute(code)), ["one", "two"])

    def test_waiting_for_a_button_ends(self):
        def code():
            plot("no buttons here")
            self.assertIsNone(plt.waitforbuttonpress())

        self.assertEqual(titles(self.execute(code)), ["no buttons here"])


class NoStaleFigureTest(FigureTestCase):
    def test_after_an_exception(self):
        def code():
            plot("open when it failed")
            raise RuntimeError

        with self.assertRaises(RuntimeError):
            self.execute(code)
        self.assertEqual(titles(self.captures), ["open when it failed"])
        self.assertEqual(self.execute(lambda: plt.show()), [])

    def test_interrupt_while_drawing_ends_all_drawing(self):
        def code():
            plot("shown")
            _interrupted_figure()
            plot("not reached")
            plt.show()

        with self.assertRaises(KeyboardInterrupt):
            self.execute(code)
        self.assertEqual(titles(self.captures), ["shown"])
        self.assertEqual(self.execute(lambda: plt.show()), [])

    def test_interrupt_of_one_show_leaves_the_rest_undrawn(self):
        def code():
            figure = _interrupted_figure()
            plot("not reached")
            figure.show()

        with self.assertRaises(KeyboardInterrupt):
            self.execute(code)
        self.assertEqual(self.captures, [])
        self.assertIn("not shown: 1", self.stderr)

    def test_interrupt_in_end(self):
        def code():
            plot("shown")
            _interrupted_figure()
            plot("not reached")

        with self.assertRaises(KeyboardInterrupt):
            self.execute(code)
        self.assertEqual(titles(self.captures), ["shown"])

    def test_figure_number_one_again(self):
        self.execute(lambda: plot("one"))
        self.execute(lambda: self.assertEqual(plot("two").number, 1))


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


class PreviewOfShowTest(FigureTestCase):
    def test_what_is_shown_is_what_was_drawn(self):
        """The capture holds the figure as it was at show, not as it became."""

        def code():
            plot("red", facecolor="red")
            plt.show(block=False)
            plt.gcf().set_facecolor("blue")

        red, blue = self.execute(code)
        self.assertEqual(tuple(pixels(red.preview)[0, 0]), (255, 0, 0))
        self.assertEqual(tuple(pixels(blue.path)[0, 0]), (0, 0, 255))
