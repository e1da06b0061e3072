"""SIGINT ends the user's code, wherever it is, and never the worker."""

import inspect
import threading
import unittest
from unittest import mock

from pyworker import awaiting
from pyworker.interrupt import Interrupts
from pyworker.tests.worker import WorkerCase

MARK = "print('here', flush=True)\n"
LONG = "__import__('time').sleep(10**6)"


class Signals(WorkerCase):
    def interrupted(self, code, worker=None):
        worker = worker or self.start()
        worker.run_until_printed(code, "here")
        worker.interrupt()
        return worker.finish()

    def test_code_of_every_kind(self):
        for code in (
            MARK + LONG,
            MARK + "while True: pass",
            MARK + "import threading; threading.Event().wait()",
            MARK + "class R:\n    def __repr__(self):\n        while True: pass\nR()",
            MARK + "import asyncio; await asyncio.sleep(10**6)",
            MARK + "import asyncio; asyncio.run(asyncio.sleep(10**6))",
            "async def f():\n    print('here', flush=True)\n    while True: pass\nawait f()",
            MARK + "import subprocess; subprocess.run(['sleep', '1000000'])",
            MARK + "import re; re.match('(a*)*b', 'a' * 40)",
        ):
            with self.subTest(code):
                worker = self.start()
                answer = self.interrupted(code, worker)
                self.assertFalse(answer.ok)
                self.assertTrue(answer.signalled)
                self.assertEqual("KeyboardInterrupt", answer.exception["type"])
                self.assertEqual("<cell 1>", answer.exception["stack"][0][0])
                self.prints(worker, "1 + 1", "2\n")

    def test_one_that_a_finalizer_swallows_comes_again(self):
        for swallow in (
            "class A:\n    def __del__(self):\n        print('here', flush=True)\n"
            "        while True: pass\nA();\n",
            "import weakref\nclass A: pass\na = A()\ndef gone(_):\n    print('here', flush=True)\n"
            "    __import__('time').sleep(10**6)\nr = weakref.ref(a, gone)\ndel a\n",
        ):
            with self.subTest(swallow):
                worker = self.start()
                answer = self.interrupted(f"x = 5\n{swallow}{LONG}", worker)
                self.assertEqual("KeyboardInterrupt", answer.exception["type"])
                self.assertEqual("", answer.stderr)
                self.gives(worker, "x", 5)

    def test_a_result_whose_repr_takes_for_ever(self):
        worker = self.start()
        worker.run(
            "class R:\n    def __repr__(self):\n        print('here', flush=True)\n"
            "        while True: pass\nr = R()"
        )
        worker.run_until_printed("", "here", "r")
        worker.interrupt()
        answer = worker.finish()
        self.assertTrue(answer.ok)
        self.assertIsNone(answer.result)
        self.assertEqual(["the encoding of r was interrupted: the result is null"], answer.notes)

    def test_an_exception_whose_str_takes_for_ever(self):
        answer = self.interrupted(
            "class E(Exception):\n    def __str__(self):\n        print('here', flush=True)\n"
            "        while True: pass\nraise E"
        )
        self.assertEqual("E", answer.exception["type"])

    def test_code_that_catches_it_goes_on(self):
        answer = self.interrupted(
            f"try:\n    {MARK}    {LONG}\nexcept KeyboardInterrupt:\n    print('caught')"
        )
        self.assertTrue(answer.ok)
        self.assertTrue(answer.signalled)
        self.assertEqual("here\ncaught\n", answer.stdout)

    def test_every_interrupt_of_one_execution_counts(self):
        worker = self.start()
        worker.run_until_printed(
            f"for i in range(2):\n    try:\n        print('at', i)\n        {LONG}\n"
            f"    except KeyboardInterrupt:\n        pass\nprint('at 2')\n{LONG}",
            "at 0",
        )
        for mark in ("at 1", "at 2"):
            worker.interrupt()
            worker.wait_for_line(mark)
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])

    def test_cleaning_up_after_an_await(self):
        answer = self.interrupted(
            "import asyncio\n"
            "async def f():\n"
            "    try:\n        print('here', flush=True)\n        await asyncio.sleep(10**6)\n"
            "    finally:\n        await asyncio.sleep(0)\n        print('cleaned')\n"
            "await f()"
        )
        self.assertEqual("here\ncleaned\n", answer.stdout)
        self.assertEqual("await f()", answer.exception["stack"][0][3])

    def test_idle_workers_ignore_it(self):
        worker = self.start()
        for _ in range(20):
            worker.interrupt()
            answer = worker.run("1 + 1")
            # It may come while the code runs, but must never end the worker.
            self.assertIn(answer.stdout, ("2\n", ""))
        self.prints(worker, "1 + 1", "2\n")

    def test_one_that_comes_with_the_request_is_not_lost(self):
        worker = self.start()
        for _ in range(20):
            worker.begin(LONG)
            worker.interrupt()
            self.assertTrue(worker.finish().signalled)

    def test_the_users_handler_lasts_until_the_execution_ends(self):
        worker = self.start()
        answer = self.interrupted(
            "import signal, time\n"
            "got = []\nsignal.signal(signal.SIGINT, lambda *a: got.append(1))\n"
            f"{MARK}\nwhile not got: time.sleep(0.001)",
            worker,
        )
        self.assertTrue(answer.ok)
        for setting in ("SIG_IGN", "default_int_handler"):
            worker.run(f"signal.signal(signal.SIGINT, signal.{setting});")
            self.assertTrue(self.interrupted(MARK + LONG, worker).signalled)
        worker.run("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]);")
        self.assertTrue(self.interrupted(MARK + LONG, worker).signalled)

    def test_handlers_of_the_users_that_raise_end_executions_and_nothing_else(self):
        worker = self.start()
        worker.run(
            "import signal, time\n"
            "def ring(*_): raise ValueError('late')\n"
            "signal.signal(signal.SIGALRM, ring)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002);"
        )
        said = ""
        for _ in range(300):
            answer = worker.run("pass")
            self.assertIn("variables", answer.done)
            said += answer.stderr
        self.assertIn("ValueError was dropped", said)
        self.assertEqual("late", worker.run("while True: pass").exception["info"]["args"][0])
        for _ in range(1000):  # a call that is quicker than the next alarm
            if worker.run("signal.setitimer(signal.ITIMER_REAL, 0); mine = True").ok:
                break
        answer = worker.run("signal.getsignal(signal.SIGALRM) is ring")
        self.assertEqual("True\n", answer.stdout)

    def test_a_storm_of_signals_never_ends_the_worker(self):
        worker = self.start()
        worker.run("class R:\n    def __repr__(self): return str([i for i in range(300)])\nr = R()")
        stop = threading.Event()

        def storm():
            while not stop.wait(0.0003):
                worker.interrupt()

        thread = threading.Thread(target=storm)
        thread.start()
        try:
            for _ in range(300):
                worker.begin("for i in range(50): print(i)\nr\nraise ValueError(r)", "r")
                self.assertIn("variables", worker.finish().done)
        finally:
            stop.set()
            thread.join()
        worker.run("pass")  # takes the last signal, if that is still on its way
        self.prints(worker, "1 + 1", "2\n")


