"""Descriptors 0 to 2 and the text streams over them.

Text goes out at once, so that nothing printed is lost when the process dies
and its order with os.write and with child processes is exact. That costs two
system calls a print; what is printed very often within one execution therefore
takes a cheaper way until the execution ends: stdout through memory that the
server reads (see staging.py), or where there is none, either stream by lines.
"""

import io
import os
import sys

from . import asking, channel, cstdio, replaced, staging
from .openfiles import identity
from .order import Order

EAGER_WRITES = 1000  # writes of one execution after which a stream takes the cheaper way

_NAMES = ("stdin", "stdout", "stderr")
_NEVER = -(1 << 62)  # a count of writes that doesn't reach EAGER_WRITES
_CODING = {"encoding": "utf-8", "errors": "backslashreplace"}
_write = io.FileIO.write


class _Raw(io.FileIO):
    """A descriptor whose write returns only when everything is written."""

    def __init__(self, fd, order, stage):
        super().__init__(fd, "w", closefd=False)
        self.name = f"<{_NAMES[fd]}>"
        self.number = fd
        self.text = None  # the text stream over this
        self.partner = None  # the raw stream beside this
        self.flush_first = None  # the partner's flush, while that buffers lines
        self.count = _NEVER
        self._order = order
        self._stage = stage

    def write(self, data):
        self.count += 1
        if self.count == EAGER_WRITES:
            self._hurry()
            return self.write(data)
        return self.write_now(data)

    def write_now(self, data):
        """Writes to the descriptor, whatever way write takes."""
        if self.flush_first is not None:
            self.flush_first()
        if self._order.last is not self:
            self._order.turn_to(self)
        if self._stage is not None:
            self._stage.limit = 0  # no call, so no signal handler, before the write
        written = _write(self, data) or 0  # None: the pipe is full and won't block
        size = len(data) if type(data) is bytes else memoryview(data).nbytes
        if written < size:
            self._write_rest(memoryview(data).cast("B")[written:])
        if self._stage is not None:
            self._stage.limit = 0  # another thread's handshake may have come before the write
        return size

    def _write_rest(self, rest):
        """Goes on after a short write, as when a child has made the pipe non-blocking."""
        while rest:
            written = _write(self, rest)
            if written is None:
                _wait_for_room(self.fileno())
            else:
                rest = rest[written:]

    def _hurry(self):
        """Takes the cheaper way from now on."""
        if self._stage is None:
            self.text.reconfigure(line_buffering=True, write_through=False)
            self.partner.flush_first = self.text.flush
        elif self.number == 1:
            self._stage.enter(self)

    def flush(self):
        super().flush()
        self._end_staging()

    def close(self):
        """Closes nothing: the end of a user's wrapper would take what everybody prints to."""
        self._end_staging()

    def close_text(self, text):
        """Closes a text stream and this, as sys.stdout.close() is to do."""
        io.TextIOWrapper.close(text)
        super().close()

    def _end_staging(self):
        if "write" in self.__dict__:
            self._stage.leave()

    def take_turn(self):
        """Notes that what comes next is this stream's."""
        self._order.last = self

    def resume(self, for_good):
        """Writes to the descriptor from now on, when the stage is left."""
        self.__dict__.pop("write", None)
        self.count = _NEVER if for_good else 0

    def write_at_once(self):
        """Ends any buffering of text, ours and what the user has configured."""
        self.__dict__.pop("write", None)
        self.partner.flush_first = None
        if self.text.line_buffering or not self.text.write_through:
            self.text.reconfigure(line_buffering=False, write_through=True)

    def take_stage(self, stage):
        """Stages there from now on, or never again, in a fork."""
        self.resume(False)
        self._stage = stage


def _wait_for_room(fd):
    import select

    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        poll.poll()


