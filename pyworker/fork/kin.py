"""Processes that descend from this one, as Linux's /proc tells."""

import _signal
import os
import sys
import time

from pyworker import late

_LONGEST_END = 2  # seconds
_LIMIT_ON_LOCKS = 10  # Linux has kept it, passed it on and ignored it since 2.4.25
_VSIZE, _ENV_START = 20, 47  # fields of /proc/PID/stat, counted from behind the name
_NAP = (0.001, 0.05)  # seconds between two rounds of killing: the first, the longest


def take_tag(tag):
    """Takes the limit by which the server tells this process's kin from all others."""
    if sys.platform != "linux":
        return
    try:
        late.load("resource").setrlimit(_LIMIT_ON_LOCKS, (tag, tag))
    except (OSError, ValueError):
        pass  # the server tells them by their environment


def children(pid="self"):
    """Returns the ids of a process's children, the dead that nobody has reaped too."""
    found = []
    for task in _names(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                found += map(int, file.readall().split())
        except FileNotFoundError:
            if task == str(pid) or task == str(os.getpid()):  # a kernel without such files
                return _children_by_parent(os.getpid() if pid == "self" else int(pid))
        except OSError:
            pass  # the thread or the process has ended
    return found


def _children_by_parent(parent):
    return [int(n) for n in _names("/proc") if n.isdigit() and stat(n)[1:] == (parent,)]


def stat(pid):
    """Returns (state letter, parent's id) of a process, () when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.readall().rpartition(b")")[2].split()
    except OSError:
        return ()
    return fields[0].decode(), int(fields[1])


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def descendants():
    """Returns the ids of all living and dead descendants of this process."""
    found, unseen = set(), children()
    while unseen:
        pid = unseen.pop()
        if pid not in found:
            found.add(pid)
            unseen += children(pid)
    return found


def end_all():
    """Kills all descendants, again and again until none is left.

    Only a reaper of orphans can do so for good: what one that is being killed
    has started meanwhile becomes a child of this process. A process of another
    user's, which can't be killed, is left alone.
    """
    nap, longest = _NAP
    while not _reap_all():
        killed = [pid for pid in descendants() if _kill(pid)]
        if not killed:
            return
        time.sleep(nap)
        nap = min(2 * nap, longest)


def can_find_marked():
    """Says whether end_marked can find anything here."""
    return os.path.exists("/proc/self/environ")


def end_marked(variable):
    """Kills all processes that have this b"NAME=value" in their environment.

    It does so again and again until there is none, but for those of another user's;
    what can't die now has been told to.
    """
    nap, longest = _NAP
    until = time.monotonic() + _LONGEST_END
    while [pid for pid in _marked(variable) if _kill(pid)] and time.monotonic() < until:
        time.sleep(nap)
        nap = min(2 * nap, longest)


def _marked(variable):
    """Returns the ids of the living processes with this in the environment."""
    return [int(pid) for pid in _names("/proc") if pid.isdigit() and variable in _environ(pid)]


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
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[_ENV_START]) if int(fields[_VSIZE]) else None


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
