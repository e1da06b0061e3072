"""A real root, zygotes and their workers, spoken to as Go does."""

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
from pyworker.tests.worker import ANSWER_SECONDS, ROOT, START, Talking, Worker

MANY = 8 << 30  # bytes: a checkpoint_limit that no test comes near
PATIENCE = """
import pyworker.fork.native, pyworker.fork.obstacles
pyworker.fork.obstacles._END = 60
pyworker.fork.native.PATIENCE = (0.001,) * 60_000
"""


def wait_for_end(pid):
    """Returns when a process has ended, whoever is its parent."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([fd], [], [], ANSWER_SECONDS)[0]:
            raise TimeoutError(f"process {pid} does not end")
    finally:
        os.close(fd)


def parent_of(pid):
    """Returns the parent's id of a process, None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


class Talk:
    """One end of a frames socket, without output."""

    def __init__(self):
        self.socket, self.theirs = socket.socketpair()
        self.socket.settimeout(ANSWER_SECONDS)
        self._decoder = protocol.Decoder()

    def send(self, header, fds=()):
        """Sends a frame with descriptors."""
        send(self.socket, header, fds)

    def receive(self):
        """Returns the next frame's header, None at the end."""
        while (frame := self._decoder.next()) is None:
            data = self.socket.recv(1 << 16)
            if not data:
                return None
            self._decoder.feed(data)
        return frame[0]

    def close(self):
        """Closes both ends."""
        self.socket.close()
        self.theirs.close()

    def ask(self, header, fds=()):
        """Sends a frame and returns the answer's header."""
        self.send(header, fds)
        return self.receive()


def send(peer, header, fds=()):
    """Sends a frame, with descriptors at its first byte."""
    if fds:
        header = {**header, "descriptors": len(fds)}
    data = b"".join(protocol.encode(header))
    if fds:
        sent = socket.send_fds(peer, [data], list(fds))
        data = data[sent:]
    if data:
        peer.sendall(data)


class Forker(Talk):
    """A root or a zygote."""

    def adopt(self, pid):
        """Tells it of a child that it did not fork."""
        self.send({"type": "adopt", "pid": pid})

    def reap(self, pid):
        """Returns the wait status of a dead child, -1 for no such child."""
        wait_for_end(pid)
        return self.ask({"type": "reap", "pid": pid})["status"]

    def spawn(self, kind, fds, preload=()):
        """Has it fork; returns the answer."""
        return self.ask({"type": "spawn", "kind": kind, "preload": list(preload)}, fds)

    def zygote(self, preload):
        """Has root fork a zygote, and waits for its imports."""
        zygote = Forker()
        zygote.pid = self.spawn("zygote", [zygote.theirs.fileno()], preload)["pid"]
        zygote.theirs.close()
        zygote.preloaded = zygote.receive()
        self._zygotes.append(zygote)
        return zygote


