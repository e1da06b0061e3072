"""The image itself: the same as savefig's, fitted previews, large figures."""

import functools
import io
import os

import matplotlib
import numpy as np
from matplotlib import pyplot as plt

from pyworker.display import images

from .executions import FigureTestCase, pixels, plot, titles


class SameAsSavefigTest(FigureTestCase):
    def check(self, make):
        expected = io.BytesIO()

        def code():
            figure = make()
            figure.savefig(expected, format="png", dpi=figure.dpi, bbox_inches="tight")

        (capture,) = self.execute(code)
        with open(capture.path, "rb") as file:
            self.assertEqual(file.read(), expected.getvalue())
        self.assertEqual(capture.preview, expected.getvalue())
        height, width, _ = pixels(capture.path).shape
        self.assertEqual((capture.width, capture.height), (width, height))
        return capture

    def test_plain(self):
        capture = self.check(lambda: plot("plain"))
        self.assertLess(capture.width, 640)
        self.assertEqual(capture.mime_type, "image/png")

    def test_own_resolution(self):
        def make():
            figure = plot("fine", figsize=(4, 3), dpi=150)
            figure.set_dpi(200)
            return figure

        self.assertGreater(self.check(make).width, 700)

    def test_savefig_parameters_are_respected_except_the_resolution(self):
        matplotlib.rcParams.update(
            {"savefig.pad_inches": 1, "savefig.dpi": 300, "savefig.facecolor": "green"}
        )
        capture = self.check(lambda: plot("far from the edge"))
        self.assertGreater(capture.width, 640)
        self.assertEqual(tuple(pixels(capture.path)[0, 0]), (0, 128, 0))

    def test_format_parameter_does_not_matter(self):
        matplotlib.rcParams["savefig.format"] = "svg"
        self.check(lambda: plot("png all the same"))

    def test_layouts(self):
        for arguments in ({"tight_layout": True}, {"constrained_layout": True}):
            with self.subTest(arguments):
                self.check(functools.partial(plot, "layout", **arguments))


class PreviewTest(FigureTestCase):
    def test_large_figure_is_whole_on_disk_and_small_in_the_preview(self):
        kept = []
        (capture,) = self.execute(lambda: kept.append(bare(figsize=(10, 5), dpi=300)))
        self.assertEqual((capture.width, capture.height), (3000, 1500))
        self.assertEqual(pixels(capture.path).shape, (1500, 3000, 3))
        self.assertEqual(pixels(capture.preview).shape, (784, 1568, 3))
        self.assertFalse(hasattr(kept[0].canvas, "renderer"), "its memory is kept")

    def test_sizes_just_around_the_limit(self):
        for width, expected in ((699, 699), (700, 700), (701, 700), (1399, 700)):
            with self.subTest(width):
                edge = functools.partial(bare, figsize=(width / 100, 3), dpi=100)
                (capture,) = self.execute(edge, max_side=700)
                self.assertEqual(capture.width, width)
                self.assertEqual(images.size_of(capture.preview)[0], expected)

    def test_tight_box_fits_too(self):
        def code():
            plot("tight", figsize=(20, 4), dpi=100)
            plt.figtext(1.4, 0.5, "far outside")

        (capture,) = self.execute(code, max_side=500)
        self.assertGreater(capture.width, 2000)
        self.assertLessEqual(max(images.size_of(capture.preview)), 500)

    def test_text_keeps_its_proportions(self):
        """The preview looks like the whole picture scaled down."""

        def code():
            figure = bare(figsize=(8, 8), dpi=400)
            figure.text(0.5, 0.5, "M", fontsize=300, ha="center", va="center")

        (capture,) = self.execute(code, max_side=400)
        whole = _dark_box(pixels(capture.path)) / 3200
        small = _dark_box(pixels(capture.preview)) / 400
        np.testing.assert_allclose(small, whole, atol=0.01)

    def test_resolution_is_put_back(self):
        kept = []

        def code():
            kept.append(bare(figsize=(10, 5), dpi=300))
            plt.show()
            self.assertEqual(kept[0].dpi, 300)

        self.execute(code)
        kept[0].set_facecolor("red")
        (capture,) = self.execute(kept[0].show)
        self.assertEqual((capture.width, capture.height), (3000, 1500))

    def test_a_very_long_strip(self):
        (capture,) = self.execute(lambda: bare(figsize=(600, 2), dpi=100))
        self.assertEqual((capture.width, capture.height), (60000, 200))
        self.assertEqual(images.size_of(capture.preview), (1568, 5))

    def test_absurd_sizes_are_errors_in_text(self):
        for size, words in (((100000, 0.1), "less than 2^"), ((640, 480), "smaller figsize")):
            with self.subTest(size):
                absurd = functools.partial(plot, "absurd", figsize=size, dpi=100)
                self.assertEqual(self.execute(absurd), [])
                self.assertIsInstance(self.failure, ValueError)
                self.assertIn(words, str(self.failure))
        self.assertEqual(self.files(), [])


class CanvasTest(FigureTestCase):
    """The figure's canvas behaves as Agg's own, before and after a capture."""

    def test_draw_and_buffers(self):
        def code():
            figure = plot("buffers")
            figure.canvas.draw()
            before = np.asarray(figure.canvas.buffer_rgba()).copy()
            figure.show()
            np.testing.assert_array_equal(before, figure.canvas.buffer_rgba())
            file = io.BytesIO()
            plt.gcf().canvas.print_png(file)
            np.testing.assert_array_equal(before[..., :3], pixels(file.getvalue()))

        self.assertEqual(titles(self.execute(code)), ["buffers"])

    def test_buffer_keeps_its_size_after_a_smaller_preview(self):
        def code():
            figure = plot("large", figsize=(10, 5), dpi=300)
            figure.canvas.draw()
            figure.show()
            self.assertEqual(np.asarray(figure.canvas.buffer_rgba()).shape, (1500, 3000, 4))

        self.execute(code)

    def test_savefig_in_every_format(self):
        starts = {
            "png": b"\x89PNG",
            "pdf": b"%PDF",
            "svg": b"<?xml",
            "ps": b"%!PS",
            "jpg": b"\xff\xd8",
            "raw": b"\xff",
        }

        def code():
            plot("saved")
            for suffix, start in starts.items():
                path = os.path.join(os.path.dirname(self.directory), f"own.{suffix}")
                plt.savefig(path)
                with open(path, "rb") as file:
                    self.assertTrue(file.read(8).startswith(start), suffix)

        self.assertEqual(titles(self.execute(code)), ["saved"])


def bare(**figure_arguments):
    """A figure whose tight box is its own: there is no margin to cut off."""
    figure = plt.figure(**figure_arguments)
    figure.add_artist(matplotlib.patches.Rectangle((0, 0), 1, 1, fill=False, linewidth=0))
    matplotlib.rcParams["savefig.pad_inches"] = 0
    return figure


def _dark_box(image):
    rows, columns = np.nonzero(image.min(axis=2) < 128)
    return np.array([rows.min(), rows.max(), columns.min(), columns.max()])
