"""Descriptors 0 to 2 and the text streams over them.

Text goes out at once, so that nothing printed is lost when the process dies
and its order with os.write and with child processes is exact. That costs two
system calls a print; a stream that is written to very often within one
execution is therefore buffered by lines until the execution ends.
"""

import io
import os
import sys

from . import asking, channel, cstdio

EAGER_WRITES = 1000  # writes of one execution after which a stream buffers lines

_NAMES = ("stdin", "stdout", "stderr")
_write = io.FileIO.write


class _Raw(io.FileIO):
    """A descriptor whose write returns only when everything is written."""

    def __init__(self, fd, name):
        super().__init__(fd, "w", closefd=False)
        self.name = name
        self.text = None  # the text stream over this
        self.partner = None  # the raw stream beside this
        self.flush_first = None  # the partner's flush, while that buffers lines
        self.count = 0

    def write(self, data):
        self.count += 1
        if self.count == EAGER_WRITES:
            self._buffer_lines()
        if self.flush_first is not None:
            self.flush_first()
        written = _write(self, data) or 0  # None: the pipe is full and won't block
        size = len(data) if type(data) is bytes else memoryview(data).nbytes
        if written < size:
            self._write_rest(memoryview(data).cast("B")[written:])
        return size

    def _write_rest(self, rest):
        """Goes on after a short write, as when a child has made the pipe non-blocking."""
        while rest:
            written = _write(self, rest)
            if written is None:
                _wait_for_room(self.fileno())
            else:
                rest = rest[written:]

    def _buffer_lines(self):
        self.text.reconfigure(line_buffering=True, write_through=False)
        self.partner.flush_first = self.text.flush

    def write_at_once(self):
        """Ends any buffering of text, ours and what the user has configured."""
        self.count = 0
        self.partner.flush_first = None
        if self.text.line_buffering or not self.text.write_through:
            self.text.reconfigure(line_buffering=False, write_through=True)


def _wait_for_room(fd):
    import select

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
        self._identity = [_identity(fd) for fd in range(3)]
        self.stdin = asking.make_stdin()
        self._raws = {1: None, 2: None}
        self._texts = [self.stdin, self._make(1), self._make(2)]
        self.restore()

    def report(self, line):
        """Writes a line to the stderr that was there at the start, if it still is."""
        for fd in (self._spare[2], 2):
            try:
                os.write(fd, line.encode("utf-8", "backslashreplace") + b"\n")
                return
            except OSError:
                pass  # the user's code has closed it

    def flush(self):
        """Writes out what Python and C hold back. Runs the user's own streams."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name, None)
            if not any(stream is text for text in self._texts):
                _flush_quietly(stream)
        self._repair(_is_closed)
        for text in self._texts[1:]:
            _flush_quietly(text)
        cstdio.flush()

    def restore(self):
        """Makes descriptors and streams what they were at the start."""
        self._repair(lambda fd, identity: _identity(fd) != identity)
        if not _is_sound(self._texts[0]):
            self.stdin = self._texts[0] = asking.make_stdin()
        for fd in (1, 2):
            if not _is_sound(self._texts[fd], "utf-8", "backslashreplace"):
                self._texts[fd] = self._make(fd)
        for raw in self._raws.values():
            raw.write_at_once()
        for name, text in zip(_NAMES, self._texts):
            setattr(sys, name, text)
            setattr(sys, f"__{name}__", text)

    def flush_own(self):
        """Writes out our own streams only, before a fork."""
        for text in self._texts[1:]:
            _flush_quietly(text)

    def _repair(self, is_broken):
        for fd, identity in enumerate(self._identity):
            if is_broken(fd, identity):
                os.dup2(self._spare[fd], fd)

    def _make(self, fd):
        """Makes the text stream over descriptor 1 or 2, and pairs it with the other."""
        raw = self._raws[fd] = _Raw(fd, f"<{_NAMES[fd]}>")
        raw.partner = self._raws[3 - fd] or raw
        raw.partner.partner = raw
        raw.text = io.TextIOWrapper(
            raw, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True
        )
        raw.text.mode = "w"
        return raw.text


def _identity(fd):
    """What tells one open pipe from another, or None for a closed descriptor."""
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_closed(fd, _):
    return _identity(fd) is None


def _is_sound(text, encoding=None, errors=None):
    """Says whether a stream of ours is open and encodes as it did at the start."""
    try:
        if text.closed:
            return False
    except ValueError:  # detached
        return False
    return encoding is None or (text.encoding == encoding and text.errors == errors)


def _flush_quietly(stream):
    """Flushes any object that stands for a stream."""
    try:
        stream.flush()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # a user's object without flush, or a closed one: nothing to save
