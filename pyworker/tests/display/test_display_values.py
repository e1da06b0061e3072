"""What is echoed and displayed: the texts and pictures that values become."""

import unittest

from pyworker.display import hypertext
from pyworker.tests.display.artifacts import Kept, artifact_size
from pyworker.tests.libraries import needs

_SHOWN = """
def shown(said='<shown>', **methods):
    return type('Shown', (), {f'_repr_{n}_': (lambda self, v=v, **_: v) for n, v in methods.items()}
        | {'__repr__': lambda self: said})()
"""
_PNG = r"b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\1'"


class EchoTest(Kept):
    def echoes(self, code):
        answer = self.worker.run(code)
        self.assertTrue(answer.ok, answer.done.get("exception"))
        return answer.stdout

    def test_plain_values(self):
        for code, text in (
            ("'3'", "'3'\n"),
            ("b'x'", "b'x'\n"),
            ("3, 'a', None", "(3, 'a', None)\n"),
            ("{'a': [1, {2}]}", "{'a': [1, {2}]}\n"),
            ("None", ""),
            ("int", "int\n"),
            ("['x' * 30, 'y' * 50]", f"['{'x' * 30}',\n '{'y' * 50}']\n"),
        ):
            with self.subTest(code):
                self.assertEqual(text, self.echoes(code))

    def test_long_ones_are_bounded(self):
        text = self.echoes("list(range(100_000))")
        self.assertTrue(text.endswith("...]\n"))
        self.assertLess(len(text), 4000)
        for code in ("[[1] * 1000] * 1000", "{n: [[1] * 99] * 99 for n in range(99)}"):
            self.assertLess(len(self.echoes(code)), 40_000)

    def test_what_the_user_has_set_is_obeyed(self):
        self.assertEqual("'%.2f'\n3.14\n", self.echoes("%precision 2\n3.14159"))
        self.worker.run(
            "get_ipython().display_formatter.formatters['text/plain'].for_type("
            "int, lambda n, p, cycle: p.text('I' * n));"
        )
        self.assertEqual("III\n[II]\n", self.echoes("3\n[2]"))
        self.worker.run(
            "import sys\nhook = sys.displayhook\nsys.displayhook = lambda v: print('<', v)"
        )
        self.assertEqual("< 3\n< x\n", self.echoes("3\n'x'"))
        self.assertEqual("", self.echoes("sys.displayhook = hook"))
        self.assertEqual("'x'\n", self.echoes("'x'"))

    @needs("sympy")
    def test_sympy(self):
        self.worker.run("import sympy\nsympy.init_printing()\nx = sympy.symbols('x')")
        answer = self.worker.run("x ** 2\n[x, 1]")
        self.assertEqual((" 2\nx \n[x, 1]\n", []), (answer.stdout, answer.artifacts))

    @needs("pandas")
    def test_tables_are_text(self):
        self.worker.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})")
        answer = self.worker.run("df\ndisplay(df)\ndf.a")
        table = "   a\n0  1\n1  2\n"
        self.assertEqual(table * 2 + "0    1\n1    2\nName: a, dtype: int64\n", answer.stdout)
        self.assertEqual([], answer.artifacts)
        wide = self.echoes("pd.DataFrame({f'column_{n}': [n] for n in range(13)}).describe()")
        self.assertIn("column_12", wide.partition("\n")[0])
        self.worker.run("pd.set_option('display.width', 60)")
        self.assertIn("\\", self.echoes("pd.DataFrame({f'column_{n}': [n] for n in range(13)})"))

    @needs("jinja2", "pandas")
    def test_styled_tables(self):
        answer = self.worker.run("import pandas as pd\npd.DataFrame({'a': [1.5]}).style.hide()")
        self.assertEqual("| a\n| 1.500000\n", answer.stdout)
        self.assertEqual(["html"], [header["kind"] for header, _ in answer.artifacts])


