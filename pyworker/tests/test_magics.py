"""Where magics are found, what they are taken for, and what is left to Python."""

import sys
import unittest

from pyworker.shell import magics

NESTED = sys.version_info >= (3, 12)

# Code, and of each magic: line, column, kind, text.
FOUND = (
    ("!ls", [(1, 1, "shell", "ls")]),
    ("  !ls", [(1, 3, "shell", "ls")]),
    ("! ls -la  ", [(1, 1, "shell", "ls -la")]),
    ("x = 1\n!ls\ny = 2", [(2, 1, "shell", "ls")]),
    ("x = 1\r\n!ls\r\n!pwd", [(2, 1, "shell", "ls"), (3, 1, "shell", "pwd")]),
    ("x = 1\r!ls\r", [(2, 1, "shell", "ls")]),
    ("\n\n# a comment\n!ls", [(4, 1, "shell", "ls")]),
    ("if True:\n    !ls\nelse:\n\t!pwd", [(2, 5, "shell", "ls"), (4, 2, "shell", "pwd")]),
    ("def f():\n    for i in x:\n        !echo $i\n    return 1", [(3, 9, "shell", "echo $i")]),
    ("!echo 'it is\n!ls", [(1, 1, "shell", "echo 'it is"), (2, 1, "shell", "ls")]),
    ('!echo "', [(1, 1, "shell", 'echo "')]),
    ("!echo (\n!ls", [(1, 1, "shell", "echo ("), (2, 1, "shell", "ls")]),
    ("!echo a \\\n  b\n!ls", [(1, 1, "shell", "echo a \\\n  b"), (3, 1, "shell", "ls")]),
    ("!echo a \\\\\n!ls", [(1, 1, "shell", "echo a \\\\"), (2, 1, "shell", "ls")]),
    ("!echo \\", [(1, 1, "shell", "echo \\")]),
    ("!ls # all\n", [(1, 1, "shell", "ls # all")]),
    ("!ls; pwd && id", [(1, 1, "shell", "ls; pwd && id")]),
    ("files = !ls", [(1, 9, "shell", "ls")]),
    ("files =!ls", [(1, 8, "shell", "ls")]),
    ("größe = !du -s", [(1, 9, "shell", "du -s")]),
    ("a.b['c'] = !ls", [(1, 12, "shell", "ls")]),
    ("a, b = !ls", [(1, 8, "shell", "ls")]),
    ("a = b = !ls", [(1, 9, "shell", "ls")]),
    ("x: list = !ls", [(1, 11, "shell", "ls")]),
    ("if 1: x = !ls", [(1, 11, "shell", "ls")]),
    ("x = %pip list", [(1, 5, "pip", "pip list")]),
    ("%pip install x", [(1, 1, "pip", "pip install x")]),
    ("!pip install x", [(1, 1, "pip", "pip install x")]),
    ("!pip3 install x", [(1, 1, "pip", "pip install x")]),
    ("!python -m pip install x", [(1, 1, "pip", "pip install x")]),
    ("!{sys.executable} -m pip install x", [(1, 1, "pip", "pip install x")]),
    ("%pip", [(1, 1, "pip", "pip")]),
    ("%pip install \\\n  x", [(1, 1, "pip", "pip install \\\n  x")]),
    ("!pipx install x", [(1, 1, "shell", "pipx install x")]),
    ("!pip-audit", [(1, 1, "shell", "pip-audit")]),
    ("!sudo pip install x", [(1, 1, "shell", "sudo pip install x")]),
    ("%conda install x", [(1, 1, "conda", "conda install x")]),
    ("!conda install x", [(1, 1, "conda", "conda install x")]),
    ("%timeit f()", [(1, 1, "unknown", "timeit f()")]),
    ("%%bash\nls", [(1, 1, "unknown", "bash")]),
    ("!!ls", [(1, 1, "unknown", "!ls")]),
    ("!", [(1, 1, "shell", "")]),
    ("%matplotlib inline\nx", []),
    # What looks like one and is within something else stays Python's.
    ("'''\n!ls\n'''\n!id", [(4, 1, "shell", "id")]),
    ('r"""\n%pip install x\n\\"""\n"""\n!id', [(5, 1, "shell", "id")]),
    ("'a\\\n!ls'\n!id", [(3, 1, "shell", "id")]),
    ("b'''\n!ls\\'''\n!ls'''\n!id", [(4, 1, "shell", "id")]),
    ("(5\n%pip)\n!id", [(3, 1, "shell", "id")]),
    ("f(a,\n%x, [\n!y\n])\n!id", [(5, 1, "shell", "id")]),
    ("x = 5 \\\n%pip\n!id", [(3, 1, "shell", "id")]),
    ("x = 5 \\\n  % 3\n!id", [(3, 1, "shell", "id")]),
    ("# it's \\\n!id", [(2, 1, "shell", "id")]),
    ("x != y\n!id", [(2, 1, "shell", "id")]),
    ("f(x=!ls)\n!id", [(2, 1, "shell", "id")]),
    ("f'{x!r}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{x = !r}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{{'\n!id", [(2, 1, "shell", "id")]),
    ("f'}}{x}{{'\n!id", [(2, 1, "shell", "id")]),
    ("f'''{x:{y}}\n!ls\n'''\n!id", [(4, 1, "shell", "id")]),
    ("f'{x:>{\"5\"}}'\n!id", [(2, 1, "shell", "id")]),
    ("f'\\N{BULLET}{x}'\n!id", [(2, 1, "shell", "id")]),
    ("rf'\\{x}'\n!id", [(2, 1, "shell", "id")]),
    ("f'\\'{x}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{d[\"a\"]:{w}.{p}}' f\"{'{'}\"\n!id", [(2, 1, "shell", "id")]),
    ("f'''{x\n}'''\n!id", [(3, 1, "shell", "id")]),
    ("f'{(lambda: 1)():5}'\n!id", [(2, 1, "shell", "id")]),
    ("% 3\n!id", [(2, 1, "shell", "id")]),
    ("x = 'open\n!id", [(2, 1, "shell", "id")]),
    ("x = f'open {\n!id", [] if NESTED else [(2, 1, "shell", "id")]),
)
FOUND_NESTED = (  # read otherwise before Python 3.12
    ("f'{'a'}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{f'{'{'}'}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{'\\n'.join(x)}' '''\n!ls'''\n!id", [(3, 1, "shell", "id")]),
    ("f'{x:{'>'}{10}}'\n!id", [(2, 1, "shell", "id")]),
    ("f'{\nx # it's\n}'\n!id", [(4, 1, "shell", "id")]),
)

