"""The worker's end of the frames socket, and the high descriptors it lives on."""

import os
import sys

from . import protocol

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
    for lowest in (_HIGH, _LOW, 3):
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            if lowest == 3:
                raise
    raise AssertionError


class Channel:
    """Sends and receives frames. Sending is safe from several threads."""

    def __init__(self, stream, interrupts):
        import _thread

        self._stream = stream
        self._interrupts = interrupts
        self._lock = _thread.allocate_lock()
        self._decoder = protocol.Decoder()
        self.closed = False  # in a forked child

    def receive(self):
        """Returns the next frame, or None when the other side has closed."""
        while True:
            frame = self._decoder.next()
            if frame is not None:
                return frame
            self._stream.wait()
            self._interrupts.awake()
            data = self._stream.read(READ_SIZE)
            if not data:
                self._decoder.finish()
                return None
            self._decoder.feed(data)

    def has_input(self):
        """Says whether something has come that was not read yet."""
        return self._stream.readable()

    def send(self, header, attachments=()):
        """Writes one frame, whole: an interrupt is put off until it is out."""
        if self.closed:
            return
        pieces = protocol.encode(header, attachments)
        with self._interrupts.held(), self._lock:
            for piece in pieces:
                self._stream.write(piece)

    def log(self, level, message):
        """Sends a line for the server's log."""
        self.send({"type": "log", "level": level, "message": message})

    def close(self):
        """Closes the descriptor, in a child that user code has forked."""
        self.closed = True
        self._stream.close()


class DescriptorStream:
    """A connected socket by its descriptor: no socket module is needed."""

    def __init__(self, fd):
        import select

        self._fd = fd
        os.set_blocking(fd, True)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def wait(self):
        """Blocks until there is something to read, the end included."""
        self._poll.poll()

    def readable(self):
        import select

        # Not self._poll: a signal handler asks this while wait() is in it.
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))

    def read(self, size):
        try:
            return os.read(self._fd, size)
        except ConnectionError:
            return b""

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self):
        try:
            os.close(self._fd)
        except OSError:
            pass  # the user's code has closed it already


class SocketStream:
    """A TCP connection to the server, on systems without socket pairs."""

    def __init__(self, port, token):
        import socket

        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(token.encode("ascii"))

    def wait(self):
        """Blocks until there is something to read, the end included."""
        import select

        # In steps: where select can't be interrupted, a handler runs between.
        while not select.select([self._socket], [], [], 1.0)[0]:
            pass

    def readable(self):
        import select

        return bool(select.select([self._socket], [], [], 0)[0])

    def read(self, size):
        try:
            return self._socket.recv(size)
        except ConnectionError:
            return b""

    def write(self, data):
        self._socket.sendall(data)

    def close(self):
        self._socket.close()


def open_stream(where):
    """Opens the frames at a descriptor's number or at "tcp:127.0.0.1:PORT"."""
    if not where.startswith("tcp:"):
        return DescriptorStream(move_high(int(where)))
    token = os.environ.pop("UNDERSTUDY_FRAMES_TOKEN", "")
    if len(token) != 64:
        sys.exit("pyworker: UNDERSTUDY_FRAMES_TOKEN must hold the 64 characters of the token")
    return SocketStream(int(where.rpartition(":")[2]), token)
