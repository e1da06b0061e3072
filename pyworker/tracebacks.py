"""Exceptions as the record shows them: the user's frames, with the right lines."""

import os
import re
import sys

from . import codefile, lazy_import
from .display import encode, kinds
from .display.describe import brief_repr

STACK_LIMIT = 200  # frames in the record's stack, from both ends
TEXT_LIMIT = 200_000  # characters of a traceback, from both ends
FRAME_LIMIT = 2000  # frames that are formatted, from both ends
INFO_LIMIT = 20_000  # bytes of an exception's encoded arguments

_LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = tuple(os.path.join(_LIBRARY, name) + os.sep for name in ("pyworker", "matplotlib_capture"))
CELLS = ("<cell ", "<init>")  # begin the names of their files
_CELL = re.compile(r"<cell \d+>")  # one that a code file has held as it is
_IPYTHON_PLACE = re.compile(r"^File <cell \d+>:", re.M)
_IMPORTS = "<frozen importlib"
_USAGE = ("IPython.core.error", "UsageError")  # of a magic
_IPYTHON = os.path.join("IPython", "core", "")  # what runs magics between a cell and their code

# What every exception has, past whatever its class puts before it.
_ARGS = BaseException.args.__get__
_TRACEBACK = BaseException.__traceback__.__get__


class Describer:
    """Describes the exceptions of one session."""

    def __init__(self, workdir, private_dir, style, code_file):
        self._prefixes = ()
        self._code_file = code_file  # the name that cells are shown under, or ""
        self._plugins = frozenset()
        self._style = style  # "plain" or "ipython"
        self.move(workdir, private_dir)

    def move(self, workdir, private_dir):
        """Leaves other folders out of file names too."""
        folders = (workdir, os.path.realpath(workdir), os.path.join(private_dir, codefile.FOLDER))
        more = [folder + os.sep for folder in folders]
        self._prefixes = sorted({*self._prefixes, *more}, key=len, reverse=True)

    def begin_at(self, files):
        """Says whose frames the user's part of a traceback may begin with, beside a cell's."""
        self._plugins = frozenset(files)

    def describe(self, error, compiled, notes, part=None):
        """Returns the record's "exception"; compiled is false for code that never ran.

        part is the code of the statement that ran. It is shown where an exception
        passed through no frame of the cell's: an interrupt between an expression
        and its echo, a value whose __str__ is C, or a library's, and fails.
        """
        if issubclass(type(error), MemoryError):
            lazy_import.load("traceback").clear_frames(_TRACEBACK(error))
        trace = place = None
        if not compiled:
            _complete_syntax_error(error)
        else:
            trace = self._users_part(error)
            if not any(_file(entry).startswith(CELLS) for entry in entries(error)):
                place = _place(part)
        return {
            "type": class_name(error),
            "info": _info(error),
            "stack": self._stack(trace, place) if compiled else self._syntax_stack(error),
            "traceback": self._text(error, trace, compiled, notes, place),
        }

    def text(self, error):
        """Returns the plain traceback of an exception, as for a terminal."""
        return shorten(self._plain(error, self._users_part(error)), TEXT_LIMIT)

    def remember(self, error):
        """Keeps an exception where debuggers look for the last one, without frames of ours.

        As at any prompt it holds what its functions held, until the next one comes.
        """
        trace = self._users_part(error)
        let_go(error)
        if issubclass(type(error), SystemExit):
            return
        BaseException.with_traceback(error, trace)
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        sys.last_exc = error  # where Python 3.12 looks

    def _users_part(self, error):
        """Returns the traceback from the user's first frame on, without frames of ours."""
        found = entries(error)
        first = first_of_users([entry.tb_frame for entry in found], self._plugins)
        kept = [entry for entry in found[first:] if not is_own(entry)]
        result = None
        for entry in reversed(_cut(kept, FRAME_LIMIT)):
            result = type(entry)(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno or 0)
        return result

    def _text(self, error, trace, compiled, notes, place):
        kind = kinds.module(type(error)), class_name(error)
        if type(error) is SystemExit or kind == _USAGE:  # which says what to write
            return f"{kind[1]}: {_code_of(error)}\n"
        if self._style == "ipython" and compiled and place is None:
            try:
                return shorten(_ipython_text(error, trace, self._code_file), TEXT_LIMIT)
            except ImportError:
                notes.append("IPython is not installed: the traceback is Python's own")
            except Exception as fault:
                notes.append(f"IPython could not format the traceback ({class_name(fault)})")
        return shorten(self._plain(error, trace, place), TEXT_LIMIT)

    def _plain(self, error, trace, place=None):
        try:
            traceback, kind = lazy_import.load("traceback"), type(error)
            # Exceptions further down the chain keep their own frames: bound those too.
            summary = traceback.TracebackException(kind, error, trace, limit=-FRAME_LIMIT)
            self._clean(summary, set())
            if place is not None:
                summary.stack.insert(0, traceback.FrameSummary(*place, "<module>"))
            return "".join(summary.format())
        except Exception as fault:  # a class of the user's that can't be formatted
            note = f"(the traceback can't be shown: {class_name(fault)})"
            return f"{class_name(error)} {note}\n"

    def _clean(self, summary, seen):
        """Leaves our frames and the workspace's path out, in chained exceptions too."""
        if summary is None or id(summary) in seen:
            return
        seen.add(id(summary))
        kept = [frame for frame in summary.stack if not _is_own_file(frame.filename)]
        for frame in kept:
            frame.filename = self._shown(frame.filename)
        summary.stack[:] = kept
        if isinstance(getattr(summary, "filename", None), str):
            summary.filename = self._shown(summary.filename)
        for other in (summary.__cause__, summary.__context__):
            self._clean(other, seen)
        for other in getattr(summary, "exceptions", None) or ():
            self._clean(other, seen)

    def _shown(self, filename):
        filename = under_name(filename, self._code_file)
        for prefix in self._prefixes:
            if filename.startswith(prefix):
                return filename[len(prefix) :]
        return filename

    def _stack(self, trace, place):
        traceback = lazy_import.load("traceback")
        frames = [traceback.FrameSummary(*place, "<module>")] if place is not None else []
        frames += _cut(traceback.extract_tb(trace, -FRAME_LIMIT), STACK_LIMIT)
        return [
            [self._shown(f.filename), f.lineno or 0, f.name, shorten((f.line or "").strip(), 1000)]
            for f in frames
        ]

    def _syntax_stack(self, error):
        if not issubclass(type(error), SyntaxError):
            return []
        text = shorten((error.text or "").strip(), 1000)
        return [[self._shown(str(error.filename)), error.lineno or 0, "<module>", text]]


