"""Simple commands are told apart, and what is more than that is not guessed at."""

import os
import shutil
import subprocess
import unittest

from pyworker.policy.commands import take_apart

_BASH = shutil.which("bash")

SIMPLE = (
    ("", []),
    ("ls", [["ls"]]),
    ("  ls\t-la ", [["ls", "-la"]]),
    ("ls 'a b' \"c d\" 'e''f'", [["ls", "a b", "c d", "ef"]]),
    ("l's' -\"l\"", [["ls", "-l"]]),
    ("a; b", [["a"], ["b"]]),
    ("a && b || c", [["a"], ["b"], ["c"]]),
    ("a | b | c & d", [["a"], ["b"], ["c"], ["d"]]),
    ("a\nb\n", [["a"], ["b"]]),
    ("a;b&c|d", [["a"], ["b"], ["c"], ["d"]]),
    ("a &", [["a"]]),
    ("a \\\n b", [["a", "b"]]),
    ("a b#c", [["a", "b#c"]]),
    ("a > f", [["a"]]),
    ("a >f 2>&1 b", [["a", "b"]]),
    ("a 2>/dev/null | b", [["a"], ["b"]]),
    ("a < f > g", [["a"]]),
    ("> f a", [["a"]]),
    ("> f", []),
    ("a 2 > f", [["a", "2"]]),
    ("a b2>f", [["a", "b2"]]),
    ("echo $HOME ${X} $1 $?", [["echo", "$HOME", "${X}", "$1", "$?"]]),
    ('echo "$HOME/x"', [["echo", "$HOME/x"]]),
    ('echo "5 $"', [["echo", "5 $"]]),
    ("ls *.py ~/x {a,b} [ab] a?", [["ls", "*.py", "~/x", "{a,b}", "[ab]", "a?"]]),
    ("[ -f x ] && a", [["[", "-f", "x", "]"], ["a"]]),
    ("echo hi!", [["echo", "hi!"]]),
    ("git commit -m 'a; rm -rf /'", [["git", "commit", "-m", "a; rm -rf /"]]),
    ("a=b", None),
    ("echo a=b", [["echo", "a=b"]]),
    ("a >&2", [["a"]]),
    ("a ';' '>' b", [["a", ";", ">", "b"]]),
)

UNCLEAR = (
    "$(id)", "echo $(id)", 'echo "$(id)"', "echo `id`", 'echo "`id`"', "$X", '"$X" a', "${X}",
    "echo ${X:-$(id)}", "echo $((1))", "echo $'a'", 'echo $"a"', "cat <<E\nid\nE", "cat <<< x",
    "cat <(id)", "tee >(id)", "(id)", "{ id; }", "if id; then id; fi", "for i in a; do id; done",
    "while id; do id; done", "case x in x) id;; esac", "f() { id; }", "function f { id; }",
    "! id", "time id", "coproc id", "[[ a ]]", "A=1 id", "A='1' id", "A+=1 id", "A[0]=1 id",
    "/bin/i? x", "i* x", "~/id", "{id,x}", "[i]d", "echo 'a", 'echo "a', "id \\", "id >", "id > ;",
    "a;; b", "a <", "'' a", "a\0b", "a\u00a0b", "a\u2028b", "a\rb", "i$X", "echo a ) b",
    "a &> f", "a &>> f; b", "a >& f", "a |& b", "a &>f rm -rf /",
    "ls e\\ f", "\\ls", "a # b; c", "a;# b", "echo \\$\\(", 'echo "\\$(id)"', "l\\\ns",
    "a\n>f b", "a ;> f", "a >&\u0663", "a \x0bb", "a $'\\n'", "a ${b:=c}",
)  # fmt: skip


@unittest.skipIf(os.name == "nt", "cmd is another shell")
class Commands(unittest.TestCase):
    def test_simple_commands(self):
        for text, expected in SIMPLE:
            with self.subTest(text):
                found = take_apart(text)
                words = None if found is None else [words for words, _ in found.commands]
                self.assertEqual(expected, words)

    def test_places(self):
        found = take_apart("a b; 'c'\n >f d\\\n e | g")
        self.assertEqual([0, 5, 13, 21], [at for _, at in found.commands])

    def test_what_writes(self):
        for text in ("a > f", "> f", "a >>f", "a 2>f", "a; b >| f", "a >/dev/null2", "a\u0663> f"):
            self.assertTrue(take_apart(text).writes, text)
        for text in (
            "a",
            "a < f",
            "a 2>&1",
            "a >&2",
            "a 2> /dev/null",
            "a '>' f",
            "a 2>'/dev/null'",
        ):
            found = take_apart(text)
            self.assertFalse(found and found.writes, text)

    def test_what_is_unclear(self):
        for text in UNCLEAR:
            with self.subTest(text):
                self.assertIsNone(take_apart(text))

    @unittest.skipUnless(_BASH, "bash is not installed")
    def test_the_shell_agrees(self):
        """What stands in the first words is all that a shell calls."""
        for text, expected in SIMPLE:
            if not expected or any(c in text for c in "<>$*~?{["):
                continue
            with self.subTest(text):
                # Each command tells its name, and succeeds or fails.
                for end in (0, 1):
                    called = self.called(text, end, {argv[0] for argv in expected})
                    self.assertLessEqual(set(called), {argv[0] for argv in expected})
                    self.assertTrue(called)

    def called(self, text, end, names):
        functions = "".join(
            f"{name}() {{ command echo {name} >&3; return {end}; }}\n"
            for name in names
            if name != "["
        )
        reader, writer = os.pipe()
        try:
            subprocess.run(
                [_BASH, "-c", f"exec 3>&{writer}\n{functions}{text}\nwait"],
                pass_fds=(writer,),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={"PATH": "/nonexistent"},
                check=False,
            )
            os.close(writer)
            writer = None
            with open(reader, closefd=False) as file:
                return file.read().split()
        finally:
            os.close(reader)
            if writer is not None:
                os.close(writer)

    def test_much_of_it_takes_no_long_time(self):
        for text in (
            "a " * 100_000,
            "a;" * 100_000,
            "'a' " * 60_000,
            "\\\n" * 100_000,
            "1" * 300_000,
        ):
            take_apart(text)
