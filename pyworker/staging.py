"""Bulk output: memory that the worker writes to and the server reads.

An execution that prints very often pays a system call for each write. So after
a while the text of stdout goes into a ring of shared memory instead. It is in
the server's reach at once, whatever becomes of this process: the bytes are
copied first and then the count of them, so a death in between loses no more
than the piece that is being written. The server takes each byte exactly once:
when a part of the ring is full, when the bell is rung, when it reads anything
from the pipes, and every 20 ms.

What was staged comes before anything that is written to a pipe later, because
the server looks at the ring after each read of a pipe. The other way round needs
a handshake: before text is staged again after a write to a pipe, the
server confirms that it has delivered all there is (_open). A flush, a fork and
the start of a subprocess end staging until there was much output once more, so
what they write keeps its place too. os.write(1, ...) and printf of C code in the
midst of staging come after the prints before them; prints of the next fraction
of a millisecond may come before them.

The ring has one writer: no code of Python's runs, in any thread, between the
bytecodes of write that change it, as long as there is a GIL. A finalizer of
the garbage collector may; _busy sends what it prints to the pipe.
"""

import _thread
import os
import sys

from . import late
from .order import wait_until

HEADER = 4096  # bytes before the ring
SIZE = 256 << 10  # bytes of the ring
_PART = 64 << 10  # the server is told when so many bytes have come

# The header's words of 8 bytes. Counts are of bytes since the start.
_HEAD = 0  # ours: how much was staged
_REQUEST = 1  # ours: the number of the handshake that is asked for
_ACTIVE = 2  # ours: 1 while text may be staged without the bell being rung
_TAIL = 8  # the server's: how much it has taken
_ANSWER = 9  # the server's: the number of the last handshake that it has given

_RING = (1).to_bytes(8, sys.byteorder)
_CLOSED = 1  # a limit that sends other threads to wait for the lock
_LOOK = 1  # milliseconds between two looks for room

# The audit events after which another program writes to our pipes.
_SPAWNING = frozenset(
    (
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    )
)


