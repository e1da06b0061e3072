"""Runs what a session asks of the shell: lines of its cells, scripts, and commands.

What runs is a child like any other. It belongs to the worker's process group, so an
interrupt reaches both; only a command, which is all that an execution runs, has a group of
its own, to which an interrupt is passed on. On Linux each has a mark in its environment
too, by which all that it has started is found when it is to end, in whatever group and
below whatever parent.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

from pyworker import lazy_import
from pyworker.fork import kin

STOP_SECONDS = 1.0  # after an interrupt, until what goes on is killed
NOTED = 5  # lines of one execution whose failures are noted

_NOT_FOUND = 127  # exit code, as of shells
_BY_SIGNAL = 128  # and a signal's number: exit code, as of shells
_MARK = "UNDERSTUDY_COMMAND"  # names the line or command, for its processes
_PIP = re.compile(
    r"(?:pip3?|(?:python3?|\{sys\.executable\}|\S+/python3?) -m pip)(?:[ \t]+(.*))?", re.S
)
_PYTHON_PIP = re.compile(r"\bpython3? -m pip\b")
_INSTALL = re.compile(
    r"\b(?:pip3?|conda|mamba|micromamba|uv)\b.*\b(?:install|add|sync|uninstall|download|wheel)\b",
    re.S,
)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
# What pip's arguments need a shell for; the versions in "a>=1,<2" are no redirections.
_FOR_SHELL = re.compile(r"[|;&`$\n]|(?:^|\s)\d*[<>](?!=?\s*\d)|[<>]\s*[/.~]")
_ARGUMENTS = '"$@"'
_BASH = ("/bin/bash", "/usr/bin/bash")


class Shell:
    """The shell of one session."""

    def __init__(self, session):
        self._session = session
        self._packages = session.packages
        self._failures = []  # of the present execution: (command, exit code)
        self._installed = {}  # sentences on what it has installed
        self._install_failed = False  # perhaps for lack of the network

    def take_notes(self):
        """Returns sentences on the lines that have failed since the last call."""
        notes, failures, hosts = [*self._installed], self._failures, self._packages.hosts
        notes += [f"{shown!r:.100} ended with exit code {code}" for shown, code in failures[:NOTED]]
        if len(failures) > NOTED:
            notes.append(f"and so did {len(failures) - NOTED} more")
        if self._install_failed and hosts is not None:
            notes.append(lazy_import.load_own("shell.missing").about_network(hosts))
        self._failures, self._installed, self._install_failed = [], {}, False
        return notes

    def run_command(self, text):
        """Runs a command to its end and returns its exit code.

        What it leaves in the background lives on with the session. After an
        interrupt, which raises KeyboardInterrupt, nothing of it is left.
        """
        return self._run_child(text, own_group=True)[1]

    def run_program(self, argv):
        """Runs a program to its end and returns its exit code. All that it says goes to stdout."""
        return self._run_child(argv, stderr=subprocess.STDOUT)[1]

    def run_line(self, text, captured=False):
        """Runs a "!" line; returns what it printed, stderr too, if that is captured."""
        if match := _PIP.fullmatch(text.strip()):
            return self.run_pip(match[1] or "", captured)
        return self._run(f"!{text.strip()}", self._with_pip(text), captured)

    def run_pip(self, line, captured=False):
        """Runs pip with the arguments on a line, in a shell where that is needed."""
        if _FOR_SHELL.search(_QUOTED.sub("''", line)):
            command = self._with_pip(f"pip {line}")
        else:
            try:
                words = shlex.split(line, comments=True, posix=os.name != "nt")
            except ValueError as error:
                raise ValueError(f"%pip: {error}") from None
            command = self._pip([*map(os.path.expanduser, words)])
        return self._run(f"%pip {line}", command, captured)

    def run_script(self, argv, text, kept=()):
        """Has a program read a script from its stdin; returns (its streams, exit code).

        kept has "out" and "err" where these are to be kept in place of being shown.
        """
        with _script(text) as script:
            printed, code = self._run_child(_argv(argv), kept, stdin=script)
        vars(self._session.module)["_exit_code"] = code
        return [each.decode("utf-8", "replace") for each in printed], code

    def start_script(self, argv, text):
        """Has a program read a script in the background; returns the Popen."""
        with _script(text) as script:
            return _start(_argv(argv), _new_mark(), stdin=script)

    def _run(self, shown, command, captured):
        installs, watch = _INSTALL.search(shown), None
        if installs:
            installing = lazy_import.load_own("shell.installing")
            watch = installing.Watch(self._packages, self._packages.is_used())
        how = {"kept": ("out",), "stderr": subprocess.STDOUT} if captured else {}
        printed, code = self._run_child(command, **how)
        if installs:
            lazy_import.load("importlib").invalidate_caches()
            told = installing.notes(watch.changes(), self._packages, self._session.environment)
            self._installed.update(dict.fromkeys(told))
        vars(self._session.module)["_exit_code"] = code
        if code:
            self._failures.append((shown, code))
            self._install_failed |= bool(installs)
        return printed[0].decode("utf-8", "replace") if captured else None

    def _with_pip(self, text):
        """Has pip in a line of the shell's be the session's."""
        if not re.search(r"\bpip3?\b", text) or os.name == "nt":
            return text
        words = self._pip([_ARGUMENTS])
        call = " ".join(word if word == _ARGUMENTS else shlex.quote(word) for word in words)
        return f"pip() {{ {call}; }}\npip3() {{ {call}; }}\n{_PYTHON_PIP.sub('pip', text)}"

    def _pip(self, words):
        installing = lazy_import.load_own("shell.installing")
        python = sys.executable
        if self._packages.is_used() and not installing.make(self._packages, self):
            python = self._packages.python()
        return installing.argv(python, words, self._session.environment)

    def _run_child(self, command, kept=(), own_group=False, **how):
        """Runs a command line or an argv; returns ([what of its streams was kept], exit code).

        An interrupt is put off until there is a process to be ended: a child may say
        something before the call that starts it is over.
        """
        shown = _redirected()  # the streams that are no descriptors now: %%capture has them
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # an object of the user's in its place
        interrupts, mark, process = self._session.interrupts, _new_mark(), None
        told = []  # whether a group of its own has got the interrupt

        def tell():
            told.append(_signal_group(process, signal.SIGINT))

        try:
            with interrupts.held():
                process = _start(command, mark, {*kept, *shown}, own_group, **how)
                interrupts.cancel = tell if own_group else None
            printed = [each or b"" for each in process.communicate()]
            for end, data in zip(("out", "err"), printed):
                if end in shown and end not in kept:
                    shown[end].write(data.decode("utf-8", "replace"))
            code = process.returncode
            return printed, code if code >= 0 else _BY_SIGNAL - code
        except BaseException as error:
            with interrupts.held():
                if process is not None and type(error) is KeyboardInterrupt:
                    if own_group and not told:
                        tell()
                    _wait_for(process)
                _end(process, mark, own_group)
            if type(error) is KeyboardInterrupt:  # without the frames of the wait
                raise KeyboardInterrupt from None
            if process is not None or not isinstance(error, OSError):
                raise
            print(f"{error.filename or 'sh'}: {error.strerror}", file=sys.stderr)
            return [b"", b""], _NOT_FOUND
        finally:
            interrupts.cancel = None
            if process is not None:
                process.kill()
                process.wait()


def _script(text):
    file = lazy_import.load("tempfile").TemporaryFile()
    file.write(text.encode("utf-8", "surrogateescape"))
    file.seek(0)
    return file


def _argv(argv):
    """Returns a command line in which python is the session's."""
    return [sys.executable, *argv[1:]] if argv[0] in ("python", "python3") else argv


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


