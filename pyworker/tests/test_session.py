"""The namespace, the working directory, the code file, forks and warnings."""

import os
import subprocess
import sys
import tempfile
import unittest

from pyworker.tests.worker import ROOT, WorkerCase

POOL = "import multiprocessing\n\ndef square(n):\n    return n * n\n\n"
USE_POOL = (
    "if __name__ == '__main__':\n"
    "    with multiprocessing.get_context('{}').Pool(2) as pool:\n"
    "        print(pool.map(square, [1, 2, 3]))\n"
)


class Namespace(WorkerCase):
    def test_code_that_the_server_could_not_read(self):
        worker = self.start()
        answer = worker.compile("x = 1\ny =\n")
        self.assertEqual("SyntaxError", answer.done["exception"]["type"])
        self.assertIn('File "<cell 1>", line 2\n    y =\n', answer.done["exception"]["traceback"])
        # What is Python here alone, by what ran before, does not run either.
        worker.run("from __future__ import barry_as_FLUFL")
        self.assertTrue(worker.run("1 <> 2").ok)
        answer = worker.compile("print('ran')\n1 <> 2")
        self.assertEqual("SyntaxError", answer.done["exception"]["type"])
        self.assertIn("outside this interpreter", answer.done["exception"]["traceback"])
        self.assertEqual("", answer.stdout)

    def test_main_guards_and_pickle(self):
        worker = self.start()
        answer = worker.run(
            "import pickle, __main__\nclass C: pass\ndef f(): pass\n"
            "if __name__ == '__main__': print('main')\n"
            "pickle.loads(pickle.dumps(f)) is f, type(pickle.loads(pickle.dumps(C()))) is C\n"
            "__main__.C is C, __doc__, __spec__, '__file__' in globals()"
        )
        self.assertEqual(
            "main\n(True, True)\n(True, None, None, False)\n", answer.stdout, answer.done
        )

    def test_nothing_of_ours_is_in_the_namespace(self):
        names = self.start().run("print(*sorted(globals()))").stdout.split()
        self.assertEqual([], [name for name in names if not name.startswith("__")])

    def test_clearing_it_loses_nothing(self):
        worker = self.start()
        worker.run("x = 1")
        for damage in (
            "globals().clear()",
            "import sys; del sys.modules['__main__']",
            "__name__ = 'other'; __builtins__ = {}",
            "import sys; sys.path.clear(); sys.path = None",
            "globals()[7] = 8",
        ):
            with self.subTest(damage):
                self.assertTrue(worker.run(damage).ok)
                self.prints(worker, "print(1 + 2, __name__)", "3 __main__\n")
        self.assertEqual([], worker.run("", "").variables["removed"])

    def test_command_line(self):
        self.gives(self.start(), "__import__('sys').argv", [""])

    def test_a_low_recursion_limit_and_tracers_do_no_harm(self):
        worker = self.start()
        worker.run("import sys\nsys.setrecursionlimit(60)\nsys.settrace(lambda *a: 1 / 0)")
        self.assertTrue(worker.run("1 + 1", "sys").ok)
        self.gives(worker, "sys.getrecursionlimit()", 60)

    def test_init_code_comes_first_and_may_fail(self):
        worker = self.start(init_code="import math\nmath.pi\nx = 5")
        self.assertEqual("", worker.ready["init_error"])
        answer = worker.run("x")
        self.assertEqual(("5\n", []), (answer.stdout, answer.variables["added"]))
        worker = self.start(init_code="x = 5\n1 / 0")
        self.assertIn('File "<init>", line 2', worker.ready["init_error"])
        self.gives(worker, "x", 5)


class Pools(WorkerCase):
    def test_spawn_with_a_code_file(self):
        for code in ("", "import sys\nfor m in ('cloudpickle', 'joblib'): sys.modules[m] = None\n"):
            answer = self.start(code_file="runfile.py").run(code + POOL + USE_POOL.format("spawn"))
            self.assertEqual("[1, 4, 9]\n", answer.stdout)