def under_name(filename, code_file):
    """Returns the file name of a cell as that of the code file, unless there is none."""
    return code_file if code_file and _CELL.fullmatch(filename) else filename


def class_name(error):
    """Returns the name of an exception's class, whatever its metaclass does."""
    return kinds.name(type(error))


def let_go(error):
    """Ends the cycle in which an exception keeps all that its frames held.

    Its frames refer to the finished frames of ours that called them, and those
    to the exception that they returned.
    """
    trace = _TRACEBACK(error)
    frame = trace and trace.tb_frame
    while frame is not None:
        try:
            frame.clear()
        except RuntimeError:  # still running, as all further ones
            return
        frame = frame.f_back


def clean_exit(error):
    """Returns what ends a program without fault, as one writes it; "" for other exceptions."""
    if not issubclass(type(error), SystemExit):
        return ""
    if error.code is None:
        return "SystemExit"
    is_clean = isinstance(error.code, int) and error.code == 0
    return f"SystemExit: {error.code}" if is_clean else ""


def shorten(text, limit):
    """Keeps head and tail of a text that is longer than limit characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[{cut} characters truncated]\n{text[-half:]}"


def entries(error):
    """Returns the entries of an exception's traceback, the outermost first."""
    found, trace = [], _TRACEBACK(error)
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def first_of_users(frames, plugins=()):
    """Returns the position of the first frame that is the user's, the outermost first.

    plugins are files of the operator's, whose frames count too. Without any of these it is
    what our own code has called.
    """
    files = [frame.f_code.co_filename for frame in frames]
    users = (i for i, file in enumerate(files) if file.startswith(CELLS) or file in plugins)
    behind = max((i + 1 for i, file in enumerate(files) if file.startswith(_OWN)), default=0)
    return next(users, behind)


def is_own(entry):
    """Says whether an entry of a traceback is of what runs the user's code."""
    return _is_own_file(_file(entry))


def _is_own_file(file):
    return file.startswith((*_OWN, _IMPORTS)) or _IPYTHON in file


def _file(entry):
    return entry.tb_frame.f_code.co_filename


def _cut(items, limit):
    return items if len(items) <= limit else items[: limit // 2] + items[-limit // 2 :]


def _place(part):
    """Returns the file and first line of a statement's code, None without code."""
    if part is None:
        return None
    lines = [line for _, _, line in part.co_lines() if line]
    return part.co_filename, min(lines, default=1)


def _ipython_text(error, trace, code_file):
    ultratb = lazy_import.load("IPython.core.ultratb")
    try:
        formatter = ultratb.VerboseTB(theme_name="nocolor", include_vars=True)
    except TypeError:  # before IPython 9
        formatter = ultratb.VerboseTB(color_scheme="NoColor", include_vars=True)
    lines = formatter.structured_traceback(type(error), error, trace)
    text = "\n".join(lines) + "\n"
    return _IPYTHON_PLACE.sub(f"File {code_file}:", text) if code_file else text


def _complete_syntax_error(error):
    """Adds the line that the compiler, unlike the parser, does not add itself."""
    if issubclass(type(error), SyntaxError) and error.text is None and error.lineno:
        error.text = (
            lazy_import.load("linecache").getline(str(error.filename), error.lineno) or None
        )


def _code_of(error):
    try:
        return shorten(str(error), 1000)
    except Exception:
        return "(its code can't be shown)"


def _info(error):
    info = {"args": [encode.encode(arg, INFO_LIMIT).value for arg in _ARGS(error)[:20]]}
    for field in ("name", "msg"):
        value = _attribute(error, field)
        if isinstance(value, str):
            info[field] = shorten(str.__str__(value), 1000)
    if issubclass(type(error), AttributeError) and "name" in info:
        info["obj"] = brief_repr(_attribute(error, "obj"))
    return info


def _attribute(error, field):
    try:
        return getattr(error, field, None)
    except Exception:
        return None
