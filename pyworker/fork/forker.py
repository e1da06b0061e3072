"""Root and zygote: processes that fork workers and never run the user's code.

Root is a bare Python. It forks workers and one zygote, adopts orphans, and when
the server is gone ends all that descends from it. The zygote, a fork of root,
has imported the modules that sessions want to have, and forks workers too.
"""

import _signal
import os
import sys

from pyworker import channel, late, loop, sources
from pyworker.interrupt import Interrupts
from pyworker.protocol import EXIT_BROKEN_FRAME, ProtocolError, check_fields

from . import kin, preload, randomness, rehearsal, sleep, suspects

EXIT_NO_WORKER = 71  # exit code of a fork that could not begin its life

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_COUNTS = {"worker": 4, "zygote": 1}  # how many descriptors each gets

# What a worker's first execution would import.
_FOR_WORKERS = (
    "ast",
    "atexit",
    "ctypes",
    "fcntl",
    "gc",
    "linecache",
    "mmap",
    "resource",
    "termios",
    "threading",
    "time",
    "traceback",
    "warnings",
)


def run(control_fd):
    """Lives as root, and in its forks as what they become. Never returns."""
    for name in _FOR_WORKERS:
        late.load(name)
    if sys.platform == "linux":
        late.load_own("sandbox.confine")
    late.load_own("shell.changed")
    # Before the imports, so that no worker lets go of what they leave in linecache.
    sources.install()
    sleep.get(loop.ready())
    _adopt_orphans()
    _leave_terminal()
    preload.settle()
    life = _Forker(control_fd, at_end=kin.end_all).serve(loop.ready())
    while life is not None:
        life = life()
    os._exit(0)


def _adopt_orphans():
    """Makes the orphans among the descendants children of this process."""
    ctypes = late.load("ctypes")
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
        late.load("fcntl").ioctl(terminal, late.load("termios").TIOCNOTTY)
    finally:
        os.close(terminal)


class _Forker:
    """Does what the server asks over the control socket."""

    def __init__(self, control_fd, at_end):
        self._at_end = at_end
        self._kept = set()  # ids of children that are reaped on request only
        self._suspects = suspects.Suspects()
        self._children = _Children(self._reap_strangers)
        self._stream = channel.Stream(control_fd)
        self._frames = channel.Channel(self._stream, Interrupts())
        self._frames.background = self._children.wait

    def serve(self, greeting):
        """Serves until the socket closes. In a fork it returns what that is to do."""
        try:
            self._frames.send(greeting)
            while (frame := self._frames.receive()) and frame[0]["type"] != "stop":
                answer, life = self._answer(frame[0])
                if life is not None:
                    return life
                if answer is not None:
                    self._frames.send(answer)
        except ConnectionError:
            pass  # the server is gone, as when it closes the socket
        except (ProtocolError, OSError) as error:
            print(f"pyworker: {error}", file=sys.stderr, flush=True)
            self._at_end()
            os._exit(EXIT_BROKEN_FRAME)
        self._at_end()
        os._exit(0)

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
        kind = request["kind"]
        if kind not in _COUNTS:
            raise ProtocolError("field", f"spawn.kind is {kind!r:.80}")
        pid, reason = 0, ""
        if len(fds) != _COUNTS[kind]:
            reason = f"{len(fds)} descriptors have come, not {_COUNTS[kind]}"
        else:
            try:
                trial = self._suspects.trial(request["preload"]) if kind == "zygote" else None
                pid = os.fork()
            except OSError as error:
                reason = f"fork failed: {error.strerror}"
            else:
                if not pid:
                    return None, self._life(kind, trial, fds, request.get("ahead"))
                self._keep(pid, trial)
        for fd in fds:
            os.close(fd)
        return {"type": "spawned", "pid": pid, "reason": reason}, None

    def _keep(self, pid, trial):
        """Takes notice of a fork: a worker, or the zygote of a trial."""
        self._kept.add(pid)
        if trial is None:
            _lead_group(pid)
        else:
            self._suspects.watch(pid, trial)

    def _life(self, kind, trial, fds, ahead):
        """Leaves what is the forker's, in a fork, and returns what that is to do."""
        self._children.leave()
        self._suspects.leave()
        self._stream.close()
        if kind == "zygote":
            return lambda: _live_as_zygote(fds[0], trial)
        return lambda: _live_as_worker(fds, ahead)

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
        try:
            while found := self._first_dead(os.P_ALL, 0):
                if found.si_pid in self._kept:
                    break  # it would be found again and again
                if not self._reap_stranger(found.si_pid):
                    return
            else:
                return
            for pid in set(kin.children()) - self._kept:
                if self._first_dead(os.P_PID, pid) and not self._reap_stranger(pid):
                    return
        except ChildProcessError:
            pass

    def _first_dead(self, kind, which):
        return os.waitid(kind, which, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _reap_stranger(self, pid):
        """Reaps one that is dead, unless it may be none.

        The server says "adopt" before a process is given anything to do. So when
        this one is dead, what was said of it has come: that is read first.
        """
        if self._stream.wait(0):
            self._children.look_again()
            return False
        os.waitpid(pid, 0)
        return True


class _Children:
    """Hears of the deaths of children, by a pipe that their signal writes to."""

    def __init__(self, on_death):
        self._on_death = on_death
        self._fd, self._end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        _signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)

    def wait(self, stream):
        """Hears of deaths until the control socket can be read; returns True.

        That goes first, as it may be about one of the dead.
        """
        select = late.load("select")
        poll = select.poll()
        for each in (stream, self._fd):
            poll.register(each, select.POLLIN)
        while stream.fileno() not in [fd for fd, _ in poll.poll()]:
            try:
                while os.read(self._fd, 4096):
                    pass
            except BlockingIOError:
                pass
            self._on_death()
        return True

    def look_again(self):
        """Has the pipe tell of a death once more."""
        os.write(self._end, b"\0")

    def leave(self):
        """Gives the pipe and the signals up, in a fork."""
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        os.close(self._fd)
        os.close(self._end)


def _live_as_zygote(control_fd, trial):
    forker = _Forker(control_fd, at_end=lambda: None)
    imported, failed = preload.load(trial)
    rehearsal.rehearse(trial)
    trial.end()
    preload.complain()
    preload.settle()
    rehearsal.fill()
    preload.settle()
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
        randomness.renew()
        if ahead:
            late.load_own("sandbox.confine").enter(ahead)
        loop.run(str(fds[2]), fds[3])
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(EXIT_NO_WORKER)


def _lead_group(pid):
    """Makes a process the leader of a group; both it and its parent do so."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has ended
