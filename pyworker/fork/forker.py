"""Root and zygote: processes that fork workers and never run the user's code.

Root is a bare Python. It forks workers and one zygote, adopts orphans, and ends all
that descends from it when it is told to stop. The zygote, a fork of root, has imported
the modules that sessions want to have, and forks workers too. When the server is dead
each ends all that is the server's: somebody may have killed the other.
"""

import _signal
import os
import select
import sys

from pyworker import channel, lazy_import, loop, sources
from pyworker.interrupt import Interrupts
from pyworker.protocol import EXIT_BROKEN_FRAME, ProtocolError, check_fields

from . import kin, preload, sleep

EXIT_NO_WORKER = 71  # exit code of a fork that could not begin its life

_WORDS = 624  # 32-bit words of a state of the Mersenne Twister
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
# Signals that a forker ignores: how its forks, which don't, begin with them.
_OF_SERVER = {
    _signal.SIGINT: _signal.default_int_handler,
    _signal.SIGTERM: _signal.getsignal(_signal.SIGTERM),
    _signal.SIGHUP: _signal.getsignal(_signal.SIGHUP),
}
_COUNTS = {"worker": 4, "zygote": 1}  # how many descriptors each gets

# What a worker's first execution would import.
_FOR_WORKERS = ("ast", "atexit", "ctypes", "fcntl", "resource", "termios", "threading")


def run(control_fd, nonce=""):
    """Lives as root, and in its forks as what they become. Never returns.

    All marks of the server begin with nonce.
    """
    for name in _FOR_WORKERS:
        lazy_import.load(name)
    if sys.platform == "linux":
        lazy_import.load_own("sandbox.confine")
    lazy_import.load_own("shell.changed")
    # Before the imports, so that no worker lets go of what they leave in linecache.
    sources.install()
    sleep.get(loop.ready())
    _adopt_orphans()
    _leave_terminal()
    preload.settle()
    life = _Forker(control_fd, nonce, at_stop=kin.end_all).serve(loop.ready())
    while life is not None:
        life = life()
    os._exit(0)


def _adopt_orphans():
    """Makes the orphans among the descendants children of this process."""
    ctypes = lazy_import.load("ctypes")
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SUBREAPER, 1, 0, 0, 0):
        sys.exit(f"pyworker: prctl: {os.strerror(ctypes.get_errno())}")


