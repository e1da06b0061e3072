"""Lines for the shell: Python's values in them, what is refused, scripts, whose python it is."""

import unittest
import unittest.mock

from pyworker.shell import expand
from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase

NAMES = {"x": 5, "name": "a b", "out": "build", "d": {"k": 1}}

EXPANDED = (
    ("echo $x {x + 1} ${x}", "echo 5 6 5"),
    ("echo '$x' $x", "echo '$x' 5"),
    ("echo $$x", "echo $x"),
    ('echo "$x"', 'echo "5"'),
    ("echo {d['k']} $name", "echo 1 a b"),
    ("echo $HOME ${HOME} ${x:-1}", "echo $HOME ${HOME} ${x:-1}"),
    ("awk '{print $1}' $out", "awk '{print $1}' build"),
    ("rm -rf ${out}/*", "rm -rf build/*"),
    ("cat $out.txt", "cat build.txt"),
    ("find . -exec echo {} \\; $x", "find . -exec echo {} \\; 5"),
    ("for i in 1 2; do echo $i $x; done", "for i in 1 2; do echo $i 5; done"),
    ("echo {undefined} {x}", "echo {undefined} 5"),
)

REFUSED = (
    "rm -rf $out/*",
    "rm -rf ${out}/*",
    'rm -rf "$out"/*',
    "ls; rm $out",
    "echo '$out' $out",
    "echo ${#out}",
    'sh -c "rm $out"',
    "echo ${out%.txt}",
    "echo it\\'s $out",
)

ALLOWED = (
    "echo '$out'",
    "echo \\$out",
    "echo ${out:-}",
    "echo ${out:?}",
    "for out in a b; do echo $out; done",
    "out=3; echo $out",
    "read out; echo $out",
    "while read -r a out; do echo $out; done",
    "export out=1 && echo $out",
    "printf -v out x; echo $out",
    ". ./settings; echo $out",
    "echo $PATH $RANDOM $$ $? $1 $@ $#",
    "awk '{print $out}' file",
    "bash -c 'echo $out'",
    "echo $((1 + 2)) $(date)",
)


class Expand(unittest.TestCase):
    @needs("IPython")
    def test_values(self):
        for line, expected in EXPANDED:
            with self.subTest(line):
                self.assertEqual(expected, expand.expand(line, NAMES))

    def test_what_nothing_defines(self):
        with unittest.mock.patch.dict("os.environ", {"PATH": "/bin"}, clear=True):
            for line in REFUSED:
                with self.subTest(line):
                    self.assertEqual("out", expand.undefined(line))
            for line in ALLOWED:
                with self.subTest(line):
                    self.assertEqual("", expand.undefined(line))

    def test_what_only_python_has(self):
        for script, name in (
            ("echo $out", "out"),
            ("out=1\necho $out", ""),
            ("echo $other", ""),
            ("for x in 1; do echo $x; done; echo '$out'", ""),
        ):
            with self.subTest(script):
                self.assertEqual(name, expand.pythons(script, NAMES))


@needs("IPython")
class Lines(WorkerCase):
    def test_what_is_refused_does_not_run(self):
        worker = self.start()
        worker.run("import os; os.environ.pop('target', None); open('kept', 'w').close()")
        answer = worker.run("!rm -f $target/* ./kept\nprint('on')")
        self.assertEqual((False, ""), (answer.ok, answer.stdout))
        self.assertRegex(
            answer.exception["traceback"], r"^UsageError: \$target has a value neither"
        )
        self.assertTrue(worker.value("os.path.exists('kept')"))
        worker.run("target = 'nowhere'\n!rm -f $target/* ./kept")
        self.assertFalse(worker.value("os.path.exists('kept')"))

    def test_an_empty_value_begins_no_path(self):
        worker = self.start()
        worker.run("import os; os.environ['hollow'] = ''; out, full = '', '/nowhere'")
        for line in (
            "$out/*",
            "${out}/*",
            "{out}/*",
            '"$out"/x',
            '"{out}/x"',
            "a=$out/b",
            "$hollow/x",
        ):
            with self.subTest(line):
                answer = worker.run(f"!echo {line}")
                self.assertEqual((False, ""), (answer.ok, answer.stdout))
                self.assertIn("was not run", answer.exception["traceback"])
        for line, said in (
            ("$full/x", "/nowhere/x"),
            ("[$out] a$out/b", "[] a/b"),
            ("[$hollow]", "[]"),
        ):
            with self.subTest(line):
                self.prints(worker, f"!echo {line}", f"{said}\n")

    def test_scripts(self):
        worker = self.start()
        for cell, said in (
            ("%%script cat\nbody", "body\n"),
            ("%%bash --out kept\necho kept", ""),
            ("print(kept)", "kept\n\n"),
            ("%%!\necho a", "['a']\n"),
            ("!!echo b", "['b']\n"),
        ):
            with self.subTest(cell):
                answer = worker.run(cell)
                self.assertEqual((True, said), (answer.ok, answer.stdout), answer.done)

    def test_a_script_that_fails_fails_the_cell(self):
        worker = self.start()
        error = self.failing(worker, "%%bash\necho x\nexit 3")
        self.assertEqual("CalledProcessError", error["type"].rpartition(".")[2])
        self.gives(worker, "_exit_code", 3)
        self.assertTrue(worker.run("%%bash --no-raise-error\nexit 3").ok)

    def test_a_script_does_not_see_pythons_names(self):
        worker = self.start()
        worker.run("place = 'here'")
        error = self.failing(worker, "%%bash\necho $place")
        self.assertIn("$place is Python's", error["traceback"])
        self.prints(worker, "%%bash\nplace=there\necho $place", "there\n")

    def test_an_interrupt_ends_a_script(self):
        worker = self.start()
        worker.run_until_printed("%%bash\necho here\nsleep 1000000", "here")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
