"""What sessions keep: artifact(), and values that are shown as one."""

import csv
import os
import tempfile
import types

from pyworker.display import artifacts, publisher
from pyworker.tests.display.artifacts import Kept, artifact_size
from pyworker.tests.libraries import needs


class ArtifactTest(Kept):
    def test_it_is_not_echoed_a_second_time(self):
        self.prints(self.worker, "artifact('x')", "")

    def test_long_previews_are_cut(self):
        header, _ = self.one("artifact('line\\n' * 5000)")
        self.assertIn("… (5,001 lines, 25,000 characters in all)", header["preview"])
        header, _ = self.one("artifact([['y' * 199] * 12, '\\n' * 40])")
        self.assertLessEqual(len(header["preview"]), 2000)

    def test_kinds_of_text(self):
        names = [
            ("artifact('<p>Hello <b>you</b></p>', 'page', 'html')", "page.html", "text/html"),
            ("artifact('<svg/>', 'drawing', 'svg')", "drawing.svg", "image/svg+xml"),
            ("artifact({'a': [1]}, 'data')", "data.json", "application/json"),
            ("artifact('# Title', 'read.md')", "read.md", "text/markdown"),
            ("artifact('x', 'v1.2')", "v1.2", "text/plain"),
            ("artifact('x', 'a.rst')", "a.rst", "text/plain"),
            ("artifact(3.5, 'number', 'txt')", "number.txt", "text/plain"),
            ("artifact({(1, 2): 3}, 'keys', 'txt')", "keys.txt", "text/plain"),
            ("artifact('\\ud800', 'lone')", "lone.txt", "text/plain"),
        ]
        for code, name, mime_type in names:
            with self.subTest(code):
                header, _ = self.one(code)
                self.assertEqual((name, mime_type), (header["name"], header["mime_type"]))
        header, _ = self.one(
            "artifact('<title>T</title><style>b{}</style>Hi <b>you</b>', kind='html')"
        )
        self.assertEqual("T Hi you", header["preview"])

    def test_bytes(self):
        header, _ = self.one(r"artifact(b'\0\1', 'raw')")
        self.assertEqual(("raw.bin", "file", 2), (header["name"], header["kind"], header["size"]))
        self.assertEqual("", header["preview"])
        header, _ = self.one("artifact(bytearray(b'%PDF-1.7'))")
        self.assertEqual(("file-2-1.pdf", "application/pdf"), (header["name"], header["mime_type"]))

    def test_paths(self):
        self.worker.run("import pathlib\npathlib.Path('a.csv').write_text('a,b\\n1,2\\n');")
        header, _ = self.one("artifact(pathlib.Path('a.csv'))")
        self.assertEqual(("a.csv", "file", "text/csv"), self.fields(header))
        self.assertEqual("a,b\n1,2", header["preview"])
        header, _ = self.one("artifact('a.csv', 'copy', 'file')")
        self.assertEqual(("copy.csv", "file", "text/csv"), self.fields(header))
        self.assertEqual("a,b\n1,2\n", self.text(header))

    def fields(self, header):
        return header["name"], header["kind"], header["mime_type"]

    def test_it_works_elsewhere(self):
        header, _ = self.one("import os, shutil\nos.chdir('/')\nfar = artifact('x', 'far')")
        self.assertTrue(header["path"].startswith(self.worker.private))
        header, _ = self.one("shutil.rmtree(os.path.dirname(far.path))\nartifact('y')")
        self.assertEqual("y", self.text(header))

    def test_it_comes_back(self):
        self.worker.run("import builtins\ndel builtins.artifact")
        self.one("artifact('x')")
        self.worker.run("artifact = 3")
        self.gives(self.worker, "artifact", 3)

    def test_threads(self):
        code = """
import threading
threads = [threading.Thread(target=artifact, args=(str(i), f't{i}')) for i in range(20)]
for t in threads: t.start()
for t in threads: t.join()
"""
        names = sorted(header["name"] for header in self.kept(code))
        self.assertEqual(sorted(f"t{i}.txt" for i in range(20)), names)

    def test_between_calls(self):
        sent = []
        with tempfile.TemporaryDirectory() as folder:
            outlet = publisher.Outlet(
                types.SimpleNamespace(send=lambda *f: sent.append(f), closed=False), None
            )
            kept = artifacts.Artifacts(outlet, folder, 100)
            with self.assertRaisesRegex(RuntimeError, "only while a call runs code"):
                kept.artifact("early")
            outlet.begin(1)
            kept.artifact("in time")
            self.assertEqual([], kept.end())
            outlet.end()
            with self.assertRaisesRegex(RuntimeError, "only while a call runs code"):
                kept.artifact("late")
        self.assertEqual(1, len(sent))

    def test_children(self):
        answer = self.worker.run("""
import os
pid = os.fork()
if not pid:
    try:
        artifact('x')
    except RuntimeError as error:
        print(error)
    os._exit(0)
os.waitpid(pid, 0);
""")
        self.assertEqual([], answer.artifacts)
        self.assertIn("can't be used in a child process", answer.stdout)

    def test_refusals(self):
        cases = [
            ("artifact(3)", "TypeError: artifact() can't tell what to make of type int; pass kind"),
            ("artifact(3, kind='picture')", "ValueError: kind must be one of chart, image, df,"),
            ("artifact('x', 3)", "TypeError: name must be a str, not int"),
            ("artifact('x', kind='chart')", "TypeError: artifact() can't make a chart of type str"),
            ("artifact(3, kind='df')", "TypeError: artifact() can't make a table of type int"),
            ("artifact('nowhere.png', kind='image')", "FileNotFoundError: "),
            ("import pathlib\nartifact(pathlib.Path('.'))", "TypeError: '.' is no regular file"),
            (
                "import os\nos.mkfifo('pipe')\nartifact('pipe', kind='file')",
                "TypeError: 'pipe' is no",
            ),
            (
                "with open('t.csv', 'w') as f: pass\nartifact('t.csv', kind='image')",
                "TypeError: 't.csv'",
            ),
            ("artifact({(1, 2): 3})", "TypeError: artifact() can't tell what to make of type dict"),
            ("artifact(b'x' * 50_000_001)", "ValueError: it is larger than 50 MB"),
        ]
        for code, message in cases:
            with self.subTest(code):
                self.assertIn(message, self.refused(code))
        self.assertEqual([], [files for _, _, files in os.walk(self.worker.private) if files])

    def test_count_limit(self):
        answer = self.worker.run("for i in range(101):\n    artifact(str(i), f'n{i}')")
        self.assertIn("there are 100 artifacts of this call already", answer.exception["traceback"])
        self.assertEqual(100, len(answer.artifacts))
        self.one("artifact('x')")
        code = "for i in range(101): artifact(str(i), 'progress')"
        self.assertEqual(101, len(self.kept(code)), "what is replaced does not count")

    def test_total_limit(self):
        code = "for i in range(5): artifact(b'x' * 45_000_000, f'n{i}')"
        self.assertIn("the artifacts of this call have 200 MB, the limit", self.refused(code))
        self.assertEqual(5, len(self.kept(code.replace("n{i}", "same"))))

    def test_previews_are_plain(self):
        header, _ = self.one(r"artifact('a\x1b[2J\r[stop] b\u202ec\td\r\ne')")
        self.assertEqual("a\ufffd[2J\n[stop] b\ufffdc\td\ne", header["preview"])

    def test_interrupt(self):
        code = """
class Slow:
    def _repr_html_(self):
        print('begun', flush=True)
        while True: pass
"""
        self.worker.run(code)
        self.worker.run_until_printed("Slow();\nSlow()", "begun")
        self.worker.interrupt()
        answer = self.worker.finish()
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        self.assertEqual([], answer.artifacts)