# Python, which is never touched.
PYTHON = (
    "x = 1",
    "'!ls'",
    "'''\n!ls\n%pip install x\n'''",
    "print('%d' % 3)",
    "(7\n%3)",
    "[7\n%pip]",
    "x = 5 \\\n%pip",
    "x = 5 \\\n  % 3",
    "x != y",
    "f(x)\\\n!= y",
    'f"""\n!ls {x!r}\n{y = !s}"""',
    "# !ls\n#%pip install x",
    "await f()\n'''\n!ls'''",
    "x = '''\n= !ls\n%%bash'''",
)

INSTALLS = (  # line, verb, requirements, options
    ("%pip install numpy", "install", ["numpy"], []),
    ("%pip install 'a>=1' \"b<2\"", "install", ["a>=1", "b<2"], []),
    (
        "%pip install a>=1,<2 b<3 c>2 d~=1.0 e==1.* f!=2",
        "install",
        ["a>=1,<2", "b<3", "c>2", "d~=1.0", "e==1.*", "f!=2"],
        [],
    ),
    ("%pip install a[x,y]>=1", "install", ["a[x,y]>=1"], []),
    ("%pip install \"a; python_version < '3.9'\"", "install", ["a; python_version < '3.9'"], []),
    (
        "%pip install 'a @ https://x.example/a.whl#sha256=1'",
        "install",
        ["a @ https://x.example/a.whl#sha256=1"],
        [],
    ),
    (
        "%pip install git+https://x.example/a#egg=a  # why",
        "install",
        ["git+https://x.example/a#egg=a"],
        [],
    ),
    ("%pip install -q -U a", "install", ["a"], [("-q", None), ("-U", None)]),
    ("%pip install -qU a", "install", ["a"], [("-q", None), ("-U", None)]),
    ("%pip install -qr needs.txt a", "install", ["a"], [("-q", None), ("-r", "needs.txt")]),
    ("%pip install -rneeds.txt", "install", [], [("-r", "needs.txt")]),
    ("%pip install -r", "install", [], [("-r", None)]),
    ("%pip install -e .", "install", [], [("-e", ".")]),
    ("%pip -q install a", "install", ["a"], [("-q", None)]),
    (
        "%pip install --index-url https://x.example a",
        "install",
        ["a"],
        [("--index-url", "https://x.example")],
    ),
    (
        "%pip install --index-url=https://x.example a",
        "install",
        ["a"],
        [("--index-url", "https://x.example")],
    ),
    ("%pip install --upgrade a", "install", ["a"], [("--upgrade", None)]),
    ("%pip install -- -a", "install", ["-a"], []),
    ("%pip install -", "install", ["-"], []),
    ("%pip install a\\ b", "install", ["a b"], []),
    ("%pip install \\\n  a \\\n  b", "install", ["a", "b"], []),
    ("!pip uninstall -y a", "uninstall", ["a"], [("-y", None)]),
    ("%pip", "", [], []),
    ("%conda install -c conda-forge a", "install", ["a"], [("-c", "conda-forge")]),
)

