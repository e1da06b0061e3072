"""The notebook's dialect: its forms, repairs, errors, and what a session remembers."""

import os
import tempfile
import unittest

from pyworker.shell import transform
from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase

FORMS = (  # cells, and what the last one prints; most are in internal/e2e/testdata
    (("pwd = 3", "pwd"), "3"),
    (("%%capture cap\nprint('x')\n!echo y\n5", "print(cap.stdout.split())"), "['x', 'y']"),
    (("%%capture c\nimport asyncio\nawait asyncio.sleep(0)\nprint('slept')", "c.stdout"), "slept"),
    (("import IPython", "IPython.get_ipython() is get_ipython()"), "True"),
    (("x = 5\nx # 100 %", "y = x \\\n  % 3\ny"), "2"),
    (("exit",), "ends the cell"),
)

REPAIRED = (  # a cell, what it prints, and what is said of it
    ("```python\nf = 5\nprint(f + 4)\n```", "9\n", "fences"),
    ("Here it is:\n```\nprint(1)\n```\nand so on", "1\n", "fences"),
    ("```python\n!echo out\n```", "out\n", "fences"),
    ("x = 1\\nfor i in range(2):\\n    x += 1\\nprint(x)", "3\n", "end of a line"),
    ('print(\\"a\\\\nb\\")\\nprint(2)', "a\nb\n2\n", "end of a line"),
    ('import os\\nprint("a\\nb")', "a\nb\n", "end of a line"),
    ("if 1 &lt; 2 and 3 &gt; 2:\n    print('yes')", "yes\n", "&lt;"),
    ("x = 1 &lt; 2\nprint(x)", "True\n", "&lt;"),
    ("x = '&nbsp;&copy=2' if 1 &lt; 2 else ''\nx", "'&nbsp;&copy=2'\n", "&lt;"),
    ("```python\nif 1 &lt; 2:\n    print(3)\n```", "3\n", "fences, and &lt;"),
    ("x = 1\npip install --nosuch", None, "installs"),
)

PLAIN = (
    "print('&lt;')",
    "print('a\\\\nb')",
    "'''```'''",
    "a = 7 & 3",
    "x = '%s' % 3",
    "b = 1 != 2",
)


@needs("IPython")
class Forms(WorkerCase):
    def test_forms(self):
        for cells, said in FORMS:
            with self.subTest(cells):
                worker = self.start()
                for cell in cells:
                    answer = worker.run(cell)
                    self.assertTrue(answer.ok, answer.done)
                self.assertIn(said, answer.stdout)
                self.assertEqual("", answer.stderr)
                self.assertEqual("", answer.obstacle)

    def test_repairs(self):
        worker = self.start()
        for cell, said, note in REPAIRED:
            with self.subTest(cell):
                answer = worker.run(cell)
                if said is not None:
                    self.assertEqual((True, said), (answer.ok, answer.stdout), answer.done)
                self.assertIn(note, " ".join(answer.notes))

    def test_plain_code_is_left_alone(self):
        worker = self.start()
        for cell in PLAIN:
            with self.subTest(cell):
                answer = worker.run(cell)
                self.assertEqual((True, []), (answer.ok, answer.notes))

    def test_lines_of_tracebacks(self):
        worker = self.start()
        for cell, line, text in (
            ("\n\n!echo a \\\n  b\n1 / 0", 5, "1 / 0"),
            ("%%time\na = 1\n1 / 0", 3, "1 / 0"),
            ("%%capture c\n!true\n1 / 0", 3, "1 / 0"),
            ("```python\nx = 1\n1 / 0\n```", 3, "1 / 0"),
            ("if 1:\n    x = !echo \\\n  a\n    1 / 0", 4, "1 / 0"),
        ):
            with self.subTest(cell):
                place = self.failing(worker, cell)["stack"][-1]
                self.assertEqual([line, "<module>", text], place[1:])

    def test_an_unknown_magic_stops_the_cell_before_it_begins(self):
        worker = self.start()
        for cell, said in (
            ("print(1)\n%timeitt 3", "is %timeit meant?"),
            ("%%nosuch\nx", "%lsmagic"),
            ("print(1)\n%bash", "%%bash is"),
        ):
            with self.subTest(cell):
                answer = worker.run(cell)
                self.assertEqual(("", False), (answer.stdout, answer.ok))
                text = answer.exception["traceback"]
                self.assertEqual(1, text.count("\n"), text)
                self.assertTrue(text.startswith("UsageError: "), text)
                self.assertIn(said, text)

    def test_what_python_sets_stays(self):
        worker = self.start()
        worker.run("import sys, threading, pickle\nhook = sys.excepthook\nclass A: pass")
        worker.run("%who\n!true\n%%time\n1")
        self.assertTrue(worker.value("sys.displayhook is sys.__displayhook__"))
        self.assertTrue(worker.value("sys.excepthook is hook and not hasattr(sys, 'ps1')"))
        self.assertTrue(worker.value("sys.modules['__main__'].__dict__ is globals()"))
        self.assertTrue(worker.value("type(pickle.loads(pickle.dumps(A()))) is A"))
        self.gives(worker, "threading.active_count()", 1)

    def test_nothing_is_written_to_the_home(self):
        home = tempfile.mkdtemp(prefix="home-")
        self.addCleanup(os.rmdir, home)
        worker = self.start()
        worker.run(f"import os; os.environ.update(HOME={home!r}); os.environ.pop('IPYTHONDIR', 0)")
        self.assertTrue(worker.run("%who\n%time 1\nget_ipython().db").ok)

    def test_changed_modules(self):
        worker = self.start()
        write = "import os; open('m.py', 'w').write('x = {0}'); os.utime('m.py', (0, {0}))"
        worker.run(write.format(1) + "\nimport m")
        self.assertEqual([], worker.run("import m").notes)
        worker.run(write.format(2))
        answer = worker.run("import m\nm.x")
        self.assertEqual("1\n", answer.stdout)
        self.assertIn("m.py has changed", answer.notes[0])
        worker.run("%load_ext autoreload\n%autoreload 2\nimport m")
        worker.run(write.format(3))
        answer = worker.run("import m\nm.x")
        self.assertEqual(("3\n", []), (answer.stdout, answer.notes))


