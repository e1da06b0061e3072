"""What a cell that is no plain Python becomes: the notebook's dialect, and small repairs.

IPython's TransformerManager turns magics, "!" lines, "x?" and prompts into calls of
get_ipython(). What it returns has the lines of the cell as written, so that tracebacks show
those. All of it is pure: the judge of code reads a cell as the worker does.
"""

import re
from typing import NamedTuple

from pyworker import lazy_import

NEEDS_IPYTHON = (
    "magics and x? need IPython, which is not installed in this Python; %pip install ipython, "
    "or use the Python that understudy setup has made"
)
_DIALECT = re.compile(r"(?m)^[ \t]*(?:[%!?]|(?:[\w.,* \[\]]+=[ \t]*)[%!])|^[\w.]+\?{1,2}[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_STRING_OR_ESCAPE = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\\(?:r\\n|[nrt]|["'])""", re.S
)
_ESCAPED = {"\\n": "\n", "\\r": "\n", "\\r\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'"}
_INSTALL = re.compile(
    r"(?m)^([ \t]*)(?:(?:python3? -m )?pip3?|(conda|mamba|uv))[ \t]+(?=(?:pip )?(?:un)?install\b)"
)
_AUTOMAGIC = re.compile(r"([A-Za-z_]\w*)(?:[ \t]+([^\s=].*))?\s*\Z")
_AUTOMAGICS = """
cat cd conda cp env history ldir less ll ls lsmagic magic man matplotlib mkdir more mv pip pwd rm
rmdir run time timeit uv who whos"""
# Python that nobody means: a prompt that is an annotation, an operator that HTML has escaped.
_MISREAD = re.compile(r"\s*In \[\d+\]: |[\s\S]*&(?:lt|gt|amp);")


class Reading(NamedTuple):
    """How a cell is read."""

    source: str  # the Python that runs
    tree: object  # what parse() has made of it
    notes: list  # sentences on what was repaired


def manager():
    """Returns a TransformerManager that keeps lines in their places; None without IPython."""
    try:
        module = lazy_import.load("IPython.core.inputtransformer2")
    except ImportError:
        return None
    return type("Transformers", (_Aligned, module.TransformerManager), {})()


def read(code, parse, transformers):
    """Returns the Reading of a cell.

    parse(source) returns a syntax tree or raises SyntaxError; transformers() returns a
    TransformerManager or None, and is only called for what is no plain Python. Raises the
    SyntaxError that says most about the code as it was written.
    """
    try:
        tree, plain = parse(code), None
        if not is_misread(code, tree):
            return Reading(code, tree, [])
    except SyntaxError as error:
        plain = error
    with_manager = transformers()
    try:
        reading = _transformed(code, parse, with_manager)
        if not is_misread(code, reading.tree) or reading.source.strip() != code.strip():
            return reading
    except SyntaxError as error:
        wrong = error
    for said, text in _repaired(code):
        try:
            return _transformed(text, parse, with_manager)._replace(notes=[said])
        except SyntaxError:
            continue
    if plain is None:
        return Reading(code, tree, [])
    if not hasattr(with_manager, "do_token_transforms") and _DIALECT.search(code):
        plain.msg = f"{plain.msg} ({NEEDS_IPYTHON})"
        raise plain
    # The same line of both: Python's own words on it are the better ones.
    raise plain if plain.lineno == wrong.lineno else _as_written(wrong, code)


def is_misread(code, tree):
    """Says whether Python reads the code, though it was written as something else."""
    if ("&" not in code and "In [" not in code) or not _MISREAD.match(code):
        return False
    names = {node.id for node in lazy_import.load("ast").walk(tree) if hasattr(node, "id")}
    return "In" in names or not names.isdisjoint(("lt", "gt", "amp"))


def automagic(code):
    """Returns a line like "pip install x" with the % that it lacks, else ""."""
    match = _AUTOMAGIC.match(code) if "\n" not in code.strip() else None
    return f"%{code.lstrip()}" if match and match[1] in _AUTOMAGICS.split() else ""


def _transformed(code, parse, with_manager):
    """Returns the Reading of what IPython makes of the code."""
    if with_manager is None:
        return Reading(code, parse(code), [])
    magic = automagic(code)
    try:
        source = with_manager.transform_cell(magic or code)
    except (SyntaxError, RecursionError):
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        raise SyntaxError(str(error)) from None
    return Reading(source, parse(source), [])


class _Aligned:
    """Has transformed code keep the numbers of its lines; over a TransformerManager."""

    def transform_cell(self, cell):
        """Transforms a cell; blank lines at its beginning stay."""
        body = cell.lstrip("\r\n")
        lead, body = cell[: len(cell) - len(body)], body.replace("\r\n", "\n").replace("\r", "\n")
        while (line := body.partition("\n"))[1] and not line[0].strip():
            lead, body = lead + "\n", line[2]
        return "\n" * len(lead.splitlines()) + super().transform_cell(body)

    def do_one_token_transform(self, lines):
        """Makes up for lines that were joined with blank ones behind them."""
        changed, after = super().do_one_token_transform(lines)
        if not changed or len(after) >= len(lines):
            return changed, after
        at = next((i for i, (a, b) in enumerate(zip(lines, after)) if a != b), len(after) - 1)
        if after[at][-1:] != "\n":
            after[at] += "\n"
        return changed, [*after[: at + 1], *["\n"] * (len(lines) - len(after)), *after[at + 1 :]]


def _repaired(code):
    """Yields (what is said of it, code) for each repair that changes something."""
    done, text = [], code
    for said, repair in _REPAIRS:
        for candidate in repair(text):
            if candidate != text:
                done, text = [*done, said], candidate
                yield "the code was read with repairs: " + ", and ".join(done), text
                break


def _without_fences(code):
    """Yields the code that stands in Markdown's fences; other lines are blank."""
    if "```" not in code and "~~~" not in code:
        return
    kept, inside = [], False
    for line in code.split("\n"):
        if _FENCE.match(line):
            inside = not inside
            kept.append("")
        else:
            kept.append(line if inside else "")
    yield "\n".join(kept)


# Those of HTML that stand for what Python's syntax is made of; the last may be part of others.
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&"))


def _without_entities(code):
    for entity, character in _ENTITIES:
        code = code.replace(entity, character)
    yield code


def _unescaped(code):
    """Yields a line in which \\n stands for the end of a line with real ends."""
    if "\n" in code.strip() or "\\" not in code:
        return
    try:
        yield lazy_import.load("json").loads(f'"{code.strip()}"', strict=False)
    except ValueError:
        pass
    yield _STRING_OR_ESCAPE.sub(lambda m: m[1] or _ESCAPED.get(m[0], m[0]), code)


def _with_percent(code):
    """Yields the code with % before lines that install something."""
    yield _INSTALL.sub(lambda m: f"{m[1]}%{m[2] or 'pip'} ", code)


def _dedented(code):
    if code[:1] in " \t\n":
        yield lazy_import.load("textwrap").dedent(code)


_REPAIRS = (
    ("what stands in Markdown's code fences", _without_fences),
    ("&lt; &gt; &amp; as < > &", _without_entities),
    ("\\n as the end of a line", _unescaped),
    ("a % before the line that installs", _with_percent),
    ("without the indentation that all lines share", _dedented),
)


def _as_written(error, code):
    """Has a SyntaxError of transformed code show the line as it was written."""
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if error.lineno and error.lineno <= len(lines) and error.text is not None:
        line = lines[error.lineno - 1]
        if line.strip() != error.text.strip():
            error.text, error.offset, error.end_offset = line, None, None
    return error
