"""Frames between the Go half of a worker and this one; twin of protocol.go.

A frame is a 4-byte big-endian length, a header of that many bytes (a JSON
object in UTF-8), then the binary attachments whose sizes in bytes the header
lists under "attachments".

    to a worker    start      answered by ready
                   run        answered by figure*, artifact*, clear* and ask*, then done
                   equip      answered by equipped: what executions find from then on
                   answer     to ask, while the code waits; one that comes late is ignored
                   variables  answered by variables
                   fork       answered by forked; the copy says ready on its own socket
                   stop       the worker exits; a closed socket means the same
    to a copy      rouse      answered by ready: it works, and goes on waiting
                   wake       answered by ready: it is a worker from then on
    to a forker    spawn      answered by spawned; a zygote says preloaded on its own
                   adopt      not answered
                   reap       answered by reaped
    on a socket    tool_request answered by tool_answer or tool_refused: one for each request,
    of its own     handed out through the door that equip brings (see mcptools/door.py)
    from a worker  listener   before ready, from behind a wall: the socket for the proxy
                   log        at any time, for the server's log

A frame for Python, and listener, may bring descriptors (SCM_RIGHTS, with its first
byte); its header then says how many under "descriptors".

Output takes another way: the pipes of descriptors 1 and 2.
"""

import json
import struct

VERSION = 5
HEADER_LIMIT = 64 << 20  # bytes of one from Go
REPORT_LIMIT = 4 << 20  # bytes of one to Go, which ends a worker that sends more
MENTION_LIMIT = 32 << 10  # bytes of one of which a run may send many
MENTIONS = frozenset(("figure", "artifact", "ask", "log"))
ATTACHMENT_COUNT_LIMIT = 64
ATTACHMENTS_LIMIT = 16 << 20  # bytes, all of one frame
DESCRIPTOR_LIMIT = 8  # of one frame
EXIT_NO_MEMORY = 72  # exit code of a worker that had none left for its own work
EXIT_BROKEN_FRAME = 70  # exit code of a worker that met a broken frame

_LENGTH = struct.Struct(">I")

# The one table of messages: the fields that Python reads, with their types.
FROM_GO = {
    "start": {
        "protocol": int,
        "interpreter_id": str,
        "workdir": str,
        "private_dir": str,
        "mark": str,
        "tag": int,
        "checkpoint_limit": int,
        "first_execution": int,
        "echo": str,
        "traceback": str,
        "warnings": str,
        "code_file": str,
        "init_code": str,
        "figure_max_side": int,
        "result_limit": int,
        # confine and hosts are left out without a wall, and python where nobody has said
        # what is to be known of it
    },
    "run": {
        "execution": int,
        "kind": str,  # "code", "plugin", "command" or "install"
        "code": str,  # the code; the plugin's name; the command; the same as a magic
        "arguments": dict,  # of a plugin; what to install
        "result_var_name": str,
        # Where a policy has judged the code there are judged, raw (the cell as it was
        # written, if that is something else) and notes (what of it was repaired).
        # compile_only and metric_var_name are left out unless they are wanted, and
        # packages_dir where there is no place for packages of the session's own
    },
    "equip": {"plugins": list, "session_variables": dict},
    "answer": {"question": int, "text": str, "refusal": str},
    "tool_answer": {"body": dict},
    "tool_refused": {"kind": str, "message": str},
    "variables": {},
    "fork": {"detached": bool},
    "rouse": {},
    "wake": {
        "interpreter_id": str,
        "workdir": str,
        "private_dir": str,
        "mark": str,
        # and a branch's tag
    },
    "spawn": {"kind": str, "preload": list},
    "adopt": {"pid": int},
    "reap": {"pid": int},
    "stop": {},
}

# What Python sends. "variables" is in both tables: a question and its answer.
# clear: the figures and the artifacts named, that were sent so far, are not shown.
OF_RUNS = frozenset(("figure", "artifact", "clear", "ask"))  # nobody would take them between two
TYPES = OF_RUNS.union(
    ("listener", "ready", "equipped", "done", "variables", "forked"),
    ("spawned", "preloaded", "reaped", "log", "tool_request"),
    FROM_GO,
)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class ProtocolError(Exception):
    """A frame is broken. word names what is wrong, as in testdata/broken.txtar."""

    def __init__(self, word, detail):
        super().__init__(f"broken frame ({word}): {detail}")
        self.word = word