NO_INSTALLS = (  # what a shell would do more than split words
    ("!pip install x; rm -rf /", "on a line of its own"),
    ("!pip install x && id", "on a line of its own"),
    ("!pip install x & id", "on a line of its own"),
    ("!pip install x | tail", "leave the | out"),
    ("!pip install x > log", "leave the redirection out"),
    ("!pip install x 2>log", "leave the redirection out"),
    ("!pip install x 2>&1", "leave the redirection out"),
    ("!pip install x >/dev/null", "leave the redirection out"),
    ("!pip install x < file", "leave the redirection out"),
    ("!pip install $(id)", "in the place of $"),
    ("!pip install $X", "in the place of $"),
    ("!pip install `id`", "in the place of `"),
    ("!pip install (id)", "quote"),
    ("%pip install {name}", "Python's values are not put in"),
    ("%pip install 'x", "has no end"),
)


class Split(unittest.TestCase):
    def test_magics_are_found(self):
        for code, expected in FOUND + (FOUND_NESTED if NESTED else ()):
            with self.subTest(code):
                source, found = magics.split(code)
                self.assertEqual(expected, [(m.line, m.column, m.kind, m.text) for m in found])
                plain = magics.with_plain_ends(code)
                self.assertEqual(plain.count("\n"), source.count("\n"))
                lines = source.split("\n")
                for magic in found:
                    self.assertEqual("None", lines[magic.line - 1][magic.column - 1 :])

    def test_python_is_never_touched(self):
        for code in PYTHON:
            with self.subTest(code):
                self.assertEqual((code, []), magics.split(code))

    def test_ends(self):
        for code, end in (("!ls", (1, 4)), ("x = !ä\n", (1, 7)), ("!a \\\n b", (2, 3))):
            magic = magics.split(code)[1][0]
            self.assertEqual(end, (magic.end_line, magic.end_column))

    def test_what_is_assigned_is_captured(self):
        for code, captured in (("!ls", False), ("x = !ls", True), ("%pip list", False)):
            self.assertEqual(captured, magics.split(code)[1][0].captured)

    def test_installs(self):
        for code, *expected in INSTALLS:
            with self.subTest(code):
                magic = magics.split(code)[1][0]
                self.assertEqual("", magic.problem)
                verb, requirements, options, words = magic.parsed
                self.assertEqual(expected, [verb, requirements, options])
                self.assertEqual(len(words), len([w for w in words if w.strip()]))

    def test_the_verb_is_what_pip_takes_for_it(self):
        _, (magic,) = magics.split("%pip -- install evil")
        self.assertIn("leave -- out", magic.problem)

    def test_installs_need_no_shell(self):
        for code, problem in NO_INSTALLS:
            with self.subTest(code):
                magic = magics.split(code)[1][0]
                self.assertEqual(("pip", None), (magic.kind, magic.parsed))
                self.assertIn(problem, magic.problem)

    def test_what_is_not_here_is_refused_with_what_is(self):
        for code in (
            "%timeit f()",
            "%%bash\nls",
            "%%nosuch",
            "%nosuch",
            "!!ls",
            "!",
            "!  ",
        ):
            with self.subTest(code):
                self.assertNotEqual("", magics.split("x y\n" + code)[1][0].problem)
        self.assertIn("timeit.timeit", magics.split("%timeit f()")[1][0].problem)
        self.assertIn("%pip install", magics.split("%nosuch")[1][0].problem)

    def test_much_of_it_takes_no_long_time(self):
        # Each would take minutes with a step that looks at all there was before.
        for code in (
            "!ls\n" * 10_000,
            "x = !ls\n" * 10_000,
            "%pip install " + "a " * 60_000,
            "!echo " + "\\\n" * 60_000,
            "%pip install " + "a>1" * 200_000,
            "%pip install " + "''" * 100_000 + ">1" * 50_000,
            "!echo " + "a 'b' " * 100_000,
            "f'" + "{x:" * 20_000 + "\n!ls",
            "(" * 60_000 + "\n!ls",
            "'''" + "\\'" * 300_000 + "\n!ls",
            "!ls\n" + "= " * 100_000,
        ):
            with self.subTest(code[:20]):
                magics.split(code)


class Standalone(unittest.TestCase):
    def test_it_is_python(self):
        code = (
            "if 1:\n    a = !echo hi; echo ä\n    !true\n"
            "%matplotlib inline\nb = !echo 'x y' \\\n  z\n"
        )
        names = {}
        exec(magics.standalone(code), names)
        self.assertEqual((["hi", "ä"], ["x y z"]), (names["a"], names["b"]))

    def test_installs(self):
        names = {}
        exec(magics.standalone("a = %pip --version"), names)
        self.assertEqual(1, len(names["a"]))

    def test_what_will_be_refused_stays(self):
        for code in ("x = 1", "x = = 1", "'%'", "%timeit x"):
            self.assertEqual(code, magics.standalone(code))


if __name__ == "__main__":
    unittest.main()
