"""The checker of code: what it refuses, what it lets pass, where, and how it bears up."""

import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import unittest
import warnings
from unittest import mock

from pyworker.policy import ipython, verify
from pyworker.tests.policy import magics, places
from pyworker.tests.policy.bypasses import BYPASSES, LIMITS, OPEN
from pyworker.tests.policy.false_alarms import FALSE_ALARMS

ROOT = pathlib.Path(__file__).parents[3]


def shipped():
    """Returns the policy of the shipped lists, read as far as the file goes."""
    policy, key = {}, None
    text = (ROOT / "internal" / "policy" / "defaults.yaml").read_text()
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if re.fullmatch(r"\w+:", line):
            key = line[:-1]
        elif item := re.fullmatch(r"  - (\S+)", line):
            policy.setdefault(key, []).append(item[1])
        elif pair := re.fullmatch(r"  (\w+): (\w+)", line):
            policy.setdefault(key, {})[pair[1]] = pair[2]
        elif line:
            raise ValueError(f"not understood: {line}")
    return policy


def rules(code, policy):
    """Returns the rules that code breaks; fails where it is no Python."""
    violations, error, *_ = verify.check(code, policy)
    if error is not None:
        raise AssertionError(f"{code!r}: {error}")
    return [violation["rule"] for violation in violations]


