"""The frames: encoding, decoding, broken ones, recorded and random ones."""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import unittest

from pyworker import protocol
from pyworker.tests import conversations
from pyworker.tests.worker import FAKES, WorkerCase


def decode_all(data, chunk=None):
    """Decodes a whole stream that comes in chunks."""
    decoder, frames = protocol.Decoder(), []
    for i in range(0, len(data), chunk or len(data) or 1):
        decoder.feed(data[i : i + (chunk or len(data))])
        while (frame := decoder.next()) is not None:
            frames.append(frame)
    decoder.finish()
    return frames


class Codec(unittest.TestCase):
    def test_recorded_frames_survive_encoding_in_chunks_of_any_size(self):
        for name in conversations.archives():
            frames = [f for f in conversations.read(name) if f.header]
            data = b"".join(
                piece for f in frames for piece in protocol.encode(f.header, f.attachments)
            )
            for chunk in (1, 3, 4096, None):
                decoded = decode_all(data, chunk)
                self.assertEqual([(f.header, f.attachments) for f in frames], decoded)

    def test_broken_frames_are_refused_by_name(self):
        frames = conversations.read("broken")
        self.assertGreater(len(frames), 15)
        for frame in frames:
            for chunk in (1, None):
                with self.subTest(frame.name), self.assertRaises(protocol.ProtocolError) as caught:
                    decode_all(frame.data, chunk)
                self.assertEqual(frame.kind, caught.exception.word)

    def test_a_broken_announcement_is_refused_before_more_comes(self):
        decoder = protocol.Decoder()
        header = json.dumps({"type": "stop", "attachments": [protocol.ATTACHMENTS_LIMIT + 1]})
        decoder.feed(struct.pack(">I", len(header)) + header.encode())
        with self.assertRaises(protocol.ProtocolError):
            decoder.next()

    def test_encoding_refuses_what_decoding_would(self):
        with self.assertRaises(protocol.ProtocolError):
            protocol.encode({"type": "figure"}, [b""] * 65)

    def test_long_names_and_texts_are_cut_and_told(self):
        long = "v" * (5 << 20)
        done = {"type": "done", "result": "r" * 99_999, "notes": ["n"]}
        for fields in (
            {"variables": {"added": [long], "more": {}}},
            {"variables": {"added": [f"{long[:30_000]}{i}" for i in range(1000)]}},
            {"exception": {"type": long, "stack": [[long, 1, long, ""]], "traceback": long}},
        ):
            [(header, _)] = decode_all(b"".join(protocol.encode({**done, **fields})))
            self.assertLess(len(json.dumps(header)), protocol.REPORT_LIMIT)
            self.assertEqual(done["result"], header["result"])
            self.assertEqual(["n"], header["notes"][:1])
            self.assertIn("were cut", header["notes"][1])
        figure = {"type": "figure", "title": long, "width": 7}
        [(header, images)] = decode_all(b"".join(protocol.encode(figure, [b"png"])))
        self.assertLess(len(json.dumps(header)), protocol.MENTION_LIMIT)
        self.assertEqual((7, [b"png"]), (header["width"], images))

    def test_numbers_of_descriptors_are_checked(self):
        for count in (0, 8):
            data = b"".join(protocol.encode({"type": "wake", "descriptors": count}))
            self.assertEqual(count, decode_all(data)[0][0]["descriptors"])
        for count in (-1, 9, True, 1.0, "1", None, [1]):
            data = b"".join(protocol.encode({"type": "wake", "descriptors": count}))
            with self.assertRaises(protocol.ProtocolError) as caught:
                decode_all(data)
            self.assertEqual("descriptors", caught.exception.word)

    def test_lone_surrogates_travel_as_escapes(self):
        data = b"".join(protocol.encode({"type": "log", "message": "a\udc80b"}))
        self.assertEqual("a\udc80b", decode_all(data)[0][0]["message"])
        data.decode("utf-8")

    def test_fields_are_checked(self):
        good = {"type": "run", "execution": 1, "kind": "code", "code": "", "arguments": {}}
        good = {**good, "result_var_name": "", "more": 1}
        protocol.check_fields(good)
        for name, value in (("execution", "1"), ("code", None), ("execution", True)):
            with self.assertRaises(protocol.ProtocolError):
                protocol.check_fields({**good, name: value})


