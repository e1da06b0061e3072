"""Bulk output through shared memory, with a server in the same process."""

import os
import random
import select
import struct
import sys
import threading
import unittest
from unittest import mock

from pyworker import order, staging

_HEAD, _REQUEST, _ACTIVE, _TAIL, _ANSWER = 0, 1, 2, 8, 9  # as in staging.py
_HAS_STAGE = sys.platform == "linux" and staging.is_possible()


class Raw:
    """Stands for the raw stream of stdout; what comes to it is written at once."""

    def __init__(self, server):
        self.server = server
        self.stage = None
        self.resumed = []  # for_good of each leave

    def write_now(self, data):
        self.stage.limit = 0
        with self.server.lock:
            self.server.take()
            self.server.text += b"<" + bytes(data) + b">"
        return len(data)

    def take_turn(self):
        pass

    def resume(self, for_good):
        self.__dict__.pop("write", None)
        self.resumed.append(for_good)


class Server(threading.Thread):
    """Takes what is staged, as Go does, but not by age."""

    def __init__(self):
        super().__init__()
        self.fd = os.memfd_create("stage")
        os.ftruncate(self.fd, staging.HEADER + staging.SIZE)
        self.bell = os.eventfd(0, os.EFD_NONBLOCK)
        self.reader, self.pipe = os.pipe()
        self.text = bytearray()
        self.lock = threading.Lock()
        self.deaf = False
        self.ending = False
        self.start()

    def word(self, index, value=None):
        if value is None:
            return struct.unpack("Q", os.pread(self.fd, 8, 8 * index))[0]
        return os.pwrite(self.fd, struct.pack("Q", value), 8 * index)

    def run(self):
        while not self.ending:
            select.select([self.bell], [], [])
            os.eventfd_read(self.bell)
            if self.deaf:
                continue
            with self.lock:
                self.take()
                self.word(_ANSWER, self.word(_REQUEST))

    def take(self):
        tail, head = self.word(_TAIL), self.word(_HEAD)
        while tail < head:
            start = tail % staging.SIZE
            size = min(head - tail, staging.SIZE - start)
            self.text += os.pread(self.fd, size, staging.HEADER + start)
            tail += size
        self.word(_TAIL, tail)

    def close(self):
        self.ending = True
        os.eventfd_write(self.bell, 1)
        self.join()
        for fd in (self.fd, self.bell, self.pipe, self.reader):
            if fd is not None:
                os.close(fd)