class ShownTest(Kept):
    def test_methods(self):
        header, image = self.one("""
class Both:
    def _repr_html_(self): return '<i>both</i>'
    def _repr_svg_(self): return '<svg/>'
    def __repr__(self): return 'both' if self.said else '<both>'
    said = False
Both()
""")
        self.assertEqual(("svg-1-1.svg", "svg"), (header["name"], header["kind"]))
        answer = self.worker.run("Both()\nBoth()\n[Both()];\nBoth.said = True\nBoth()\nBoth")
        self.assertEqual("both\n__main__.Both\n", answer.stdout)
        self.assertEqual(1, len(answer.artifacts))

    def test_a_text_that_says_something_is_enough(self):
        answer = self.worker.run("""
class Model:
    def _repr_html_(self): return '<table>model</table>'
    def __repr__(self): return 'Model(depth=3)'
class No(Model):
    _repr_html_ = None
    __repr__ = object.__repr__
class Junk(Model):
    def _repr_png_(self): return b'not a png'
    __repr__ = object.__repr__
Model()
No()
""")
        self.assertEqual(([], []), (answer.artifacts, answer.notes))
        header, _ = self.one("Junk()")
        self.assertEqual("<table>model</table>", self.text(header))
        header, _ = self.one("artifact(Model(), 'model')")
        self.assertEqual("model.html", header["name"])
        self.assertIn(
            "can't make an image", self.refused(r"artifact(b'\x89PNG\r\n\x1a\n', kind='image')")
        )

    def test_unnamed_ones_replace_nothing(self):
        headers = self.kept("""
class Shown:
    def _repr_html_(self): return '<table>shown</table>'
artifact('mine', 'html-1-1.html', 'html')
Shown()
artifact('other', kind='html')
""")
        self.assertEqual(
            ["html-1-1.html", "html-1-2.html", "html-1-3.html"], [h["name"] for h in headers]
        )
        self.assertEqual("mine", self.text(headers[0]))

    def test_metadata(self):
        header, _ = self.one("""
class Pair:
    def _repr_html_(self): return '<style>b{}</style>x', {'isolated': True}
Pair()
""")
        self.assertEqual("<style>b{}</style>x", self.text(header))

    def test_nothing_and_failures(self):
        answer = self.worker.run("""
class Nothing:
    def _repr_html_(self): return None
    def __repr__(self): return '<nothing>'
class Broken(Nothing):
    def _repr_html_(self): raise ValueError('no luck')
from unittest.mock import MagicMock
Nothing()
Broken()
MagicMock()
after = 1
""")
        self.assertTrue(answer.ok)
        self.assertEqual([], answer.artifacts)
        self.assertEqual("<nothing>\n<nothing>\n<MagicMock", answer.stdout[:30])
        self.assertIn("in _repr_html_", answer.stderr)
        self.assertTrue(answer.stderr.endswith("ValueError: no luck\n"), answer.stderr)
        self.assertEqual(1, answer.stderr.count("File"), answer.stderr)


