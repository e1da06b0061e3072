"""Exceptions of every kind: their type, arguments, stack and traceback."""

import importlib.util
import os
import sys
import unittest

from pyworker.tests.worker import WorkerCase


class Kinds(WorkerCase):
    def test_every_base_exception_is_caught(self):
        worker = self.start()
        for name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException"):
            answer = worker.run(f"raise {name}(1, 'a')")
            self.assertFalse(answer.signalled)
            self.assertEqual(name, answer.exception["type"])
            self.assertEqual([1, "a"], answer.exception["info"]["args"])

    def test_what_an_exception_knows(self):
        worker = self.start()
        for code, expected in (
            ("nosuch", {"name": "nosuch"}),
            ("(5).nosuch", {"name": "nosuch", "obj": "5"}),
            ("import nosuch", {"name": "nosuch", "msg": "No module named 'nosuch'"}),
        ):
            info = self.failing(worker, code)["info"]
            self.assertEqual(expected, {k: v for k, v in info.items() if k != "args"})
        args = self.failing(worker, "raise ValueError({1: float('nan')}, object, b'a')")
        self.assertEqual([{"1": None}, "<class 'object'>"], args["info"]["args"][:2])

    def test_exceptions_that_cannot_be_shown(self):
        worker = self.start()
        for body in (
            "def __str__(self): 1 / 0",
            "def __repr__(self): 1 / 0",
            "__module__ = 5",
            "__qualname__ = 'x' * 10",
            "args = property(lambda s: 1 / 0)",
            "name = msg = property(lambda s: 1 / 0)",
            "__class__ = property(lambda s: 1 / 0)",
            "def __getattribute__(self, n): raise SystemError",
        ):
            with self.subTest(body):
                found = self.failing(worker, f"class E(Exception):\n    {body}\nraise E('m')")
                self.assertEqual("E", found["type"])
                self.assertIn("E", found["traceback"])

    def test_recursion(self):
        worker = self.start()
        for code in (
            "def f(n): return f(n + 1)\nf(0)",
            "class R:\n    def __str__(self): return str(self)\nstr(R())",
        ):
            found = self.failing(worker, code)
            self.assertEqual("RecursionError", found["type"])
            self.assertLessEqual(len(found["stack"]), 200)
            self.assertLess(len(found["traceback"]), 250_000)
        found = self.failing(worker, "f = lambda: f()\nf()")
        self.assertIn("Previous line repeated", found["traceback"])

    def test_a_long_message_is_cut(self):
        found = self.failing(self.start(), "raise ValueError('x' * 10**7)")
        self.assertLess(len(found["traceback"]), 210_000)
        self.assertIn("characters truncated", found["traceback"])
        self.assertLess(len(found["info"]["args"][0]), 30_000)

    def test_memory_is_given_back(self):
        worker = self.start()
        worker.run(
            "import gc, weakref\nclass Big: pass\nrefs = []\n"
            "def f():\n    big = Big()\n    refs.append(weakref.ref(big))\n    raise MemoryError"
        )
        self.assertEqual("MemoryError", self.failing(worker, "f()")["type"])
        self.prints(worker, "refs[0]() is None", "True\n")

    def test_frames_of_a_failed_execution_are_given_back_with_the_next(self):
        worker = self.start()
        worker.run(
            "import weakref\nclass Big: pass\nrefs = []\n"
            "def f():\n    big = Big()\n    refs.append(weakref.ref(big))\n    1 / 0"
        )
        worker.run("f()")
        self.failing(worker, "[][0]")
        self.prints(worker, "refs[0]() is None", "True\n")

    @unittest.skipIf(sys.version_info < (3, 11), "needs ExceptionGroup")
    def test_groups(self):
        found = self.failing(
            self.start(),
            "def f():\n    raise KeyError('k')\n"
            "try:\n    f()\nexcept KeyError as e:\n    "
            "    raise ExceptionGroup('two', [e, OSError(2)])",
        )
        for text in ("Exception Group Traceback", "KeyError: 'k'", "OSError: 2", "raise KeyError"):
            self.assertIn(text, found["traceback"])

    def test_chains(self):
        found = self.failing(
            self.start(),
            "def f(): raise KeyError('first')\n"
            "try: f()\nexcept KeyError as e: raise ValueError('second') from e",
        )
        text = found["traceback"]
        self.assertLess(text.index("KeyError: 'first'"), text.index("direct cause"))
        self.assertLess(text.index("direct cause"), text.index("ValueError: second"))
        self.assertNotIn("pyworker", text)

    def test_a_cycle_of_causes(self):
        code = "a, b = ValueError('a'), KeyError('b')\na.__cause__ = b\nb.__cause__ = a\nraise a"
        self.assertIn("ValueError: a", self.failing(self.start(), code)["traceback"])


