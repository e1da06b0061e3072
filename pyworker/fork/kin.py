"""Processes that descend from this one, as Linux's /proc tells."""

import _signal
import math
import os
import sys
import time

from pyworker import lazy_import

MARK = "UNDERSTUDY_INTERPRETER"  # tells the server whose child a process is

_LONGEST_END = 2  # seconds
_LONGEST_END_OF_ALL = 30  # seconds, when the server is dead: nobody waits for it
_LIMIT_ON_LOCKS = 10  # Linux has kept it, passed it on and ignored it since 2.4.25
_TAG_BITS = 22  # of such a limit: they number the workers of one server
# Fields of /proc/PID/stat, counted from behind the name.
_STATE, _PARENT, _THREADS, _VSIZE, _ENV_START = 0, 1, 17, 20, 47
_NAP = (0.001, 0.05)  # seconds between two rounds of killing: the first, the longest


def take_tag(tag):
    """Takes the limit by which the server tells this process's kin from all others."""
    if sys.platform != "linux":
        return
    try:
        lazy_import.load("resource").setrlimit(_LIMIT_ON_LOCKS, (tag, tag))
    except (OSError, ValueError):
        pass  # the server tells them by their environment


def children(pid="self"):
    """Returns the ids of a process's children, the dead that nobody has reaped too."""
    found = []
    for task in _names(f"/proc/{pid}/task"):
        try:
            found += map(int, _read(f"{pid}/task/{task}", "children").split())
        except FileNotFoundError:
            if task == str(pid) or task == str(os.getpid()):  # a kernel without such files
                return _children_by_parent(os.getpid() if pid == "self" else int(pid))
        except OSError:
            pass  # the thread or the process has ended
    return found


def _children_by_parent(parent):
    found = []
    for pid in _processes():
        try:
            if int(_stat(pid)[_PARENT]) == parent:
                found.append(pid)
        except OSError:
            pass  # it has ended
    return found


def _processes():
    return [int(name) for name in _names("/proc") if name.isdigit()]


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def descendants(of=("self",)):
    """Returns the ids of all living and dead descendants of processes, of this one's."""
    found, unseen = set(), [child for pid in of for child in children(pid)]
    while unseen:
        pid = unseen.pop()
        if pid not in found:
            found.add(pid)
            unseen += children(pid)
    return found


def end_all():
    """Kills all descendants, again and again until none is left.

    Only a reaper of orphans can do so for good: what one that is being killed
    has started meanwhile becomes a child of this process.
    """
    _end(lambda: [] if _reap_all() else descendants(), math.inf)


def end_all_of_server(nonce):
    """Kills all processes of a server that is dead; all of its marks begin with nonce.

    Beside descendants that is whoever has a mark, in the environment or as a tag: workers
    of other parents, with all that they have started.
    """
    end_all()
    if nonce:
        _end(lambda: _all_of_server(nonce), _LONGEST_END_OF_ALL)


def _all_of_server(nonce):
    """Returns the others, and when there are none the forkers: they are doing the same."""
    tag, found, forkers = int(nonce[:10], 16), set(), set()
    for pid in _processes():
        if _tag(pid) >> _TAG_BITS == tag:
            found.add(pid)
        elif name := _name_in_mark(pid, nonce):
            (forkers if name == b"root" else found).add(pid)
    selves = {os.getpid(), os.getppid()}
    return (found | descendants(found)) - forkers - selves or forkers - selves


def _tag(pid):
    """Returns a process's tag, 0 of one that is dead, or has none."""
    try:
        fields = _stat(pid)
        text = _read(pid, "limits").partition(b"Max file locks")[2].split()
    except OSError:
        return 0
    is_dead = fields[_STATE] in (b"Z", b"X") and int(fields[_THREADS]) <= 1
    return 0 if is_dead or not text or not text[0].isdigit() else int(text[0])


def _name_in_mark(pid, nonce):
    mark = f"{MARK}={nonce}/".encode()
    for entry in _environ(pid):
        if entry.startswith(mark):
            return entry[len(mark) :].partition(b"/")[0]
    return b""


def can_find_marked():
    """Says whether end_marked can find anything here."""
    return os.path.exists("/proc/self/environ")


def end_marked(variable):
    """Kills all processes that have this b"NAME=value" in their environment.

    It does so again and again until there is none; what can't die now has been told to.
    """
    _end(lambda: [pid for pid in _processes() if variable in _environ(pid)], _LONGEST_END)


def _end(find, longest):
    """Kills what find() returns until that is nothing, or seconds have passed.

    A process of another user's, which can't be killed, is left alone.
    """
    (nap, longest_nap), until = _NAP, time.monotonic() + longest
    while [pid for pid in find() if _kill(pid)] and time.monotonic() < until:
        time.sleep(nap)
        nap = min(2 * nap, longest_nap)


def _environ(pid):
    """Returns the environment that a process was started with.

    One that is becoming another program shows none for a moment, and is looked at again:
    it may be what a shell has only just started.
    """
    until = time.monotonic() + _LONGEST_END
    try:
        data = _read(pid, "environ")
        while not data and time.monotonic() < until:
            place = _place_of_environ(pid)
            data = _read(pid, "environ")
            if place is None or (place and place == _place_of_environ(pid)):
                break
            time.sleep(_NAP[0])
    except OSError:  # it has ended, or is another user's
        return []
    return data.split(b"\0")


def _place_of_environ(pid):
    """Returns where a process has its environment: 0 for not yet, None for no memory at all."""
    fields = _stat(pid)
    return int(fields[_ENV_START]) if int(fields[_VSIZE]) else None


def _stat(pid):
    return _read(pid, "stat").rpartition(b")")[2].split()


def _read(pid, name):
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        return file.readall()


def _kill(pid):
    """Kills a process; says whether that is allowed, and there is something to kill."""
    try:
        os.kill(pid, _signal.SIGKILL)
    except OSError:
        return False
    return True


def _reap_all():
    """Reaps what is dead; says whether no child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False
