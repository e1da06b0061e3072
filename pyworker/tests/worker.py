"""A real worker process, spoken to as Go does."""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from pyworker import protocol
from pyworker.interrupt import NUDGE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKES = os.path.join(ROOT, "pyworker", "tests", "fake")
ANSWER_SECONDS = 60  # a worker that is silent for longer hangs
_FIRST_NUDGE = 0.05  # seconds after an interrupt, as of Go's
START = {
    "type": "start",
    "protocol": protocol.VERSION,
    "interpreter_id": "test",
    "mark": "",
    "tag": 1,
    "checkpoint_limit": 0,
    "workdir": "",
    "private_dir": "",
    "first_execution": 1,
    "echo": "all",
    "traceback": "plain",
    "warnings": "default",
    "code_file": "",
    "init_code": "",
    "figure_max_side": 1568,
    "result_limit": 1_000_000,
}


class Answer:
    """What one execution gave."""

    def __init__(self, done, frames, stdout, stderr):
        self.figures, self.artifacts = [], []
        for frame in frames:
            self._take(frame)
        self.done = done
        self.tasks = done.get("tasks", 0)
        self.stdout = stdout
        self.stderr = stderr

    def _take(self, frame):
        header = frame[0]
        if header["type"] == "figure":
            known = header.get("display_id")
            self.figures = [f for f in self.figures if not known or f[0].get("display_id") != known]
            self.figures.append(frame)
        elif header["type"] == "artifact":
            self.artifacts.append(frame)
        elif header["type"] == "clear":
            self.figures = [] if header["figures"] else self.figures
            gone = header["artifacts"]
            self.artifacts = [a for a in self.artifacts if a[0]["name"] not in gone]

    def __getattr__(self, name):
        try:
            return self.done[name]
        except KeyError:
            raise AttributeError(name) from None


