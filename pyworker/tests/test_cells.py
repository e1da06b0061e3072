"""What is echoed, top-level await, and __future__."""

import unittest

from pyworker.compiler import Compiler
from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase


class Echo(WorkerCase):
    def test_all(self):
        worker = self.start(echo="all")
        for code, printed in (
            ("1\n'a'\nNone\n[1, 'a']", "1\n'a'\n[1, 'a']\n"),
            ("1; 2", "1\n2\n"),
            ("1;\n2", "2\n"),
            ("(1);  # quiet\n(2)  # ; not quiet", "2\n"),
            ("'käse'; 'é';\n';'", "'käse'\n';'\n"),
            ("'''doc\nstring'''\nx = 1", "'doc\\nstring'\n"),
            ("if True:\n    1\nfor i in range(2): i\ndef f(): 3\n", ""),
            ("x = 5;", ""),
            ("(y := 3)", "3\n"),
            ("", ""),
            ("# nothing", ""),
            ("1 if True else 2\r\n3\r\n", "1\n3\n"),
            ("import asyncio\nawait asyncio.sleep(0, 'a')\n'b'", "'a'\n'b'\n"),
        ):
            with self.subTest(code):
                answer = worker.run(code)
                self.assertTrue(answer.ok, answer.done)
                self.assertEqual(printed, answer.stdout)

    def test_last_and_none(self):
        worker = self.start(echo="last")
        for code, printed in (("1\n2", "2\n"), ("1\nx = 2", ""), ("1\n2;", "")):
            self.prints(worker, code, printed)
        self.prints(self.start(echo="none"), "1\n2", "")

    def test_errors(self):
        worker = self.start(echo="all")
        answer = worker.run("1\n2 / 0\n3")  # in a later statement, after the echo of earlier ones
        self.assertEqual("1\n", answer.stdout)
        self.assertEqual(["<cell 1>", 2, "<module>", "2 / 0"], answer.exception["stack"][0])
        for code in ("print(1)\nreturn 2", "1\nbreak", "1\nx = yield", "1\nnonlocal y"):
            answer = worker.run(code)  # the compiler's: nothing runs
            self.assertEqual(("SyntaxError", ""), (answer.exception["type"], answer.stdout))

    def test_a_repr_that_raises_is_said_and_the_cell_goes_on(self):
        answer = self.start().run("class S:\n    def __repr__(self): return 1 / 0\nS()\n7")
        self.assertTrue(answer.ok)
        self.assertEqual("7\n", answer.stdout)
        self.assertIn('File "<cell 1>", line 2, in __repr__', answer.stderr)


class Artists(WorkerCase):
    @needs("matplotlib")
    def test_what_matplotlib_draws_is_not_echoed(self):
        answer = self.start().run(
            "import matplotlib; matplotlib.use('Agg')\n"
            "import matplotlib.pyplot as plt\nimport numpy as np\n"
            "plt.plot([1])\nplt.hist([1, 2])\nplt.title('t')\nplt.subplots(2)\n"
            "plt.boxplot([1, 2])\nplt.bar([1], [2])\nplt.subplots(2)[1]\nplt.scatter([1], [2])\n"
            "np.array([1])\n{'a': []}\n[1]\n"
        )
        self.assertEqual("array([1])\n{'a': []}\n[1]\n", answer.stdout)


class Future(WorkerCase):
    def test_it_lasts_like_in_the_repl(self):
        worker = self.start()
        answer = worker.run("'doc'\nfrom __future__ import annotations\n1\ndef f(x: nosuch): 2")
        self.assertEqual("'doc'\n1\n", answer.stdout)
        self.assertTrue(worker.run("def g(x: nosuch): pass").ok)
        self.gives(worker, "g.__annotations__", {"x": "nosuch"})

    def test_it_must_stand_first(self):
        answer = self.start().run("1\nfrom __future__ import annotations")
        self.assertEqual(("SyntaxError", ""), (answer.exception["type"], answer.stdout))


class Await(WorkerCase):
    def test_one_loop_serves_the_session(self):
        worker = self.start()
        worker.run(
            "import asyncio\nloops = set()\nasync def note(): loops.add(asyncio.get_running_loop())"
        )
        worker.run("await note()\ntask = asyncio.create_task(asyncio.sleep(0.001, 'slept'))")
        self.prints(worker, "await note()\nawait task", "'slept'\n")
        self.gives(worker, "len(loops)", 1)

    def test_other_forms(self):
        worker = self.start()
        worker.run(
            "async def numbers():\n    yield 1\n    yield 2\n"
            "class C:\n    async def __aenter__(s): return 3\n    async def __aexit__(s, *a): pass"
        )
        self.prints(worker, "[n async for n in numbers()]", "[1, 2]\n")
        code = "async with C() as c: pass\nasync for n in numbers(): c += n\nc"
        self.prints(worker, code, "6\n")

    def test_exceptions(self):
        worker = self.start()
        answer = worker.run(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\nawait f()"
        )
        stack = [["<cell 1>", 5, "<module>", "await f()"], ["<cell 1>", 4, "f", "1 / 0"]]
        self.assertEqual(stack, answer.exception["stack"])
        self.assertEqual("", answer.stderr)
        exits = worker.run("import sys\nasync def g(): sys.exit(2)\nawait g()")
        self.assertEqual("SystemExit", exits.exception["type"])
        self.assertEqual("", worker.run("import gc; gc.collect();").stderr)
        cancelled = worker.run("raise asyncio.CancelledError; await f()")
        self.assertEqual("CancelledError", cancelled.exception["type"])


class Parts(unittest.TestCase):
    def test_parts_keep_their_lines(self):
        parts = Compiler("all").compile("x = 1\n\ny\nz = 2\nw", "<cell 1>")
        self.assertEqual([False, True, False, True], [echoed for _, echoed in parts])
        lines = [[line for *_, line in part.co_lines() if line] for part, _ in parts]
        self.assertEqual([1, 3, 4, 5], [found[-1] for found in lines])