class TestVerify(unittest.TestCase):
    def test_there_are_enough_cases(self):
        self.assertGreaterEqual(len(BYPASSES), 150)
        self.assertGreaterEqual(len(FALSE_ALARMS), 80)

    def test_bypasses(self):
        for policy, code, expected in BYPASSES:
            with self.subTest(code=code):
                starts = tuple(expected.split("|"))
                found = rules(code, policy)
                self.assertTrue(any(rule.startswith(starts) for rule in found), found)

    def test_false_alarms(self):
        default = shipped()
        for policy, code in FALSE_ALARMS:
            with self.subTest(code=code):
                self.assertEqual(rules(code, default if policy is None else policy), [])

    def test_known_limits(self):
        for code in LIMITS:
            with self.subTest(code=code):
                self.assertEqual(rules(code, OPEN), [])

    def test_bypasses_pass_without_rules(self):
        for _, code, _ in BYPASSES:
            with self.subTest(code=code):
                self.assertEqual(rules(code, {}), [])

    def test_shipped_lists(self):
        policy = shipped()
        for code in (
            "import subprocess",
            "import socket",
            "open('x')",
            "import os; os.remove('x')",
            "import os; os.execvp('sh', ['sh'])",
            "import os; os.sched_setaffinity(0, {0})",
            "Path('x').write_text('y')",
            "import shutil; shutil.rmtree('x')",
            "x.__subclasses__()",
            "import http.server",
            "from http import server",
            "import asyncio; asyncio.create_subprocess_shell('ls')",
        ):
            with self.subTest(code=code):
                self.assertEqual(len(rules(code, policy)), 1)
        self.assertEqual(rules("import http.client", policy), [])

    def test_places(self):
        for code, expected in places.PLACES:
            with self.subTest(code=code):
                violations, error, *_ = verify.check(code, OPEN)
                self.assertIsNone(error)
                found = [(v["line"], v["column"]) for v in violations]
                self.assertEqual(found, [place[:2] for place in expected])
                for violation, (_, _, source) in zip(violations, expected):
                    if source is not None:
                        self.assertEqual(violation["source"], source)

    def test_syntax_errors(self):
        for code, expected in places.SYNTAX:
            with self.subTest(code=code):
                violations, error, *_ = verify.check(code, OPEN)
                self.assertEqual(violations, [])
                self.assertTrue(error.endswith(expected), error)

    def test_top_level_await(self):
        self.assertEqual(rules("await f(open)", OPEN), ["blocked function open"])
        self.assertEqual(rules("async for x in y: pass", OPEN), [])

    def test_all_at_once_and_in_order(self):
        code = "import os\nx = eval\ny = open; os.system('a'); z = f.__globals__\n"
        found = [(v["line"], v["column"]) for v in verify.check(code, OPEN)[0]]
        self.assertEqual(found, [(2, 5), (3, 5), (3, 11), (3, 33)])

    def test_at_most_a_hundred(self):
        violations, *_ = verify.check("open\n" * 250, OPEN)
        self.assertEqual(len(violations), 101)
        self.assertEqual(violations[-1]["message"], "and 150 more")

    def test_odd_texts(self):
        for code in ("x = 1\0", "\ud800", "\ufeffx = 1", "x = '\ud800'"):
            with self.subTest(code=code):
                violations, error, *_ = verify.check(code, OPEN)
                self.assertEqual(violations, [])
                try:
                    compile(code, "<cell>", "exec")
                except (SyntaxError, ValueError):
                    self.assertTrue(error)
                else:
                    self.assertIsNone(error)
        self.assertEqual(rules("", OPEN), [])
        self.assertEqual(rules("# coding: utf-16\n", OPEN), [])

    def test_deep_code(self):
        for code in (
            "(" * 90 + "open" + ")" * 90,
            "x" + ".y" * 500 + ".__globals__",
            "+".join(["'a'"] * 900) + "+open",
            "getattr(" * 60 + "os" + ", 'path')" * 60 + ".os.system",
            "f(" * 80 + "open" + ")" * 80,
        ):
            with self.subTest(code=code[:40]):
                self.assertTrue(rules(code, OPEN))

    def test_too_deep_code(self):
        # In a process of its own, as it is used: a crash is no answer.
        deep = [
            "(" * 100_000 + ")" * 100_000,
            "x" + ".y" * 200_000,
            "-" * 100_000 + "1",
            "1" + "+1" * 200_000,
            "f" + "()" * 100_000,
            "[" * 3_000,
            "lambda: " * 20_000 + "0",
            "not " * 100_000 + "x",
            "x = " * 100_000 + "1",
            "a if b else " * 50_000 + "c",
            "if x:\n pass\n" + "elif x:\n pass\n" * 20_000,
            "f'{" * 400 + "}'" * 400,
        ]
        answers = ask(*({"id": i, "code": code, "policy": OPEN} for i, code in enumerate(deep)))
        for code, answer in zip(deep, answers):
            with self.subTest(code=code[:20]):
                self.assertNotIn("error", answer)
                if answer["violations"]:
                    self.assertEqual(answer["violations"][0]["rule"], "code that can't be checked")
        self.assertTrue(any(answer["violations"] for answer in answers))

    def test_code_that_could_take_for_ever(self):
        # It ends, or the suite does not.
        chain = "".join(f"n{i + 1} = n{i} + n{i}\n" for i in range(60))
        self.assertEqual(rules(f"n0 = ''\n{chain}getattr(x, n60)", OPEN), [])
        own = "def f():\n    n = n + n\n    m = m if m else m\n    return getattr(n, m + m)"
        self.assertEqual(rules(own, OPEN), [])
        for chain in ("a" + ".b" * 4_000, "a." + "b." * 2_000 + "c"):
            self.assertTrue(rules(f"import a; {chain}", OPEN))
        self.assertEqual(rules("open = 1\nopen\n" * 20_000, OPEN), [])
        self.assertEqual(rules("x = getattr(y, 'a' + 'b')\n" * 5_000, OPEN), [])

    def test_warnings_are_not_shown(self):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            rules("x = '\\d'; 1 is 1", OPEN)
        self.assertEqual(shown, [])

    @unittest.skipUnless(sys.version_info >= (3, 12), "newer grammar")
    def test_type_parameters(self):
        for code in ("type T = open", "def f[T: open](x): pass", "class A[T](open): pass"):
            with self.subTest(code=code):
                self.assertEqual(rules(code, OPEN), ["blocked function open"])
        self.assertEqual(rules("def f[T](x: T) -> T: return x\ntype P[K] = dict[K, int]", OPEN), [])

    def test_unknown_rules(self):
        with self.assertRaisesRegex(ValueError, "unknown rule 'blocked_function'"):
            verify.check("x", {"blocked_function": []})
        with self.assertRaisesRegex(ValueError, "unknown kind"):
            verify.check("x", {}, "cell")


ALLOWED = {
    "magics": {"pip": "allow", "shell": "allow"},
    "pip_packages": ["numpy", "scikit_learn"],
    "commands": ["ls", "git", "pip"],
    "blocked_functions": ["open"],
}
REFUSED = {"magics": {"pip": "refuse", "shell": "refuse"}}


