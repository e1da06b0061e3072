"""The worker's end of the frames socket, and the high descriptors it lives on."""

import os
import sys

from . import openfiles, protocol

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
        self._descriptors = []  # that the last frame has brought
        self.closed = False  # in a forked child
        self.in_run = False  # an execution runs, or is being answered
        # Waits in its own way until the stream can be read, or returns False.
        self.background = lambda stream: False

    def change_over(self, fd):
        """Goes on with another socket, in a copy of the process that had the first."""
        import _thread

        self._stream.close()
        self._stream = DescriptorStream(move_high(fd))
        self._decoder = protocol.Decoder()
        self._lock = _thread.allocate_lock()

    def receive(self):
        """Returns the next frame, or None when the other side has closed.

        The descriptors that the frame before has brought are closed, unless
        they were taken.
        """
        for fd in self.take_descriptors():
            os.close(fd)
        while True:
            frame = self._decoder.next()
            if frame is not None and frame[0]["type"] == "answer":
                self._pass_over()
                continue
            if frame is not None:
                self._interrupts.awake()  # it may have come with an answer that was late
                if count := frame[0].get("descriptors"):
                    self._descriptors = self._stream.descriptors(count)
                return frame
            self._wait()
            self._interrupts.awake()
            data = self._stream.read(READ_SIZE)
            if not data:
                self._decoder.finish()
                return None
            self._decoder.feed(data)

    def _wait(self):
        """Waits for input, whatever handlers of the user's do on signals meanwhile.

        What they raise, as on an alarm that was left behind, meets nobody.
        """
        while True:
            try:
                return self.background(self._stream) or self._stream.wait()
            except BaseException as error:
                if error.__traceback__.tb_next.tb_next is None:
                    raise  # it is wait's own, not that of a function it was interrupted by

    def fileno(self):
        """Returns the socket's descriptor."""
        return self._stream.fileno()

    def identity(self):
        """Returns what tells the present socket from others."""
        return self._stream.identity()

    def take_descriptors(self):
        """Returns the descriptors that came with the last frame, now the caller's.

        There are none when this process had no room for them.
        """
        taken, self._descriptors = self._descriptors, []
        return taken

    def _pass_over(self):
        """Leaves an answer that came when the question had been interrupted."""
        if not self.has_input():
            self._interrupts.rest()

    def receive_answer(self):
        """Returns the header of the next frame, which answers a question of the code's.

        An interrupt, or what a handler of the user's raises, ends the wait and
        loses nothing.
        """
        while True:
            with self._interrupts.held():
                header = self._read_answer()
            if header is not None:
                return header
            self._stream.wait_a_second()

    def _read_answer(self):
        """Returns the header of the next frame if it has come, whole."""
        if (frame := self._decoder.next()) is None:
            if not self.has_input():
                return None
            data = self._stream.read(READ_SIZE)
            if not data:
                raise EOFError("the server has gone")
            self._decoder.feed(data)
            if (frame := self._decoder.next()) is None:
                return None
        header = frame[0]
        if header["type"] != "answer":
            raise protocol.ProtocolError("order", f"{header['type']} came at the wrong time")
        protocol.check_fields(header)
        return header

    def has_input(self):
        """Says whether something has come that was not read yet."""
        return self._stream.readable()

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
            self._stream.write(data[self._stream.write_first(data, fd) :])

    def log(self, level, message):
        """Sends a line for the server's log."""
        self.send({"type": "log", "level": level, "message": message})

    def close(self):
        """Closes the descriptor, in a child that user code has forked."""
        self.closed = True
        self._stream.close()


class DescriptorStream:
    """A connected socket by its descriptor: the socket module is not needed."""

    def __init__(self, fd):
        import _socket
        import select

        self._fd = fd
        self._socket = _socket.socket(fileno=fd)
        self._socket.settimeout(None)  # the user may have set a default
        self._groups = []  # of descriptors, as they were sent, oldest first
        self._space = _socket.CMSG_SPACE(4 * protocol.DESCRIPTOR_LIMIT)
        self._close_on_exec = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
        self._cut = _socket.MSG_CTRUNC
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def wait(self):
        """Blocks until there is something to read, the end included."""
        self._poll.poll()

    def wait_a_second(self):
        """Waits for input, but no longer; what a signal's handler raises goes through.

        A signal that comes just before the wait is heard after it.
        """
        import select

        poll = select.poll()  # not self._poll: a handler may wait in turn
        poll.register(self._fd, select.POLLIN)
        poll.poll(1000)

    def readable(self):
        import select

        # Not self._poll: a signal handler asks this while wait() is in it.
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))

    def read(self, size):
        try:
            data, extra, flags, _ = self._socket.recvmsg(size, self._space, self._close_on_exec)
        except ConnectionError:
            return b""
        if extra or flags & self._cut:
            fds = [fd for _, _, piece in extra for fd in memoryview(piece).cast("i")]
            self._groups.append(fds)
        return data

    def fileno(self):
        return self._fd

    def identity(self):
        return openfiles.identity(self._fd)

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

    def write_first(self, data, fd):
        """Writes the beginning of data with a descriptor; returns how much it was."""
        import _socket

        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(4, sys.byteorder))
        return self._socket.sendmsg([data], [rights])

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self):
        try:
            self._socket.close()
        except OSError:
            pass  # the user's code has closed it already


class SocketStream:
    """A TCP connection to the server, on systems without socket pairs."""

    def __init__(self, port, token):
        import socket

        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(token.encode("ascii"))

    def fileno(self):
        return self._socket.fileno()

    def wait(self):
        """Blocks until there is something to read, the end included."""
        import select

        # In steps: where select can't be interrupted, a handler runs between.
        while not select.select([self._socket], [], [], 1.0)[0]:
            pass

    def wait_a_second(self):
        """Waits for input, but no longer; what a signal's handler raises goes through."""
        import select

        select.select([self._socket], [], [], 1.0)

    def readable(self):
        import select

        return bool(select.select([self._socket], [], [], 0)[0])

    def read(self, size):
        try:
            return self._socket.recv(size)
        except ConnectionError:
            return b""

    def descriptors(self, _):
        """Returns none: TCP carries no descriptors."""
        return []

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