class Streams:
    """The session's stdin, stdout and stderr: made once, repaired when broken."""

    def __init__(self, stage_fd=None, bell_fd=None):
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        self._spare = [channel.copy_high(fd) for fd in range(3)]
        self._identity = [identity(fd) for fd in range(3)]
        self.stdin = asking.Stdin()
        self._stage = self._make_stage(stage_fd, bell_fd)
        self._order = Order(self._spare)
        self._raws = {1: None, 2: None}
        self._texts = [self.stdin, self._make(1), self._make(2)]
        self._kept = {}  # by descriptor, what users have put in the place of a text stream
        self._notes = []
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
        self._kept = {fd: stream for fd in (1, 2) if (stream := self._keep(fd)) is not None}
        self._repair(_is_closed)
        for text in self._texts[1:]:
            _flush_quietly(text)
        self._leave_stage()  # a stream that can't be flushed may have staged too
        cstdio.flush()

    def _keep(self, fd):
        """Returns what a user has put in the place of a text stream, if it is to stay there."""
        stream = getattr(sys, _NAMES[fd], None)
        if stream is None or stream is self._texts[fd]:
            return None
        if stream is self._texts[3 - fd]:
            return stream if _is_sound(stream) else None
        self._leave_stage()
        if replaced.leads_to(stream, self._texts[1:], self._raws.values(), self._identity):
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
        """Begins an execution: its writes are counted from here."""
        self._order.begin()
        for raw in self._raws.values():
            raw.count = 0

    def written(self):
        """Returns what changes when anything is written to stdout or stderr."""
        staged = self._stage.staged() if self._stage is not None else 0
        return (*(raw.count for raw in self._raws.values()), staged)

    def restore(self):
        """Makes descriptors and streams what they were at the start."""
        self._leave_stage()
        self._repair(lambda fd, known: identity(fd) != known)
        if not _is_sound(self._texts[0]):
            self.stdin = self._texts[0] = asking.Stdin()
        for fd in (1, 2):
            if not _is_sound(self._texts[fd], **_CODING):
                self._texts[fd] = self._mend(fd)
        for raw in self._raws.values():
            raw.write_at_once()
            raw.count = _NEVER  # nothing is staged while no execution runs
        for fd, (name, text) in enumerate(zip(_NAMES, self._texts)):
            before, stream = getattr(sys, name, None), self._kept.get(fd, text)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", text)
            if before is not stream:
                before = None  # the end of a user's file closes its descriptor
                self._repair(_is_closed)

    def flush_own(self):
        """Writes out our own streams only, before a fork."""
        for text in self._texts[1:]:
            _flush_quietly(text)
        self._leave_stage()

    def forget_stage(self):
        """Leaves the stage to the parent, in a forked child."""
        if self._stage is not None:
            self._stage.forget()
        self._take_stage(None)

    def take_over(self):
        """Goes on with the pipes and the stage of the dead process that this is a copy of."""
        if self._stage is not None:
            self._stage.take_over()
        self.restore()

    def move(self, stdout, stderr, stage_fd=None, bell_fd=None):
        """Goes on with other pipes and another stage, in a copy of a process that lives.

        The new pipes take the place of the old ones under every number that
        those have: the user's code may have made copies.
        """
        if self._stage is not None:
            self._stage.close()
        for fd, new in ((1, stdout), (2, stderr)):
            for copy in _others_of(self._identity[fd]):
                os.dup2(new, copy, inheritable=os.get_inheritable(copy))
            os.dup2(new, self._spare[fd], inheritable=False)
            os.dup2(new, fd)
            os.close(new)
            self._identity[fd] = identity(fd)
        fds = (channel.move_high(fd) for fd in (stage_fd, bell_fd) if fd is not None)
        self._take_stage(self._make_stage(*fds))
        self.restore()

    def _make_stage(self, fd=None, bell=None):
        if fd is None or not staging.is_possible():
            return None
        return staging.Stage(fd, bell, self._spare[1])

    def _take_stage(self, stage):
        self._stage = stage
        for raw in self._raws.values():
            if raw is not None:
                raw.take_stage(stage)

    def identities(self):
        """Returns what tells the pipes of descriptors 1 and 2 from others."""
        return set(self._identity[1:])

    def _leave_stage(self):
        if self._stage is not None:
            self._stage.leave()

    def _repair(self, is_broken):
        for fd, known in enumerate(self._identity):
            if is_broken(fd, known):
                os.dup2(self._spare[fd], fd)

    def _make(self, fd):
        """Makes the text stream over descriptor 1 or 2, and pairs it with the other."""
        raw = self._raws[fd]
        if raw is None or raw.closed:
            raw = self._raws[fd] = _Raw(fd, self._order, self._stage)
        raw.partner = self._raws[3 - fd] or raw
        raw.partner.partner = raw
        text = raw.text = io.TextIOWrapper(raw, newline="\n", write_through=True, **_CODING)
        text.mode = "w"
        text.close = lambda: raw.close_text(text)
        return text

    def _mend(self, fd):
        """Returns the text stream with its coding, or another where it is closed or detached."""
        try:
            self._texts[fd].reconfigure(newline="\n", **_CODING)
        except ValueError:
            return self._make(fd)
        return self._texts[fd]


def _others_of(known):
    """Returns the open descriptors of the pipe of that identity."""
    fds = map(int, os.listdir("/proc/self/fd"))
    return [fd for fd in fds if identity(fd) == known]


def _is_closed(fd, _):
    return identity(fd) is None


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
