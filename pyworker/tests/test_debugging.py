"""Debuggers that ask: what they show is the user's program, and every way ends one."""

from pyworker.tests.worker import WorkerCase

FUNCTIONS = """\
def inner(x):
    y = x + 1
    breakpoint()
    return y * 2

def outer():
    return inner(3)
"""


class Debugging(WorkerCase):
    def answered(self, code, *lines):
        """Runs code that asks, gives it the lines, and returns what it printed.

        How often pdb stops depends on Python's version: the last line is for the rest.
        """
        worker = self.start()
        worker.begin(code)
        answer = worker.finish([*lines, *lines[-1:] * 40])
        self.assertTrue(answer.ok, answer.done)
        self.assertNotIn("pyworker", answer.stdout)
        return answer.stdout

    def test_the_stack_is_the_users(self):
        out = self.answered(FUNCTIONS + "outer()", "w", "p y", "up", "up", "up", "down", "c")
        self.assertTrue(out.endswith("\n8\n"), out)
        self.assertIn("*** Oldest frame", out)
        self.assertIn("(Pdb) w\n  <cell 1>(8)<module>()\n-> outer()\n", out)

    def test_breakpoints_and_the_source(self):
        out = self.answered(FUNCTIONS + "outer()", "b 6", "ll", "c")
        self.assertIn("Breakpoint 1 at <cell 1>:6", out)
        self.assertIn("  2  \t    y = x + 1\n", out)

    def test_steps_go_from_part_to_part(self):
        code = "import pdb; pdb.set_trace()\na = 1\n[a]\nb = 2\n[b]"
        out = self.answered(code, "n")
        for line in ("-> a = 1\n", "-> [a]\n", "\n[1]\n", "-> b = 2\n", "\n[2]\n"):
            self.assertIn(line, out)

    def test_steps_end_with_code_that_awaits(self):
        code = "import asyncio\nbreakpoint()\nawait asyncio.sleep(0)\nx = 1\nx"
        out = self.answered(code, "w", "n")
        self.assertNotIn("asyncio/", out)

    def test_an_interrupt_stops_what_goes_on(self):
        worker = self.start()
        worker.begin("breakpoint()\nprint('on')\nimport time\ntime.sleep(1000)")
        worker.reply(worker.receive()[0], "c")
        worker.wait_for_line("on")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        worker.begin("breakpoint()")
        worker.receive()
        worker.interrupt()
        answer = worker.finish()  # pdb swallows it, and is not answered any more
        self.assertEqual((True, False), (answer.signalled, answer.ok))
        self.gives(worker, "1 + 1", 2)

    def test_leaving_it_says_what_did_not_run(self):
        for reply in ({"text": "q"}, {"refusal": "the end of input"}):
            worker = self.start()
            worker.begin("breakpoint()\nx = 1")
            worker.reply(worker.receive()[0], **reply)
            error = worker.finish().exception
            self.assertEqual("BdbQuit", error["type"].rpartition(".")[2])
            self.assertIn("did not run", error["traceback"])
            self.assertFalse(worker.value("'x' in globals()"))

    def test_a_console(self):
        worker = self.start()
        worker.begin("import code\ncode.interact(banner='', local={'x': 3})")
        worker.reply(worker.receive()[0], "x + 1")
        worker.reply(worker.receive()[0], refusal="the end")
        self.assertIn(">>> x + 1\n4\n", worker.finish().stdout)
