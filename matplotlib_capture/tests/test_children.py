"""Figures of the processes that user code starts: they come, and nothing fails for us."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from matplotlib import pyplot as plt

import matplotlib_capture
from matplotlib_capture import children

from .executions import FigureTestCase, pixels, plot, titles

SCRIPT = """\
import matplotlib.pyplot as plt, sys
plt.plot([1, 2]); plt.title("of a script \u00e9\u58f2"); plt.show()
print(plt.get_fignums(), "matplotlib_capture" in sys.modules)
"""


class ChildTest(FigureTestCase):
    def setUp(self):
        super().setUp()
        environment = dict(os.environ)

        def restore():
            os.environ.clear()
            os.environ.update(environment)

        self.addCleanup(restore)
        os.environ.pop("MPLBACKEND", None)
        root = os.path.dirname(os.path.dirname(matplotlib_capture.__file__))
        os.environ["PYTHONPATH"] = root
        self.folder = os.path.dirname(self.directory)
        matplotlib_capture.announce(os.path.join(self.directory, "children"))

    def script(self, code, *options, python=sys.executable, **environment):
        """Run a script; it must end well."""
        path = os.path.join(self.folder, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(code))
        run = subprocess.run(
            [python, *options, path],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    @unittest.skipUnless(hasattr(os, "mkfifo"), "there are no named pipes")
    def test_what_is_no_file_is_left_alone(self):
        folder = children.directory()
        os.makedirs(os.path.join(folder, "directory.png"))
        os.mkfifo(os.path.join(folder, "pipe.png"))
        os.symlink("/etc/passwd", os.path.join(folder, "link.png"))
        with open(os.path.join(folder, "large.png"), "wb") as file:
            file.truncate(children.LARGEST + 1)
        self.assertEqual(self.execute(lambda: None), [])
        self.assertFalse(os.path.exists(os.path.join(folder, "large.png")))

    def test_a_script_that_shows(self):
        (capture,) = self.execute(
            lambda: self.assertEqual(self.script(SCRIPT, "-W", "ignore"), "[] True\n")
        )
        self.assertEqual(capture.title, "of a script \u00e9\u58f2")
        self.assertEqual(os.path.dirname(capture.path), self.directory)
        self.assertEqual(pixels(capture.path).shape, (capture.height, capture.width, 3))
        self.assertEqual(children.waiting(), [])

    def test_large_ones_have_a_preview(self):
        code = """
            import matplotlib.pyplot as plt
            plt.figure(figsize=(20, 5)); plt.plot([1, 2]); plt.show()
        """
        (capture,) = self.execute(lambda: self.script(code), max_side=500)
        self.assertGreater(capture.width, 1000)
        self.assertEqual(max(pixels(capture.preview).shape), 500)

    def test_pythons_that_cannot_load_ours_show_nothing(self):
        for name, options, environment in (
            ("isolated", ("-I",), {}),
            ("without site", ("-S",), {"PYTHONPATH": os.pathsep.join(sys.path)}),
        ):
            with self.subTest(name):

                def code(options=options, environment=environment):
                    said = self.script(SCRIPT, "-W", "ignore", *options, **environment)
                    self.assertIn("False", said)

                self.assertEqual(self.execute(code), [])

    def test_a_python_without_matplotlib(self):
        environment = os.path.join(self.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        python = os.path.join(environment, "bin", "python")
        if not os.path.exists(python):
            self.skipTest("another system's venv")
        self.assertEqual(self.script("print('well')", python=python), "well\n")

    def test_a_backend_of_its_own(self):
        for code, variables in (
            ("import matplotlib; matplotlib.use('agg')\n", {}),
            ("import matplotlib; matplotlib.rcParams['backend'] = 'svg'\n", {}),
            ("", {"MPLBACKEND": "pdf"}),
        ):
            with self.subTest(code, variables=variables):

                def run(code=code, variables=variables):
                    said = self.script(code + SCRIPT, "-W", "ignore", **variables)
                    self.assertIn("[1]", said)

                self.assertEqual(self.execute(run), [])

    def test_the_environments_own_sitecustomize_runs(self):
        with open(os.path.join(self.folder, "sitecustomize.py"), "w") as file:
            file.write("import builtins; builtins.mark = 'theirs'\n")
        path = os.pathsep.join([os.environ["PYTHONPATH"], self.folder])
        code = "import sitecustomize, sys; print(mark, sitecustomize.__file__, *sys.path[1:3])"
        said = self.script(code, PYTHONPATH=path).split()
        self.assertEqual(said[:2], ["theirs", os.path.join(self.folder, "sitecustomize.py")])
        self.assertNotIn("startup", " ".join(said[2:]))

    def test_one_that_cannot_be_drawn_fails_the_script(self):
        def code():
            script = SCRIPT.replace("of a script", r"$\\frac{$")
            with self.assertRaisesRegex(AssertionError, "Tuples differ: .1,"):
                self.script(script, "-W", "ignore")

        self.assertEqual(self.execute(code), [])

    def test_forks(self):
        """A child shows its own figures, not those that it has inherited."""

        def code():
            plot("the parent's")
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    plot("the child's")
                    plt.show()
                    status = 0 if len(plt.get_fignums()) == 1 else 2
                finally:
                    os._exit(status)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)

        self.assertEqual(titles(self.execute(code)), ["the parent's", "the child's"])

    def test_a_file_that_is_no_image(self):
        def code():
            os.makedirs(children.directory())
            with open(os.path.join(children.directory(), "x.png"), "wb") as file:
                file.write(b"no image")
            plot("good")

        self.assertEqual(titles(self.execute(code)), ["good"])
        self.assertIn("child process could not be read", self.stderr)
        self.assertEqual(children.waiting(), [])

    def test_between_executions(self):
        """What a task or a thread shows then comes with the next execution."""
        self.execute(lambda: None)
        plot("in between")
        plt.show()
        self.assertEqual(titles(self.execute(lambda: None)), ["in between"])

    def test_a_folder_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            matplotlib_capture.announce(os.path.join(folder, "gone"))
        self.assertEqual(self.execute(lambda: None), [])
