"""The kinds of figures that people draw."""

import os
import warnings

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import ArtistAnimation, FuncAnimation, PillowWriter

from .executions import FigureTestCase, pixels, titles

SCENES = """
== subplots
_, axes = plt.subplots(2, 2, constrained_layout=True)
for k, ax in enumerate(axes.flat):
    ax.bar(range(3), [1, 2, k])
    ax.set_title(f"panel {k}")
-> panel 0; panel 1; panel 2; panel 3

== three dimensions
ax = plt.figure().add_subplot(projection="3d")
x, y = np.meshgrid(np.linspace(-2, 2, 20), np.linspace(-2, 2, 20))
ax.plot_surface(x, y, np.exp(-x * x - y * y), cmap="viridis")
ax.set_title("a hill")
-> a hill

== colorbar and tight layout
plt.imshow(np.arange(100).reshape(10, 10))
plt.colorbar()
plt.title("a map")
plt.tight_layout()
-> a map

== subfigures
left, right = plt.figure().subfigures(1, 2)
left.subplots().plot([1, 2])
right.subplots().plot([2, 1])
left.suptitle("up")
right.suptitle("down")
-> up; down

== xkcd
import warnings
with plt.xkcd(), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its fonts are not there
    plt.plot([1, 2, 1])
    plt.title("sketch")
    plt.gcf().show()
    plt.show()
-> sketch
"""


class KindsTest(FigureTestCase):
    def execute(self, code, **options):
        captures = super().execute(code, **options)
        for capture in captures:
            colours = np.unique(pixels(capture.preview).reshape(-1, 3), axis=0)
            self.assertGreater(len(colours), 10, "it is an empty one")
        self.assertNotIn("could not", self.stderr)
        return captures

    def test_scenes(self):
        self.play(SCENES)


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
