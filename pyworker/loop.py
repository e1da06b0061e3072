"""The life of a worker: start, serve, stop."""

import os
import sys

from . import asking, channel, lazy_import
from .capture import Streams
from .executor import Executor
from .fault import Fault
from .fork import kin, waking
from .interrupt import Interrupts
from .protocol import EXIT_BROKEN_FRAME, EXIT_NO_MEMORY, VERSION, ProtocolError, check_fields
from .session import open_session

STOP_SECONDS = 0.8  # for atexit handlers; Go loses its patience after 1 s

# What a worker may be asked, by its state. A closed socket means stop.
_NEW = frozenset({"start", "stop"})
_STARTED = frozenset({"run", "equip", "variables", "fork", "stop"})
_ASLEEP = frozenset({"rouse", "wake", "stop"})


def run(frames_at, fault_fd=None):
    """Serves one session until the other side has closed, and never returns."""
    interrupts = Interrupts()
    interrupts.install()
    stream = channel.open_stream(frames_at)
    fault = Fault(fault_fd)
    streams = Streams()
    frames = channel.Channel(stream, interrupts)
    interrupts.has_input = frames.has_input
    fault.enable()
    worker = _Worker(frames, streams, interrupts, fault)
    try:
        worker.serve()
    except ConnectionError:
        pass  # the server is gone, as when it closes the socket
    except (ProtocolError, OSError) as error:
        streams.report(f"pyworker: {error}")
        os._exit(EXIT_BROKEN_FRAME)
    except MemoryError:
        os._exit(EXIT_NO_MEMORY)  # there is none to say more with
    if worker.is_asleep():
        os._exit(0)  # the exit handlers are the original's to run
    _stop(streams)


def ready(init_error="", notes=()):
    """Returns the frame in which a process says that it can be used."""
    return {
        "type": "ready",
        "protocol": VERSION,
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "init_error": init_error,
        "notes": list(notes),
    }


class _Worker:
    """Answers the frames of one worker."""

    def __init__(self, frames, streams, interrupts, fault):
        self._frames = frames
        self._streams = streams
        self._interrupts = interrupts
        self._fault = fault
        self._session = None
        self._executor = None

    def serve(self):
        """Serves until it is told to stop, or the other side has closed."""
        while (frame := self._frames.receive()) is not None:
            request = frame[0]
            kind = request["type"]
            if kind not in self._accepted():
                raise ProtocolError("order", f"{kind} came at the wrong time")
            if kind == "stop":
                return
            check_fields(request)
            answer = getattr(self, "_" + kind)(request)
            self._interrupts.rest()
            if answer is not None:
                self._send(answer)
            if kind == "fork" and not self.is_asleep():
                self._session.forks.foresight.act(self._frames.has_input)

    def is_asleep(self):
        """Says whether this is a copy that was never woken."""
        return self._session is not None and self._session.forks.asleep

    def _accepted(self):
        if self._session is None:
            return _NEW
        return _ASLEEP if self._session.forks.asleep else _STARTED

    def _start(self, request):
        if request["protocol"] != VERSION:
            raise ProtocolError("protocol", f"version {request['protocol']}, not {VERSION}")
        kin.take_tag(request["tag"])
        profile = request.get("confine")
        if profile:
            listener = lazy_import.load_own("sandbox.confine").apply(profile)
            if listener:  # the server's proxy gets it before any code could use either
                self._frames.send_descriptor({"type": "listener"}, listener)
                os.close(listener)
        self._session = open_session(
            request, self._frames, self._streams, self._interrupts, self._fault
        )
        self._executor = Executor(self._session)
        self._frames.background = self._wait_in_loop
        self._session.forks.prepare(ready())
        code = request["init_code"]
        answer = ready(self._executor.initialize(code) if code else "")
        asking.install(self._streams, self._frames, self._interrupts)  # no call waits before
        return answer

    def _wait_in_loop(self, stream):
        return not self.is_asleep() and self._executor.awaiting.wait(stream)

    def _run(self, request):
        self._frames.in_run = True
        try:
            with self._session.forks.foresight:
                return self._executor.execute(request)
        finally:
            self._frames.in_run = False

    def _equip(self, request):
        fds = self._take_high()
        self._session.equip(request["plugins"], request["session_variables"], *fds[:1])
        return {"type": "equipped"}

    def _variables(self, _):
        return self._executor.variables()

    def _fork(self, request):
        forks = self._session.forks
        reason = forks.fork(request["detached"], self._take_high())
        if forks.asleep:
            return None  # it has said that it is ready, on its own socket
        return {"type": "forked", "ok": not reason, "reason": reason}

    def _take_high(self):
        """Returns the descriptors that came, out of the way; none where there is no room.

        The user's code closes some by number, and libraries do in a child whose number that
        was: matplotlib the files of its fonts.
        """
        fds = self._frames.take_descriptors()
        try:
            return [channel.move_high(fd) for fd in fds]
        except OSError:
            for fd in fds:
                os.close(fd)
            return []

    def _rouse(self, _):
        return ready()

    def _wake(self, request):
        fds = self._frames.take_descriptors()
        if len(fds) != request.get("descriptors", 0):
            raise ProtocolError("descriptors", "there is no room for what comes with wake")
        return ready(notes=waking.wake(self._session, self._executor.awaiting, request, fds))

    def _send(self, answer):
        try:
            self._frames.send(answer)
        except ProtocolError as error:  # nothing was sent: it is too large
            answer["result"] = None
            answer.setdefault("notes", []).append(f"the result can't be sent: {error}")
            self._frames.send(answer)


def _stop(streams):
    """Runs atexit handlers for a moment; threads of the user's don't delay the end."""
    import _thread
    import atexit
    import time

    def end():
        time.sleep(STOP_SECONDS)
        os._exit(0)

    _thread.start_new_thread(end, ())
    try:
        streams.restore()
        atexit._run_exitfuncs()
        streams.flush()
    finally:
        os._exit(0)
