"""What a forker does for the memory of its forks."""

import itertools
import sys
import unittest
from unittest import mock

from pyworker.fork import preload


class RehearsalTest(unittest.TestCase):
    def tearDown(self):
        preload._filling.clear()

    def test_a_library_that_fails_fails_nobody(self):
        with mock.patch.dict(preload._LIBRARIES, {"sys": "raise SystemExit"}, clear=True):
            preload.rehearse(preload.Trial(["sys"], {}))

    def test_nothing_is_left_of_the_libraries_use(self):
        before = set(vars(sys.modules["__main__"]))
        preload.rehearse(preload.Trial([*preload._LIBRARIES], {}))
        self.assertEqual(set(vars(sys.modules["__main__"])), before)

    def test_filling_ends(self):
        """Whatever the allocator is."""
        preload.fill()
        for made in preload._filling:
            self.assertLessEqual(sum(map(sys.getsizeof, made)), 2 * preload._MOST)

    @unittest.skipUnless(
        sys.implementation.name == "cpython" and (3, 10) <= sys.version_info < (3, 13),
        "for the allocator that is known",
    )
    def test_objects_made_later_are_neighbours(self):
        """The gaps are filled when objects that are made next lie side by side."""
        for size in (64, 128, 256):
            preload.fill()
            made = [bytes(size - preload._HEADER) for _ in range(20)]
            steps = [id(b) - id(a) for a, b in itertools.pairwise(made)]
            self.assertGreaterEqual(steps.count(size), 15, (size, steps))