class Transform(unittest.TestCase):
    def test_lines_stay(self):
        manager = transform.manager()
        if manager is None:
            self.skipTest("IPython is not installed")
        for cell in (
            "\n\n!a",
            "x = !a \\\n b\ny",
            "!a \\\n \\\n c\n\n\nd",
            "\r\n%who\r\nx",
            "if 1:\n    %a \\\n  b\n    c",
        ):
            with self.subTest(cell):
                lines = cell.replace("\r\n", "\n").splitlines()
                self.assertEqual(len(lines), len(manager.transform_cell(cell).splitlines()))


class Without(WorkerCase):
    """Sessions in a Python that has no IPython."""

    def session(self):
        folder = tempfile.TemporaryDirectory(prefix="library-")
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "IPython.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('there is none')")
        return self.start(library=[folder.name])

    def test_it_is_said_how_to_get_it(self):
        worker = self.session()
        self.prints(worker, "1 + 1", "2\n")
        for cell in ("%time 1", "x?", "x = %pwd", "%%bash\nls", "1\n%who", "!ls\n%who"):
            with self.subTest(cell):
                error = self.failing(worker, cell)
                self.assertEqual("SyntaxError", error["type"])
                self.assertIn("%pip install ipython", error["info"]["msg"])
        self.assertNotIn("IPython", self.failing(worker, "def f(:")["info"]["msg"])
        self.assertNotIn("IPython", self.failing(worker, "x = 5 %")["info"]["msg"])

    def test_lines_for_the_shell_and_installs(self):
        worker = self.session()
        for cell, said in (
            ("n = 'b'\n!echo a $n {n}", "a b b\n"),
            ("for i in range(2):\n    !echo $i", "0\n1\n"),
            ("lines = !printf 'x\\ny'\nprint(lines)", "['x', 'y']\n"),
            ("!exit 3\nprint(_exit_code)", "3\n"),
            ("print('a % b, !c')", "a % b, !c\n"),
        ):
            with self.subTest(cell):
                self.prints(worker, cell, said)
        for cell in ("%pip --version", "pip list --help", "!pip --version"):
            with self.subTest(cell):
                self.assertIn("pip", worker.run(cell).stdout)
        error = self.failing(worker, "!echo rm -rf $nobody_has_this/*")
        self.assertIn("was not run", error["traceback"])

    def test_plain_repairs_go_on(self):
        worker = self.session()
        self.prints(worker, "```python\n1 + 2\n```", "3\n")
        self.prints(worker, "print(1)\\nprint(2)", "1\n2\n")

    def test_there_is_no_shell_to_ask(self):
        code = "try:\n    get_ipython()\nexcept NameError:\n    print('none')"
        self.prints(self.session(), code, "none\n")