class DefaultMethod(unittest.TestCase):
    def test_it_is_fork_also_where_python_has_another(self):
        code = (
            "import multiprocessing as m, multiprocessing.context as c\n"
            "c._default_context._default_context = c._concrete_contexts['forkserver']\n"
            "from pyworker.fork.userforks import prefer_fork\nprefer_fork((3, 14))\n"
            "print(m.get_start_method())"
        )
        found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
        self.assertEqual(b"fork\n", found.stdout)


class CodeFile(WorkerCase):
    def test_it_is_there_during_the_run_only(self):
        worker = self.start(code_file="runfile.py")
        path = os.path.join(worker.private, "code", "runfile.py")
        self.prints(worker, "print(__file__)", path + "\n")
        self.assertFalse(os.path.exists(path))
        worker.run("import os; os.unlink(__file__)")
        self.assertTrue(worker.run("1").ok)

    def test_tracebacks_name_it(self):
        worker = self.start(code_file="runfile.py")
        for code, line in (("x = 1\n1 / 0", 2), ("\n\nif:", 3), ("print(1); ''.join([1])", 1)):
            found = worker.run(code).exception
            self.assertIn(f'  File "runfile.py", line {line}', found["traceback"])
            self.assertEqual(["runfile.py", line], found["stack"][0][:2])
            self.assertNotIn("<cell", found["traceback"])

    def test_it_names_all_cells(self):
        """A function of an earlier cell shows its own lines, whoever writes the traceback."""
        worker = self.start(code_file="runfile.py")
        worker.run("import logging, os, sys, threading, traceback, warnings\n\ndef f(): 1 / 0")
        frame = 'File "runfile.py", line 3, in f\n    def f(): 1 / 0\n'
        found = worker.run("x = 1\nf()").exception
        self.assertIn('File "runfile.py", line 2, in <module>\n    f()\n', found["traceback"])
        self.assertIn(frame, found["traceback"])
        expected = ["runfile.py", 2, "<module>", "f()"], ["runfile.py", 3, "f", "def f(): 1 / 0"]
        self.assertEqual(list(expected), found["stack"])
        for code in (
            "try: f()\nexcept Exception: traceback.print_exc()",
            "try: f()\nexcept Exception: logging.exception('bad')",
            "t = threading.Thread(target=f); t.start(); t.join()",
            "if not os.fork(): f()\nos.wait();",
            "from multiprocessing import get_context\n"
            "p = get_context('fork').Process(target=f); p.start(); p.join()",
        ):
            answer = worker.run(code)
            self.assertIn(frame, answer.stderr, code)
            self.assertNotIn("<cell", answer.stderr)
        answer = worker.run("def g():\n    traceback.print_stack()\n    warnings.warn('careful')")
        answer = worker.run("\ng()")
        self.assertEqual(
            '  File "runfile.py", line 2, in <module>\n    g()\n'
            '  File "runfile.py", line 2, in g\n    traceback.print_stack()\n'
            "runfile.py:3: UserWarning: careful\n  warnings.warn('careful')\n",
            answer.stderr,
        )

    def test_one_that_cannot_be_written_is_a_note(self):
        worker = self.start(code_file="runfile.py")
        os.makedirs(os.path.join(worker.private, "code", "runfile.py"))
        answer = worker.run("print('__file__' in globals())")
        self.assertEqual("False\n", answer.stdout)
        self.assertIn("can't be written", answer.notes[0])


