"""The kinds of figures that people draw."""

import os
import unittest
import warnings

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import ArtistAnimation, FuncAnimation, PillowWriter

from .executions import FigureTestCase, pixels, titles


class KindsTest(FigureTestCase):
    def one(self, code):
        """Run code that draws one figure; it must not be an empty one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (capture,) = self.execute(code)
        self.assertNotIn("could not", self.stderr)
        image = pixels(capture.preview)
        self.assertGreater(len(np.unique(image.reshape(-1, 3), axis=0)), 10)
        return capture

    def test_subplots(self):
        def code():
            _, axes = plt.subplots(2, 2, constrained_layout=True)
            for k, ax in enumerate(axes.flat):
                ax.bar(range(3), [1, 2, k])
                ax.set_title(f"panel {k}")

        self.assertEqual(self.one(code).title, "panel 0; panel 1; panel 2; panel 3")

    def test_three_dimensions(self):
        def code():
            ax = plt.figure().add_subplot(projection="3d")
            x, y = np.meshgrid(np.linspace(-2, 2, 20), np.linspace(-2, 2, 20))
            ax.plot_surface(x, y, np.exp(-x * x - y * y), cmap="viridis")
            ax.set_title("a hill")

        self.assertEqual(self.one(code).title, "a hill")

    def test_colorbar_and_tight_layout(self):
        def code():
            plt.imshow(np.arange(100).reshape(10, 10))
            plt.colorbar()
            plt.title("a map")
            plt.tight_layout()

        self.assertEqual(self.one(code).title, "a map")

    def test_subfigures(self):
        def code():
            left, right = plt.figure().subfigures(1, 2)
            left.subplots().plot([1, 2])
            right.subplots().plot([2, 1])
            left.suptitle("up")
            right.suptitle("down")

        self.assertEqual(self.one(code).title, "up; down")

    def test_xkcd(self):
        def code():
            with plt.xkcd():
                plt.plot([1, 2, 1])
                plt.title("sketch")
                plt.gcf().show()
                plt.show()

        self.assertEqual(self.one(code).title, "sketch")

    def test_pandas(self):
        pandas = _module("pandas")

        def code():
            frame = pandas.DataFrame({"a": [1, 3, 2], "b": [2, 2, 5]})
            frame.plot(title="a frame")

        self.assertEqual(self.one(code).title, "a frame")

    def test_seaborn(self):
        seaborn, pandas = _module("seaborn"), _module("pandas")

        def code():
            frame = pandas.DataFrame(
                {"x": range(30), "y": np.sin(range(30)), "kind": ["a", "b"] * 15}
            )
            seaborn.relplot(data=frame, x="x", y="y", col="kind", kind="line")

        self.assertEqual(self.one(code).title, "kind = a; kind = b")

    def test_scikit_learn(self):
        metrics = _module("sklearn.metrics")

        def code():
            metrics.ConfusionMatrixDisplay.from_predictions([0, 1, 1, 0], [0, 1, 0, 0])
            plt.title("confusion")

        self.assertEqual(self.one(code).title, "confusion")


class AnimationTest(FigureTestCase):
    """Of an animation the first frame is captured."""

    def animate(self, **arguments):
        figure, axes = plt.subplots()
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.axis("off")
        (line,) = axes.plot([], [], color="red", linewidth=40)

        def update(k):
            line.set_data([0, 1], [0.5, 0.5])
            line.set_color(["red", "blue"][k])
            return (line,)

        return FuncAnimation(figure, update, frames=2, **arguments), line

    def check(self, code, color):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            captures = self.execute(code)
        self.assertEqual([str(warning.message) for warning in caught], [])
        self.assertEqual(self.stderr, "")
        (capture,) = captures
        image = pixels(capture.preview)
        self.assertEqual(tuple(image[image.shape[0] // 2, image.shape[1] // 2]), color)

    def test_shown(self):
        def code():
            animation, _ = self.animate()
            plt.show()
            del animation

        self.check(code, (255, 0, 0))

    def test_left_open_and_with_an_empty_start(self):
        def code():
            kept.append(self.animate(init_func=lambda: (), blit=True))

        kept = []
        self.check(code, (255, 0, 0))

    def test_of_artists(self):
        for blit in (False, True):
            with self.subTest(blit=blit):
                kept = []

                def code(blit=blit, kept=kept):
                    figure, axes = plt.subplots()
                    axes.axis("off")
                    frames = [[axes.axvspan(0, 1, color=color)] for color in ("red", "blue")]
                    kept.append(ArtistAnimation(figure, frames, blit=blit))

                self.check(code, (255, 0, 0))

    def test_failing_update(self):
        def code():
            kept.append(FuncAnimation(plt.figure(), lambda k: 1 / 0, frames=2))

        kept = []
        self.assertEqual(self.execute(code), [])
        self.assertIsInstance(self.failure, ZeroDivisionError)

    def test_saved_by_the_user_first(self):
        """After saving, the last frame stands; it isn't wound back."""

        def code():
            animation, _ = self.animate()
            path = os.path.join(os.path.dirname(self.directory), "own.gif")
            animation.save(path, writer=PillowWriter(fps=5))
            with open(path, "rb") as file:
                self.assertEqual(file.read(4), b"GIF8")

        self.check(code, (0, 0, 255))

    def test_saved_after_show(self):
        def code():
            animation, line = self.animate()
            plt.show()
            path = os.path.join(os.path.dirname(self.directory), "own.gif")
            animation.save(path, writer=PillowWriter(fps=5))
            self.assertEqual(line.get_color(), "blue")

        self.check(code, (255, 0, 0))

    def test_without_frames(self):
        def code():
            figure = plt.figure()
            plt.title("no frames")
            kept.append(ArtistAnimation(figure, []))

        kept = []
        self.assertEqual(titles(self.execute(code)), ["no frames"])


def _module(name):
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None
