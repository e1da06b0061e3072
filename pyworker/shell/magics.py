"""Shell lines and installs in cells, as in a notebook: "!ls", "%pip install x".

They stand where a statement may begin, or after the "=" of an assignment, and go
on to the end of the line, or further after a backslash. Code that is Python
without them is never looked at. The worker and the judge of code both find them
here, so that what runs is what was judged.
"""

import _ast
import re
import sys
from typing import NamedTuple

from pyworker import late

from .installs import Install, parse_install
from .shellwords import Unclear, commands

__all__ = ["Install", "Magic", "commands", "split", "standalone"]

_TREE = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_PLACE = "None"  # stands in the source where a magic was

_FIRST = re.compile(r"[ \t\f]*(!|%%?[A-Za-z_])")
_ASSIGNED = re.compile(r"(?<![=!<>:+\-*/%&|^@])=[ \t\f]*(?=!(?!=)|%%?[A-Za-z_])")
_END = re.compile(r"[^\\\n]*(?:\\(?:\n|.)?[^\\\n]*)*")  # of a line that backslashes continue
_PIP = re.compile(r"(?:(?:pip3?|(?:python3?|\{sys\.executable\})[ \t]+-m[ \t]+pip)(?:[ \t\n]|$))")
_CONDA = re.compile(r"conda(?:[ \t\n]|$)")
_NAME = re.compile(r"%(%?)([A-Za-z_]\w*)")

_SUPPORTED = "%pip install, %conda install and !command are understood here"
_INSTEAD = {
    "cd": "use os.chdir",
    "env": "use os.environ",
    "set_env": "use os.environ",
    "time": "use time.perf_counter() before and after",
    "timeit": "use timeit.timeit or time.perf_counter()",
    "run": "write !python FILE, or runpy.run_path(FILE)",
    "load_ext": "leave it out",
    "autoreload": "use importlib.reload",
    "bash": 'write a line !command, or subprocess.run(["bash", "-c", """…"""])',
    "sh": 'write a line !command, or subprocess.run(["sh", "-c", """…"""])',
    "writefile": 'write pathlib.Path(FILE).write_text("""…""")',
    "capture": "leave it out",
}


_MAGIC = re.compile(r"[\n\r=][ \t\f]*[%!]")


def may_have_magics(code):
    """Says quickly whether code may have magics; little other code does."""
    return ("%" in code or "!" in code) and _MAGIC.search("\n" + code) is not None


class Magic(NamedTuple):
    """A magic of a cell. Lines and columns, in characters, count from 1."""

    line: int
    column: int
    kind: str  # "pip", "shell", "conda" or "unknown"
    text: str  # the command, without "!" or "%"
    parsed: object  # an Install; of the shell what commands() says; else None
    problem: str = ""  # why it can't be run, as a SyntaxError says it
    captured: bool = False  # assigned: its value is a list of lines
    end_line: int = 0
    end_column: int = 0  # behind the last character
    lead: int = 0  # characters from the column to the text


def split(code):
    """Returns (Python source with the same lines, list of Magic).

    In the source None stands at the line and column of each magic. Raises
    ValueError if Python can't read the code at all.
    """
    if not may_have_magics(code) or _is_python(code):
        return code, []
    code = with_plain_ends(code)
    found, pieces, at = [], [], 0
    lines = _Lines(code)
    for start, end, captured in _Scanner(code).magics():
        pieces += [code[at:start], _PLACE, "\n" * code.count("\n", start, end)]
        at = end
        magic = _read(code[start:end], captured)
        if magic is not None:
            line, column = lines.place(start)
            end_line, end_column = lines.place(end)
            found.append(
                magic._replace(line=line, column=column, end_line=end_line, end_column=end_column)
            )
    pieces.append(code[at:])
    return "".join(pieces), found


def standalone(code):
    """Returns the code with its magics as Python's own calls, for a file of it."""
    source, found = split(code)
    if any(magic.problem for magic in found):
        return code
    lines = source.split("\n")
    for magic in reversed(found):
        line, at = lines[magic.line - 1], magic.column - 1
        lines[magic.line - 1] = line[:at] + _as_call(magic) + line[at + len(_PLACE) :]
    return "\n".join(lines)


def _as_call(magic):
    shell = magic.kind == "shell"
    command = repr(magic.text)
    if isinstance(magic.parsed, Install):
        words = magic.parsed.words
        command = f"[__import__('sys').executable, '-m', 'pip', *{words!r}]"
        if magic.kind == "conda":
            command = repr(["conda", *words])
    run = f"__import__('subprocess').run({command}, shell={shell}, stdin=-3"
    return f"{run}, stdout=-1, text=True).stdout.splitlines()" if magic.captured else f"{run})"


def _is_python(code):
    warnings = late.load("warnings")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the real compilation shows them
            compile(code, "<cell>", "exec", _TREE, dont_inherit=True)
    except SyntaxError:
        return False
    return True