class BundleTest(Kept):
    def setUp(self):
        super().setUp()
        self.worker.run(_SHOWN)

    def test_the_best_comes_first(self):
        for code, text, kinds in (
            (f"shown(png={_PNG})", "", ["image"]),
            (f"shown('says it', png={_PNG})", "says it\n", ["image"]),
            (f"shown(png=({_PNG}, {{'width': 3}}))", "", ["image"]),
            ("shown(svg='<svg/>', html='<table/>')", "", ["svg"]),
            ("shown('said', markdown='**m**')", "**m**\n", []),
            ("shown('said', latex='$x$')", "said\n", []),
            ("shown(latex='$x$')", "$x$\n", []),
            ("shown(json={'a': [1]})", '{\n "a": [\n  1\n ]\n}\n', []),
            ("shown(html='<b>b</b> <i>c</i>')", "b c\n", []),
            ("shown('said', html='<table><tr><td>x</table>')", "said\n", []),
            ("shown(html='<table><tr><td>x</table>')", "| x\n", ["html"]),
            ("shown(html='<script>1</script>')", "<shown>\n", ["html"]),
            ("shown(html=None)", "<shown>\n", []),
            (f"shown(mimebundle={{'text/plain': 'p', 'image/png': {_PNG}}})", "p\n", ["image"]),
            ("shown(mimebundle=({'text/markdown': 'm'}, {}))", "m\n", []),
            (r"shown(jpeg=b'\xff\xd8\xff broken', html='<p>h')", "h\n", []),
        ):
            with self.subTest(code):
                answer = self.worker.run(code)
                kept = [header["kind"] for header, _ in answer.artifacts]
                self.assertEqual((True, text, kinds), (answer.ok, answer.stdout, kept))

    def test_raw_bundles(self):
        answer = self.worker.run(
            "display({'text/plain': 'p', 'text/html': '<b>h</b>'}, raw=True)\n"
            "display(shown('s', markdown='m'), include=['text/plain'])"
        )
        self.assertEqual("p\ns\n", answer.stdout)

    def test_ipython_objects(self):
        self.worker.run("from IPython.display import *")
        for code, text in (
            ("Markdown('# hi')", "# hi\n"),
            ("Latex('$x$')", "$x$\n"),
            ("Math('x^2')", "$\\displaystyle x^2$\n"),
            ("HTML('<h1>T</h1><p>a <b>b</b><ul><li>x<li>y</ul>')", "T\na b\n- x\n- y\n"),
            ("Code('x = 1')", "x = 1\n"),
            ("Pretty('p')", "p\n"),
            ("Image(url='http://a/b.png')", "[image http://a/b.png]\n"),
        ):
            with self.subTest(code):
                answer = self.worker.run(code)
                self.assertEqual((text, []), (answer.stdout, answer.artifacts))

    @needs("PIL")
    def test_images(self):
        self.worker.run(
            "from PIL import Image\nimport IPython.display as d\n"
            "Image.new('RGB', (40, 30)).save('a.jpg')\nImage.new('P', (40, 30)).save('a.gif')\n"
            "Image.new('RGB', (40, 30)).save('a.webp')"
        )
        for name, mime_type, begin in (
            ("a.jpg", "image/jpeg", b"\xff\xd8\xff"),
            ("a.gif", "image/gif", b"\x89PNG"),
        ):
            with self.subTest(name):
                header, image = self.one(f"d.Image({name!r})")
                self.assertEqual((mime_type, begin), (header["mime_type"], image[: len(begin)]))
        header, image = self.one("Image.new('RGB', (30, 20), 'red').show()")
        self.assertEqual((30, 20), artifact_size(image))

    @needs("seaborn")
    def test_seaborn_objects(self):
        answer = self.worker.run(
            "import seaborn.objects as so\nso.Plot(x=[1, 2], y=[3, 4]).add(so.Dot())"
        )
        self.assertEqual([b"\x89PNG"], [images[0][:4] for _, images in answer.artifacts])

    @needs("tqdm")
    def test_bars(self):
        answer = self.worker.run(
            "from tqdm.notebook import tqdm, trange\ntqdm([]).display(bar_style='danger')\n"
            "for i in tqdm([1, 2], desc='d'): pass\n"
            "bar = trange(3, display=False)"
        )
        self.assertIn("d: 100%|██████████| 2/2", answer.stderr)


class PageTest(unittest.TestCase):
    def test_text(self):
        for page, text in (
            ("<p>one<p>two <br>three", "one\ntwo\nthree"),
            ("a<style>b{}</style><script>c</script>d", "ad"),
            ("<pre>x\n  y</pre>z", "x\n  y\nz"),
            ("<ol><li>a</li>\n<li>b</li></ol>", "- a\n- b"),
            (
                "<table><tr><th>name<th>n<tr><td>ab<td>10<tr><td>c<td>5</table>",
                "| name | n\n| ab | 10\n| c | 5",
            ),
            ("<table><tr><th><th>x<tr><td>1<td>2</table>", "|  | x\n| 1 | 2"),
            ("<img alt=cat src='data:x'>", "[image cat]"),
            ("&lt;&amp;", "<&"),
        ):
            with self.subTest(page):
                self.assertEqual(text, hypertext.text(page))
