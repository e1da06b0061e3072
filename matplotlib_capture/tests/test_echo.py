"""Figures that are echoed, saved, empty, or written in letters that need another font."""

import contextlib
import io
import os
import warnings

import matplotlib
import numpy as np
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib import pyplot as plt

from matplotlib_capture import fonts

from .executions import FigureTestCase, pixels, plot, tight_size

SCENES = """
== a figure of an earlier execution
kept = plot("kept")
-> kept
capture.echo(kept)
-> kept

== one made without pyplot comes once
from matplotlib.figure import Figure
figure = Figure()
figure.subplots().set_title("alone")
capture.echo(figure)
capture.echo(figure)
-> alone

== an open one comes when it is finished
capture.echo(plt.figure())
plt.plot([1, 2])
capture.echo(plt.gcf())
plt.title("finished")
assert shown() == []
-> finished

== an open one that is closed comes
capture.echo(plot("closed"))
plt.close()
-> closed

== empty axes and mere text are something
plt.subplots()[0].set_label("empty")
plt.figure(num="mere text").text(0.5, 0.5, "text")
-> empty | mere text

== saved and closed
plot("saved")
plt.savefig("a.png")
plt.savefig("b", dpi=20)
plt.close()
assert os.path.exists("b.png")
-> a.png=b.png=saved

== saved and shown, or left open
plot("shown").savefig("a.pdf")
plt.show()
plot("open").savefig("b.png")
-> a.pdf=shown | b.png=open

== drawn on after saving
plot("one line").savefig("one.png")
plt.plot([3, 1])
plt.savefig("two.png")
plt.close()
-> one.png=one line | two.png=one line

== frames of an animation are no files
from matplotlib.animation import FuncAnimation, HTMLWriter
figure, axes = plt.subplots()
animation = FuncAnimation(figure, lambda k: axes.plot([k, 1]), frames=2)
animation.save("own.html", writer=HTMLWriter())
figure.canvas.print_figure("printed.png")
-> printed.png=

== a buffer is no file
import io
plot("in memory").savefig(io.BytesIO())
plt.close()
->

== saved in an earlier execution
kept = plot("kept")
kept.savefig("a.png")
-> a.png=kept
capture.echo(kept)
-> kept
"""


class EchoTest(FigureTestCase):
    def test_scenes(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.directory))
        self.play(SCENES)


class BlankTest(FigureTestCase):
    def text(self, code):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(self.execute(code), [])
        return output.getvalue()

    def test_without_axes(self):
        self.assertEqual(self.text(plt.figure), "<Figure size 640x480 with 0 Axes>\n")

    def test_shown_and_with_empty_subfigures(self):
        def code():
            plt.figure().subfigures(1, 2)
            plt.show()

        self.assertEqual(self.text(code), "<Figure size 640x480 with 0 Axes>\n")

    def test_saved_after_show(self):
        """The picture has gone with show: the file is an empty one."""

        def code():
            os.chdir(os.path.dirname(self.directory))
            plt.figure()
            plt.savefig("late.png")

        self.addCleanup(os.chdir, os.getcwd())
        said = "<Figure size 640x480 with 0 Axes> saved as late.png\n"
        self.assertEqual(self.text(code), said)


class SavedTest(FigureTestCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.directory))

    def named(self, code):
        return [(capture.title, list(capture.names)) for capture in self.execute(code)]

    def test_saved_and_cleared(self):
        """Each file comes with what it shows, and none with what came after."""

        def code():
            for k in range(2):
                plt.plot([k, 1])
                plt.title(f"round {k}")
                plt.savefig(f"{k}.png")
                plt.clf()
            plot("of vectors").savefig("vectors.pdf")
            plt.cla()
            plt.plot([1, 2])

        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            named = self.named(code)
        self.assertEqual(named, [("round 0", ["0.png"]), ("round 1", ["1.png"]), ("", [])])
        self.assertIn("saved, not shown here: vectors.pdf (1 in all)\n", output.getvalue())
        self.assertEqual(pixels(self.captures[0].path).shape, (480, 640, 3))

    def test_many(self):
        def code():
            for k in range(13):
                plot(str(k)).savefig(f"{k}.png")
                plt.close()

        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(len(self.execute(code)), 10)
        said = "saved, not shown here: 10.png, 11.png, 12.png (3 in all)\n"
        self.assertEqual(output.getvalue(), said)


class TightTest(FigureTestCase):
    def test_long_labels_are_whole(self):
        def code():
            figure, axes = plt.subplots()
            axes.barh(["a label that is far too long for its place in the margin"], [1])
            sizes.append(tight_size(figure))

        sizes = []
        (capture,) = self.execute(code)
        self.assertEqual((capture.width, capture.height), sizes[0])
        self.assertGreater(capture.width, 640)

    def test_a_label_lost_far_away_does_not_blow_it_up(self):
        def code():
            plot("lost").axes[0].text(1e4, 0.5, "far")

        (capture,) = self.execute(code)
        self.assertEqual((capture.width, capture.height), (640, 480))


class FontTest(FigureTestCase):
    LETTERS = "\u58f2\u4e0a"

    def install(self):
        """A font that draws each of the letters as a black square."""
        builder = FontBuilder(1000, isTTF=True)
        pen = TTGlyphPen(None)
        for step, point in enumerate([(50, 0), (50, 900), (950, 900), (950, 0)]):
            (pen.lineTo if step else pen.moveTo)(point)
        pen.closePath()
        names = [".notdef", *(f"g{k}" for k in range(len(self.LETTERS)))]
        builder.setupGlyphOrder(names)
        builder.setupCharacterMap({ord(c): f"g{k}" for k, c in enumerate(self.LETTERS)})
        builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
        builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
        builder.setupHorizontalHeader(ascent=900, descent=-100)
        builder.setupNameTable({"familyName": "Squares", "styleName": "Regular"})
        builder.setupOS2()
        builder.setupPost()
        path = os.path.join(os.path.dirname(self.directory), "squares.ttf")
        builder.save(path)
        before = list(font_manager.fontManager.ttflist)
        self.addCleanup(font_manager.fontManager.ttflist.__setitem__, slice(None), before)
        self.addCleanup(fonts._found.clear)
        font_manager.fontManager.addfont(path)
        fonts._found.clear()

    def check(self, code):
        self.install()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            captures = self.execute(code)
        self.assertEqual(caught, [])
        self.assertIn("Squares", matplotlib.rcParams["font.family"])
        return captures

    def test_title_and_categories(self):
        def code():
            figure, axes = plt.subplots()
            axes.bar([self.LETTERS], [1])
            axes.patches[0].set_visible(False)
            figure.suptitle(f"Sales {self.LETTERS}", fontsize=40)

        (capture,) = self.check(code)
        dark = pixels(capture.preview).max(axis=2) < 30
        self.assertGreater(np.count_nonzero(dark[:60]), 2 * 35 * 35)

    def test_in_a_file_of_the_users(self):
        path = os.path.join(os.path.dirname(self.directory), "own.png")

        def code():
            plt.figure().text(0.2, 0.5, self.LETTERS, fontsize=100)
            plt.savefig(path)
            plt.close()

        self.check(code)
        self.assertGreater(np.count_nonzero(pixels(path).max(axis=2) < 30), 20000)

    def test_one_warning_where_there_is_none(self):
        self.addCleanup(fonts._found.clear)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.execute(lambda: plot("\U0001f9ff\U0001f9fe of two letters"))
        self.assertEqual(len(caught), 1)
        self.assertRegex(str(caught[0].message), "no installed font has the letters .*addfont")
