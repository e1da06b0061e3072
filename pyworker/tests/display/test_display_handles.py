"""Displays that are updated and cleared, and the values that are remembered."""

from pyworker.tests.display.artifacts import Kept, artifact_size
from pyworker.tests.libraries import needs


def mark(words):
    return f"\x1b]5379;{words}\x07"


END = mark("end")


class HandleTest(Kept):
    def test_text(self):
        answer = self.worker.run("h = display('one', display_id='x')\nh.update('two')\ntype(h)")
        one, two = mark("display;x") + "'one'\n" + END, mark("update;x") + "'two'\n" + END
        self.assertEqual(f"{one}{two}IPython.core.display_functions.DisplayHandle\n", answer.stdout)

    def test_names_of_displays_are_plain(self):
        answer = self.worker.run(r"display(1, display_id='a;b\x07' + 'c' * 99);")
        self.assertIn(mark("display;a_b_" + "c" * 60), answer.stdout)

    @needs("PIL")
    def test_pictures_take_the_place_of_each_other(self):
        code = "from PIL import Image\nh = display(Image.new('L', (9, 9)), display_id=True)"
        header, _ = self.one(code)
        again, image = self.one("h.update(Image.new('L', (9, 8)))")
        self.assertEqual((header["name"], (9, 8)), (again["name"], artifact_size(image)))
        self.assertEqual(header["name"], self.one("h.update(Image.new('L', (9, 9)))")[0]["name"])

    @needs("PIL")
    def test_a_text_takes_the_place_of_a_picture(self):
        answer = self.worker.run(
            "from PIL import Image\nh = display(Image.new('L', (9, 9)), display_id='x')\n"
            "h.update(1)"
        )
        self.assertEqual([], answer.artifacts)
        self.assertTrue(answer.stdout.endswith(mark("update;x") + "1\n" + END))

    @needs("matplotlib")
    def test_figures(self):
        answer = self.worker.run(
            "from matplotlib.figure import Figure\nfig = Figure()\naxes = fig.subplots()\n"
            "h = display(fig, display_id='f')\naxes.plot([1, 2])\nh.update(fig)\ndisplay(fig)"
        )
        ids = [header.get("display_id") for header, _ in answer.figures]
        self.assertEqual(["f"], [each for each in ids if each])


class ClearTest(Kept):
    def test_text(self):
        answer = self.worker.run(
            "from IPython.display import clear_output\nprint(1)\nclear_output(wait=True)\n"
            "print(2)\nclear_output()"
        )
        self.assertEqual("1\n" + mark("clear-wait") + "2\n" + mark("clear"), answer.stdout)

    @needs("PIL")
    def test_pictures(self):
        loop = (
            "from PIL import Image\nfrom IPython.display import clear_output\n"
            "for i in range(1, 4):\n    {}\n    display(Image.new('L', (9, i)))\n    {}"
        )
        for before, after, left in (
            ("clear_output(wait=True)", "pass", [3]),
            ("clear_output()", "pass", [3]),
            ("pass", "clear_output(wait=True)", [3]),
            ("pass", "clear_output(wait=True); print(i)", []),
            ("pass", "clear_output()", []),
            ("clear_output(wait=True)", "print(i)", [3]),
        ):
            with self.subTest((before, after)):
                answer = self.worker.run(loop.format(before, after))
                sizes = [artifact_size(images[0])[1] for _, images in answer.artifacts]
                self.assertEqual((True, left), (answer.ok, sizes))

    @needs("matplotlib")
    def test_figures(self):
        answer = self.worker.run(
            "import matplotlib.pyplot as plt\nfrom IPython.display import clear_output\n"
            "for i in range(3):\n    clear_output(wait=True)\n    plt.plot([1, i])\n    plt.show()"
        )
        self.assertEqual(1, len(answer.figures))

    def test_what_was_asked_for_stays(self):
        kept = self.kept("artifact('x', 'x')\nfrom IPython.display import *\nclear_output()")
        self.assertEqual(["x.txt"], [header["name"] for header in kept])


class ElsewhereTest(Kept):
    def test_what_is_displayed_is_not_caught_with_what_is_printed(self):
        answer = self.worker.run(
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as caught:\n"
            "    print('a')\n    display('b')\ncaught.getvalue()"
        )
        self.assertEqual("'b'\n'a\\n'\n", answer.stdout)

    @needs("matplotlib")
    def test_between_calls(self):
        self.worker.run(
            "import threading\nfrom matplotlib.figure import Figure\nfig = Figure()\n"
            "fig.subplots();\n"
            "go = threading.Event()\ndef late():\n    go.wait()\n    display(fig)\n"
            "thread = threading.Thread(target=late)\nthread.start()\n"
            "threading.Timer(0.2, go.set).start()"
        )
        self.assertEqual([], self.worker.run("thread.join()").notes)

    @needs("PIL")
    def test_in_a_child(self):
        answer = self.worker.run(
            "import os\nif not os.fork():\n    from PIL import Image\n    display('child')\n"
            "    display(Image.new('L', (9, 9)))\n    os._exit(0)\nos.wait();"
        )
        self.assertEqual(("'child'\n", []), (answer.stdout, answer.artifacts))


class OutputsTest(Kept):
    def test_they_are_no_variables(self):
        answer = self.worker.run("1\nx = 2")
        self.assertEqual(["x"], answer.variables["added"])

    def test_what_the_user_calls_so_stays(self):
        self.worker.run("for _ in range(3): pass\n'other'")
        self.prints(self.worker, "_", "2\n")
        self.worker.run("del _\n5")
        self.prints(self.worker, "_", "5\n")
        self.worker.run("import gettext\ngettext.install('app')\ndel _\n6")
        self.prints(self.worker, "_('text')", "'text'\n")

    def test_few_are_kept(self):
        self.worker.run(
            "class Big: pass\nimport weakref\nbig = Big()\nbig\nseen = weakref.ref(big)\ndel big"
        )
        for n in range(105):
            self.worker.run(str(n))
        self.prints(
            self.worker, "import gc\ngc.collect();\nseen() is None, len(Out)", "(True, 100)\n"
        )

    @needs("numpy")
    def test_large_ones_go_first(self):
        self.worker.run("import numpy as np\nnp.zeros(5_000_000)")
        self.worker.run("np.zeros(5_000_000)")
        self.worker.run("[np.zeros(10_000_000)]")
        self.prints(self.worker, "list(Out)", "[2]\n")
