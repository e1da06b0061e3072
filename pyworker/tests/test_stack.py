"""What walks the stack, or looks for a source, sees the user's frames and cells."""

import sys

from pyworker.tests.worker import WorkerCase


class Walkers(WorkerCase):
    def names(self, code, worker=None):
        """Runs code that gives a list of names, and returns it."""
        return (worker or self.start()).run(code, "found").result

    def test_traceback(self):
        worker = self.start()
        answer = worker.run("import traceback\ndef f():\n    traceback.print_stack()\nf()")
        self.assertEqual(
            '  File "<cell 1>", line 4, in <module>\n    f()\n'
            '  File "<cell 1>", line 3, in f\n    traceback.print_stack()\n',
            answer.stderr,
        )
        for expression in (
            "[f.name for f in traceback.extract_stack()]",
            "[f.f_code.co_name for f, _ in traceback.walk_stack(None)]",
            "[f.name for f in traceback.StackSummary.extract(traceback.walk_stack(None))]",
        ):
            code = (
                f"def f():\n    return [n for n in {expression} if n[0] != '<' or n == '<module>']"
            )
            found = self.names(f"{code}\nfound = f()", worker)
            self.assertEqual(["<module>", "f"], sorted(found), expression)

    def test_inspect_and_logging(self):
        worker = self.start()
        code = "import inspect\ndef f(): return [x.function for x in inspect.stack()]\n"
        expected = ["f", "<module>"]
        self.assertEqual(expected, self.names(code + "found = f()", worker))
        outer = "inspect.getouterframes(sys._getframe())"
        code = f"import sys\ndef f(): return [x.function for x in {outer}]\n"
        self.assertEqual(expected, self.names(code + "found = f()", worker))
        answer = worker.run("import logging\nlogging.warning('hello', stack_info=True)")
        self.assertEqual(2, answer.stderr.count("\n  "), answer.stderr)

    def test_where_the_cell_awaits_and_in_a_thread(self):
        worker = self.start()
        code = "import inspect\nasync def f(): return [x.function for x in inspect.stack()]\n"
        self.assertEqual(["f", "<module>"], self.names(code + "found = await f()", worker))
        code = (
            "import threading\nfound = []\n"
            "def f(): found.extend(x.function for x in inspect.stack()[:2])\n"
            "t = threading.Thread(target=f); t.start(); t.join()"
        )
        self.assertEqual(["f", "run"], self.names(code, worker))

    def test_frames_of_ours_between_the_users(self):
        """The value's repr is called by the echo, which the cell hasn't called."""
        worker = self.start()
        code = "import inspect\nclass A:\n    def __repr__(self):\n"
        answer = worker.run(
            code + "        return ' '.join(x.function for x in inspect.stack())\nA()"
        )
        self.assertNotIn("run_cell", answer.stdout)
        self.assertIn("__repr__", answer.stdout)

    def test_a_warning_that_points_past_the_cell(self):
        answer = self.start().run("import warnings\nwarnings.warn('up there', stacklevel=2)")
        self.assertEqual("sys:1: UserWarning: up there\n", answer.stderr)


class Sources(WorkerCase):
    def source(self, worker, name):
        return worker.run(f"import inspect\nfound = inspect.getsource({name})", "found").result

    def test_classes_and_functions_of_any_cell(self):
        worker = self.start()
        method = (
            "class A:\n    class B:\n        def f(self): return 1\n    def g(self): return 2\n"
        )
        plain = "class C:\n    x = 1\n"
        data = "@dataclasses.dataclass\nclass D:\n    x: int = 1\n"
        worker.run("import dataclasses\n" + method)
        worker.run(plain + data + "def h(): pass\n")
        worker.run("class C2: pass")
        self.assertEqual(method, self.source(worker, "A"))
        self.assertEqual(
            "    class B:\n        def f(self): return 1\n", self.source(worker, "A.B")
        )
        self.assertEqual(plain, self.source(worker, "C"))
        self.assertEqual("def h(): pass\n", self.source(worker, "h"))
        expected = data if sys.version_info >= (3, 9) else data.partition("\n")[2]
        self.assertEqual(expected, self.source(worker, "D"))
        self.gives(worker, "inspect.getfile(A.B)", "<cell 1>")

    def test_a_class_defined_anew(self):
        worker = self.start()
        worker.run("class A:\n    x = 1")
        worker.run("class A:\n    x = 2")
        self.assertIn("x = 2", self.source(worker, "A"))

    def test_one_made_without_a_class_statement(self):
        worker = self.start()
        answer = worker.run("import inspect\nA = type('A', (), {})\ninspect.getsource(A)")
        self.assertIn(answer.exception["type"], ("OSError", "TypeError"))

    def test_other_modules_are_as_they_were(self):
        worker = self.start()
        self.assertIn(
            "class JSONDecoder",
            worker.run("import json").ok and self.source(worker, "json.JSONDecoder"),
        )