class TestMagics(unittest.TestCase):
    def test_cells(self):
        for code, expected in (
            ("%pip install numpy>=2 Scikit.Learn[all]==1.0", []),
            ("!pip install numpy", []),
            ("%pip list", []),
            ("%pip list --format=json -o\n%pip show -v numpy pandas\n%pip --version", []),
            ("%pip --python x.sh list", ["pip's option --python is not allowed"]),
            ("%pip list --log x", ["pip's option --log is not allowed"]),
            ("%pip --log x", ["pip's option --log is not allowed"]),
            ("%pip show -f --log x", ["pip's option -f is not allowed"]),
            (
                "%pip index versions numpy --index-url http://x",
                ["pip's option --index-url is not allowed"],
            ),
            ("%pip freeze -r x", ["pip's option -r is not allowed"]),
            ("%pip show 'a; touch x'", ["pip show a; touch x is not allowed"]),
            ("%conda list -p x", ["conda's option -p is not allowed"]),
            ("%conda debug x", ["conda debug is not allowed"]),
            ("!git log && pip install numpy==$X", ["command that can't be checked"]),
            ("!git log && pip list {--log=x,}", ["command that can't be checked"]),
            ("!git log && pip list --format=$X", ["command that can't be checked"]),
            ("!git log && pip list -v", []),
            ("!ls &>/dev/null rm x", ["command that can't be checked"]),
            (
                "import os\nos.environ['PATH'] = 'x'\nos.putenv('PATH', 'x')",
                ["blocked function os.environ", "blocked function os.putenv"],
            ),
            ("from os import environ", ["blocked function os.environ"]),
            ("import os\nos.getenv('PATH')", []),
            ("!ls -l; git log", []),
            ("!ls 2>/dev/null", []),
            ("print('!rm x')", []),
            ("x = 1\n!pip install evil", ["package evil is not allowed"]),
            ("%conda install evil", ["package evil is not allowed"]),
            ("%pip install -r x.txt", ["pip's option -r is not allowed"]),
            ("%pip install ./numpy", ["package ./numpy is not allowed"]),
            ("%pip install git+https://x/y", ["package git+https://x/y is not allowed"]),
            ("%pip uninstall numpy", ["pip uninstall is not allowed"]),
            ("!ls | grep x", ["command grep is not allowed"]),
            ("!ls $(rm x)", ["command that can't be checked"]),
            ("!A=1 ls", ["command that can't be checked"]),
            ("!ls > x", ["redirection to a file"]),
            (
                "if x:\n    !rm y\n    open(1)",
                ["command rm is not allowed", "blocked function open"],
            ),
        ):
            with self.subTest(code=code):
                self.assertEqual(rules(code, ALLOWED), expected)

    def test_dialect(self):
        default = shipped()
        for policy, code, expected in magics.MAGICS:
            with self.subTest(code=code):
                starts = tuple(filter(None, expected.split("|")))
                found = rules(code, policy)
                self.assertTrue(any(rule.startswith(starts) for rule in found), found)
        for policy, code in magics.FINE_MAGICS:
            with self.subTest(code=code):
                self.assertEqual(rules(code, default if policy is None else policy), [])

    def test_variables_that_magics_bind(self):
        policy = {"allowed_variables": ["df_*"]}
        for code in ("%%capture x\n1", "x = %pwd", "x = !ls", "%%bash --out x\nls"):
            with self.subTest(code=code):
                self.assertEqual(rules(code, policy), ["variable x is not allowed"])
                self.assertEqual(rules(code.replace("x", "df_x"), policy), [])

    def test_what_runs_is_what_was_judged(self):
        for code, expected in (
            ("x = 1", None),
            ("%pwd", "get_ipython().run_line_magic('pwd', '')\n"),
            ("x?", "get_ipython().run_line_magic('pinfo', 'x')\n"),
            ("\n>>> x = 1", "\nx = 1\n"),
        ):
            with self.subTest(code=code):
                self.assertEqual(verify.check(code, magics.SHELL).transformed, expected)
        judged = verify.check("```\nx = 1\n```", magics.SHELL)
        self.assertIn("fences", judged.notes[0])

    def test_installs(self):
        for line, expected in (
            ("%pip install numpy 'scikit-learn>=1'", []),
            ("%pip install numpy evil", ["package evil is not allowed"]),
            ("%pip install numpy; rm x", ["install that can't be checked"]),
            ("%pip install 'numpy; python_version < \"4\"'", []),
        ):
            with self.subTest(line=line):
                found = verify.check(line, ALLOWED, "install").violations
                self.assertEqual([one["rule"] for one in found], expected)
        (one,) = verify.check("%pip install numpy", REFUSED, "install").violations
        self.assertEqual(one["rule"], "pip in code")

    def test_refused(self):
        self.assertEqual(rules("%pip install numpy", REFUSED), ["pip in code"])
        self.assertEqual(rules("x = !ls", REFUSED), ["shell commands"])

    def test_places(self):
        violations, *_ = verify.check("x = 1\nif x:\n    y = !rm z", ALLOWED)
        self.assertEqual([(v["line"], v["column"]) for v in violations], [(3, 9)])
        self.assertEqual(violations[0]["source"], "y = !rm z")
        for code, kind, expected in (
            ("x = 1\ny = ! git log; rm z", "code", [(2, 16, "y = ! git log; rm z")]),
            ("!ls \\\n ; rm x", "code", [(2, 4, "; rm x")]),
            ("\n%%time\nx = 1\ny = open", "code", [(4, 5, "y = open")]),
            ("%%time\n%%capture\ny = open", "code", [(3, 5, "y = open")]),
            ("%timeit -n 1 open", "code", [(1, 14, "%timeit -n 1 open")]),
            ("x\n>>> y\n  z = ip.run_cell", "code", []),
            ("    y = open", "code", [(1, 9, "y = open")]),
            (">>> y = open", "code", [(1, 9, ">>> y = open")]),
            ("%%bash\nls\n ls; rm x", "code", [(3, 6, "ls; rm x")]),
            ("    !ls; rm x", "code", [(1, 10, "!ls; rm x")]),
            ("%pip install x", "code", [(1, 1, "%pip install x")]),
            (
                "echo a\nls x; curl z\n pip install y",
                "command",
                [(1, 1, "echo a"), (2, 7, "ls x; curl z"), (3, 2, "pip install y")],
            ),
        ):
            with self.subTest(code=code):
                violations, *_ = verify.check(code, ALLOWED, kind)
                places = [(v["line"], v["column"], v["source"]) for v in violations]
                self.assertEqual(places, expected)

    def test_environment(self):
        code = "import os\nos.environ['X'] = 'y'"
        self.assertEqual(rules(code, {**ALLOWED, **REFUSED}), [])
        self.assertEqual(rules(code, {**ALLOWED, "commands": ["*"], "pip_packages": None}), [])
        self.assertEqual(rules(code, {"commands": ["ls"]}), [])

    def test_commands(self):
        for command, expected in (
            ("ls -l", []),
            ("git log && ls", []),
            ("rm x", ["command rm is not allowed"]),
            ("/bin/ls", ["command /bin/ls is not allowed"]),
            ("ls; rm x", ["command rm is not allowed"]),
            ("ls `rm x`", ["command that can't be checked"]),
            ("pip install evil", ["package evil is not allowed"]),
            ("ls >> x", ["redirection to a file"]),
            ("ls $HOME", []),
            ("git log && pip install numpy==$X", ["install that can't be checked"]),
            ("git log && pip list {--log=x,}", ["install that can't be checked"]),
        ):
            with self.subTest(command=command):
                violations, error, *_ = verify.check(command, ALLOWED, "command")
                self.assertIsNone(error)
                self.assertEqual([v["rule"] for v in violations], expected)
        for command in ("ls", "pip install x", "$(echo pip) install x"):
            violations, *_ = verify.check(command, REFUSED, "command")
            self.assertEqual([v["rule"] for v in violations], ["shell commands"])
        listed = {**REFUSED, "commands": ["ls"]}
        self.assertEqual(verify.check("ls -l", listed, "command")[:2], ([], None))
        self.assertEqual(verify.check("rm x", listed, "command")[0][0]["line"], 1)
        self.assertNotIn("Python", verify.check("ls > x", ALLOWED, "command")[0][0]["message"])