def is_possible():
    """Says whether this interpreter keeps what write relies on."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and has_gil()


def _part_after(count):
    return (count // _PART + 1) * _PART


class Stage:
    """The writing side of the ring."""

    __slots__ = (
        "on",
        "limit",
        "_memory",
        "_words",
        "_at",
        "_base",
        "_granted",
        "_busy",
        "_slow",
        "_lock",
        "_raw",
        "_fd",
        "_bell",
        "_pipe",
    )

    def __init__(self, fd, bell, pipe):
        self.on = False  # text is being staged
        self._memory = None  # mapped when it is needed first
        self._words = None
        self._at = HEADER  # where in the memory the next byte goes
        self._base = 0  # what _at plus this counts is the head
        # How far write may go by itself: to the end of a part. Whoever writes to
        # a pipe sets it to 0 first, so that a handshake comes next.
        self.limit = 0
        self._granted = 0  # the head may grow to this, the server has made room
        self._fd = fd
        self._bell = bell
        self._pipe = pipe  # stdout's own, which breaks when the server is gone
        self._raw = None
        self._reset()

    def _reset(self):
        self._busy = False  # in the midst of a change of the ring
        self._slow = False  # in the midst of _write_slowly
        self._lock = _thread.RLock()

    def write(self, data):
        """Stages data; takes the place of the raw stream's write."""
        size = len(data)
        try:
            if not self._busy:
                self._busy = True
                end = self._at + size
                if end <= self.limit:
                    self._memory[self._at : end] = data
                    self._at = end
                    self._words[_HEAD] = end + self._base
                    self._busy = False
                    return size
                self._busy = False
        except (TypeError, ValueError, IndexError, BufferError):
            self._busy = False  # not so many bytes, or no bytes at all
        return self._write_slowly(data)

    def _write_slowly(self, data):
        with self._lock:
            # Busy is whom a signal handler or a finalizer interrupts to print.
            if not self.on or self._busy or self._slow:
                return self._raw.write_now(data)
            self._slow = True
            try:
                if self.limit:
                    self.limit = _CLOSED
                return self._write_all(memoryview(data).cast("B"))
            finally:
                self._slow = False
                self._place()

    def _write_all(self, rest):
        size = len(rest)
        while rest:
            piece = rest[:_PART]  # a piece is staged as a whole or not at all
            if not self._make_room(len(piece)):
                self._raw.write_now(rest)
                break
            self._put(piece)
            rest = rest[len(piece) :]
        return size

    def _put(self, piece):
        head = self._words[_HEAD]
        start = head % SIZE
        rest = max(0, start + len(piece) - SIZE)  # goes to the ring's beginning
        fits = len(piece) - rest
        self._memory[HEADER + start : HEADER + start + fits] = piece[:fits]
        self._memory[HEADER : HEADER + rest] = piece[fits:]
        self._words[_HEAD] = head + len(piece)

    def _make_room(self, size):
        """Says whether so many bytes may be staged: not when staging has ended."""
        while self.on:
            if not self.limit:
                self._open()
            elif self._words[_HEAD] + size > self._granted:
                self._go_on(self._words[_HEAD] + size)
            else:
                return True
        return False

    def _open(self):
        """Has the server deliver all there is; text may be staged from then on."""
        try:
            self.limit = _CLOSED
            self._raw.take_turn()
            words = self._words
            number = words[_REQUEST] + 1
            words[_REQUEST] = number
            self._ring()
            answered = wait_until(lambda: words[_ANSWER] == number)
        except BaseException:  # of a signal handler: the pipes may hold text yet
            self.limit = 0
            raise
        if answered:
            self._granted = _part_after(words[_HEAD])
        else:
            self.leave(for_good=True)

    def _go_on(self, head):
        """Waits until there is room for head bytes and the rest of their part."""
        self._ring()
        granted = _part_after(head)
        if self._wait_for(granted - SIZE):
            self._granted = granted
        else:
            self.leave(for_good=True)

    def _place(self):
        """Lets write go on where the head is, unless a handshake must come first."""
        head = self._words[_HEAD]
        self._at = HEADER + head % SIZE
        self._base = head - self._at
        limit = min(self._at + self._granted - head, HEADER + SIZE)
        if self.limit:
            self.limit = limit

    def _wait_for(self, tail):
        """Waits until the server has taken tail bytes; false if it is gone."""
        if wait_until(lambda: self._words[_TAIL] >= tail):
            return True
        poll = late.load("select").poll()
        poll.register(self._pipe, 0)  # errors are reported all the same
        while self._words[_TAIL] < tail:
            if poll.poll(_LOOK):
                return False
        return True

    def _ring(self):
        try:
            os.write(self._bell, _RING)
        except OSError:  # the user's code has closed it
            self.leave(for_good=True)

    def enter(self, raw):
        """Begins to stage what raw is given, from its next write on."""
        if self._slow or (self._memory is None and not self._map()):
            return
        self._raw = raw
        self._busy = False
        self.limit = 0
        self._words[_ACTIVE] = 1
        self.on = True
        raw.write = self.write

    def staged(self):
        """Returns how many bytes were ever staged."""
        return self._words[_HEAD] if self._memory is not None else 0

    def leave(self, for_good=False):
        """Ends staging; for_good: until the next execution at least."""
        self.limit = 0
        if self.on:
            self.on = False
            self._words[_ACTIVE] = 0
            self._raw.resume(for_good)
            self._ring()

    def take_over(self):
        """Takes the ring up where a dead process has left it."""
        self.forget()
        try:
            os.pwrite(self._fd, bytes(8), 8 * _ACTIVE)
        except OSError:  # the user's code has closed it
            return
        self._ring()

    def close(self):
        """Leaves the ring to the process that this one was copied from."""
        self.forget()
        if self._memory is not None:
            self._words.release()
            self._memory.close()
            self._memory = None
        for fd in (self._fd, self._bell):
            try:
                os.close(fd)
            except OSError:
                pass  # the user's code has closed it

    def forget(self):
        """Gives the ring up, in a child that user code has forked."""
        self.on = False
        self.limit = 0
        self._reset()

    def _map(self):
        try:
            memory = late.load("mmap").mmap(self._fd, HEADER + SIZE)
            _watch_for(self)
        except Exception:  # a descriptor was closed, a hook of the user's objects
            return False
        self._words = memoryview(memory).cast("Q")
        self._memory = memory
        return True


_watched = []  # the stage of this process, once it is mapped


def _watch_for(stage):
    if not _watched:
        sys.addaudithook(_watch)
    _watched[:] = [stage]


def _watch(event, _):
    if event in _SPAWNING:
        _watched[0].leave()