class LibrariesTest(Kept):
    @needs("pandas")
    def test_tables(self):
        self.worker.run(
            "import pandas as pd\n"
            "df = pd.DataFrame({'region': ['North', 'South'] * 500, 'units': range(1000)})"
        )
        header, _ = self.one("artifact(df, 'sales')\ndf")
        with open(header["path"], newline="") as file:
            rows = list(csv.reader(file))
        self.assertEqual([["region", "units"], ["South", "999"]], [rows[0], rows[1000]])
        header, _ = self.one("artifact(df.set_index('region').units)")
        self.assertTrue(self.text(header).startswith("region,units\nNorth,0\n"))
        self.assertIn("pandas.DataFrame(rows)", self.refused("artifact([{'a': 1}], kind='df')"))

    @needs("pandas")
    def test_large_table(self):
        message = self.refused("""
import pandas as pd
artifact(pd.DataFrame({'text': ['x' * 1_000_000] * 51}))
""")
        self.assertIn("larger than 50 MB", message)

    @needs("matplotlib")
    def test_matplotlib(self):
        answer = self.worker.run("""
import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(20, 5))
ax.plot([1, 2])
ax.set_title('A line')
artifact(fig, 'line')
""")
        ((header, attachments),) = answer.artifacts
        self.assertEqual(("line.png", "chart"), (header["name"], header["kind"]))
        with open(header["path"], "rb") as file:
            width, height = artifact_size(file.read(24))
        self.assertEqual(f"A line — {width}×{height}", header["preview"])
        self.assertGreater(width, 1568)
        self.assertAlmostEqual(1568, artifact_size(attachments[0])[0], delta=9)
        self.assertEqual([], answer.figures, "what was kept is not shown once more")
        answer = self.worker.run("fig, ax = plt.subplots()\nartifact(ax)\nax.set_title('changed');")
        self.assertEqual(1, len(answer.artifacts))
        self.assertEqual(1, len(answer.figures))
        header, _ = self.one("artifact(plt.figure(), 'f', kind='svg')\nplt.close('all')")
        self.assertIn("<svg", self.text(header))

    @needs("PIL")
    def test_images(self):
        header, image = self.one("from PIL import Image\nImage.new('CMYK', (3000, 20))")
        self.assertEqual(("image-1-1.png", "3000×20 CMYK"), (header["name"], header["preview"]))
        self.assertEqual((1568, 10), artifact_size(image))
        answer = self.worker.run("Image.new('L', (9000, 9950))")
        self.assertEqual("", answer.stderr)
        self.assertEqual(1568, artifact_size(answer.artifacts[0][1][0])[1])
        answer = self.worker.run("Image.new('1', (20_000, 20_000))")
        self.assertEqual([], answer.artifacts)
        self.assertIn("20000×20000 pixels is too large", answer.notes[0])
        header, image = self.one(
            "Image.new('RGB', (30, 20)).save('a.jpg')\nartifact('a.jpg', kind='image')"
        )
        self.assertEqual(("a.jpg", "image/jpeg"), (header["name"], header["mime_type"]))
        self.assertEqual(b"\xff\xd8\xff", image[:3], "JPEG stays what it is")

    @needs("PIL", "numpy")
    def test_arrays(self):
        header, image = self.one("import numpy as np\nartifact(np.zeros((20, 30, 3), 'uint8'))")
        self.assertEqual("image", header["kind"])
        self.assertEqual((30, 20), artifact_size(image))
        header, image = self.one("artifact(np.eye(4), 'eye.jpg', kind='image')")
        self.assertEqual("eye.png", header["name"])
        self.assertTrue(header["preview"].startswith("not as .jpg: it is saved as .png\n"))
        for number, code in enumerate(("np.array([[0, 255]], 'uint8')", "np.array([[0, .5, 1]])")):
            with self.subTest(code):
                self.one(f"kept = artifact({code}, 'a{number}', kind='image')\nkept")
                ask = "from PIL import Image\nlist(Image.open(kept.path).getextrema())"
                self.assertEqual("[0, 255]", self.worker.run(ask).stdout.strip())
        self.assertIn("is no image", self.refused("artifact(np.array([[-3., 0]]), kind='image')"))
        header, _ = self.one("artifact(np.arange(5))")
        self.assertEqual(
            ("file-8-1.npy", "array of shape (5,), int64"), (header["name"], header["preview"])
        )
        self.assertIn("is no image", self.refused("artifact(np.arange(5), kind='image')"))

    @needs("plotly")
    def test_plotly(self):
        answer = self.worker.run("""
import plotly.graph_objects as go
fig = go.Figure(go.Scatter(x=[1, 2, 3], y=[3, 1, 2], name='dots'))
fig.update_layout(title='Dots')
fig.show()
fig.show('browser')
fig.show(renderer='notebook+png')
fig
""")
        self.assertTrue(answer.ok, answer.done.get("exception"))
        self.assertEqual("<plotly Figure: 1 trace>\n" * 2, answer.stdout)
        ((header, _),) = answer.artifacts
        self.assertEqual(
            ("chart-1-1.html", "chart", "text/html"),
            (header["name"], header["kind"], header["mime_type"]),
        )
        self.assertTrue(header["preview"].startswith('Dots\nscatter "dots" (3 points)'))
        page = self.text(header)
        self.assertIn("Plotly.newPlot", page)
        self.assertNotIn('src="http', page)
        # What is echoed is kept once, as it is at the end.
        header, _ = self.one("fig.add_bar(x=[1], y=[2])\nfig.update_layout(title='Later')")
        self.assertTrue(
            header["preview"].startswith('Later\nscatter "dots" (3 points); bar (1 point)')
        )
        header, _ = self.one("artifact(fig, 'named')\nfig")
        self.assertEqual("named.html", header["name"])

    @needs("plotly", "numpy")
    def test_large_figures_of_plotly(self):
        answer = self.worker.run("""
import numpy, plotly.graph_objects as go
fig = go.Figure(go.Scatter(y=numpy.zeros(3_000_000)))
fig
go.Figure(go.Bar(y=[1]))
""")
        self.assertIn("it has 3,000,000 points, more than 2,000,000; show fewer", answer.notes[0])
        self.assertEqual(1, len(answer.artifacts))
        answer = self.worker.run("fig\nimport signal\nsignal.raise_signal(signal.SIGINT)")
        self.assertEqual("KeyboardInterrupt", answer.exception["type"])
        self.assertEqual(["figures of plotly not kept, as the call was stopped: 1"], answer.notes)

    @needs("plotly")
    def test_plotly_that_was_there_before(self):
        worker = self.start(
            init_code="import plotly.graph_objects as go, plotly.io\nplotly.io.renderers"
        )
        answer = worker.run(
            "plotly.io.renderers.default = 'browser'\ngo.Figure(go.Bar(y=[1])).show()"
        )
        self.assertEqual(1, len(answer.artifacts))
        self.assertEqual([], worker.run("pass").artifacts)