def _leave_terminal():
    """Gives up the terminal that the server was started from, for itself and its forks.

    Programs that ask there, as for a password, would be stopped by job control as
    processes in the background, and the call would hang. Without one they fail at once.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return  # there is none
    try:
        lazy_import.load("fcntl").ioctl(terminal, lazy_import.load("termios").TIOCNOTTY)
    finally:
        os.close(terminal)


class _Forker:
    """Does what the server asks over the control socket."""

    def __init__(self, control_fd, nonce, at_stop):
        self._nonce = nonce
        self._at_stop = at_stop
        self._kept = set()  # ids of children that are reaped on request only
        self._suspects = preload.Suspects()
        self._stream = _ControlStream(control_fd, self._reap_strangers)
        self._frames = channel.Channel(self._stream, Interrupts())

    def serve(self, greeting):
        """Serves until it is told to stop. In a fork it returns what that is to do."""
        try:
            self._send(greeting)
            while frame := self._frames.receive():
                if frame[0]["type"] == "stop":
                    self._at_stop()
                    os._exit(0)
                answer, life = self._answer(frame[0])
                if life is not None:
                    return life
                if answer is not None:
                    self._send(answer)
        except ConnectionError:
            pass  # the server is dead, as when the socket closes
        except (ProtocolError, OSError) as error:
            self._at_stop()  # before the line: nobody may be left who reads it
            print(f"pyworker: {error}", file=sys.stderr, flush=True)
            os._exit(EXIT_BROKEN_FRAME)
        kin.end_all_of_server(self._nonce)
        os._exit(0)

    def _send(self, message):
        """Sends a message; who has hung up may have said before that this is to stop."""
        try:
            self._frames.send(message)
        except ConnectionError:
            pass  # what was said is still to be read, and the end after it

    def _answer(self, request):
        """Returns (answer or None, None), or (None, the fork's life)."""
        check_fields(request)
        kind = request["type"]
        if kind == "spawn":
            return self._spawn(request, self._frames.take_descriptors())
        if kind == "adopt":
            self._kept.add(request["pid"])
            return None, None
        if kind == "reap":
            return self._reap(request["pid"]), None
        raise ProtocolError("order", f"a forker can't do {kind}")

    def _spawn(self, request, fds):
        pid, reason, count = 0, "", _COUNTS[request["kind"]]
        if len(fds) != count:
            reason = f"{len(fds)} descriptors have come, not {count}"
        else:
            try:
                pid, life = self._fork(request, fds)
            except OSError as error:
                reason = f"fork failed: {error.strerror}"
            else:
                if not pid:
                    return None, life
                self._kept.add(pid)
        for fd in fds:
            os.close(fd)
        return {"type": "spawned", "pid": pid, "reason": reason}, None

    def _fork(self, request, fds):
        """Returns the fork's id, 0 in the fork, and what that is to do with its life."""
        trial = None
        if request["kind"] == "zygote":
            trial = preload.Trial(request["preload"], dict(self._suspects.left_out))
        pid = os.fork()
        if pid and trial:
            self._suspects.trials[pid] = trial
        elif pid:
            _lead_group(pid)
        else:  # it leaves what is the forker's
            self._stream.close()
            self._suspects.trials.clear()
        if trial:
            return pid, lambda: _live_as_zygote(fds[0], self._nonce, trial)
        return pid, lambda: _live_as_worker(fds, request.get("ahead"))

    def _reap(self, pid):
        self._kept.discard(pid)
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            found = 0
        if found:
            self._suspects.judge(pid, status)
        return {"type": "reaped", "pid": pid, "status": status if found else -1}

    def _reap_strangers(self):
        """Reaps the dead that the server will not ask for."""
        for pid in set(kin.children()) - self._kept:
            try:
                dead = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue
            # The server says "adopt" before a process is given anything to do. So when
            # this one is dead, what was said of it has come: that is read first.
            if dead and self._stream.wait(0):
                self._stream.look_again()
                return
            if dead:
                os.waitpid(pid, 0)


class _ControlStream(channel.Stream):
    """The control socket; while it is waited for, deaths of children are heard of.

    Their signal writes to a pipe.
    """

    def __init__(self, fd, on_death):
        super().__init__(fd)
        self._on_death = on_death
        self._deaths, self._end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        _signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        # A terminal's and an init's signals are meant for the server; its death tells us.
        for number in _OF_SERVER:
            _signal.signal(number, _signal.SIG_IGN)

    def wait(self, seconds=None):
        if seconds is not None:
            return super().wait(seconds)
        poll = select.poll()
        for fd in (self.fileno(), self._deaths):
            poll.register(fd, select.POLLIN)
        # The socket goes first: it may be about one of the dead.
        while self.fileno() not in [fd for fd, _ in poll.poll()]:
            os.read(self._deaths, 4096)
            self._on_death()
        return True

    def look_again(self):
        """Has the pipe tell of a death once more."""
        os.write(self._end, b"\0")

    def close(self):
        """Gives all of it up, the signals too, in a fork."""
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        for number, handler in _OF_SERVER.items():
            _signal.signal(number, handler)
        os.close(self._deaths)
        os.close(self._end)
        super().close()


def _live_as_zygote(control_fd, nonce, trial):
    forker = _Forker(control_fd, nonce, at_stop=lambda: None)
    imported, failed = preload.prepare(trial)
    return forker.serve(
        {"type": "preloaded", "pid": os.getpid(), "imported": imported, "failed": failed}
    )


def _live_as_worker(fds, ahead):
    """Becomes a worker; descriptors: stdout, stderr, frames, fault.

    ahead is the part of its wall that is every session's, or None.
    """
    try:
        _lead_group(0)
        for fd, given in zip((1, 2), fds):
            os.dup2(given, fd)
            os.close(given)
        _renew_random()
        if ahead:
            lazy_import.load_own("sandbox.confine").enter(ahead)
        loop.run(str(fds[2]), fds[3])
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(EXIT_NO_WORKER)


def _renew_random():
    """Gives a new session random numbers of its own, which the module random has already.

    Nor must it know the key by which other sessions' processes know each other.
    """
    if (random := sys.modules.get("numpy.random")) is not None:
        # seed() would have 200 kB more copied of what is shared with the zygote.
        words = sys.modules["numpy"].frombuffer(os.urandom(4 * _WORDS), dtype="uint32")
        random.set_state(("MT19937", words, _WORDS))
    if (torch := sys.modules.get("torch")) is not None:
        torch.seed()
    if (process := sys.modules.get("multiprocessing.process")) is not None:
        process.current_process().authkey = os.urandom(32)


def _lead_group(pid):
    """Makes a process the leader of a group; both it and its parent do so."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has ended
