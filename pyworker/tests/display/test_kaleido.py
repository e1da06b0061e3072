"""Images of plotly's figures, drawn by a process of their own."""

import os
import tempfile

from pyworker.tests.display.artifacts import Kept, artifact_size
from pyworker.tests.libraries import needs

_KALEIDO = """
import os, sys, time
if sys.argv[0] == "-c":
    folder = os.path.dirname(__file__)
    with open(os.path.join(folder, "begun"), "a") as file:
        file.write("x")
    if os.path.exists(os.path.join(folder, "hang")):
        while True:
            time.sleep(1)
    sys.stdout.buffer.write(bytes.fromhex("89504e470d0a1a0a0000000d494844520000000200000001"))
    sys.stdout.flush()
    os._exit(0)
"""


@needs("plotly")
class KaleidoTest(Kept):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(self.folder, "kaleido.py"), "w") as file:
            file.write(_KALEIDO)
        self.worker = self.start(library=[self.folder])

    def times_begun(self):
        try:
            return os.path.getsize(os.path.join(self.folder, "begun"))
        except FileNotFoundError:
            return 0

    def test_image(self):
        answer = self.worker.run(
            "import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1])).show()"
        )
        ((page, (image,)),) = answer.artifacts
        self.assertEqual(("chart-1-1.html", "bar (1 point)"), (page["name"], page["preview"]))
        self.assertEqual((2, 1), artifact_size(image))

    def test_interrupt(self):
        with open(os.path.join(self.folder, "hang"), "w"):
            pass
        self.worker.begin("import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1]))\nfig")
        while not self.times_begun():
            self.assertIsNone(self.worker.process.poll())
        self.worker.interrupt()
        answer = self.worker.finish()
        self.assertTrue(answer.ok)
        self.assertFalse(answer.signalled, "the code had ended")
        note = "the keeping of plotly's figures was stopped; the code had ended before"
        self.assertEqual([note], answer.notes)
        ((header, attachments),) = answer.artifacts
        self.assertEqual(("bar (1 point)", []), (header["preview"], attachments))
        self.assertEqual("3", self.worker.run("1 + 2").stdout.strip())

    def test_time(self):
        with open(os.path.join(self.folder, "hang"), "w"):
            pass
        self.worker.run("import sys; sys.modules['pyworker.display.images'].SECONDS = 0.2")
        code = "import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1])).show()"
        answer = self.worker.run(code)
        ((header, _),) = answer.artifacts
        self.assertIn("kaleido took more than 0.2 seconds for one", header["preview"])
        self.assertGreaterEqual(answer.done["exec_time"], 0.2)
        begun = self.times_begun()  # not even that, on a slow machine
        self.one(code)
        self.assertEqual(begun, self.times_begun(), "it is not tried again")
