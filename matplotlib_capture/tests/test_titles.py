"""A figure's title, which becomes its description."""

from .executions import FigureTestCase, plot, titles

SCENES = """
== a suptitle comes first
plot("axes", num="window")
plt.suptitle("whole")
-> whole

== axes' titles, with those at the sides
_, (one, _, three) = plt.subplots(1, 3)
one.set_title("middle")
one.set_title("left", loc="left")
three.set_title("three")
-> left; middle; three

== of the window, by the user's name for it, by a label
plt.subplots()[0].canvas.manager.set_window_title("window")
plt.subplots(num="Named")
plt.subplots()[0].set_label("label")
-> window | Named | label

== one line
plot("two\\n  lines\\tand\\x07more")
-> two lines and�more
"""


class TitleTest(FigureTestCase):
    def test_scenes(self):
        self.play(SCENES)

    def test_none_and_long_ones(self):
        self.assertEqual(titles(self.execute(lambda: plot("", num=7))), [""])
        for length, expected in ((500, "x" * 199 + "\N{HORIZONTAL ELLIPSIS}"), (200, "x" * 200)):
            self.assertEqual(titles(self.execute(lambda n=length: plot("x" * n))), [expected])
