"""The way to the server: a socket for each request, whose other end goes through the door.

So threads, tasks and forked children may ask at once, and whoever waits no more closes
its socket, which cancels the request.
"""

import os

from pyworker import channel, lazy_import, openfiles, protocol

_READ_SIZE = 1 << 16  # bytes
_SEND_AGAIN = 0.01  # seconds; the door is full while very many ask

_fd = None  # the door's descriptor; forked children have it too


class Refusal(Exception):
    """The server's answer is that there is none. kind is a sessions.RefusalKind."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def is_open():
    """Says whether there is a door."""
    return _fd is not None


def change(fd):
    """Takes another door, which no exec inherits."""
    global _fd
    leave()
    _fd = fd


def leave():
    """Lets go of the door, as in a copy: it leads to its original's session."""
    global _fd
    if _fd is not None:
        os.close(_fd)
    _fd = None


def identity():
    """Returns what tells the door from other files, None without one."""
    return openfiles.identity(_fd) if _fd is not None else None


def ask(op, server="", name="", arguments=None):
    """Returns (body, attachments) of the answer to a request, see sessions.ToolRequest."""
    frame = _frame(op, server, name, arguments)
    mine, theirs = _pair()
    try:
        with theirs:
            _send(theirs)
        mine.sendall(frame)
        answer = _Answer()
        while not answer.take(mine.recv(_READ_SIZE)):
            pass
    except OSError as error:
        raise _lost(error) from None
    finally:
        mine.close()
    return answer.value()


async def ask_async(op, server="", name="", arguments=None):
    """Is ask for a coroutine."""
    asyncio = lazy_import.load("asyncio")
    loop = asyncio.get_running_loop()
    frame = _frame(op, server, name, arguments)
    mine, theirs = _pair()
    mine.setblocking(False)
    try:
        with theirs:
            while not _send(theirs, lazy_import.load("socket").MSG_DONTWAIT):
                await asyncio.sleep(_SEND_AGAIN)
        await loop.sock_sendall(mine, frame)
        answer = _Answer()
        while not answer.take(await loop.sock_recv(mine, _READ_SIZE)):
            pass
    except OSError as error:
        raise _lost(error) from None
    finally:
        mine.close()
    return answer.value()


def _pair():
    if _fd is None:
        raise Refusal("unavailable", "the tools of other servers can't be reached from here")
    return lazy_import.load("socket").socketpair()


def _send(theirs, flags=0):
    """Passes on the server's end of a socket; says whether there was room."""
    socket = lazy_import.load("socket")
    door = socket.socket(fileno=_fd)
    try:
        rights = theirs.fileno().to_bytes(4, lazy_import.load("sys").byteorder)
        door.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], flags)
    except BlockingIOError:
        return False
    finally:
        door.detach()
    return True


def _frame(op, server, name, arguments):
    request = {"type": "tool_request", "op": op, "server": server, "name": name}
    if arguments is not None:
        request["arguments"] = arguments
    try:
        return protocol.encode_whole(request)
    except protocol.ProtocolError:
        most = protocol.REPORT_LIMIT >> 20
        raise Refusal(
            "limit", f"the arguments are too large: at most {most} MB can be sent"
        ) from None


def _lost(error):
    return Refusal("cancelled", f"the server took no request: {error.strerror or error}")


class _Answer:
    """Puts an answer together from what comes."""

    def __init__(self):
        self._decoder = protocol.Decoder()
        self._frame = None

    def take(self, data):
        """Takes the next bytes; says whether the answer is whole."""
        if not data:
            raise Refusal("cancelled", "the call was cancelled by the server")
        self._decoder.feed(data)
        self._frame = self._decoder.next()
        return self._frame is not None

    def value(self):
        """Returns (body, attachments), or raises a Refusal."""
        header, attachments = self._frame
        if header["type"] == "tool_refused":
            raise Refusal(header["kind"], header["message"])
        return header["body"], attachments
