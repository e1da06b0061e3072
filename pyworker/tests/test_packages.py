"""Packages that a session installs, in a real worker with the real pip."""

import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

from pyworker.shell import missing
from pyworker.tests import wheels
from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase

TINY = "value = {0}\ndef show():\n    print('tiny', value)\n"


class PackagesCase(WorkerCase):
    """Workers that share a place for packages, as branches do."""

    def setUp(self):
        home = tempfile.mkdtemp(prefix="home-")
        self.addCleanup(shutil.rmtree, home)
        self.packages_dir = os.path.join(os.path.realpath(home), "packages")

    def session(self, **fields):
        worker = self.start(**fields)
        worker.packages_dir = self.packages_dir
        return worker

    def install(self, worker, *packages, hosts=()):
        worker.begin("", "", "install", packages=list(packages), hosts=list(hosts))
        return worker.finish()

    def tiny(self, worker, version="1.0", **more):
        """Puts a wheel into the working directory; returns its path there."""
        source = TINY.format(version)
        return "./" + wheels.make(worker.workdir, "understudy_tiny", version, source, **more)


class AboutNetwork(unittest.TestCase):
    def test_the_hosts_of_the_index_are_named(self):
        elsewhere = {"PIP_INDEX_URL": "https://corp.example:8443/simple/"}
        for hosts, environment, needed in (
            (["pypi.org"], {}, "pypi.org,files.pythonhosted.org"),
            (["pypi.org"], elsewhere, "pypi.org,corp.example:8443"),
            ([], elsewhere, "corp.example:8443"),
            (["corp.example:8443"], elsewhere, ""),
            (["*.pythonhosted.org:443", "PyPI.org"], {}, ""),
        ):
            with unittest.mock.patch.dict(os.environ, environment, clear=True):
                note = missing.about_network(hosts)
            self.assertEqual(
                needed,
                note.partition("start it with --allow-net ")[2]
                or note.partition("server with --allow-net ")[2],
            )
            self.assertEqual(bool(needed), "ask the user" in note)


@needs("pip")
class Installing(PackagesCase):
    def test_a_wheel_and_another_version(self):
        worker, other = self.session(), self.session()  # as a branch that lives already
        error = self.failing(worker, "import understudy_tiny")
        self.assertEqual("ModuleNotFoundError", error["type"])
        other.run("1")
        answer = self.install(worker, self.tiny(worker, requires=["pip"]))
        self.assertTrue(answer.ok, answer.stdout)
        self.assertEqual((0, []), (answer.exit_code, answer.notes))
        self.assertIn("Requirement already satisfied: pip", answer.stdout)
        self.assertIn("Successfully installed understudy-tiny-1.0", answer.stdout)
        tiny = {"name": "understudy_tiny", "version": "1.0"}
        self.assertEqual(({"installed": [tiny]}, "json"), (answer.result, answer.result_encoding))
        show = "import understudy_tiny as t; t.show()"
        for session in (worker, other):
            self.prints(session, show, "tiny 1.0\n")
        self.assertTrue(worker.value("t.__file__").startswith(self.packages_dir + os.sep))
        # Children find it, too; and what the interpreter has is still there.
        told = f"!{sys.executable} -c 'import understudy_tiny, pip; understudy_tiny.show()'"
        self.prints(worker, told, "tiny 1.0\n")
        again = self.install(worker, "understudy_tiny")
        self.assertEqual((True, {"installed": []}), (again.ok, again.result))
        answer = self.install(worker, self.tiny(worker, "2.0"))
        tiny = {"name": "understudy_tiny", "version": "2.0", "before": "1.0"}
        self.assertEqual({"installed": [tiny]}, answer.result)
        self.assertEqual(1, len(answer.notes))
        self.assertIn("stays at 1.0 here; after operation restart", answer.notes[0])
        self.gives(worker, "t.value", 1.0)
        self.prints(self.session(), show, "tiny 2.0\n")

    def test_a_failure(self):
        worker = self.session()
        answer = self.install(worker, "understudy-nosuch-package")
        self.assertEqual((False, 1), (answer.ok, answer.exit_code))
        self.assertIn("No matching distribution found", answer.stdout)
        self.assertEqual("", answer.stderr)
        self.assertIn("the sandbox has no network", answer.notes[0])
        self.assertIn("server with --allow-net ", answer.notes[0])
        notes = self.install(worker, "./nosuch.whl", hosts=["pypi.org", "*.pythonhosted.org"]).notes
        reaches = "the sandbox reaches no host but pypi.org, *.pythonhosted.org (--allow-net)"
        self.assertIn(reaches, notes[0])

    def test_an_option_is_none(self):
        answer = self.install(self.session(), "--version")
        self.assertEqual((False, {"installed": []}), (answer.ok, answer.result))

    def test_an_interrupt(self):
        worker = self.session()
        self.install(worker, self.tiny(worker))  # the environment is there
        fifo = os.path.join(worker.workdir, "slow-1.0-py3-none-any.whl")
        os.mkfifo(fifo)
        worker.begin("", "", "install", packages=["./slow-1.0-py3-none-any.whl"], hosts=[])
        worker.wait_for_text("Processing ./slow-1.0-py3-none-any.whl")
        worker.interrupt()
        answer = worker.finish()
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        self.assertTrue(answer.signalled)
        self.prints(worker, "import understudy_tiny as t; t.show()", "tiny 1.0\n")

    def test_no_place(self):
        worker = self.start()
        self.assertIn("has no place", self.install(worker, "x").exception["traceback"])


@needs("pip")
@unittest.skipUnless(sys.platform == "linux", "no wall")
class Magics(PackagesCase):
    """%pip where the interpreter's own environment can't be written to."""

    def test_a_failure_tells_of_the_network(self):
        worker = self.session(confine={"base": {}, "environment": {}}, hosts=["a.example"])
        notes = worker.run("!pip  install --no-index understudy-none").notes
        self.assertEqual(2, len(notes), notes)
        self.assertIn("reaches no host but a.example (--allow-net)", notes[1])
        self.assertEqual(1, len(worker.run("!false").notes))
        self.assertEqual(1, len(worker.run("%pip nonsense").notes))
