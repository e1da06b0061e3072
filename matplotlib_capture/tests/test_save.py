"""The files: where, under which names, whole or not at all."""

import os
import re
import unittest
from unittest import mock

from matplotlib import pyplot as plt

from matplotlib_capture import save

from .executions import FigureTestCase, pixels, plot, titles


class FileTest(FigureTestCase):
    def test_names_count_from_one_in_each_execution(self):
        def code():
            plot("a")
            plot("b")

        for prefix in ("0001", "0002"):
            captures = self.execute(code, prefix=prefix)
            for k, capture in enumerate(captures, start=1):
                folder, name = os.path.split(capture.path)
                self.assertEqual(folder, self.directory)
                self.assertTrue(re.fullmatch(rf"{prefix}-{k}-[0-9a-f]{{4,}}\.png", name), name)
        self.assertEqual(len(self.files()), 4)

    def test_chdir_before_show_is_harmless(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)

        def code():
            plot("elsewhere")
            os.chdir(os.path.dirname(self.directory))

        (capture,) = self.execute(code)
        os.chdir(before)
        self.assertEqual(pixels(capture.path).shape, (capture.height, capture.width, 3))

    def test_directory_deleted_during_the_execution(self):
        def code():
            plot("one")
            plt.show()
            os.remove(self.captures[0].path)
            os.rmdir(self.directory)
            plot("two")

        self.assertTrue(os.path.exists(self.execute(code)[1].path))

    def test_unwritable_directory_costs_the_file_not_the_figure(self):
        blocker = os.path.join(os.path.dirname(self.directory), "file")
        open(blocker, "w").close()
        (capture,) = self.execute(lambda: plot("kept"), directory=os.path.join(blocker, "figs"))
        self.assertEqual((capture.path, capture.title), ("", "kept"))
        self.assertEqual(pixels(capture.preview).shape, (capture.height, capture.width, 3))
        self.assertIn('Figure 1 ("kept") is shown without a file: ', self.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_disk(self):
        def code():
            plot("first")
            plot("second")

        def full(part, mode):
            open(part, mode).close()
            return open("/dev/full", mode)

        with mock.patch.object(save, "open", full, create=True):
            captures = self.execute(code)
        self.assertEqual([(c.path, c.title) for c in captures], [("", "first"), ("", "second")])
        self.assertIn("No space left on device", self.stderr)
        self.assertEqual(self.files(), [], "a part of a file was left")

    def test_large_figure_without_a_file_still_has_its_preview(self):
        blocker = os.path.join(os.path.dirname(self.directory), "file")
        open(blocker, "w").close()
        (capture,) = self.execute(
            lambda: plot("big", figsize=(8, 4), dpi=400), directory=os.path.join(blocker, "figs")
        )
        self.assertEqual(capture.path, "")
        self.assertGreater(capture.width, 1568)
        self.assertAlmostEqual(pixels(capture.preview).shape[1], 1568, delta=9)


class InterruptTest(FigureTestCase):
    def test_interrupt_leaves_no_part_behind(self):
        with (
            mock.patch.object(save.os, "replace", side_effect=KeyboardInterrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.execute(lambda: plot("interrupted"))
        self.assertEqual(self.files(), [])
        self.assertEqual(titles(self.captures), [])
