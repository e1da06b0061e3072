"""input(): what it asks, what ends the wait, and where nobody can be asked."""

import os
import signal

from pyworker import protocol
from pyworker.tests.worker import WorkerCase


class Asking(WorkerCase):
    def begin(self, code, worker=None):
        """Runs code until it asks; returns the worker and its question."""
        worker = worker or self.start()
        worker.begin(code)
        return worker, worker.receive()[0]

    def test_a_long_prompt_is_printed_whole_and_asked_in_part(self):
        worker, question = self.begin("input('x' * 100_000)")
        self.assertEqual("x" * 10_000, question["prompt"])
        worker.reply(question, refusal="no")
        self.assertEqual(100_000, len(worker.finish().stdout))

    def test_a_late_answer_in_two_pieces_harms_nothing(self):
        worker, question = self.begin("input()")
        frame = {"type": "answer", "question": question["question"], "text": "x", "refusal": ""}
        data = b"".join(protocol.encode(frame))
        worker.socket.sendall(data[:9])
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        worker.socket.sendall(data[9:])
        self.gives(worker, "1 + 1", 2)

    def test_what_a_handler_raises_ends_the_wait(self):
        worker, _ = self.begin(
            "import signal\n"
            "def ring(*_): raise ValueError('too slow')\n"
            "signal.signal(signal.SIGALRM, ring)\n"
            "input()"
        )
        os.kill(worker.pid, signal.SIGALRM)
        self.assertEqual("ValueError", worker.finish().exception["type"])

    def test_one_question_at_a_time(self):
        worker, question = self.begin(
            "import signal\nsignal.signal(signal.SIGALRM, lambda *_: input())\ninput()"
        )
        os.kill(worker.pid, signal.SIGALRM)
        self.assertIn("another", worker.finish().exception["info"]["args"][0])
        self.gives(worker, "1 + 1", 2)

    def test_awaiting_code_may_ask_and_be_interrupted(self):
        worker, question = self.begin("import asyncio\nawait asyncio.sleep(0)\nx = input()")
        worker.reply(question, "a")
        self.assertTrue(worker.finish().ok)
        self.begin("await asyncio.sleep(0)\nx = input()", worker)
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])

    def test_nobody_is_asked_elsewhere(self):
        for code in (
            "import threading\nt = threading.Thread(target=lambda: ask()); t.start(); t.join()",
            "import os\nif os.fork() == 0:\n    ask()\n    os._exit(0)\nos.wait()",
            "import os\nif os.fork() == 0:\n    import threading\n"
            "    t = threading.Thread(target=ask); t.start(); t.join()\n    os._exit(0)\nos.wait()",
        ):
            with self.subTest(code):
                answer = self.start().run(
                    "def ask():\n"
                    "    try: input('?')\n"
                    "    except EOFError as error: print(error, flush=True)\n" + code
                )
                self.assertTrue(answer.ok, answer.done)
                self.assertIn("answered in", answer.stdout)

    def test_output_that_is_redirected_stays_clean(self):
        worker, question = self.begin(
            "import contextlib, io\n"
            "with contextlib.redirect_stdout(io.StringIO()) as out: input('?')\n"
            "print(repr(out.getvalue()))"
        )
        worker.reply(question, "typed")
        self.assertEqual("'?'\n", worker.finish().stdout)

    def test_lines_of_stdin_are_asked_for_and_no_more(self):
        worker, question = self.begin("import sys; x = [line for line in sys.stdin]")
        worker.reply(question, "a")
        worker.reply(worker.receive()[0], "")
        worker.reply(worker.receive()[0], refusal="the end")
        self.assertEqual("a\n\n", worker.finish().stdout)
        self.gives(worker, "x", ["a\n", "\n"])
        rest = "[sys.stdin.read(), sys.stdin.readline(0), sys.stdin.fileno(), sys.stdin.mode]"
        self.gives(worker, rest, ["", "", 0, "r"])
        code = (
            "import threading\nt = threading.Thread(target=lambda: print([*sys.stdin]))\n"
            "t.start()\nt.join()"
        )
        self.prints(worker, code, "[]\n")

    def test_getpass_says_in_a_sentence_why_it_asks_nobody(self):
        error = self.failing(self.start(), "import getpass\ngetpass.getpass()")
        self.assertEqual("EOFError", error["type"])
        self.assertIn("pass through the client", error["info"]["args"][0])
        self.assertNotIn("During handling", error["traceback"])

    def test_a_task_asks_nobody_between_runs(self):
        worker = self.start()
        code = (
            "import asyncio\nasync def late():\n    await asyncio.sleep(0.05)\n"
            "    try: input()\n    except EOFError as error: print(error)\n"
            "task = asyncio.create_task(late())"
        )
        self.assertTrue(worker.run(code).ok)
        worker.wait_for_line("during a run only")
        self.gives(worker, "1 + 1", 2)

    def test_start_up_code_asks_nobody(self):
        worker = self.start(init_code="import sys\nline = sys.stdin.readline()\ninput('?')")
        self.assertIn("EOFError", worker.ready["init_error"])
        self.gives(worker, "line", "")

    def test_the_server_goes_while_it_is_asked(self):
        worker, _ = self.begin("input()")
        worker.socket.shutdown(2)
        self.assertEqual(0, worker.wait()[0])