def ask(*requests):
    """Returns the answers of a checker's process to requests, each a dict or a line."""
    lines = [r if type(r) is bytes else json.dumps(r).encode() for r in requests]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(ROOT / "pyworker" / "policy" / "verify.py")],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        cwd="/" if sys.platform != "win32" else None,
        check=True,
    )
    if done.stderr:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


class TestProcess(unittest.TestCase):
    def test_conversation(self):
        first, second, third = ask(
            {"id": 1, "kind": "code", "code": "x = '\\d'\nopen", "policy": OPEN},
            {"id": "b", "kind": "code", "code": "x = 1", "policy": {}},
            {"id": 3, "kind": "code", "code": "x =", "policy": OPEN},
        )
        self.assertEqual((first["id"], first["syntax_error"]), (1, None))
        self.assertEqual(
            first["violations"],
            [
                {
                    "line": 2,
                    "column": 1,
                    "source": "open",
                    "rule": "blocked function open",
                    "message": "the function open is blocked; if it is a variable of yours, "
                    "give that another name",
                }
            ],
        )
        self.assertEqual(second, {"id": "b", "violations": [], "syntax_error": None})
        self.assertEqual(third["violations"], [])
        self.assertIn("SyntaxError: invalid syntax", third["syntax_error"])

    def test_long_numbers(self):
        # A session may have lifted the limit that makes this a syntax error.
        (answer,) = ask({"id": 1, "code": "x = " + "1" * 5_000 + "; open", "policy": OPEN})
        self.assertEqual(answer["violations"][0]["rule"], "blocked function open")

    def test_nothing_is_imported_after_the_start(self):
        # Sessions may change files; the judge has read all that it needs of them.
        code = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from pyworker.policy import verify\n"
            "from pyworker.tests.policy import bypasses, false_alarms, magics, places\n"
            "verify.import_everything(); before = set(sys.modules)\n"
            "codes = [(case[0] or bypasses.OPEN, case[1])"
            " for case in bypasses.BYPASSES + false_alarms.FALSE_ALARMS"
            " + magics.MAGICS + magics.FINE_MAGICS]\n"
            "codes += [(bypasses.OPEN, case[0]) for case in places.SYNTAX]\n"
            "codes += [(bypasses.OPEN, c) for c in ('%pip list', '!ls', '1 % 2', '\\ud800')]\n"
            "for policy, code in codes: verify.check(code, policy)\n"
            "print(*sorted(set(sys.modules) - before))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-B", "-c", code, str(ROOT)],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout.strip(), "")

    def test_from_memory(self):
        # Only what it is told counts: there are no files of it where it looks.
        package = ROOT / "pyworker"
        texts = {
            p.relative_to(package).as_posix(): p.read_text("utf-8") for p in package.rglob("*.py")
        }
        request = {"id": 1, "code": "open; x = !ls", "policy": dict(OPEN, commands=[])}
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-B",
                "-c",
                texts["from_memory.py"],
                "pyworker/policy/verify.py",
            ],
            input=f"{json.dumps(texts)}\n{json.dumps(request)}\n".encode(),
            capture_output=True,
            check=True,
        )
        self.assertEqual(done.stderr, b"")
        self.assertTrue(json.loads(done.stdout)["violations"])

    @unittest.skipIf(sys.prefix == sys.base_prefix, "this Python is no environment")
    def test_ipython_of_an_environment(self):
        with mock.patch("site.getsitepackages", return_value=["/usr/lib/dist-packages"]):  # Debian
            self.assertIn(sysconfig.get_path("purelib") + os.sep + "IPython", ipython._folders())

    def test_wrong_requests(self):
        answers = ask(
            b"no json",
            b"[]",
            {"id": 1},
            {"id": 2, "code": "x", "policy": {"unknown": 1}},
            {"id": 3, "code": 5, "policy": OPEN},
            {"id": 4, "code": "x", "kind": "other"},
            {"id": 5, "code": "open", "policy": OPEN},
        )
        for answer in answers[:-1]:
            self.assertTrue(answer["error"])
        self.assertEqual([answer["id"] for answer in answers], [None, None, 1, 2, 3, 4, 5])
        self.assertEqual(len(answers[-1]["violations"]), 1)