class Fuzz(unittest.TestCase):
    ROUNDS = 3000

    def setUp(self):
        self.random = random.Random(20261121)
        self.seeds = [
            b"".join(protocol.encode(f.header, f.attachments)) if f.header else f.data
            for name in conversations.archives()
            for f in conversations.read(name)
        ]

    def mutated(self):
        data = bytearray(b"".join(self.random.choices(self.seeds, k=self.random.randint(1, 3))))
        for _ in range(self.random.randint(0, 4)):
            at = self.random.randrange(len(data) + 1)
            kind = self.random.randrange(4)
            if kind == 0:
                data[at:at] = self.random.randbytes(self.random.randint(1, 8))
            elif kind == 1:
                del data[at : at + self.random.randint(1, 8)]
            elif kind == 2 and at < len(data):
                data[at] ^= 1 << self.random.randrange(8)
            else:
                data[at : at + 4] = struct.pack(">I", self.random.randrange(200))
        return bytes(data)

    def outcome(self, data, chunk):
        try:
            return decode_all(data, chunk)
        except protocol.ProtocolError as error:
            return error.word

    def test_any_bytes_give_frames_or_a_protocol_error_however_they_are_cut(self):
        for _ in range(self.ROUNDS):
            data = self.mutated()
            whole = self.outcome(data, None)
            self.assertEqual(whole, self.outcome(data, self.random.randint(1, 50)), data)
            if isinstance(whole, list):
                for header, attachments in whole:
                    self.assertIn(header["type"], protocol.TYPES)
                    self.assertTrue(all(type(a) is bytes for a in attachments))


class Replay(WorkerCase):
    def replay(self, name, **options):
        """Returns the worker, which has ended."""
        worker = self.start(start=False, **options)
        for frame in conversations.read(name):
            expected = conversations.at_home(frame.header, worker.workdir)
            if frame.sender == "go":
                worker.send(expected)
                continue
            got, attachments = worker.receive()
            with self.subTest(frame.name):
                self.assertEqual(
                    conversations.settle(expected, frame.volatile),
                    conversations.settle(got, frame.volatile),
                )
                self.assertEqual(frame.attachments, attachments)
        self.assertEqual((0, ""), worker.wait())
        return worker

    def test_recorded_conversations(self):
        for name in ("hello", "error", "ask", "artifact", "display"):
            self.replay(name)
        self.replay("figure", library=[FAKES])

    def test_listener(self):
        profile = conversations.read("listener")[0].header["confine"]
        confine = os.path.join(os.path.dirname(protocol.__file__), "sandbox", "confine.py")
        found = subprocess.run(
            [sys.executable, confine], input=json.dumps({"it": profile}), stdout=-1, text=True
        )
        if why := json.loads(found.stdout)["it"]:
            self.skipTest(why)
        (fd,) = self.replay("listener").descriptors
        with socket.socket(fileno=os.dup(fd)) as listener:
            self.assertEqual(("127.0.0.1", 3128), listener.getsockname())
            listener.accept()[0].close()  # what the initial code has connected

    def test_broken_frames_end_a_worker_with_a_line_on_stderr(self):
        for frame in conversations.read("broken")[::5]:
            with self.subTest(frame.name):
                worker = self.start()
                worker.socket.sendall(frame.data)
                worker.socket.shutdown(1)
                status, stderr = worker.wait()
                self.assertEqual(protocol.EXIT_BROKEN_FRAME, status)
                self.assertRegex(stderr, rf"\Apyworker: broken frame \({frame.kind}\): .+\n\Z")
