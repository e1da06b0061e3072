"""What the tests share: executions in this process and in fresh ones."""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

import matplotlib_capture
from pyworker.display import images

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MPL = tuple(int(part) for part in matplotlib.__version__.split(".")[:2])


class FigureTestCase(unittest.TestCase):
    """A temporary directory for images, and matplotlib as it was afterwards."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = os.path.join(folder.name, ".matplotlib_figs")
        self.stderr = ""
        parameters = matplotlib.rc_context()
        parameters.__enter__()
        self.addCleanup(parameters.__exit__, None, None, None)
        self.addCleanup(plt.ioff)

    def execute(self, code, max_side=1568, directory=None, prefix="0001"):
        """Run `code`, a function, as one execution; return its captures.

        What it raises (KeyboardInterrupt included) goes on after `end`. What kept a
        figure that was left open from being drawn is `self.failure`.
        """
        captures, failed = [], True
        self.failure = None
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            matplotlib_capture.begin(
                captures.append,
                prefix=prefix,
                max_side=max_side,
                directory=directory or self.directory,
            )
            self.captures = captures
            try:
                code()
                failed = False
            finally:
                try:
                    self.failure = matplotlib_capture.end(failed)
                finally:
                    self.stderr = stderr.getvalue()
                    self.assertEqual(plt.get_fignums(), [], "stale figures")
        return captures

    def play(self, scenes):
        """Run scenes: each a "== name", cells of code, and after each "-> the titles shown".

        The cells of a scene share their names; each is an execution. shown() gives the
        titles so far, own(name) a path for the user's files; after the name of a file that
        the figure was saved as stands its title, as in "a.png=title".
        """
        for scene in scenes.strip().split("\n== "):
            name, _, rest = scene.removeprefix("== ").partition("\n")
            names = {"plt": plt, "plot": plot, "capture": matplotlib_capture, "np": np, "os": os}
            names["shown"] = lambda: titles(self.captures)
            names["own"] = functools.partial(os.path.join, os.path.dirname(self.directory))
            with self.subTest(name):
                while rest.strip():
                    code, _, rest = rest.partition("\n->")
                    expected, _, rest = rest.partition("\n")
                    compiled = compile(code, f"<{name}>", "exec")
                    found = self.execute(functools.partial(exec, compiled, names))
                    self.assertEqual(len(found), len({c.path for c in found}))
                    said = ["=".join((*c.names, c.title)) for c in found]
                    self.assertEqual(said, [each for each in expected.strip().split(" | ") if each])

    def files(self):
        return sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []


def tight_size(figure):
    """The (width, height) in pixels that a figure has when it is saved with a tight box."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=figure.dpi, bbox_inches="tight")
    return images.size_of(buffer.getvalue())


def titles(captures):
    return [capture.title for capture in captures]


def pixels(png):
    """The image as an array, RGB. `png` is bytes or a path."""
    source = io.BytesIO(png) if isinstance(png, bytes) else png
    with Image.open(source) as image:
        return np.asarray(image.convert("RGB"))


def plot(title, **figure_arguments):
    """A small open figure with a title."""
    figure, axes = plt.subplots(**figure_arguments)
    axes.plot([1, 3, 2])
    axes.set_title(title)
    return figure


_CHILD = """
import json, sys
import matplotlib_capture
captures, after_each = [], []
def execute(code):
    matplotlib_capture.begin(captures.append, prefix="0001", max_side=1568,
                             directory=sys.argv[1])
    try:
        exec(compile(code, "<cell 1>", "exec"), {"__name__": "__main__"})
    finally:
        before_end = len(captures)
        matplotlib_capture.end()
    after_each.append([before_end, len(captures)])
for code in json.load(sys.stdin):
    execute(code)
print("RESULT", json.dumps({"titles": [c.title for c in captures], "counts": after_each,
                            "paths": [c.path for c in captures]}))
"""


def run_fresh(*cells, **environment):
    """Run cells of code in a fresh Python; return what was captured.

    ``counts`` holds, for each cell, the captures made until its end was
    reached and those after `end`, both counted from the first cell.
    """
    with tempfile.TemporaryDirectory() as directory:
        process = python("-c", _CHILD, directory, input=json.dumps(cells), **environment)
    if process.returncode:
        raise AssertionError(process.stderr)
    for line in process.stdout.splitlines():
        if line.startswith("RESULT "):
            return {**json.loads(line[7:]), "stderr": process.stderr, "stdout": process.stdout}
    raise AssertionError(process.stdout + process.stderr)


def python(*arguments, input="", **environment):
    """Run a child Python with the environment that the server gives it."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=input,
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": ROOT, **environment},
        check=False,
    )
