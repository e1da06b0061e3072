"""What a forker does for the memory of its forks."""

import itertools
import sys
import unittest
from unittest import mock

from pyworker.fork import rehearsal, suspects


class RehearsalTest(unittest.TestCase):
    def tearDown(self):
        rehearsal._filling.clear()

    def test_a_library_that_fails_fails_nobody(self):
        with mock.patch.dict(rehearsal._LIBRARIES, {"sys": "raise SystemExit"}, clear=True):
            rehearsal.rehearse(suspects.Trial(["sys"], {}))

    def test_nothing_is_left_of_the_libraries_use(self):
        before = set(vars(sys.modules["__main__"]))
        rehearsal.rehearse(suspects.Trial([*rehearsal._LIBRARIES], {}))
        self.assertEqual(set(vars(sys.modules["__main__"])), before)

    def test_filling_ends(self):
        """Whatever the allocator is."""
        rehearsal.fill()
        for made in rehearsal._filling:
            self.assertLessEqual(sum(map(sys.getsizeof, made)), 2 * rehearsal._MOST)

    @unittest.skipUnless(
        sys.implementation.name == "cpython" and (3, 10) <= sys.version_info < (3, 13),
        "for the allocator that is known",
    )
    def test_objects_made_later_are_neighbours(self):
        """The gaps are filled when objects that are made next lie side by side."""
        for size in (64, 128, 256):
            rehearsal.fill()
            made = [bytes(size - rehearsal._HEADER) for _ in range(20)]
            steps = [id(b) - id(a) for a, b in itertools.pairwise(made)]
            self.assertGreaterEqual(steps.count(size), 15, (size, steps))
