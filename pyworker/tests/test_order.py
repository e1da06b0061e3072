"""The order of the two streams, with a reader that sleeps."""

import os
import sys
import time
import unittest
from unittest import mock

from pyworker import order


@unittest.skipUnless(sys.platform == "linux", "a pipe's writer can't see what is in it")
class Ordering(unittest.TestCase):
    def setUp(self):
        self.readers, self.pipes = {}, {}
        for fd in (1, 2):
            self.readers[fd], self.pipes[fd] = os.pipe()
        for fd in (*self.pipes.values(), *self.readers.values()):
            self.addCleanup(os.close, fd)
        self.order = order.Order(self.pipes)
        self.order.begin()

    def test_the_other_pipe_is_waited_for(self):
        self.order.turn_to(1)
        os.write(self.pipes[1], b"text")
        left = [lambda: None] * 100 + [lambda: os.read(self.readers[1], 10)]
        with mock.patch.object(time, "sleep", lambda _: left.pop(0)()):
            self.order.turn_to(2)
        self.assertEqual([], left)

    def test_a_reader_that_sleeps_is_not_waited_for_again(self):
        self.order.turn_to(1)
        os.write(self.pipes[1], b"text")
        with mock.patch.object(order, "PATIENCE", 0):
            self.order.turn_to(2)
        with mock.patch.object(time, "sleep", side_effect=AssertionError):
            self.order.turn_to(1)
            self.order.turn_to(2)
