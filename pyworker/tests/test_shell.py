"""Shell lines in cells, and commands, in a real worker."""

import os
import sys
import unittest

from pyworker.tests import wheels
from pyworker.tests.fork.forker import wait_for_end
from pyworker.tests.worker import WorkerCase


class Lines(WorkerCase):
    def test_nothing_is_echoed_of_it(self):
        self.prints(self.start(), "1\n!true\n2\n!true", "1\n2\n")

    def test_lines_that_are_assigned(self):
        worker = self.start()
        answer = worker.run("größe = !printf 'a b\\nc\\n'; echo err >&2")
        self.assertEqual(("", ""), (answer.stdout, answer.stderr))
        self.gives(worker, "größe", ["a b", "c", "err"])
        worker.run("x = !true")
        self.gives(worker, "x", [])
        worker.run("z = !printf '\\377'")
        self.gives(worker, "z", ["\ufffd"])

    def test_exit_codes(self):
        worker = self.start()
        answer = worker.run("!exit 3")
        self.assertTrue(answer.ok)
        self.assertEqual(["'!exit 3' ended with exit code 3"], answer.notes)
        self.gives(worker, "_exit_code", 3)
        worker.run("!kill -TERM $$")
        self.gives(worker, "_exit_code", 143)
        self.assertEqual([], worker.run("!true").notes)
        self.gives(worker, "_exit_code", 0)
        notes = worker.run("for _ in range(8):\n    !false").notes
        self.assertEqual((6, "and so did 3 more"), (len(notes), notes[-1]))

    def test_a_failure_is_told_though_the_code_fails(self):
        answer = self.start().run("!false\n1 / 0")
        self.assertEqual(["'!false' ended with exit code 1"], answer.notes)

    def test_where_and_with_what_it_runs(self):
        worker = self.start()
        worker.run("import os; os.environ['NAME'] = 'value'; name = 'python'; os.mkdir('d')")
        answer = worker.run("!pwd; echo $NAME {name} $name; wc -c\n!cd d\n!pwd")
        said = f"{worker.workdir}\nvalue python python\n0\n{worker.workdir}\n"
        self.assertEqual(said, answer.stdout)

    @unittest.skipIf(sys.version_info < (3, 11), "no carets")
    def test_carets_have_the_cells_columns(self):
        worker = self.start()
        worker.run("def f():\n    ä = !true")
        worker.run("places = [p for p in f.__code__.co_positions() if p[0] == 2]")
        self.assertIn([2, 2, 4, 14], worker.value("[list(p) for p in places]"))

    def test_errors_of_syntax(self):
        worker = self.start()
        for code, line, message, text in (
            ("!ls\nx = = 1", 2, "invalid syntax", "x = = 1"),
            ("f = lambda x=!ls: 1", 1, "", "f = lambda x=!ls: 1"),
            ("if 1:\n!ls", 2, "expected an indented block", "!ls"),
            ("def f(:\n    !ls", 1, "", "def f(:"),
            ("(\n%pip install x", 1, "was never closed", "("),
        ):
            with self.subTest(code):
                error = self.failing(worker, code)
                self.assertIn(error["type"], ("SyntaxError", "IndentationError"))
                self.assertIn(message, error["info"]["msg"])
                self.assertEqual([line, "<module>", text], error["stack"][0][1:])

    def test_other_forms_of_code(self):
        worker = self.start()
        code = "from __future__ import annotations\nimport asyncio\n!echo a\n"
        self.prints(worker, f"{code}await asyncio.sleep(0, 1)\n", "a\n1\n")
        self.assertTrue(worker.run("def f(x: nosuch): pass\n!true").ok)
        self.prints(self.start(echo="all"), "!true;", "")
        self.prints(self.start(init_code="x = !echo 1"), "print(x[0])", "1\n")

    def test_the_users_modules_are_not_taken(self):
        worker = self.start(code_file="code.py")
        names = "typing", "subprocess", "signal", "ast", "warnings", "importlib", "collections"
        for name in names:
            with open(os.path.join(worker.workdir, f"{name}.py"), "w", encoding="utf-8") as file:
                file.write("raise RuntimeError('not this one')")
        answer = worker.run("!echo a\nx = !echo b\nx\n%conda list")
        self.assertEqual((True, "a\n['b']\n"), (answer.ok, answer.stdout), answer.done)

    def test_what_a_cell_became_is_told_unless_it_is_long(self):
        worker = self.start()
        self.assertEqual("", worker.run("x = 1").done["python"])
        self.assertIn("get_ipython()", worker.run("%matplotlib inline").done["python"])
        answer = worker.run(f"%matplotlib inline\nx = '{'a' * (1 << 20)}'")
        self.assertEqual((True, False), (answer.ok, "python" in answer.done))

    def test_the_code_file_is_python(self):
        worker = self.start(code_file="code.py")
        code = "x = !echo hi; echo there\n!true\nimport runpy\n"
        code += "if __name__ == '__main__':\n    print(runpy.run_path(__file__)['x'])"
        self.prints(worker, code, "None\n")  # it is run but once

    def test_an_interrupt_ends_both(self):
        worker = self.start()
        worker.run_until_printed("x = 1\n!echo here; sleep 1000000", "here")
        worker.interrupt()
        answer = worker.finish()
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        self.assertEqual(
            [["<cell 1>", 2, "<module>", "!echo here; sleep 1000000"]], answer.exception["stack"]
        )
        self.gives(worker, "x", 1)

    def test_an_interrupt_ends_what_ignores_it(self):
        worker = self.start()
        worker.run_until_printed("!trap '' INT; echo here; while :; do :; done", "here")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        self.prints(worker, "1 + 1", "2\n")

    @unittest.skipUnless(os.path.isdir("/proc/self"), "processes are found by /proc")
    def test_nothing_of_it_is_left(self):
        worker = self.start()
        worker.run(
            "import signal\ndef stop(*_): raise ValueError\nsignal.signal(signal.SIGALRM, stop)"
        )
        for code in (
            "!trap '' INT; sleep 1000000 & echo $!; wait; echo after",
            "!(trap '' INT; echo $BASHPID; exec sleep 1000000) & sleep 1000000",
            "!setsid sh -c 'echo $$; exec sleep 1000000' & sleep 1000000",
            "!sleep 1000000 & echo $!; kill -ALRM $PPID; wait",
        ):
            with self.subTest(code):
                worker.begin(code)
                worker.wait_for_text("\n")
                pid = bytes(worker.output["stdout"]).split()[0].decode()
                if "ALRM" not in code:
                    worker.interrupt()
                self.assertIn("exception", worker.finish().done)
                wait_for_end(int(pid))

    @unittest.skipUnless(os.path.isdir("/proc/self"), "processes are found by /proc")
    def test_nothing_is_left_of_what_is_being_started(self):
        worker = self.start()
        worker.run(
            "import os, signal, subprocess, time\nclass Slow(subprocess.Popen):\n"
            "    def __init__(self, *args, **named):\n        super().__init__(*args, **named)\n"
            "        while not (os.path.exists('pid') and open('pid').read().endswith('\\n')):\n"
            "            time.sleep(0.01)\n        os.kill(os.getpid(), comes)\n"
            "def stop(*_): raise ValueError\nsignal.signal(signal.SIGALRM, stop)\n"
            "subprocess.Popen = Slow"
        )
        for comes in ("SIGINT", "SIGALRM"):
            for code in ("!{}", "x = !{}"):
                with self.subTest(code, comes=comes):
                    begun = code.format("trap '' INT; sleep 1000000 & echo $! >pid; wait")
                    answer = worker.run(f"comes = signal.{comes}\n{begun}")
                    error = {"SIGINT": "KeyboardInterrupt", "SIGALRM": "ValueError"}[comes]
                    self.assertEqual(error, answer.exception["type"])
                    pid = worker.run("print(open('pid').read()); os.remove('pid')").stdout
                    wait_for_end(int(pid))
            worker.begin("sleep 1000000 & echo $! >pid; wait", "", "command")
            self.assertEqual(error, worker.finish().exception["type"])
            pid = worker.run("print(open('pid').read()); os.remove('pid')").stdout
            wait_for_end(int(pid))

    def test_what_it_leaves_in_the_background_lives_on(self):
        worker = self.start()
        pid = int(worker.run("!sleep 1000000 >/dev/null 2>&1 & echo $!").stdout)
        worker.run_until_printed("!echo here; sleep 1000000", "here")
        worker.interrupt()
        worker.finish()
        os.kill(pid, 9)

    def test_the_environment_has_no_commands(self):
        worker = self.start()
        worker.run("import os; os.environ['BASH_FUNC_ls%%'] = '() { echo no; }'")
        worker.run(
            "os.environ['BASH_ENV'] = os.path.abspath('x'); print('echo no', file=open('x', 'w'))"
        )
        self.assertNotIn("no", worker.run("!ls /; echo $BASH_ENV | wc -l").stdout.split())


