"""The worker's end of the frames socket, and the high descriptors it lives on."""

import _socket
import _thread
import os
import sys

from . import lazy_import, openfiles, protocol

READ_SIZE = 1 << 16  # bytes

# Where our own descriptors go: above what careless code closes, as in
# os.closerange(3, 1024), as far as the limit on open files leaves room.
_HIGH = 1100
_LOW = 100


def move_high(fd):
    """Returns a copy of fd with a high number that no exec inherits; closes fd."""
    copy = copy_high(fd)
    os.close(fd)
    return copy


def copy_high(fd):
    """Returns a copy of fd with a high number that no exec inherits."""
    try:
        import fcntl
    except ImportError:  # Windows
        return os.dup(fd)
    for lowest in (_HIGH, _LOW):
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            pass  # the limit is lower
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


class Channel:
    """Sends and receives frames. Sending is safe from several threads."""

    def __init__(self, stream, interrupts):
        self._interrupts = interrupts
        self.closed = False  # in a forked child
        self.in_run = False  # an execution runs, or is being answered
        # Waits in its own way until the stream can be read, or returns False.
        self.background = lambda stream: False
        self._begin(stream)

    def _begin(self, stream):
        self._stream = stream
        self._lock = _thread.allocate_lock()
        self._decoder = protocol.Decoder()
        self._descriptors = []  # that the last frame has brought

    def change_over(self, fd):
        """Goes on with another socket, in a copy of the process that had the first."""
        self._stream.close()
        self._begin(Stream(move_high(fd)))

    def receive(self):
        """Returns the next frame, or None when the other side has closed.

        The descriptors that the frame before has brought are closed, unless
        they were taken.
        """
        for fd in self.take_descriptors():
            os.close(fd)
        while True:
            if (frame := self._decoder.next()) is None:
                if not self.background(self._stream):
                    self._stream.wait()
                self._interrupts.awake()
                if not self._read():
                    self._decoder.finish()
                    return None
            elif frame[0]["type"] != "answer":
                self._interrupts.awake()  # it may have come with an answer that was late
                if count := frame[0].get("descriptors"):
                    self._descriptors = self._stream.descriptors(count)
                return frame
            elif not self.has_input():
                self._interrupts.rest()  # the question had been interrupted

    def receive_answer(self):
        """Returns the header of the next frame, which answers a question of the code's.

        An interrupt, or what a handler of the user's raises, ends the wait and
        loses nothing.
        """
        while True:
            with self._interrupts.held():
                if (frame := self._decoder.next()) is not None:
                    break
                if self.has_input():
                    if not self._read():
                        raise EOFError("the server has gone")
                    continue
            self._stream.wait(1)  # a signal that comes just before this is heard after it
        if frame[0]["type"] != "answer":
            raise protocol.ProtocolError("order", f"{frame[0]['type']} came at the wrong time")
        protocol.check_fields(frame[0])
        return frame[0]

    def _read(self):
        """Feeds the decoder what has come; false at the end of the stream."""
        data = self._stream.read(READ_SIZE)
        self._decoder.feed(data)
        return bool(data)

    def has_input(self):
        """Says whether something has come that was not read yet."""
        return self._stream.wait(0)

    def fileno(self):
        """Returns the socket's descriptor."""
        return self._stream.fileno()

    def identity(self):
        """Returns what tells the present socket from others."""
        return openfiles.identity(self.fileno())

    def take_descriptors(self):
        """Returns the descriptors that came with the last frame, now the caller's.

        There are none when this process had no room for them.
        """
        taken, self._descriptors = self._descriptors, []
        return taken

    def send(self, header, attachments=()):
        """Writes one frame, whole: an interrupt is put off until it is out."""
        if self.closed:
            return
        if header["type"] in protocol.OF_RUNS and not self.in_run:
            sys.stderr.write(f"[{header['type']} between two calls: {header.get('path', '')}]\n")
            return
        pieces = protocol.encode(header, attachments)
        with self._interrupts.held(), self._lock:
            for piece in pieces:
                self._stream.write(piece)

    def send_descriptor(self, header, fd):
        """Writes one frame that a descriptor comes with."""
        data = b"".join(protocol.encode({**header, "descriptors": 1}))
        with self._interrupts.held(), self._lock:
            self._stream.write(data, fd)

    def log(self, level, message):
        """Sends a line for the server's log."""
        self.send({"type": "log", "level": level, "message": message})

    def close(self):
        """Closes the descriptor, in a child that user code has forked."""
        self.closed = True
        self._stream.close()


class Stream:
    """A connected socket by its descriptor: the socket module is not needed."""

    def __init__(self, fd):
        self._socket = _socket.socket(fileno=fd)
        self._socket.settimeout(None)  # the user may have set a default
        self._groups = []  # of descriptors, as they were sent, oldest first

    def fileno(self):
        return self._socket.fileno()

    def wait(self, seconds=None):
        """Waits for input, the end included, and says whether there is some.

        What a signal's handler raises goes through.
        """
        select = lazy_import.load("select")
        if hasattr(select, "poll"):
            poll = select.poll()  # a new one: a signal's handler may wait in turn
            poll.register(self.fileno(), select.POLLIN)
            return bool(poll.poll(None if seconds is None else 1000 * seconds))
        # In steps: where select can't be interrupted, a handler runs between.
        while not select.select([self], [], [], 1 if seconds is None else seconds)[0]:
            if seconds is not None:
                return False
        return True

    def read(self, size):
        """Returns what has come, b"" at the end of the stream."""
        try:
            if not hasattr(self._socket, "recvmsg"):  # Windows
                return self._socket.recv(size)
            space = _socket.CMSG_SPACE(4 * protocol.DESCRIPTOR_LIMIT)
            close_on_exec = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
            data, extra, flags, _ = self._socket.recvmsg(size, space, close_on_exec)
        except ConnectionError:
            return b""
        if extra or flags & _socket.MSG_CTRUNC:
            self._groups.append([fd for _, _, each in extra for fd in memoryview(each).cast("i")])
        return data

    def descriptors(self, count):
        """Returns the count descriptors of the oldest frame that has brought some.

        Where this process had no room for all of them, it returns none.
        """
        group = self._groups.pop(0) if self._groups else []
        if len(group) == count:
            return group
        for fd in group:
            os.close(fd)
        return []

    def write(self, data, fd=None):
        """Writes all of it, with a descriptor if one is given."""
        if fd is not None:
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(4, sys.byteorder))
            data = data[self._socket.sendmsg([data], [rights]) :]
        self._socket.sendall(data)

    def close(self):
        try:
            self._socket.close()
        except OSError:
            pass  # the user's code has closed it already


def open_stream(where):
    """Opens the frames at a descriptor's number or at "tcp:127.0.0.1:PORT"."""
    if not where.startswith("tcp:"):
        return Stream(move_high(int(where)))
    token = os.environ.pop("UNDERSTUDY_FRAMES_TOKEN", "")
    if len(token) != 64:
        sys.exit("pyworker: UNDERSTUDY_FRAMES_TOKEN must hold the 64 characters of the token")
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    connection.connect(("127.0.0.1", int(where.rpartition(":")[2])))
    connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    connection.sendall(token.encode("ascii"))
    return Stream(connection.detach())
