"""How code ends: by itself and well, by itself and badly, and what is kept of an error."""

from pyworker.tests.worker import WorkerCase


class Exits(WorkerCase):
    def test_clean_ones_are_ok_and_said(self):
        worker = self.start()
        for code, exit in (
            ("import sys; sys.exit()", "SystemExit"),
            ("import sys; sys.exit(None)", "SystemExit"),
            ("import sys; sys.exit(0)", "SystemExit: 0"),
            ("import sys; sys.exit(False)", "SystemExit: False"),
            ("raise SystemExit", "SystemExit"),
            ("class Ends(SystemExit): pass\nraise Ends(0)", "SystemExit: 0"),
            ("import sys\nasync def f(): sys.exit(0)\nawait f()", "SystemExit: 0"),
            ("import argparse; argparse.ArgumentParser('p').parse_args(['-h'])", "SystemExit: 0"),
        ):
            with self.subTest(code):
                answer = worker.run(f"print('before')\n{code}\nprint('after')")
                self.assertTrue(answer.ok)
                self.assertNotIn("exception", answer.done)
                self.assertIn("before\n", answer.stdout)
                self.assertNotIn("after", answer.stdout)
                self.assertEqual(
                    [f"the code ended itself ({exit}): no more of it ran"], answer.notes
                )

    def test_others_are_errors(self):
        worker = self.start()
        for code, text in (
            ("import sys; sys.exit(3)", "SystemExit: 3\n"),
            ("raise SystemExit('text')", "SystemExit: text\n"),
            ("raise SystemExit('')", "SystemExit: \n"),
            ("raise SystemExit(0.0)", "SystemExit: 0.0\n"),
        ):
            with self.subTest(code):
                self.assertEqual(text, self.failing(worker, code)["traceback"])
        failing = "import unittest\nclass T(unittest.TestCase):\n    def test(self): 1 / 0\n"
        self.assertFalse(worker.run(failing + "unittest.main(argv=['t'])").ok)

    def test_in_the_operators_code(self):
        self.assertEqual("", self.start(init_code="raise SystemExit(0)").ready["init_error"])


class LastError(WorkerCase):
    CODE = "def f(x):\n    local = [x]\n    return x / 0\nf(1)"

    def test_it_is_kept_with_the_users_frames(self):
        worker = self.start()
        self.failing(worker, self.CODE)
        self.assertEqual(
            [["<module>", "f"], [1], True, "ZeroDivisionError"],
            worker.run(
                "import sys, traceback\n"
                "_, last = frames = [f for f, _ in traceback.walk_tb(sys.last_traceback)]\n"
                "same = sys.last_value is sys.last_exc\n"
                "found = [[f.f_code.co_name for f in frames], last.f_locals['local'], same,"
                " sys.last_type.__name__]",
                "found",
            ).result,
        )

    def test_the_next_one_lets_it_go(self):
        worker = self.start()
        worker.run("import weakref\nclass Big: pass\ndef f():\n    global seen\n    big = Big()")
        worker.run("def f():\n    global seen\n    b = Big(); seen = weakref.ref(b)\n    1 / 0")
        self.failing(worker, "f()")
        self.prints(worker, "seen() is not None", "True\n")
        self.failing(worker, "1 +")
        self.prints(worker, "import gc; gc.collect();\nseen() is None", "True\n")

    def test_an_exit_is_none(self):
        worker = self.start()
        self.failing(worker, "raise SystemExit(3)")
        self.prints(worker, "import sys; hasattr(sys, 'last_value')", "False\n")
