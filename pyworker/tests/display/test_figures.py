"""What the worker does with figures; the real package has tests of its own."""

from pyworker.tests.worker import FAKES, WorkerCase

IMPORT = "import matplotlib_capture as capture\n"


class Frames(WorkerCase):
    def start(self, **fields):
        return super().start(library=[FAKES], **fields)

    def test_figures_of_a_thread(self):
        answer = self.start().run(
            IMPORT + "import threading\n"
            "ts = [threading.Thread(target=capture.show, args=(str(i), bytes(10**5)))"
            " for i in range(20)]\n"
            "for t in ts: t.start()\nfor t in ts: t.join()"
        )
        self.assertEqual({str(i) for i in range(20)}, {h["title"] for h, _ in answer.figures})
        self.assertEqual({10**5}, {len(attachments[0]) for _, attachments in answer.figures})

    def test_a_fault_of_the_package_is_a_note(self):
        worker = self.start()
        answer = worker.run(IMPORT + "capture.leave_open(lambda: 1 / 0, None)")
        self.assertTrue(answer.ok)
        self.assertEqual(["figures could not be captured: ZeroDivisionError"], answer.notes)
        self.assertIn("ZeroDivisionError", worker.logs[0]["message"])

    def test_drawing_can_be_interrupted(self):
        worker = self.start()
        worker.run_until_printed(
            IMPORT + "def draw():\n    print('here', flush=True)\n    while True: pass\n"
            "capture.leave_open(draw, None)",
            "here",
        )
        worker.interrupt()
        answer = worker.finish()
        self.assertTrue(answer.ok)
        self.assertFalse(answer.signalled, "the code had ended")
        self.assertEqual(
            ["the drawing of figures was stopped; the code had ended before"], answer.notes
        )

    def test_an_interrupt_never_cuts_a_frame(self):
        worker = self.start()
        worker.run_until_printed(
            IMPORT
            + "print('here', flush=True)\nfor i in range(10**9): capture.show('t', b'x' * 10**6)",
            "here",
        )
        worker.interrupt()
        answer = worker.finish()
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        self.assertTrue(all(a == [b"x" * 10**6] for _, a in answer.figures))
        self.prints(worker, "1 + 1", "2\n")

    def test_a_forked_child_sends_none(self):
        answer = self.start().run(
            IMPORT + "import os\nif os.fork() == 0:\n    capture.show('child', b'')\n"
            "    os._exit(0)\nos.wait();"
        )
        self.assertEqual([], answer.figures)
        self.assertTrue(answer.ok)