def encode(header, attachments=()):
    """Returns the pieces of one frame, to be written one after another."""
    if attachments:
        header = {**header, "attachments": _check_sizes([len(a) for a in attachments])}
    body, characters = _body(header), 10_000
    limit = MENTION_LIMIT if header["type"] in MENTIONS else REPORT_LIMIT
    while len(body) > limit:
        # One that asks for something would ask for something else.
        if not characters or header["type"] == "tool_request":
            raise ProtocolError("header", f"{len(body)} bytes, {limit} are allowed")
        body, characters = _body(_shortened(header, characters)), characters // 10
    return [_LENGTH.pack(len(body)) + body, *attachments]


def _body(header):
    # A lone surrogate becomes its JSON escape, which any decoder accepts.
    return _ENCODER.encode(header).encode("utf-8", "backslashreplace")


def _shortened(header, characters):
    """Returns a header with its texts cut: the user's names and messages have any length.

    The result is bounded where it is made.
    """
    kept = {name: header[name] for name in ("type", "result") if name in header}
    short = {**_cut(header, characters), **kept}
    if header["type"] == "variables":
        short["left_out"] += len(header["variables"]) - len(short["variables"])
    if header["type"] == "done":
        note = "names and texts that are too long for an answer were cut"
        short["notes"] = [*short.get("notes", ()), note]
    return short


def _cut(value, characters):
    if type(value) is str and len(value) > characters:
        half = characters // 2
        return f"{value[:half]}… [{len(value) - 2 * half} characters left out] …{value[-half:]}"
    if type(value) is dict:
        return {_cut(key, characters): _cut(each, characters) for key, each in value.items()}
    if type(value) in (list, tuple):
        return [_cut(each, characters) for each in value[:1000]]
    return value


class Decoder:
    """Takes bytes as they come and gives back whole frames.

    It refuses a frame as soon as that can be seen to be broken, before it
    keeps anything that the frame announces.
    """

    def __init__(self):
        self._buffer = bytearray()
        self._header = None  # decoded, while its attachments are awaited
        self._sizes = []

    def feed(self, data):
        """Takes the next bytes of the stream."""
        self._buffer += data

    def next(self):
        """Returns (header, attachments) of the next whole frame, or None."""
        if self._header is None:
            if len(self._buffer) < _LENGTH.size:
                return None
            length = _LENGTH.unpack_from(self._buffer)[0]
            if not 0 < length <= HEADER_LIMIT:
                detail = f"{length} bytes, 1 to {HEADER_LIMIT} are allowed"
                raise ProtocolError("header", detail)
            if len(self._buffer) < _LENGTH.size + length:
                return None
            self._take(_LENGTH.size)
            header = _decode_header(self._take(length))
            self._sizes = _check_sizes(header.pop("attachments", []))
            self._header = header
        if len(self._buffer) < sum(self._sizes):
            return None
        header, self._header = self._header, None
        return header, [self._take(size) for size in self._sizes]

    def finish(self):
        """Says that the stream has ended; a frame must not be left in part."""
        if self._buffer or self._header is not None:
            raise ProtocolError("truncated", "the stream ended inside a frame")

    def _take(self, size):
        piece = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return piece


def check_fields(header):
    """Refuses a message from Go whose fields are missing or of another type."""
    for name, kind in FROM_GO.get(header["type"], {}).items():
        value = header.get(name)
        if type(value) is not kind:
            message = f"{header['type']}.{name} is {value!r:.80}, not of type {kind.__name__}"
            raise ProtocolError("field", message)


def _decode_header(data):
    try:
        header = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError("json", f"{type(error).__name__}: {error!s:.200}") from None
    if type(header) is not dict:
        raise ProtocolError("object", f"the header is a {type(header).__name__}")
    kind = header.get("type")
    if type(kind) is not str:
        raise ProtocolError("type", 'the header has no "type" that is a string')
    if kind not in TYPES:
        raise ProtocolError("unknown", f"no message has the type {kind!r:.80}")
    count = header.get("descriptors", 0)
    if type(count) is not int or not 0 <= count <= DESCRIPTOR_LIMIT:
        detail = f"{count!r:.40} is no number of 0 to {DESCRIPTOR_LIMIT}"
        raise ProtocolError("descriptors", detail)
    return header


def _check_sizes(sizes):
    if (
        type(sizes) is not list
        or len(sizes) > ATTACHMENT_COUNT_LIMIT
        or not all(type(size) is int and 0 <= size <= ATTACHMENTS_LIMIT for size in sizes)
        or sum(sizes) > ATTACHMENTS_LIMIT
    ):
        raise ProtocolError("attachments", f"{sizes!r:.200} are no sizes within the limits")
    return sizes