class Root(Forker):
    """Starts a root."""

    def __init__(self, library=(), python=(), environment=()):
        super().__init__()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115
        self._zygotes = []
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        env["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # as the server does
        env.update(environment)
        env["PYTHONPATH"] = os.pathsep.join([*library, ROOT])
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        fd = self.theirs.fileno()
        self.process = subprocess.Popen(
            [sys.executable, "-u", *python, "-m", "pyworker", "--root", str(fd)],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.output,
            pass_fds=(fd,),
            cwd=os.sep,
            env=env,
            start_new_session=True,
        )
        self.theirs.close()
        self.ready = self.receive()

    def printed(self):
        """Returns what root and zygotes have printed."""
        fd = self.output.fileno()  # whose place in the file is theirs, too, to write at
        return os.pread(fd, os.fstat(fd).st_size, 0).decode()

    def close(self):
        """Ends the tree, as the end of the server does."""
        for zygote in self._zygotes:
            zygote.close()
        self.socket.close()
        self.process.wait(ANSWER_SECONDS)
        self.output.close()


class Forked(Worker):
    """A worker that a forker has forked, or a copy of one."""

    def __init__(self, workdir=None):
        self._begin(workdir or os.path.realpath(tempfile.mkdtemp(prefix="worker-")))
        self._is_owner = workdir is None
        self._pipes = {}
        self.fault = None
        self.socket, self._theirs = socket.socketpair()

    @classmethod
    def spawn(cls, forker, **fields):
        """Has a forker fork a worker, and starts that."""
        self = cls()
        out, err, fault = self.make_pipes()
        answer = forker.spawn("worker", [out, err, self._theirs.fileno(), fault])
        self.close_theirs(out, err, fault)
        if not answer["pid"]:
            self.close()
            raise OSError(answer["reason"])
        dirs = {"workdir": self.workdir, "private_dir": self.private}
        self.send({**START, **dirs, "checkpoint_limit": MANY, **fields})
        self.ready = self.receive()[0]
        self.pid = answer["pid"]
        return self

    def make_pipes(self):
        """Returns the worker's ends of new pipes: stdout, stderr, fault."""
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self.fault, fault_end = os.pipe()
        self._pipes = {out: "stdout", err: "stderr"}
        for fd in (out, err, self.fault):
            os.set_blocking(fd, False)
        return out_end, err_end, fault_end

    def close_theirs(self, *fds):
        """Closes the worker's ends here."""
        self._theirs.close()
        for fd in fds:
            os.close(fd)

    def fork(self, detached=False):
        """Copies the worker; returns the sleeping copy, or the reason there is none."""
        copy = type(self)(None if detached else self.workdir)
        send(self.socket, {"type": "fork", "detached": detached}, [copy._theirs.fileno()])
        copy.close_theirs()
        answer = self.receive()[0]
        if not answer["ok"]:
            copy.close()
            return answer["reason"]
        copy.ready = copy.receive()[0]
        copy.pid = copy.ready["pid"]
        copy._execution = self._execution
        return copy

    def wake(self, dead, mark=""):
        """Has a copy take the place of its original, whose ends of the pipes it gets."""
        self._pipes, dead._pipes = dead._pipes, {}
        self.fault, dead.fault = dead.fault, None
        self.output, self.arrived = dead.output, dead.arrived
        self._wake(mark, ())
        return self.notes

    def wake_branch(self, mark=""):
        """Has a copy become a branch with its own pipes."""
        fds = self.make_pipes()
        self._wake(mark, fds)
        for fd in fds:
            os.close(fd)
        return self.notes

    def _wake(self, mark, fds):
        message = {"type": "wake", "interpreter_id": "x", "workdir": self.workdir, "mark": mark}
        message["private_dir"] = self.private
        send(self.socket, message, fds)
        frame = self.receive()
        if frame is None:
            raise ConnectionError("the copy ended: " + self._take("stderr"))
        self.ready = frame[0]
        self.notes = self.ready["notes"]

    def branch(self, **options):
        """Forks the worker and wakes the copy as a branch."""
        copy = self.fork(detached=True)
        if isinstance(copy, str):
            raise AssertionError(copy)
        copy.wake_branch(**options)
        return copy

    def be_patient(self):
        """Has it wait for threads that come to their end, however busy the machine is."""
        self.run(PATIENCE)

    def kill(self):
        """Kills the process and waits for its end."""
        os.kill(self.pid, signal.SIGKILL)
        wait_for_end(self.pid)

    def close(self):
        self.socket.close()
        self._theirs.close()
        for fd in (*self._pipes, self.fault):
            if fd is not None:
                os.close(fd)
        self._pipes, self.fault = {}, None
        if self._is_owner:
            shutil.rmtree(self.workdir, ignore_errors=True)
            shutil.rmtree(self.private, ignore_errors=True)


@unittest.skipUnless(sys.platform == "linux", "forks are for Linux")
class ForkerCase(Talking):
    """A test case whose roots and workers are ended with it."""

    def library(self, **modules):
        """Makes a folder of modules, from their texts."""
        folder = tempfile.mkdtemp(prefix="library-")
        self.addCleanup(shutil.rmtree, folder)
        for name, text in modules.items():
            with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write(text)
        return folder

    def root(self, **options):
        """Starts a root."""
        root = Root(**options)
        self.addCleanup(root.close)
        return root

    def worker(self, forker, **fields):
        """Has a forker fork a worker."""
        worker = Forked.spawn(forker, **fields)
        self.addCleanup(worker.close)
        return worker

    def copy(self, worker, **options):
        """Copies a worker, which must be possible."""
        copy = worker.fork(**options)
        if isinstance(copy, str):
            self.fail(copy)
        self.addCleanup(copy.close)
        return copy

    def branch(self, worker, **options):
        """Branches a worker."""
        copy = self.copy(worker, detached=True)
        copy.wake_branch(**options)
        return copy

    def succeed(self, worker):
        """Copies a worker, kills it, and wakes the copy."""
        copy = self.copy(worker)
        worker.kill()
        copy.wake(worker)
        return copy


class CopyCase(ForkerCase):
    """Tests with one root and one worker."""

    def setUp(self):
        self.tree = self.root()
        self.lead = self.worker(self.tree)
