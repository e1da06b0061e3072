"""The life of a worker: start, serve, stop."""

import faulthandler
import os
import sys

from . import asking, channel, codefile, cstdio, figures, late, namespace, sources
from .capture import Streams
from .executor import Executor
from .interrupt import Interrupts
from .place import Place
from .protocol import EXIT_BROKEN_FRAME, VERSION, ProtocolError, check_fields
from .tracebacks import Describer
from .userforks import UserForks, prefer_fork

STOP_SECONDS = 0.8  # for atexit handlers; Go loses its patience after 1 s


class Session:
    """What an execution finds around it."""

    def __init__(self, start, frames, streams, interrupts, enable_fault):
        self.echo = start["echo"]
        self.result_limit = start["result_limit"]
        self.streams = streams
        self.interrupts = interrupts
        self.place = Place(start["workdir"])
        self.code_file = codefile.CodeFile(start["workdir"], start["code_file"])
        self.module = namespace.make(self.code_file.path)
        self.describer = Describer(start["workdir"], start["traceback"])
        self.forks = UserForks(frames, streams)
        self.figures = figures.Figures(frames, start["workdir"], start["figure_max_side"])
        self._frames = frames
        self._enable_fault = enable_fault
        if start["warnings"] == "ignore":
            late.load("warnings").simplefilter("ignore")
        cstdio.set_start()

    def prepare(self):
        """Makes everything as an execution expects it; returns notes."""
        namespace.repair(self.module)
        self.interrupts.install()
        self.streams.begin()
        self._enable_fault()  # the user may have turned faulthandler elsewhere
        note = self.place.enter()
        return [note] if note else []

    def finish(self, guard):
        """Brings out all that was printed, and takes our streams back."""
        guard(self.streams.flush)
        self.streams.restore()

    def complain(self, what, error):
        """Tells the server's log about a fault of ours."""
        self._frames.log("error", f"{what}: {self.describer.text(error)}")


def run(frames_at, fault_fd=None, stage_fd=None, bell_fd=None):
    """Serves one session until the other side has closed, and never returns."""
    interrupts = Interrupts()
    interrupts.install()
    stream = channel.open_stream(frames_at)
    fault, stage, bell = (
        channel.move_high(fd) if fd is not None else None for fd in (fault_fd, stage_fd, bell_fd)
    )
    streams = Streams(stage, bell)
    frames = channel.Channel(stream, interrupts)
    interrupts.has_input = frames.has_input

    def enable_fault():
        faulthandler.enable(fault if fault is not None else 2, all_threads=True)

    enable_fault()
    try:
        _serve(frames, streams, interrupts, enable_fault)
    except ConnectionError:
        pass  # the server is gone, as when it closes the socket
    except (ProtocolError, OSError) as error:
        streams.report(f"pyworker: {error}")
        os._exit(EXIT_BROKEN_FRAME)
    _stop(streams)


def _serve(frames, streams, interrupts, enable_fault):
    executor = None
    while True:
        frame = frames.receive()
        kind = frame[0]["type"] if frame else "stop"
        if kind == "stop":
            return
        request = frame[0]
        check_fields(request)
        if (kind == "start") != (executor is None):
            raise ProtocolError("order", f"{kind} came at the wrong time")
        if kind == "start":
            session = _open_session(request, frames, streams, interrupts, enable_fault)
            executor, answer = _start(session, request["init_code"])
        elif kind == "run":
            answer = executor.execute(
                request["execution"], request["code"], request["result_var_name"]
            )
        elif kind == "variables":
            answer = executor.variables()
        else:
            raise ProtocolError("order", f"{kind} is a message of Python's")
        interrupts.rest()
        _send_answer(frames, answer)


def _send_answer(frames, answer):
    try:
        frames.send(answer)
    except ProtocolError as error:  # nothing was sent: it is too large
        answer["result"] = None
        answer.setdefault("notes", []).append(f"the result can't be sent: {error}")
        frames.send(answer)


def _open_session(request, frames, streams, interrupts, enable_fault):
    if request["protocol"] != VERSION:
        raise ProtocolError("protocol", f"version {request['protocol']}, not {VERSION}")
    sources.install()
    asking.install(streams)
    session = Session(request, frames, streams, interrupts, enable_fault)
    _show_sources(session.describer)
    prefer_fork()
    return session


def _start(session, init_code):
    executor = Executor(session)
    failure = executor.initialize(init_code) if init_code else ""
    return executor, {
        "type": "ready",
        "protocol": VERSION,
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "init_error": failure,
    }


def _show_sources(describer):
    """Makes exceptions that end a thread show the lines of cells.

    Before Python 3.13 the hooks were written in C and looked for files only.
    """

    def show_thread(arguments):
        if arguments.exc_type is not SystemExit:
            name = arguments.thread.name if arguments.thread is not None else "?"
            error = arguments.exc_value or arguments.exc_type()
            sys.stderr.write(f"Exception in thread {name}:\n{describer.text(error)}")

    def show(kind, error, trace):
        sys.stderr.write(describer.text(error.with_traceback(trace)))

    late.load("threading").excepthook = show_thread
    sys.excepthook = show


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
