"""The way to other servers' tools: one socket for each request, handed out through the door.

Each process of the session may use it, forked children of a Pool too, and several threads
at once: nothing is shared but the door itself, a datagram socket.
"""

import _socket
import sys

from pyworker import channel, openfiles, protocol

_FLAGS = getattr(_socket, "MSG_NOSIGNAL", 0)  # the user may have set SIGPIPE to its default
_NAP = 0.005  # seconds after which a full door is tried again

_door = None  # the socket, None where no tools can be called


class Failure(Exception):
    """A request has no answer; kind is that of a refusal."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def open_door(fd):
    """Takes the descriptor, in the place of an earlier one; returns its identity."""
    global _door
    close_door()
    _door = _socket.socket(fileno=fd)
    _door.settimeout(None)  # the user may have set a default
    return openfiles.identity(fd)


def close_door():
    """Lets go of it, in a copy: it is the original's."""
    global _door
    door, _door = _door, None
    try:
        if door is not None:
            door.close()
    except OSError:
        pass  # the user's code has closed it already


def is_open():
    """Says whether there is one."""
    return _door is not None


def ask(request):
    """Returns (body, attachments) of the answer to a request; what a signal raises ends it."""
    data, decoder = _encode(request), protocol.Decoder()
    ours, theirs = _pair()
    try:
        _post(theirs, 0)
        theirs.close()
        try:
            ours.sendall(data, _FLAGS)
        except ConnectionError:
            pass  # it was refused before it was read: the answer says why
        while (frame := decoder.next()) is None:
            decoder.feed(_some(ours.recv(channel.READ_SIZE)))
    except (OSError, protocol.ProtocolError) as error:
        raise _unavailable(error) from None
    finally:
        ours.close()
        theirs.close()
    return _answer(frame)


async def ask_async(request):
    """As ask, under an event loop; the end of the task closes the socket."""
    import asyncio
    import socket

    loop, data, decoder = asyncio.get_running_loop(), _encode(request), protocol.Decoder()
    ours, theirs = _pair()
    ours = socket.socket(fileno=ours.detach())
    try:
        ours.setblocking(False)
        while not _post(theirs, _socket.MSG_DONTWAIT):
            await asyncio.sleep(_NAP)
        theirs.close()
        try:
            await loop.sock_sendall(ours, data)
        except ConnectionError:
            pass
        while (frame := decoder.next()) is None:
            decoder.feed(_some(await loop.sock_recv(ours, channel.READ_SIZE)))
    except (OSError, protocol.ProtocolError) as error:
        raise _unavailable(error) from None
    finally:
        ours.close()
        theirs.close()
    return _answer(frame)


def _encode(request):
    try:
        return b"".join(protocol.encode({"type": "tool_request", **request}))
    except protocol.ProtocolError:
        raise Failure("limit", "the arguments are too large: 4 MiB as JSON are allowed") from None


def _pair():
    if _door is None:
        raise Failure("unavailable", "no tools can be called: the server offers none here")
    ours, theirs = _socket.socketpair()
    for end in (ours, theirs):
        end.settimeout(None)
    return ours, theirs


def _post(end, flags):
    """Hands an end out; says whether there was room for it."""
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, end.fileno().to_bytes(4, sys.byteorder))
    door = _door
    if door is None:
        raise OSError("the door is closed")
    try:
        door.sendmsg([b"\0"], [rights], flags | _FLAGS)
    except BlockingIOError:
        return False
    return True


def _some(data):
    if not data:
        raise Failure("cancelled", "the call was given up: the run has ended, or the server has")
    return data


def _unavailable(error):
    reason = getattr(error, "strerror", None) or error
    return Failure("unavailable", f"no tools can be called: the server does not answer ({reason})")


def _answer(frame):
    header, attachments = frame
    try:
        protocol.check_fields(header)
    except protocol.ProtocolError as error:
        raise _unavailable(error) from None
    if header["type"] == "tool_refused":
        raise Failure(header["kind"], header["message"])
    if header["type"] != "tool_answer":
        raise Failure("unavailable", f"the server answered with {header['type']}")
    return header["body"], attachments
