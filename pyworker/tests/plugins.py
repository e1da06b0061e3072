"""A case with plugins, and two small ones."""

import os
import pathlib
import shutil
import tempfile
import textwrap

from pyworker.tests.worker import ROOT, WorkerCase

HEAD = "from understudy_plugin import plugin\n"
EXAMPLES = os.path.join(ROOT, "examples", "plugins")


class PluginCase(WorkerCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="plugins-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        """Writes a file beside the plugins."""
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def plugin(self, name, source, signature="", doc="", **fields):
        """Returns a plugin as the server describes it."""
        return {
            "name": name,
            "file": os.path.join(self.folder, name + ".py"),
            "source": HEAD + textwrap.dedent(source),
            "configuration": {},
            "signature": signature,
            "doc": doc,
            "broken": "",
            **fields,
        }

    def with_plugins(self, *plugins, **variables):
        worker = self.start()
        worker.equip(*plugins, **variables)
        return worker


DOUBLE = "@plugin\ndef double(n):\n    return n * 2\n"
COUNTER = """
@plugin
class Counter:
    def __init__(self, context):
        self.n = 0

    def __call__(self, by=1):
        self.n += by
        return self.n
"""
