"""What is said of a module that is not there."""

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from pyworker.shell import installing, missing
from pyworker.shell.packages import environment

NAMED = {"name": "this project's .venv", "shared_by": "all interpreters of this project"}


class Advice(unittest.TestCase):
    """Advice on an import that failed, in environments of all kinds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, value in {"is_closed": False, "tool": "pip"}.items():
            patch = mock.patch.object(installing, name, return_value=value)
            self.addCleanup(patch.stop)
            setattr(self, name, patch.start())

    def advise(self, name, confined=False, hosts=None, **said):
        """Returns the advice on a module, or on an exception."""
        error = name
        if isinstance(name, str):
            error = ModuleNotFoundError(f"No module named {name!r}", name=name)
        return missing.advice(
            error,
            types.SimpleNamespace(
                environment=environment(NAMED | said),
                workdir=types.SimpleNamespace(path=self.folder),
                packages=types.SimpleNamespace(confined=confined, hosts=hosts, root=""),
            ),
        )

    def test_names_the_line_and_where_it_lands(self):
        self.assertEqual(
            self.advise("polars"),
            "polars is not installed in this project's .venv: %pip install polars adds it there, "
            "for all interpreters of this project, "
            "if its package has that name",
        )
        self.assertIn("sklearn (of scikit-learn)", self.advise("sklearn"))
        self.assertIn("%pip install opencv-python-headless", self.advise("cv2"))

    def test_of_a_project_of_uvs(self):
        with mock.patch("shutil.which", return_value="/bin/uv"):
            self.assertIn("!uv add pyyaml adds it there", self.advise("yaml", uv=True))
            self.assertIn("%pip install", self.advise("yaml", uv=True, no_shell=True))
        with mock.patch("shutil.which", return_value=None):
            self.assertIn("%pip install", self.advise("yaml", uv=True))

    def test_where_nothing_can_be_installed(self):
        self.assertIn("policy", self.advise("polars", no_pip=True))
        self.assertIn("no network", self.advise("polars", confined=True, hosts=[]))
        self.assertIn("--allow-net", self.advise("polars", confined=True, hosts=["a.example"]))
        open_to_all = self.advise("polars", confined=True)
        self.assertIn("for this interpreter and its branches", open_to_all)
        self.is_closed.return_value = True
        self.assertIn("ask the user", self.advise("polars"))
        self.assertIn('operation "install"', self.advise("polars", install=True))
        self.is_closed.return_value, self.tool.return_value = False, ""
        self.assertIn("ensurepip", self.advise("polars"))

    def test_what_the_other_environment_has(self):
        below = ("Lib",) if os.name == "nt" else ("lib", "python3.12")
        os.makedirs(os.path.join(self.folder, *below, "site-packages", "polars"))
        self.assertIn('python "own", has it', self.advise("polars", own=self.folder))
        self.assertNotIn("own", self.advise("pandas", own=self.folder))

    def test_a_file_of_nearly_that_name(self):
        with open(os.path.join(self.folder, "helper.py"), "w", encoding="utf-8"):
            pass
        self.assertEqual(
            self.advise("helpr"),
            "helper.py is in the working directory: was that meant by 'helpr'?",
        )

    def test_no_advice(self):
        for name in ("pandas.foo", "_private", "telnetlib", "asyncio", "imp"):
            self.assertEqual(self.advise(name), "", name)
        for error in (ImportError("cannot import name 'x'", name="json"), ModuleNotFoundError("x")):
            self.assertEqual(self.advise(error), "", error)

    def test_a_librarys_own_words(self):
        try:
            try:
                raise ModuleNotFoundError("No module named 'openpyxl'", name="openpyxl")
            except ImportError as cause:
                raise ImportError("Missing optional dependency 'openpyxl'.") from cause
        except ImportError as error:
            self.assertIn("%pip install openpyxl", self.advise(error))


class Tool(unittest.TestCase):
    """What %pip runs where there is no pip."""

    def setUp(self):
        patch = mock.patch.object(installing, "_has_pip", return_value=False)
        self.addCleanup(patch.stop)
        patch.start()

    def test_uv(self):
        with mock.patch("shutil.which", return_value="/bin/uv"):
            argv = installing.argv("/v/python", ["install", "-U", "six"], environment({}))
        words = ["pip", "install", "--python", "/v/python", "-U", "six"]
        self.assertEqual(argv, ["/bin/uv", "--color", "never", *words])

    @unittest.skipIf(os.name == "nt", "the layout of other systems")
    def test_the_pip_of_setups_environment(self):
        with mock.patch("shutil.which", return_value=None), tempfile.TemporaryDirectory() as own:
            python = os.path.join(own, "bin", "python")
            os.mkdir(os.path.dirname(python))
            os.symlink(sys.executable, python)
            argv = installing.argv("/v/python", ["install", "six"], environment({"own": own}))
        self.assertEqual(argv[0], python)
        self.assertEqual(argv[argv.index("--python") + 1], "/v/python")
        self.assertEqual(argv[-2:], ["install", "six"])

    def test_none(self):
        with mock.patch("shutil.which", return_value=None):
            argv = installing.argv(sys.executable, ["install", "six"], environment({}))
        self.assertIn("ensurepip", argv[-1])