class WorkingDirectory(WorkerCase):
    def test_each_execution_starts_there(self):
        worker = self.start()
        worker.run("import os; os.chdir('/')")
        self.gives(worker, "os.getcwd()", worker.workdir)

    def test_a_run_that_ends_elsewhere_says_so_once_for_each_folder(self):
        worker = self.start()
        other = os.path.realpath(tempfile.mkdtemp(prefix="other-"))
        self.addCleanup(os.rmdir, other)
        worker.run("import os, contextlib")
        codes = ["os.chdir('/')", "os.chdir('/'); 1 / 0", f"os.chdir({other!r})", "x = 1"]
        codes += ["back = os.getcwd(); os.chdir('/'); os.chdir(back)", "os.chdir('/')"]
        told = [worker.run(code).notes for code in codes]
        note = "the run ended in {}; the next one starts in the working directory again"
        self.assertEqual([[note.format("/")], [], [note.format(other)], [], [], []], told)

    def test_a_link_to_it_is_not_elsewhere(self):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="linked-"))
        link = folder + "-link"
        os.symlink(folder, link)
        self.addCleanup(os.rmdir, folder)
        self.addCleanup(os.unlink, link)
        self.assertEqual([], self.start(workdir=link).run("import os; os.chdir(os.getcwd())").notes)

    def test_one_that_is_gone_is_made_again(self):
        worker = self.start()
        answer = worker.run("import os; os.rmdir(os.getcwd())")
        self.assertTrue(answer.ok)
        answer = worker.run("open('f', 'w').write('x')")
        self.assertTrue(answer.ok)
        self.assertIn("made again", answer.notes[0])

    def test_a_module_written_a_moment_ago_is_found(self):
        worker = self.start()
        for i in range(20):
            worker.run(f"open('made{i}.py', 'w').write('x = {i}')")
            self.gives(worker, f"__import__('made{i}').x", i)
        worker.run("import os; os.mkdir('pack'); open('pack/a.py', 'w').write('y = 1')")
        worker.run("import pack.a\nopen('pack/b.py', 'w').write('y = 2')")
        self.gives(worker, "__import__('pack.b').b.y", 2)

    def test_files_of_the_user_do_not_replace_ours(self):
        worker = self.start()
        for name in ("traceback", "linecache", "ctypes", "asyncio", "warnings", "atexit", "encode"):
            with open(os.path.join(worker.workdir, name + ".py"), "w", encoding="utf-8") as file:
                file.write("print('the wrong module')\nraise SystemExit('wrong')\n")
        answer = worker.run("def f(): return 1 / 0\nf()", "f")
        self.assertEqual("", answer.stdout)
        self.assertIn("line 1, in f", answer.exception["traceback"])


class Warnings(WorkerCase):
    CODE = "import warnings\nwarnings.warn('careful')\n"

    def test_each_cell_shows_its_own_with_its_line(self):
        worker = self.start()
        for number in (1, 2):
            self.assertEqual(
                f"<cell {number}>:2: UserWarning: careful\n  warnings.warn('careful')\n",
                worker.run(self.CODE).stderr,
            )

    def test_ignored(self):
        self.assertEqual("", self.start(warnings="ignore").run(self.CODE).stderr)


class Forks(WorkerCase):
    def test_a_child_that_returns_ends_with_its_output(self):
        worker = self.start()
        answer = worker.run(
            "import os\nprint('start', end=' ')\npid = os.fork()\n"
            "if pid == 0:\n    print('child', end='')\nelse:\n    status = os.waitpid(pid, 0)[1]",
            "status",
        )
        self.assertEqual(("start child", 0), (answer.stdout, answer.result))
        self.prints(worker, "1 + 1", "2\n")

    def test_a_child_that_fails_prints_its_traceback(self):
        code = "import os, sys\npid = os.fork()\nif pid == 0: {}\nstatus = os.waitpid(pid, 0)[1]"
        worker = self.start()
        for fate, status, stderr in (
            ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
            ("sys.exit(3)", 3, ""),
            ("sys.exit('text')", 1, "text\n"),
            ("os._exit(4)", 4, ""),
        ):
            answer = worker.run(code.format(fate), "status")
            self.assertEqual(status, os.waitstatus_to_exitcode(answer.result))
            self.assertTrue(answer.stderr.endswith(stderr), answer.stderr)

    def test_a_child_holds_no_frames(self):
        worker = self.start()
        worker.run("import os, time\nif os.fork() == 0: time.sleep(10**6)")
        worker.send({"type": "stop"})
        self.assertIsNone(worker.receive())