class Regions(unittest.TestCase):
    """The state machine alone, its handler called as a signal would."""

    def setUp(self):
        self.interrupts = Interrupts()
        self.interrupts.awake()
        self.interrupts.begin()

    def signal(self):
        import sys

        self.interrupts._handle(2, sys._getframe(1))

    def test_only_a_guarded_region_raises(self):
        self.interrupts.begin()
        value, error = self.interrupts.guarded(self.signal)
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertIsNone(value)
        self.assertEqual((5, None), self.interrupts.guarded(lambda: 5))

    def test_a_signal_between_regions_ends_the_next_one(self):
        self.signal()
        self.assertIsInstance(self.interrupts.guarded(lambda: 5)[1], KeyboardInterrupt)
        self.assertTrue(self.interrupts.signalled)

    def test_it_is_put_off_while_held(self):
        done = []

        def send():
            with self.interrupts.held():
                self.signal()
                done.append("whole")

        self.assertIsInstance(self.interrupts.guarded(send)[1], KeyboardInterrupt)
        self.assertEqual(["whole"], done)

    def test_rest_forgets(self):
        self.signal()
        self.interrupts.rest()
        self.signal()
        self.interrupts.awake()
        self.interrupts.begin()
        self.assertFalse(self.interrupts.signalled)
        self.assertEqual((5, None), self.interrupts.guarded(lambda: 5))


class BeforeItBegan(unittest.TestCase):
    def test_what_was_to_be_awaited_is_closed(self):
        async def nothing():
            pass

        coroutine = nothing()
        with mock.patch("pyworker.lazy_import.load", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                awaiting.Awaiting(None).run(coroutine)
        self.assertEqual(inspect.CORO_CLOSED, inspect.getcoroutinestate(coroutine))