def with_plain_ends(code):
    """Returns code with "\\n" at the end of each line, as Python's tokenizer sees it."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


class _Lines:
    """Turns offsets, which must grow, into lines and columns."""

    def __init__(self, code):
        self._code = code
        self._line, self._start = 1, 0

    def place(self, offset):
        """Returns (line, column), both from 1."""
        self._line += self._code.count("\n", self._start, offset)
        self._start = max(self._start, self._code.rfind("\n", self._start, offset) + 1)
        return self._line, offset - self._start + 1


def _read(text, captured):
    """Returns the Magic that stands there, without its place; None if it does nothing."""
    kind, command, parsed, problem = _understand(text)
    if kind is None:
        return None
    lead = text.find(command, 1) if kind == "shell" else 0
    return Magic(0, 0, kind, command, parsed, problem, captured, lead=lead)


def _understand(text):
    """Returns kind, command, what was parsed of it, and what is wrong."""
    if text.startswith("!!"):
        return "unknown", text[1:], None, "!! is not understood here; write lines = !command"
    if text.startswith("!"):
        return _understand_command(text[1:].strip(" \t\f"))
    percents, name = _NAME.match(text).groups()
    if percents:
        return "unknown", text[2:], None, _not_here(f"%%{name}", name)
    if name in ("pip", "conda"):
        return _understand_install(name, text[1:])
    if name == "matplotlib":  # figures are captured whatever it asks for
        return None, "", None, ""
    return "unknown", text[1:], None, _not_here(f"%{name}", name)


def _understand_command(command):
    if not command:
        return "shell", "", None, "a command must follow the !"
    if "\0" in command:
        return "shell", command, None, "a command can't contain null characters"
    pip = _PIP.match(command)
    if pip:
        return _understand_install("pip", "pip " + command[pip.end() :])
    if _CONDA.match(command):
        return _understand_install("conda", command)
    return "shell", command, commands(command), ""


def _understand_install(kind, text):
    text = text.strip(" \t\f")
    try:
        return kind, text, parse_install(text), ""
    except Unclear as error:
        return kind, text, None, f"%{kind} runs without a shell: {error}"


def _not_here(shown, name):
    if shown.startswith("%%") and name not in _INSTEAD:
        advice = "%% magics for whole cells are not"
    else:
        advice = _INSTEAD.get(name, "")
    return "; ".join(filter(None, [f"{shown} is not available here", advice, _SUPPORTED]))


# What a piece of code is made of, as far as it tells where statements begin.
_TOKEN = re.compile(
    r"""(?P<string>(?P<prefix>[rRbBuUfFtT]{0,2})(?P<quote>\"{3}|'{3}|"|'))
    |(?P<newline>\n)
    |(?P<joined>\\\n)
    |(?P<comment>\#[^\n]*)
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<equals>=+)
    |(?P<colon>:)
    |\w+
    |[^\w\n\\\#()\[\]{}=:"']+
    |.""",
    re.X | re.S,
)
_BODY = {
    "'": re.compile(r"[^'\\\n]*(?:\\.[^'\\\n]*)*", re.S),
    '"': re.compile(r'[^"\\\n]*(?:\\.[^"\\\n]*)*', re.S),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*", re.S),
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*', re.S),
}
_TEXT = re.compile(r"[^\\{}\n'\"]+")  # of an f-string
_NESTED = sys.version_info >= (3, 12)  # the fields of an f-string may hold its own quotes


class _Scanner:
    """Finds where statements begin, and magics there.

    What is open stands on a stack: a bracket as itself; an f-string whose fields
    are read as code as the tuple ("text", its quote, whether it is raw), above it
    one with "field" in a field, and above that one with "format" behind its colon.
    """

    def __init__(self, code):
        self._code = code
        self._at = 0
        self._open = []

    def magics(self):
        """Yields (start, end, captured) of each magic."""
        fresh = True  # a statement may begin here
        code = self._code
        while self._at < len(code):
            if self._inside() in ("text", "format"):
                self._read_text(*self._open[-1])
                continue
            if fresh and (first := _FIRST.match(code, self._at)):
                yield self._take(first.start(1), False)
            elif not self._open and (equals := _ASSIGNED.match(code, self._at)):
                yield self._take(equals.end(), True)
            fresh = self._step()

    def _inside(self):
        return self._open[-1][0] if self._open else ""

    def _take(self, start, captured):
        self._at = _END.match(self._code, start).end()
        return start, self._at, captured

    def _step(self):
        """Goes on by a token; returns whether a statement may begin behind it."""
        token = _TOKEN.match(self._code, self._at)
        if token is None:
            return False  # the end
        self._at = token.end()
        kind = token.lastgroup
        if kind == "newline":
            return not self._open
        if kind == "string":
            self._begin_string(token["prefix"].lower(), token["quote"])
        elif kind == "open":
            self._open.append(token.group())
        elif kind == "close" and self._open:
            self._open.pop()
        elif kind == "colon" and self._inside() == "field":
            self._open.append(("format", *self._open[-1][1:]))
        return False

    def _begin_string(self, prefix, quote):
        if _NESTED and ("f" in prefix or "t" in prefix):
            self._open.append(("text", quote, "r" in prefix))
            return
        end = _BODY[quote].match(self._code, self._at).end()
        self._at = end + len(quote) if self._code.startswith(quote, end) else end

    def _read_text(self, kind, quote, raw):
        """Goes on by a piece of an f-string's text, or of a field's format."""
        code, at = self._code, self._at
        char = code[at]
        if code.startswith(quote, at):
            self._end_string(len(quote))
        elif char == "\n" and len(quote) == 1:
            self._end_string(0)  # Python will say that it has no end
        elif char == "\\":
            self._skip_escape(raw)
        elif char in "{}":
            self._read_brace(char, kind == "format")
        else:  # or a quote that is not the string's own
            text = _TEXT.match(code, at)
            self._at = text.end() if text else at + 1

    def _end_string(self, length):
        while self._open.pop()[0] != "text":
            pass
        self._at += length

    def _read_brace(self, char, in_format):
        if not in_format and self._code.startswith(char * 2, self._at):
            self._at += 1
        elif char == "{":
            self._open.append(("field", *self._open[-1][1:]))
        elif in_format:
            del self._open[-2:]
        self._at += 1

    def _skip_escape(self, raw):
        code, at = self._code, self._at
        if not raw and code.startswith("\\N{", at):
            self._at = code.find("}", at) + 1 or len(code)
        elif code[at + 1 : at + 2] in ("{", "}"):
            self._at += 1  # the brace counts
        else:
            self._at += 2