class Installs(WorkerCase):
    def test_it_is_the_sessions_own_pip(self):
        worker = self.start()
        if not worker.run("import pip").ok:
            self.skipTest("pip is not installed")
        answer = worker.run("lines = !pip --version\nimport os, pip")
        self.assertEqual([], answer.notes)
        self.assertTrue(worker.run("%pip --version").stdout.startswith("pip "))
        self.assertIn(worker.value("os.path.dirname(pip.__file__)"), worker.value("lines[0]"))

    def test_a_package_can_be_imported_at_once(self):
        worker = self.start()
        if not worker.run("import pip").ok:
            self.skipTest("pip is not installed")
        worker.run(
            "import os, sys\nos.mkdir('site'); sys.path.append(os.path.abspath('site'))\n"
            "try: import fresh_one\nexcept ImportError: pass"
        )
        wheel = wheels.make(worker.workdir, "fresh_one", "1", "x = 5")
        answer = worker.run(
            f"%pip install --no-index --quiet --target site ./{wheel}  # ours\n"
            "import fresh_one\nfresh_one.x"
        )
        self.assertEqual((True, "5\n"), (answer.ok, answer.stdout), answer.stderr)

    def test_a_program_that_is_not_there(self):
        worker = self.start()
        answer = worker.run("import os; os.environ['PATH'] = '/nonexistent'\n%conda list")
        self.assertEqual(["'!conda list' ended with exit code 127"], answer.notes)
        self.assertIn("conda: ", answer.stderr)


