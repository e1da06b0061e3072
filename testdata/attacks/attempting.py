"""Runs attempts to get through the wall, and says what became of each.

This file and the attempts are put into the working directory of the session that
attacks. What there is to be found is in targets.json beside them: files, processes and
sockets that the test has made for it, and nothing else is looked for. An attempt does no
harm where it gets through, since all of them are also made without a wall, as root:
what isn't open there would prove nothing.
"""

import ctypes
import errno
import json
import os
import signal
import threading
import traceback

ALWAYS = "always"
# What one attempt may take, in seconds. It is only met by what hangs.
_PATIENCE = 20

libc = ctypes.CDLL(None, use_errno=True)
with open("targets.json") as file:
    T = json.load(file)

_attempts = []


class Stopped(Exception):
    """An attempt has got nowhere without an exception that says so."""


class Beside(Exception):
    """There is nothing here that the attempt could be made on."""


def attempts(tables, control=True):
    """Registers attempts, functions by what they try, in tables by which layers stop them.

    Alternatives are parted by |, and an alternative names layers that do it together, parted
    by +. ALWAYS: any wall does. An attempt returns what it got, or raises. control=False: it
    isn't made, or is stopped too, where there is no wall.
    """
    for by, table in tables.items():
        _attempts.extend((tries, function, by, control) for tries, function in table.items())


def attempt(by, control=True):
    """Registers a function that takes more than a line; its name says what it tries."""

    def register(function):
        attempts({by: {function.__name__.replace("_", " "): function}}, control)
        return function

    return register


def run(skip=(), without_wall=False):
    """Makes all registered attempts, and writes a line of JSON before and after each.

    Those in skip have been made: one has ended the process, and this is the next one.
    """
    made, _attempts[:] = list(_attempts), []
    for tries, function, by, control in made:
        if tries in skip or (without_wall and not control):
            continue
        about = {"name": tries, "by": by}
        _tell(about)
        _tell(about | judge(function))


def judge(function):
    """Calls function and returns its verdict: open, stopped, beside or broken, and why."""

    def give_up(*_):
        raise TimeoutError(errno.ETIMEDOUT, "nothing happened")

    timed = threading.current_thread() is threading.main_thread()
    if timed:
        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(_PATIENCE)
    try:
        got = function()
        return {"verdict": "open", "why": "it was done" if got is None else str(got)[:300]}
    except Stopped as stopped:
        return {"verdict": "stopped", "why": str(stopped)}
    except Beside as beside:
        return {"verdict": "beside", "why": str(beside)}
    except TimeoutError:
        return {"verdict": "stopped", "why": "nothing answered"}
    except OSError as error:
        if error.errno is None:  # Python's own opinion, as of a path that is too long
            return {"verdict": "broken", "why": str(error)}
        name = errno.errorcode.get(error.errno, "")
        return {"verdict": "stopped", "why": f"{type(error).__name__} {name}".strip()}
    except Exception:
        return {"verdict": "broken", "why": traceback.format_exc()[-1500:]}
    finally:
        if timed:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


def _tell(line):
    # Whatever becomes of this process, the test finds what was written.
    with open("verdicts.jsonl", "a") as verdicts:
        verdicts.write(json.dumps(line) + "\n")


# What attempts are made of.


def holds(text, secret=None):
    """Returns that text was read if it has the secret in it."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if (secret or T["secret"]) not in text:
        raise Stopped("there is nothing of it in what was read")
    return "it was read"


# What the secret in the server's environment begins with.
_BEGINNING = b"environment-"


def holds_environment(text):
    """Returns that text was read if the secret of the server's environment is in it.

    That is compared in disguise, since one attempt searches this process's memory for
    it, where it must not be because of the attempts.
    """
    told = T["environment_disguised"]
    at = text.find(_BEGINNING)
    while at >= 0:
        found = text[at : at + len(told)]
        if "".join(chr(c ^ 1) for c in reversed(found)) == told:
            return "it was read"
        at = text.find(_BEGINNING, at + 1)
    raise Stopped("there is nothing of it in what was read")


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def listed(directory):
    return " ".join(os.listdir(directory))


def opened(path, flags=os.O_RDONLY):
    """Opens and closes a file, and changes nothing in it."""
    os.close(os.open(path, flags))
    return f"{path} was opened"


def any_opened(paths, flags=os.O_RDONLY):
    """Opens the first of several files that can be."""
    for path in paths:
        try:
            return opened(path, flags)
        except OSError:
            pass
    raise Stopped("none can be opened")


def planted(directory, name="planted-by-an-attempt", beside=None):
    """Makes a file in a directory, and removes it again.

    Where a session has a /tmp of its own there are directories in it on the way to its
    files. What lies beside tells the real one.
    """
    path = os.path.join(directory, name)
    if beside and beside not in os.listdir(directory):
        raise Stopped("there is an empty directory in its place")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)
    return f"a file was made in {directory}"


def greeted(family, address):
    """Connects to what says the secret to whoever does."""
    import socket

    with socket.socket(family) as client:
        client.settimeout(15)
        client.connect(address)
        return holds(client.recv(100))


def checked(result):
    """Returns the result of a C function, or raises as it says."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number, *arguments):
    """Makes a system call; whole numbers and bytes may be given."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(libc.syscall(ctypes.c_long(number), *words))


def made(descriptor):
    """Closes the descriptor that a call has made."""
    os.close(descriptor)


def reaches(number, *arguments, allowed=()):
    """Makes a system call that can't succeed, and sees whether the kernel got as far
    as to look at its arguments: one of the allowed errors says so."""
    try:
        return f"returned {syscall(number, *arguments)}"
    except OSError as error:
        if error.errno not in allowed:
            raise
        return f"the kernel looked at it: {errno.errorcode[error.errno]}"


def in_child(function):
    """Makes an attempt in a child, for it changes the process that makes it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, json.dumps(judge(function)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        raise Stopped(f"the process was ended: {describe(status)}")
    verdict = json.loads(answer)
    if verdict["verdict"] == "open":
        return verdict["why"]
    if verdict["verdict"] == "broken":
        raise RuntimeError(verdict["why"])
    raise (Beside if verdict["verdict"] == "beside" else Stopped)(verdict["why"])


def describe(status):
    """Says how a child has ended."""
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit status {os.waitstatus_to_exitcode(status)}"


def fields_of_status():
    """Returns the fields of /proc/self/status."""
    with open("/proc/self/status") as status:
        return dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)


def environment(who):
    """Looks for the server's secret in the environment that a process began with."""
    return holds_environment(read(f"/proc/{who}/environ"))
