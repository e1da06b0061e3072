"""Children that the user's code forks: os.fork, multiprocessing, pty."""

import os
import sys

from pyworker import lazy_import


def prefer_fork(version=sys.version_info):
    """Makes fork the default method of multiprocessing, as it was before Python 3.14.

    The method that came then, a server that forks, imports __main__ by its file:
    it finds no function that was defined in a cell, and a Pool waits for ever.
    """
    if version < (3, 14) or sys.platform != "linux":
        return
    context = lazy_import.load("multiprocessing.context")
    context._default_context._default_context = context._concrete_contexts["fork"]


class UserForks:
    """Keeps the frames to the worker itself."""

    def __init__(self, channel, streams):
        self.in_child = False
        self.ours = False  # a fork is going on that is not the user's
        self._channel = channel
        if hasattr(os, "register_at_fork"):
            # A child must not print once more what its parent has printed.
            os.register_at_fork(before=streams.flush_own, after_in_child=self._leave_parent)

    def _leave_parent(self):
        if self.ours:
            return
        self.in_child = True
        self._channel.close()

    def end(self, error, text, flush):
        """Ends a child whose code has come back to the executor, as Python would.

        text gives the traceback of error, flush writes out what is held back.
        """
        code = int(error is not None)
        if issubclass(type(error), SystemExit):  # its message goes to stderr
            if isinstance(error.code, (int, type(None))):
                code = (error.code or 0) & 0xFF
            else:
                print(error.code, file=sys.stderr)
        elif error is not None:
            sys.stderr.write(text(error))
        try:
            flush()
        finally:
            os._exit(code)
