"""The user's frames alone, for whatever walks the stack or looks for a source.

Nothing in Python cuts the chain of frames under code that runs in the main thread, so
those who walk it are led: traceback (and with it logging's stack_info), inspect.stack,
and warnings whose level reaches past the cell. sys._getframe() and faulthandler, which
is C, still see all. Where a code file is kept, traceback and warnings name it for cells.
"""

import linecache
import os
import re
import sys

from . import sources
from .imports import when_imported
from .tracebacks import CELLS, under_name

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ENDS = (_HERE + "executor.py", _HERE + "loop.py")  # under these nothing is the user's


def install(code_file):
    """Leads those that walk the stack, as soon as they are imported.

    code_file is the name that cells are shown under, "" for their own.
    """
    when_imported("traceback", lambda module: _lead_traceback(module, code_file))
    when_imported("inspect", _lead_inspect)
    when_imported("warnings", lambda module: _lead_warnings(module, code_file))


def users_frames(frame):
    """Yields a frame and those that called it, without ours."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _ENDS:
            return
        if not file.startswith(_HERE):
            yield frame
        frame = frame.f_back


def _lead_traceback(traceback, code_file):
    def walk_stack(f):
        """Walk a stack yielding the frame and line number for each frame."""
        if f is None:
            f = sys._getframe(1)
        return ((frame, frame.f_lineno) for frame in users_frames(f))

    format_frames = traceback.StackSummary.format

    def format(self, **options):
        for frame in self:
            name = under_name(frame.filename, code_file)
            if name != frame.filename and frame.line is not None:  # found under the old name
                frame.filename = name
        return format_frames(self, **options)

    traceback.walk_stack = walk_stack
    if code_file:
        format.__doc__ = format_frames.__doc__
        traceback.StackSummary.format = format


def _lead_inspect(inspect):
    outer, file_of = inspect.getouterframes, inspect.getfile

    def getouterframes(frame, context=1):
        kept = set(map(id, users_frames(frame)))
        return [info for info in outer(frame, context) if id(info.frame) in kept]

    def getfile(object):
        cell = isinstance(object, type) and object.__module__ == "__main__" and _cell_of(object)
        return cell or file_of(object)

    for new, old in ((getouterframes, outer), (getfile, file_of)):
        new.__wrapped__, new.__doc__ = old, old.__doc__
        setattr(inspect, new.__name__, new)


def _lead_warnings(warnings, code_file):
    format_message = warnings._formatwarnmsg_impl

    def formatted(message):
        if message.filename.startswith(_HERE):  # as where there are no frames left
            message.filename, message.lineno, message.line = "sys", 1, ""
        if (name := under_name(message.filename, code_file)) != message.filename:
            if message.line is None:
                message.line = linecache.getline(message.filename, message.lineno)
            message.filename = name
        return format_message(message)

    warnings._formatwarnmsg_impl = formatted


def _cell_of(kind):
    """Returns the name of the cell that a class was made in, "" if that is not known.

    Its methods know. Of one without any, it is the newest cell that has such a class.
    """
    for value in vars(kind).values():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        code = getattr(function, "__code__", None)
        if (
            code is not None
            and code.co_filename.startswith(CELLS)
            and function.__qualname__ == f"{kind.__qualname__}.{code.co_name}"
        ):
            return code.co_filename
    return sources.find(re.compile(rf"\s*class\s+{re.escape(kind.__name__)}\b"))
