"""A figure's title, which becomes its description."""

from matplotlib import pyplot as plt

from .executions import FigureTestCase, plot, titles


class TitleTest(FigureTestCase):
    def title(self, code):
        return titles(self.execute(code))[0]

    def test_suptitle_comes_first(self):
        def code():
            plot("axes", num="window")
            plt.suptitle("whole")

        self.assertEqual(self.title(code), "whole")

    def test_axes_titles_with_those_at_the_sides(self):
        def code():
            _, (one, _, three) = plt.subplots(1, 3)
            one.set_title("middle")
            one.set_title("left", loc="left")
            three.set_title("three")

        self.assertEqual(self.title(code), "left; middle; three")

    def test_window_title(self):
        def code():
            plt.subplots()[0].canvas.manager.set_window_title("window")

        self.assertEqual(self.title(code), "window")

    def test_figure_named_by_the_user(self):
        self.assertEqual(self.title(lambda: plt.subplots(num="Named")), "Named")

    def test_label(self):
        self.assertEqual(self.title(lambda: plt.subplots()[0].set_label("label")), "label")

    def test_none(self):
        self.assertEqual(self.title(lambda: plt.subplots(num=7)), "")

    def test_one_line_of_at_most_200_characters(self):
        self.assertEqual(
            self.title(lambda: plot("two\n  lines\tand\x07more")),
            "two lines and\N{REPLACEMENT CHARACTER}more",
        )
        long = self.title(lambda: plot("x" * 500))
        self.assertEqual((len(long), long[-1]), (200, "\N{HORIZONTAL ELLIPSIS}"))
        self.assertEqual(self.title(lambda: plot("x" * 200)), "x" * 200)
