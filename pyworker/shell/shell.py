"""Runs what a session asks of the shell: the magics of its cells, and commands.

A magic runs as a child like any other: it belongs to the worker's process group,
so an interrupt reaches both. A command, which is all that an execution runs, has
a process group of its own, to which the worker passes an interrupt on. On Linux
each has a mark in its environment too, by which all that it has started is found
when it is to end, in whatever group and below whatever parent.
"""

import os
import re
import signal
import sys
import time
from typing import NamedTuple

from pyworker import late
from pyworker.fork import kin

STOP_SECONDS = 1.0  # after an interrupt, until what goes on is killed
NOTED = 5  # magics of one execution whose failures are noted

_NOT_FOUND = 127  # exit code, as of shells
_BY_SIGNAL = 128  # and a signal's number: exit code, as of shells
_MARK = "UNDERSTUDY_COMMAND"  # names the magic or command, for its processes
_PIP = re.compile(
    r"(?:pip3?|(?:python3?|\{sys\.executable\}|\S+/python3?) -m pip)(?:[ \t]+(.*))?", re.S
)
_PIP_WORD = re.compile(r"\bpip3?\b")
_PYTHON_PIP = re.compile(r"\bpython3? -m pip\b")
_INSTALL = re.compile(
    r"\b(?:pip3?|conda|mamba|micromamba|uv)\b.*\b(?:install|add|sync|uninstall)\b", re.S
)
_FETCH = re.compile(r"\bpip3?\b.*\b(?:install|download|wheel)\b", re.S)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
# What pip's arguments need a shell for; the versions in "a>=1,<2" are no redirections.
_FOR_SHELL = re.compile(r"[|;&`$\n]|(?:^|\s)\d*[<>](?!=?\s*\d)|[<>]\s*[/.~]")
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
        """Runs a "!" line; returns what it printed, stderr too, if that is captured."""
        if match := _PIP.fullmatch(text.strip()):
            return self.run_pip(match[1] or "", captured)
        return self._run(f"!{text.strip()}", self._with_pip(text), captured)

    def run_pip(self, line, captured=False):
        """Runs pip with the arguments on a line, in a shell where that is needed."""
        shown, command = f"%pip {line}", None
        if _FOR_SHELL.search(_QUOTED.sub("''", line)):
            command = self._with_pip(f"pip {line}")
        else:
            words = [*map(os.path.expanduser, _split(line))]
            if any(word.startswith("{") for word in words):
                raise ValueError(f"%pip: {words[-1]} has no value in Python")
            command = self._pip(words)
        return self._run(shown, command, captured)

    def run_script(self, argv, text, kept, background=False):
        """Has a program read a script from its stdin; returns an Outcome.

        kept says which of "out" and "err" are to be kept in place of being shown.
        """
        overrides = late.load_own("shell.overrides")
        with late.load("tempfile").TemporaryFile() as script:
            script.write(text.encode("utf-8", "surrogateescape"))
            script.seek(0)
            argv = overrides.argv_of(argv)
            if background:
                return Outcome(0, {}, _start(argv, _new_mark(), stdin=script))
            streams = [end for end in ("out", "err") if kept.get(end)]
            printed, code = _run_child(self._interrupts, argv, tuple(streams), stdin=script)
        self._namespace["_exit_code"] = code
        texts = [(each or b"").decode("utf-8", "replace") for each in printed]
        return Outcome(code, {end: texts[end == "err"] for end in streams}, None)

    def _run(self, shown, command, captured):
        installs = _INSTALL.search(shown)
        watch = None
        if installs:
            watch = late.load_own("shell.installing").Watch(self._packages)
        printed, code = _run_child(self._interrupts, command, ("out",) if captured else ())
        if installs:
            late.load("importlib").invalidate_caches()
            self._installed += watch.notes(self._environment)
        self._namespace["_exit_code"] = code
        if code:
            self._failures.append((shown, code))
            self._fetch_failed |= bool(installs or _FETCH.search(shown))
        return printed[0].decode("utf-8", "replace") if captured else None

    def _with_pip(self, text):
        """Has pip in a line of the shell's be the session's."""
        if not _PIP_WORD.search(text) or os.name == "nt":
            return text
        words = late.load("shlex").join(self._pip(["VERB"]))
        call = words.replace("VERB", '"$@"') if "VERB --python" not in words else None
        if call is None:  # uv takes the environment behind its verb
            head, _, tail = words.partition("VERB ")
            call = f'{head}"$@" {tail}'
        bodies = "".join(f"{name}() {{ {call}; }}\n" for name in ("pip", "pip3"))
        return bodies + _PYTHON_PIP.sub("pip", text)

    def _pip(self, words):
        installing = late.load_own("shell.installing")
        python = sys.executable
        if self._packages.confined and self._packages.root:
            # The interpreter's own environment can't be written to.
            if not installing.make(self._packages, self):
                python = self._packages.python()
        return installing.argv(python, words, self._environment)