@unittest.skipUnless(_HAS_STAGE, "there is no stage here")
class Staging(unittest.TestCase):
    def setUp(self):
        patience = mock.patch.object(order, "PATIENCE", 60)  # the server may be slow
        patience.start()
        self.addCleanup(patience.stop)
        self.server = Server()
        self.addCleanup(self.server.close)
        self.stage = staging.Stage(self.server.fd, self.server.bell, self.server.pipe)
        self.raw = Raw(self.server)
        self.raw.stage = self.stage
        self.addCleanup(self.stage.leave)  # before the server's descriptors are closed
        self.stage.enter(self.raw)

    def end(self):
        self.stage.leave()
        with self.server.lock:
            self.server.take()
            return bytes(self.server.text)

    def test_pieces_of_any_size_arrive_once_and_in_order(self):
        numbers = random.Random(1)
        sent = bytearray()
        while len(sent) < 20 * staging.SIZE:
            size = numbers.choice((0, 1, 7, 100, 5_000, 65_536, 70_000, 300_000))
            piece = numbers.randbytes(size)
            self.assertEqual(size, self.raw.write(piece))
            sent += piece
        self.assertTrue(self.stage.on)
        self.assertEqual(bytes(sent), self.end())

    def test_all_kinds_of_bytes_are_taken_and_others_refused(self):
        for data in (
            b"a",
            bytearray(b"b"),
            memoryview(b"cxdx")[::1],
            memoryview(b"1234").cast("I"),
        ):
            self.assertEqual(memoryview(data).nbytes, self.raw.write(data))
        for wrong in ("text", "", 5, None, [1]):
            with self.assertRaises(TypeError):
                self.raw.write(wrong)
        self.raw.write(b"end")
        self.assertTrue(self.stage.on)
        self.assertEqual(b"abcxdx1234end", self.end())

    def test_what_is_staged_is_in_the_memory_at_once(self):
        self.raw.write(b"first")
        self.raw.write(b"second")
        self.assertEqual(11, self.server.word(_HEAD))
        self.assertEqual(b"firstsecond", os.pread(self.server.fd, 11, staging.HEADER))
        self.assertEqual(1, self.server.word(_ACTIVE))

    def test_after_a_write_to_a_pipe_the_server_is_waited_for(self):
        self.raw.write(b"a")
        self.raw.write_now(b"b")
        asked = self.server.word(_REQUEST)
        self.raw.write(b"c")
        self.assertEqual(asked + 1, self.server.word(_REQUEST))
        self.raw.write(b"d")
        self.assertEqual(asked + 1, self.server.word(_REQUEST))
        self.assertEqual(b"a<b>cd", self.end())

    def test_leaving_is_told_to_the_stream_and_to_the_server(self):
        write = self.raw.write
        write(b"a")
        self.stage.leave()
        self.assertEqual([False], self.raw.resumed)
        self.assertEqual(0, self.server.word(_ACTIVE))
        write(b"b")  # by who has kept the method
        self.assertEqual(b"a<b>", self.end())

    def test_a_server_that_is_stopped_is_not_waited_for_again(self):
        self.server.deaf = True
        with mock.patch.object(order, "PATIENCE", 0):
            self.raw.write(b"a")
        self.assertEqual([True], self.raw.resumed)
        self.assertEqual(b"<a>", self.end())

    def test_a_server_that_is_gone_lets_the_stream_find_out(self):
        self.raw.write(b"a")
        self.server.deaf = True
        os.close(self.server.reader)
        self.server.reader = None
        with mock.patch.object(order, "PATIENCE", 0):
            self.raw.write(b"b" * 2 * staging.SIZE)
        self.assertEqual([True], self.raw.resumed)
        self.assertIn(b"<bbb", self.end())

    def test_a_finalizer_that_prints_in_the_midst_of_a_write_loses_nothing(self):
        self.raw.write(b"a")
        memory = self.stage._memory
        test = self

        class Interrupted:
            def __setitem__(self, where, data):
                test.stage._memory = memory
                test.raw.write(b"finalizer")
                memory[where] = data

        self.stage._memory = Interrupted()
        self.raw.write(b"b")
        self.raw.write(b"c")
        self.assertEqual(b"a<finalizer>bc", self.end())

    def test_a_handler_that_prints_while_room_is_waited_for_loses_nothing(self):
        self.raw.write(b"a")
        real = order.wait_until
        pieces = [b"handler"]

        def interrupted(holds):
            while pieces:
                self.raw.write(pieces.pop())
            return real(holds)

        with mock.patch.object(staging, "wait_until", interrupted):
            self.raw.write(b"b" * 70_000)
        self.raw.write(b"c")
        self.assertTrue(self.stage.on)
        text = self.end()
        self.assertEqual(b"a<handler>c", text.replace(b"b", b""))
        self.assertEqual(70_000, text.count(b"b"))

    def test_a_program_that_is_started_ends_staging(self):
        self.raw.write(b"a")
        os.system("true")
        self.assertFalse(self.stage.on)

    def test_a_closed_bell_ends_staging_and_loses_nothing(self):
        self.raw.write(b"a")
        with mock.patch.object(os, "write", side_effect=OSError):
            self.raw.write(b"b" * staging.SIZE)
        self.assertFalse(self.stage.on)
        text = self.end()
        self.assertEqual(staging.SIZE, text.count(b"b"))


class Ordering(unittest.TestCase):
    def setUp(self):
        self.pipes = {}
        self.readers = {}
        for number in (1, 2):
            self.readers[number], self.pipes[number] = os.pipe()
        for fd in (*self.pipes.values(), *self.readers.values()):
            self.addCleanup(os.close, fd)
        self.order = order.Order(self.pipes)
        self.order.begin()
        self.out, self.err = mock.Mock(number=1), mock.Mock(number=2)

    @unittest.skipUnless(sys.platform == "linux", "a pipe's writer can't see what is in it")
    def test_the_other_pipe_must_be_empty(self):
        self.order.turn_to(self.out)
        os.write(self.pipes[1], b"text")
        reader = threading.Thread(target=os.read, args=(self.readers[1], 10))
        begin = [reader.start]  # at the first look of who waits
        with (
            mock.patch.object(os, "sched_yield", lambda: begin and begin.pop()()),
            mock.patch.object(order, "PATIENCE", 60),
        ):
            self.order.turn_to(self.err)
        self.assertFalse(select.select([self.readers[1]], [], [], 0)[0])
        reader.join()

    @unittest.skipUnless(sys.platform == "linux", "a pipe's writer can't see what is in it")
    def test_a_reader_that_sleeps_is_not_waited_for_again(self):
        self.order.turn_to(self.out)
        os.write(self.pipes[1], b"text")
        with mock.patch.object(order, "PATIENCE", 0):
            self.order.turn_to(self.err)
        with mock.patch.object(order, "wait_until", side_effect=AssertionError):
            self.order.turn_to(self.out)
            self.order.turn_to(self.err)
        self.order.begin()
        self.order.turn_to(self.out)
        with mock.patch.object(order, "wait_until", return_value=True) as wait:
            self.order.turn_to(self.err)
        wait.assert_called_once()


class Patience(unittest.TestCase):
    def test_a_server_that_does_not_run_for_half_a_second_is_waited_for(self):
        time = mock.Mock(now=0.0)
        time.monotonic = lambda: time.now

        def sleep(seconds):
            time.now += seconds

        time.sleep = sleep
        with mock.patch.object(order.late, "load", return_value=time):
            self.assertTrue(order.wait_until(lambda: time.now > 0.5))