class Commands(WorkerCase):
    def command(self, worker, text):
        worker.begin(text, "", "command")
        return worker.finish()

    def test_it_is_no_option_of_the_shell(self):
        self.assertEqual(127, self.command(self.start(), "-x true").exit_code)

    def test_an_interrupt_reaches_all_of_it(self):
        worker = self.start()
        for text in (
            "echo $$; sleep 1000000",
            "trap '' INT; sleep 1000000 & echo $!; while :; do sleep 1000000; done",
            "sleep 1000000 & echo $!; sleep 1000000",
            "(trap '' INT; echo $BASHPID; sleep 1000000) | cat",
            "setsid -w sh -c 'echo $$; exec sleep 1000000'",
        ):
            with self.subTest(text):
                worker.begin(text, "", "command")
                worker.wait_for_text("\n")
                pid = bytes(worker.output["stdout"]).split()[0].decode()
                worker.interrupt()
                answer = worker.finish()
                self.assertEqual("KeyboardInterrupt", answer.exception["type"])
                self.assertTrue(answer.signalled)
                self.assertNotIn("exit_code", answer.done)
                if os.path.isdir("/proc/self"):
                    wait_for_end(int(pid))
        self.assertEqual(0, self.command(worker, "true").exit_code)

    def test_one_that_cleans_up_may(self):
        worker = self.start()
        worker.run("import pyworker.shell.shell; pyworker.shell.shell.STOP_SECONDS = 60")
        text = "trap 'echo cleaned; exit 0' INT; echo here; while :; do sleep 0.01; done"
        worker.begin(text, "", "command")
        worker.wait_for_line("here")
        worker.interrupt()
        answer = worker.finish()
        self.assertEqual("here\ncleaned\n", answer.stdout)
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])

    def test_a_storm_of_interrupts_leaves_nothing(self):
        worker = self.start()
        for _ in range(50):
            worker.begin("sleep 1000000", "", "command")
            for _ in range(3):
                worker.interrupt()
            answer = worker.finish()
            self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        worker.run("pass")  # takes the last signal, if that is still on its way
        self.prints(worker, "1 + 1", "2\n")
        if os.path.isdir("/proc/self"):
            self.gives(worker, "__import__('pyworker.fork.kin').fork.kin.children()", [])
