"""How a copy becomes a worker: in the place of its dead original, or as a branch."""

import sys

from pyworker import late
from pyworker.protocol import ProtocolError
from pyworker.session import mark

from . import children, kin

# Handlers that each process is to run at its exit, whatever it is a copy of.
_EVERY_EXIT = (("logging", "shutdown"), ("multiprocessing.util", "_exit_function"))


def wake(session, awaiting, request, fds):
    """Makes this copy a worker; returns notes about what did not come along.

    fds are a branch's: stdout, stderr, fault. Without any, the copy goes on with the
    pipes of its original, which is dead.
    """
    if len(fds) not in (0, 3):
        raise ProtocolError("descriptors", f"{len(fds)} came with wake, not 0 or 3")
    if fds:
        _leave_original(session, fds)
    else:
        session.streams.restore()
    mark(request["mark"])
    if "tag" in request:
        kin.take_tag(request["tag"])
    session.move(request["workdir"], request["private_dir"])
    session.forks.wake()
    hung_up = session.forks.take_hung_up()
    note, listening = awaiting.refresh(session.forks.take_listeners(), rebind=not fds)
    notes = [
        session.place.enter(),
        note,
        _about_children(_forget_children(session, bool(fds)), bool(fds)),
        _about_connections(len(hung_up) - listening, bool(fds)),
    ]
    return [note for note in notes if note]


def _leave_original(session, fds):
    """Lets go of what stays with the original, which lives on."""
    stdout, stderr, fault = fds
    session.fault.replace(fault)
    session.streams.move(stdout, stderr)
    _clear_exit_handlers()


def _clear_exit_handlers():
    """Forgets the handlers of the original: they would remove its temporary files."""
    late.load("atexit")._clear()
    finalize = late.load("weakref").finalize
    for finalizer in list(finalize._registry):
        finalizer.atexit = False
    finalize._registered_with_atexit = False  # it has been cleared too
    for name, function in _EVERY_EXIT:
        handler = getattr(sys.modules.get(name), function, None)
        if handler is not None:
            late.load("atexit").register(handler)


def _forget_children(session, is_branch):
    """Returns the ids of those that were alive."""
    left = session.forks.take_children()
    try:
        children.settle(left, children.ELSEWHERE if is_branch else children.KILLED)
    except Exception as error:  # of a class of the user's
        session.complain("the processes of earlier calls could not be forgotten", error)
    return sorted(pid for pid, ended in left.items() if ended is None)


def _about_children(pids, is_branch):
    if not pids:
        return ""
    one = len(pids) == 1
    which = ("pid " if one else "pids ") + ", ".join(map(str, pids))
    things = "1 child process" if one else f"{len(pids)} child processes"
    if is_branch:
        return f"{things} {_stay(one)} ({which})"
    if one:
        return f"{things} that an earlier call had started was ended ({which})"
    return f"{things} that earlier calls had started were ended ({which})"


def _about_connections(count, is_branch):
    if not count:
        return ""
    one = count == 1
    things = "1 pipe or connection" if one else f"{count} pipes and connections"
    if is_branch:
        return f"{things} {_stay(one)}"
    if one:
        return f"{things} that an earlier call had opened was closed"
    return f"{things} that earlier calls had opened were closed"


def _stay(one):
    return ("stays" if one else "stay") + " with the interpreter that this one was branched from"
