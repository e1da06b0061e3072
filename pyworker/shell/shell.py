"""Runs what a session asks of the shell: the magics of its cells, and commands.

A magic runs as a child like any other: it belongs to the worker's process group,
so an interrupt reaches both. A command, which is all that an execution runs, has
a process group of its own, to which the worker passes an interrupt on. On Linux
each has a mark in its environment too, by which all that it has started is found
when it is to end, in whatever group and below whatever parent.
"""

import os
import signal
import sys
import time

from pyworker import late
from pyworker.fork import kin

STOP_SECONDS = 1.0  # after an interrupt, until what goes on is killed
NOTED = 5  # magics of one execution whose failures are noted

_NOT_FOUND = 127  # exit code, as of shells
_BY_SIGNAL = 128  # and a signal's number: exit code, as of shells
_MARK = "UNDERSTUDY_COMMAND"  # names the magic or command, for its processes
_FETCHING = ("install", "download", "wheel")  # commands of pip that ask an index
_SHELLS = ("/bin/bash", "/usr/bin/bash")


class Shell:
    """The shell of one session."""

    def __init__(self, session):
        self._interrupts = session.interrupts
        self._environment = session.environment  # that installs go into
        self._namespace = vars(session.module)
        self._packages = session.packages
        self._failures = []  # of the present execution: (command, exit code)
        self._installed = []  # sentences on what it has installed
        self._fetch_failed = False  # one of them was pip, which may have lacked the network

    def take_notes(self):
        """Returns sentences on the magics that have failed since the last call."""
        failures, self._failures = self._failures, []
        installed, self._installed = self._installed, []
        notes = list(dict.fromkeys(installed))
        notes += [f"{shown!r:.100} ended with exit code {code}" for shown, code in failures[:NOTED]]
        if len(failures) > NOTED:
            notes.append(f"and so did {len(failures) - NOTED} more")
        fetched, self._fetch_failed = self._fetch_failed, False
        if fetched and self._packages.hosts is not None:
            notes.append(late.load_own("shell.installing").about_network(self._packages.hosts))
        return notes

    def run_command(self, text):
        """Runs a command to its end and returns its exit code.

        What it leaves in the background lives on with the session. After an
        interrupt, which raises KeyboardInterrupt, nothing of it is left.
        """
        return _Command(self._interrupts).run(text)

    def run_program(self, argv):
        """Runs a program to its end, as a magic is run, and returns its exit code.

        All that it says goes to stdout.
        """
        return _run_child(self._interrupts, argv, merged=True)[1]

    def run_line(self, text, captured=False):
        """Runs a "!" line; returns what it printed if that is captured."""
        printed, code = _run_child(self._interrupts, text, captured)
        self._namespace["_exit_code"] = code
        if code:
            self._failures.append((f"!{text}", code))
        return printed.decode("utf-8", "replace") if captured else None


class _Command:
    """A command in a process group of its own, and what an interrupt does to it."""

    def __init__(self, interrupts):
        self._interrupts = interrupts
        self._mark = _new_mark()
        self._process = None
        self._interrupted = False

    def run(self, text):
        """Runs the command to its end and returns its exit code."""
        self._interrupts.cancel = self._take_interrupt
        try:
            self._process = _start(text, self._mark, own_group=True)
            if self._interrupted:  # as it was started
                _signal_group(self._process, signal.SIGINT)
                raise KeyboardInterrupt
            return _exit_code(self._process.wait())
        except BaseException as error:
            self._interrupted = True
            if self._process is not None:
                _end_group(self._process, self._mark)
            else:  # it may have been started all the same
                _end(None, self._mark)
            if type(error) is KeyboardInterrupt:  # without the frames of the wait
                raise KeyboardInterrupt from None
            raise
        finally:
            self._interrupts.cancel = None

    def _take_interrupt(self):
        """Passes an interrupt on; returns false if it is to raise KeyboardInterrupt.

        It does so once, and only when there is a process to be ended.
        """
        again, self._interrupted = self._interrupted, True
        if self._process is None or again:
            return True
        _signal_group(self._process, signal.SIGINT)
        return False


def _run_child(interrupts, command, captured=False, merged=False):
    """Runs a command line or an argv; returns (what it printed if captured, its exit code).

    With merged its stderr goes to stdout too. An interrupt is put off until there is a
    process to be ended: a child may say something before the call that starts it is over.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # an object of the user's in its place
    mark, process = _new_mark(), None
    try:
        with interrupts.held():
            process = _start(command, mark, captured=captured, merged=merged)
        printed = process.communicate()[0] or b""
        return printed, _exit_code(process.returncode)
    except KeyboardInterrupt:  # which the child has got too
        if process is not None:
            _wait_for(process, STOP_SECONDS)
        _end(process, mark)
        raise KeyboardInterrupt from None
    except OSError as error:
        _end(process, mark)
        if process is not None:
            raise
        print(f"{error.filename or 'sh'}: {error.strerror}", file=sys.stderr)
        return b"", _NOT_FOUND
    except BaseException:  # what a handler of the user's raises
        _end(process, mark)
        raise
    finally:
        if process is not None:
            process.wait()


def _new_mark():
    """Returns what the environment of a command's processes says, by which they are found."""
    return f"{os.getpid()}.{time.monotonic_ns()}"


def _start(command, mark, captured=False, own_group=False, merged=False):
    subprocess = late.load("subprocess")
    more = {"env": {**os.environ, _MARK: mark}} if kin.can_find_marked() else {}
    more |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE if captured else None}
    if merged:
        more["stderr"] = subprocess.STDOUT
    if own_group and os.name == "nt":
        more["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    elif own_group:
        more["start_new_session"] = True
    if type(command) is str and os.name == "nt":
        return subprocess.Popen(command, shell=True, **more)  # Windows has no marks
    if type(command) is str:
        shell = next(filter(os.path.exists, _SHELLS), "/bin/sh")
        # -p: functions and start-up files that the environment has are no commands.
        safely = ["-p"] if shell in _SHELLS else []
        command = [shell, *safely, "-c", "--", command]
    return subprocess.Popen(command, **more)


def _exit_code(returncode):
    return returncode if returncode >= 0 else _BY_SIGNAL - returncode


def _end_group(process, mark):
    """Ends the process, which knows of the interrupt, and what is left of it."""
    _wait_for(process, STOP_SECONDS)
    if hasattr(os, "killpg"):
        _signal_group(process, signal.SIGKILL)
    else:
        process.kill()
    _end(process, mark)
    process.wait()


def _end(process, mark):
    """Kills a process, if it is known, and, where that can be, all that it has started."""
    if process is not None:
        process.kill()
    if kin.can_find_marked():
        kin.end_marked(f"{_MARK}={mark}".encode())


def _signal_group(process, number):
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
    except OSError:
        pass  # all of it has ended, or is another user's


def _wait_for(process, seconds):
    """Waits for the process to end, for so long.

    It isn't reaped, where that can be: its id must not become another group's.
    """
    until, pause = time.monotonic() + seconds, 0.0005
    while not _has_ended(process) and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _has_ended(process):
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, how) is not None
    except ChildProcessError:
        return True