def _start(command, mark, kept=(), own_group=False, stdin=subprocess.DEVNULL, stderr=None):
    pipe = subprocess.PIPE
    more = {"stdin": stdin, "env": {**os.environ, "PATH": _path()}}
    more["stdout"] = pipe if "out" in kept else None
    more["stderr"] = stderr or (pipe if "err" in kept else None)
    if kin.can_find_marked():
        more["env"][_MARK] = mark
    if own_group and os.name == "nt":
        more["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    elif own_group:
        more["start_new_session"] = True
    if type(command) is str and os.name == "nt":
        return subprocess.Popen(command, shell=True, **more)
    if type(command) is str:
        # -p: functions and start-up files that the environment has are no commands.
        bash = next(filter(os.path.exists, _BASH), None)
        command = [*([bash, "-p"] if bash else ["/bin/sh"]), "-c", "--", command]
    return subprocess.Popen(command, **more)


def _path():
    """Returns the PATH of children, on which python is the session's."""
    path = os.environ.get("PATH", os.defpath)
    folder = os.path.dirname(sys.executable)
    which = lazy_import.load("shutil").which
    found = [which(name, path=path) for name in ("python", "python3")]
    if any(each is not None and os.path.dirname(each) != folder for each in found):
        return folder + os.pathsep + path
    return path if any(found) else path + os.pathsep + folder


def _wait_for(process):
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        pass


def _end(process, mark, own_group):
    """Kills a process, if it is known, and, where that can be, all that it has started."""
    if process is not None:
        process.kill()
        if own_group:
            _signal_group(process, getattr(signal, "SIGKILL", None))
    if kin.can_find_marked():
        kin.end_marked(f"{_MARK}={mark}".encode())


def _signal_group(process, number):
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
    except OSError:
        pass  # all of it has ended, or is another user's