class Outcome(NamedTuple):
    """What a script came to."""

    code: int
    kept: dict  # "out" and "err", where they were to be kept
    process: object  # in the background, else None


def _split(line):
    """Splits the arguments of pip; no shell takes ">" for a redirection."""
    try:
        return late.load("shlex").split(line, comments=True, posix=os.name != "nt")
    except ValueError as error:
        raise ValueError(f"%pip: {error}") from None


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


def _run_child(interrupts, command, kept=(), merged=False, stdin=None):
    """Runs a command line or an argv; returns ([what of stdout and stderr was kept], exit code).

    kept names "out" (with a shell's line stderr too), "err" or both. With merged stderr goes
    to stdout. An interrupt is put off until there is a process to be ended: a child may say
    something before the call that starts it is over.
    """
    kept = set(kept)
    merged = merged or (kept and stdin is None)
    shown = _redirected()  # the streams that are no descriptors now: %%capture has them
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # an object of the user's in its place
    mark, process = _new_mark(), None
    try:
        with interrupts.held():
            process = _start(command, mark, kept | set(shown), merged=merged, stdin=stdin)
        printed = [each or b"" for each in process.communicate()]
        for end, data in zip(("out", "err"), printed):
            if end in shown and end not in kept:
                shown[end].write(data.decode("utf-8", "replace"))
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
        return [b"", b""], _NOT_FOUND
    except BaseException:  # what a handler of the user's raises
        _end(process, mark)
        raise
    finally:
        if process is not None:
            process.wait()


def _redirected():
    """Returns what stands in the place of our streams, by "out" and "err"."""
    found = {}
    for end, stream in (("out", sys.stdout), ("err", sys.stderr)):
        try:
            stream.fileno()
        except Exception:
            if hasattr(stream, "write"):
                found[end] = stream
    return found


def _new_mark():
    """Returns what the environment of a command's processes says, by which they are found."""
    return f"{os.getpid()}.{time.monotonic_ns()}"


def _start(command, mark, kept=(), own_group=False, merged=False, stdin=None):
    subprocess = late.load("subprocess")
    environment = {**os.environ, "PATH": _path()}
    if kin.can_find_marked():
        environment[_MARK] = mark
    more = {"env": environment, "stdin": subprocess.DEVNULL if stdin is None else stdin}
    more["stdout"] = subprocess.PIPE if "out" in kept else None
    more["stderr"] = subprocess.PIPE if "err" in kept else None
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


def _path():
    """Returns the PATH of children, on which python is the session's."""
    path = os.environ.get("PATH", os.defpath)
    folder = os.path.dirname(sys.executable)
    which = late.load("shutil").which
    found = [which(name, path=path) for name in ("python", "python3")]
    if any(each is not None and os.path.dirname(each) != folder for each in found):
        return folder + os.pathsep + path
    return path if any(found) else path + os.pathsep + folder


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