class Syntax(WorkerCase):
    def test_carets(self):
        worker = self.start()
        for code, line, text, caret in (
            ("x = (1,\n\n  2 +* 3)", 3, "2 +* 3)", "    2 +* 3)\n       ^"),
            ("1\n2\nreturn 5", 3, "return 5", "    return 5\n    ^"),
            ("x = 'abc", 1, "x = 'abc", "    x = 'abc\n        ^"),
            ("if 1:\nx", 2, "x", "    x\n    ^"),
        ):
            with self.subTest(code):
                found = self.failing(worker, code)
                self.assertEqual(line, found["stack"][0][1])
                self.assertEqual([text], [frame[3] for frame in found["stack"]])
                self.assertIn(caret, found["traceback"])
                self.assertRegex(found["traceback"], r"\A  File \"<cell \d+>\", line")

    def test_one_that_happens_while_running_has_the_users_frame(self):
        found = self.failing(self.start(), "x = 1\neval('1 +')")
        self.assertEqual(["<cell 1>", 2, "<module>", "eval('1 +')"], found["stack"][0])

    def test_one_without_a_frame_of_the_users_is_shown_at_its_statement(self):
        # The expression is over when its echo fails: in C, or in a library.
        c_code = "import sys; sys.displayhook = len\nobject()\n"
        library = "import json, sys; sys.displayhook = json.loads\nobject()\n"
        awaited = "import asyncio; await asyncio.sleep(0)\n" + c_code
        for code, line, frames in ((c_code, 2, 1), (library, 2, 2), (awaited, 3, 1)):
            with self.subTest(code):
                found = self.failing(self.start(), code)
                self.assertEqual("TypeError", found["type"])
                self.assertEqual(["<cell 1>", line, "<module>", "object()"], found["stack"][0])
                self.assertEqual(frames, len(found["stack"]))
                shown = f'File "<cell 1>", line {line}, in <module>\n    object()\n'
                self.assertEqual(1, found["traceback"].count(shown), found["traceback"])

    def test_code_that_is_no_text(self):
        worker = self.start()
        for code in ("x = '\0'", "x = '\ud800'", "(" * 300 + ")" * 300):
            self.assertFalse(worker.run(code).ok)
        self.prints(worker, "1 + 1", "2\n")


class Sources(WorkerCase):
    def test_the_lines_of_a_function_defined_calls_ago(self):
        worker = self.start()
        worker.run("def f(n):\n    # a comment\n    return 1 / n")
        for _ in range(3):
            worker.run("x = 1\ny = 2\nz = 3")
        for damage in ("", "import linecache; linecache.clearcache()", "linecache.checkcache()"):
            worker.run(damage)
            found = self.failing(worker, "f(0)")
            self.assertEqual(["<cell 1>", 3, "f", "return 1 / n"], found["stack"][1])
            self.assertIn("    return 1 / n\n", found["traceback"])
        worker.run("linecache.cache = {}")
        answer = worker.run("import traceback\ntry: f(0)\nexcept Exception: traceback.print_exc()")
        self.assertIn("    return 1 / n\n", answer.stderr)

    def test_paths_in_the_working_directory_are_relative(self):
        worker = self.start()
        worker.run("import os; os.mkdir('lib'); open('lib/m.py', 'w').write('def g():\\n  1 / 0')")
        found = self.failing(worker, "from lib.m import g\ng()")
        self.assertEqual([os.path.join("lib", "m.py"), 2, "g", "1 / 0"], found["stack"][1])
        self.assertIn('File "lib/m.py", line 2, in g', found["traceback"])
        self.assertNotIn(worker.workdir, found["traceback"])

    def test_a_failed_import_shows_no_frames_of_the_import_system(self):
        worker = self.start()
        worker.run("open('broken.py', 'w').write('1 / 0')")
        found = self.failing(worker, "import broken")
        self.assertEqual(["<cell 2>", "broken.py"], [frame[0] for frame in found["stack"]])

    def test_no_frame_of_ours(self):
        worker = self.start()
        for code in ("input()", "import sys\nsys.stdout.buffer.write(5)"):
            found = self.failing(worker, code)
            self.assertNotIn("pyworker", found["traceback"])
            self.assertTrue(found["stack"][-1][0].startswith("<cell"))

    def test_threads(self):
        worker = self.start()
        worker.run("def f():\n    return 1 / 0")
        answer = worker.run(
            "import threading\nt = threading.Thread(target=f, name='T')\nt.start(); t.join()"
        )
        self.assertIn("Exception in thread T:\nTraceback", answer.stderr)
        self.assertIn('File "<cell 1>", line 2, in f\n    return 1 / 0\n', answer.stderr)

    def test_the_oldest_cells_are_forgotten(self):
        from pyworker import sources

        lines = sources._Lines()
        for i in range(sources.NEWEST_CELLS + 5):
            lines.keep(f"<cell {i}>", "x")
        self.assertEqual((sources.NEWEST_CELLS, "<cell 5>"), (len(lines), next(iter(lines))))
        lines.keep("<cell big>", "x" * (sources.NEWEST_BYTES + 1))
        self.assertEqual(["<cell big>"], list(lines))


class IPythonStyle(WorkerCase):
    CODE = "def f(n):\n    return 1 / n\nf(0)"

    def test_verbose_where_it_is_installed(self):
        if importlib.util.find_spec("IPython") is None:
            self.skipTest("IPython is not installed")
        worker = self.start(traceback="ipython")
        worker.run("def f(n):\n    return 1 / n")
        answer = worker.run("f(0)")
        text = answer.exception["traceback"]
        self.assertEqual([], answer.notes)
        self.assertIn("----> 2 ", text.replace("---> 2", "----> 2").replace("-----> 2", "----> 2"))
        self.assertIn("n = 0", text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("pyworker", text)
        self.assertIn("^", worker.run("1 +* 2").exception["traceback"])
        worker = self.start(traceback="ipython", code_file="runfile.py")
        worker.run("def f(n):\n    return 1 / n")
        text = worker.run("f(0)").exception["traceback"]
        self.assertRegex(text, r"(?s)File runfile.py:1\b.*File runfile.py:2\b")
        worker.run("1 +")
        self.assertIn('File "runfile.py", line 1\n', worker.run("%tb").stdout)

    def test_plain_with_a_note_where_it_is_not(self):
        worker = self.start(traceback="ipython")
        worker.run("import sys; a = 'IPy' 'thon'; sys.modules[a] = sys.modules[f'{a}.core'] = None")
        answer = worker.run(self.CODE)
        self.assertEqual(["IPython is not installed: the traceback is Python's own"], answer.notes)
        self.assertIn("ZeroDivisionError", answer.exception["traceback"])