class Worker:
    """Starts a worker in a new working directory and collects its output."""

    def __init__(self, library=(), python=(), start=True, **fields):
        self._begin(os.path.realpath(tempfile.mkdtemp(prefix="worker-")))
        self._launch([*library, ROOT], python)
        if start:
            self.send({**START, "workdir": self.workdir, "private_dir": self.private, **fields})
            self.ready = self.receive()[0]
            self._execution = fields.get("first_execution", 1) - 1

    def _begin(self, workdir):
        """Makes what is known of every worker, whoever has started it."""
        self.workdir = workdir
        self.private = workdir + ".files"
        self.output = {"stdout": bytearray(), "stderr": bytearray()}
        self.arrived = bytearray()  # both streams, in order
        self.logs = []
        self.descriptors = []  # that came with frames
        self.packages_dir = ""  # goes with each execution
        self._nudge_in = 0  # seconds of silence; 0 where nobody was interrupted
        self._decoder = protocol.Decoder()
        self._execution = 0

    def _launch(self, path, python):
        self.socket, theirs = socket.socketpair()
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self.fault, fault_end = os.pipe()
        self._pipes = {out: "stdout", err: "stderr"}
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment["PYTHONPATH"] = os.pathsep.join(path)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        ends = ["--frames", str(theirs.fileno()), "--fault", str(fault_end)]
        self.process = subprocess.Popen(
            [sys.executable, "-u", *python, "-m", "pyworker", *ends],
            stdin=subprocess.DEVNULL,
            stdout=out_end,
            stderr=err_end,
            pass_fds=(theirs.fileno(), fault_end),
            cwd=self.workdir,
            env=environment,
            start_new_session=True,
        )
        self.pid = self.process.pid
        theirs.close()
        for fd in (out_end, err_end, fault_end):
            os.close(fd)
        for fd in (out, err, self.fault):
            os.set_blocking(fd, False)

    def send(self, header):
        """Sends a frame."""
        self.socket.sendall(b"".join(protocol.encode(header)))

    def receive(self):
        """Returns the next frame, reading output meanwhile; None at the end."""
        while True:
            frame = self._decoder.next()
            if frame is not None and frame[0]["type"] == "log":
                self.logs.append(frame[0])
            elif frame is not None:
                return frame
            else:
                ready = self._select([self.socket, *self._pipes], "the worker does not answer")
                self._read_pipes()
                if self.socket in ready:
                    data, fds, *_ = socket.recv_fds(self.socket, 1 << 16, 8)
                    self.descriptors += fds
                    if not data:
                        return None
                    self._decoder.feed(data)

    def _select(self, fds, complaint):
        """Waits until there is something to read, and returns where.

        A system call that waits and began just after an interrupt came would go on for
        ever, so a silent worker is nudged, as Go does.
        """
        while 0 < self._nudge_in < ANSWER_SECONDS:
            if ready := select.select(fds, [], [], self._nudge_in)[0]:
                return ready
            self._nudge_in *= 2
            try:
                os.kill(self.pid, NUDGE)
            except ProcessLookupError:
                break  # it has ended, and its children may have more to say
        ready = select.select(fds, [], [], ANSWER_SECONDS)[0]
        if not ready:
            raise TimeoutError(complaint)
        return ready

    def _read_pipes(self):
        for fd, name in list(self._pipes.items()):
            try:
                while data := os.read(fd, 1 << 20):
                    self.output[name] += data
                    self.arrived += data
                del self._pipes[fd]
                os.close(fd)
            except BlockingIOError:
                pass

    def equip(self, *plugins, **variables):
        """Says which plugins and session variables there are."""
        self.send({"type": "equip", "plugins": plugins, "session_variables": variables})
        answer = self.receive()[0]
        if answer["type"] != "equipped":
            raise AssertionError(answer)

    def call(self, plugin, /, **arguments):
        """Calls a plugin and returns the Answer."""
        self.begin(plugin, "", "plugin", **arguments)
        return self.finish()

    def compile(self, code):
        """Sends code of which nothing may run and waits for the answer."""
        self._execution += 1
        message = {"type": "run", "execution": self._execution, "kind": "code", "code": code}
        self.send({**message, "arguments": {}, "result_var_name": "", "compile_only": True})
        return self.finish()

    def begin(self, code, result_var_name="", kind="code", /, metric_var_name="", **arguments):
        """Sends a request to run something."""
        self._execution += 1
        message = {"type": "run", "execution": self._execution, "kind": kind, "code": code}
        if metric_var_name:
            message["metric_var_name"] = metric_var_name
        if self.packages_dir:
            message["packages_dir"] = self.packages_dir
        self.send({**message, "arguments": arguments, "result_var_name": result_var_name})

    def finish(self, lines=()):
        """Waits for the answer to begin; lines are for what the code asks."""
        frames, lines = [], iter(lines)
        while (frame := self.receive()) is not None:
            if frame[0]["type"] == "done":
                self._nudge_in = 0
                self._read_pipes()
                return Answer(frame[0], frames, self._take("stdout"), self._take("stderr"))
            if frame[0]["type"] == "ask":
                line = next(lines, None)
                self.reply(frame[0], line or "", "nobody is there" if line is None else "")
            else:
                frames.append(frame)
        raise ConnectionError("the worker ended: " + self._take("stderr"))

    def reply(self, question, text="", refusal=""):
        """Answers a question of the code's."""
        message = {"type": "answer", "question": question["question"]}
        self.send({**message, "text": text, "refusal": refusal})

    def run(self, code, result_var_name=""):
        """Runs code and returns its Answer."""
        self.begin(code, result_var_name)
        return self.finish()

    def value(self, expression):
        """Returns the value of an expression, as JSON gives it."""
        answer = self.run(f"_value = {expression}", "_value")
        if not answer.ok:
            raise AssertionError(answer.exception["traceback"])
        return answer.result

    def run_until_printed(self, code, mark, result_var_name=""):
        """Begins to run code and returns when it has printed a line that ends in mark."""
        self.begin(code, result_var_name)
        self.wait_for_line(mark)

    def wait_for_line(self, mark):
        """Returns when the execution has printed a line that ends in mark."""
        self.wait_for_text(f"{mark}\n")

    def wait_for_text(self, text):
        """Returns when the execution has printed text."""
        while text.encode() not in self.output["stdout"]:
            self._select([*self._pipes], "the mark was never printed")
            self._read_pipes()

    def interrupt(self):
        """Sends SIGINT to the worker's process group, as Go does."""
        os.killpg(self.pid, signal.SIGINT)
        self._nudge_in = _FIRST_NUDGE

    def _take(self, name):
        data, self.output[name] = self.output[name], bytearray()
        return data.decode("utf-8", "replace")

    def wait(self):
        """Waits for the process to end; returns its exit status and its stderr."""
        while self._pipes:
            self._select([*self._pipes], "the worker does not end")
            self._read_pipes()
        return self.process.wait(ANSWER_SECONDS), self._take("stderr")

    def fault_text(self):
        """Returns what faulthandler has written."""
        try:
            return os.read(self.fault, 1 << 16).decode()
        except BlockingIOError:
            return ""

    def close(self):
        """Ends the worker by force, with all its children."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.socket.close()
        for fd in (*self._pipes, self.fault, *self.descriptors):
            os.close(fd)
        shutil.rmtree(self.workdir, ignore_errors=True)
        shutil.rmtree(self.private, ignore_errors=True)


class Talking(unittest.TestCase):
    """Says what sessions answer."""

    def prints(self, worker, code, expected):
        """Runs code that must print just that to stdout."""
        answer = worker.run(code)
        self.assertEqual(expected, answer.stdout, answer.done)

    def gives(self, worker, expression, expected):
        """Has a session evaluate an expression."""
        self.assertEqual(expected, worker.value(expression))

    def failing(self, worker, code):
        """Runs code that must end with an exception, and returns that."""
        answer = worker.run(code)
        self.assertFalse(answer.ok)
        return answer.exception


class WorkerCase(Talking):
    """A test case whose workers are ended with it."""

    def start(self, **fields):
        """Starts a worker."""
        worker = Worker(**fields)
        self.addCleanup(worker.close)
        return worker
