"""Descriptors 0 to 2 and the text streams over them.

What is printed goes out at once, half a line too, so that a process may die after it and
nothing is lost, and its order with os.write, with C code and with child processes is exact.
"""

import io
import os
import sys

from . import asking, channel, lazy_import, replaced
from .openfiles import identity
from .order import Order

_NAMES = ("stdin", "stdout", "stderr")
_AS_AT_START = {
    "encoding": "utf-8",
    "errors": "backslashreplace",
    "newline": "\n",
    "line_buffering": True,
    "write_through": True,
}
_write = io.FileIO.write


class _Raw(io.FileIO):
    """A descriptor whose write returns only when everything is written."""

    def __init__(self, fd, order):
        super().__init__(fd, "w", closefd=False)
        self.name = f"<{_NAMES[fd]}>"
        self.count = 0  # of writes
        self._fd = fd
        self._order = order

    def write(self, data):
        if type(data) is not bytes:
            data = memoryview(data).tobytes()
        if self._order.last != self._fd:
            self._order.turn_to(self._fd)
        self.count += 1
        written, size = _write(self, data) or 0, len(data)
        while written < size:  # as when a child has made the pipe non-blocking
            if (step := _write(self, memoryview(data)[written:])) is None:
                _wait_for_room(self._fd)
            else:
                written += step
        return size

    def close(self):
        """Closes nothing: what everybody prints to goes on after a user's wrapper of it."""


def _wait_for_room(fd):
    select = lazy_import.load("select")
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        poll.poll()


class Streams:
    """The session's stdin, stdout and stderr: made once, repaired when broken."""

    def __init__(self):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        self._spare = [channel.copy_high(fd) for fd in range(3)]
        self._identity = [identity(fd) for fd in range(3)]
        self._order = Order(self._spare)
        self._raws = {fd: _Raw(fd, self._order) for fd in (1, 2)}
        self._texts = [self._make(fd) for fd in range(3)]
        self._kept = {}  # by descriptor, what users have put in the place of a text stream
        self._notes = []
        self.restore()

    @property
    def stdin(self):
        """The text stream by which the user is asked."""
        return self._texts[0]

    def report(self, line):
        """Writes a line to the stderr that was there at the start, if it still is."""
        for fd in (self._spare[2], 2):
            try:
                os.write(fd, line.encode("utf-8", "backslashreplace") + b"\n")
                return
            except OSError:
                pass  # the user's code has closed it

    def flush(self):
        """Writes out what Python holds back. Runs the user's own streams."""
        self._kept = {fd: stream for fd in (1, 2) if (stream := self._keep(fd)) is not None}
        self._repair()
        self.flush_own()

    def _keep(self, fd):
        """Returns what a user has put in the place of a text stream, if it is to stay there."""
        stream = getattr(sys, _NAMES[fd], None)
        if stream is None or stream is self._texts[fd]:
            return None
        ours = (*self._texts[1:], *self._raws.values())
        if replaced.leads_to(stream, ours, self._identity):
            replaced.settle(stream)
            return stream
        self._notes.append(replaced.note(_NAMES[fd], stream))
        return None

    def take_notes(self):
        """Returns sentences about what was put in the place of a stream and is gone, once."""
        notes, self._notes = self._notes, []
        return notes

    def show_typed(self, line):
        """Shows on stdout what a person has answered, as a terminal would."""
        if sys.stdout is self._texts[1]:
            print(line, flush=True)

    def begin(self):
        """Begins an execution."""
        self._order.begin()

    def written(self):
        """Returns what changes when anything is written to stdout or stderr."""
        self.flush_own()
        return [raw.count for raw in self._raws.values()]

    def restore(self, repaired=False):
        """Makes descriptors and streams what they were at the start.

        repaired says that the descriptors are, by flush() a moment ago.
        """
        if not repaired:
            self._repair()
        for fd, name in enumerate(_NAMES):
            text = self._texts[fd] = self._mend(fd)
            setattr(sys, f"__{name}__", text)
            before, stream = getattr(sys, name, None), self._kept.get(fd, text)
            if before is not stream:
                setattr(sys, name, stream)
                before = None  # the end of a user's file closes its descriptor
                self._repair()

    def flush_own(self):
        """Writes out our own streams only, as before a fork."""
        for text in self._texts[1:]:
            _flush_quietly(text)

    def move(self, stdout, stderr):
        """Goes on with other pipes, in a copy of a process that lives.

        They take the place of the old ones under every number that those have: the
        user's code may have made copies.
        """
        for fd, new in ((1, stdout), (2, stderr)):
            for copy in map(int, os.listdir("/proc/self/fd")):
                if identity(copy) == self._identity[fd]:
                    os.dup2(new, copy, inheritable=os.get_inheritable(copy))
            os.dup2(new, self._spare[fd], inheritable=False)
            os.dup2(new, fd)
            os.close(new)
            self._identity[fd] = identity(fd)
        self.restore()

    def identities(self):
        """Returns what tells the pipes of descriptors 1 and 2 from others."""
        return set(self._identity[1:])

    def _repair(self):
        for fd, known in enumerate(self._identity):
            if identity(fd) != known:
                os.dup2(self._spare[fd], fd)

    def _make(self, fd):
        if fd == 0:
            return asking.Stdin()
        text = io.TextIOWrapper(self._raws[fd], **_AS_AT_START)
        text.mode = "w"
        return text

    def _mend(self, fd):
        """Returns a text stream as it was at the start, or another if it was closed or detached."""
        text = self._texts[fd]
        try:
            if text.closed:
                return self._make(fd)
            if fd:
                text.reconfigure(**_AS_AT_START)
        except ValueError:  # detached
            return self._make(fd)
        return text


def _flush_quietly(stream):
    """Flushes a stream of ours, which may be detached or broken: then there is nothing to save."""
    try:
        stream.flush()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass
