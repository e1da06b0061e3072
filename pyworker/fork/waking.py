"""How a copy becomes a worker: in the place of its dead original, or as a branch."""

import sys

from pyworker import lazy_import
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
    session.drop_door()
    mark(request["mark"])
    if "tag" in request:
        kin.take_tag(request["tag"])
    session.move(request["workdir"], request["private_dir"])
    left, hung_up, listeners = session.forks.wake()
    note, listening = awaiting.refresh(listeners, rebind=not fds)
    try:
        children.settle(left, children.ELSEWHERE if fds else children.KILLED)
    except Exception as error:  # of a class of the user's
        session.complain("the processes of earlier calls could not be forgotten", error)
    pids = sorted(pid for pid, ended in left.items() if ended is None)
    about = _about(len(pids), "child process", "child processes", ("started", "ended"), fds)
    if pids:
        about += f" (pid{'s' if len(pids) > 1 else ''} {', '.join(map(str, pids))})"
    lost = hung_up - listening
    other = _about(lost, "pipe or connection", "pipes and connections", ("opened", "closed"), fds)
    return [note for note in (session.workdir.enter(), note, about, other) if note]


def _leave_original(session, fds):
    """Lets go of what stays with the original, which lives on."""
    stdout, stderr, fault = fds
    session.fault.replace(fault)
    session.streams.move(stdout, stderr)
    _clear_exit_handlers()


def _clear_exit_handlers():
    """Forgets the handlers of the original: they would remove its temporary files."""
    lazy_import.load("atexit")._clear()
    finalize = lazy_import.load("weakref").finalize
    for finalizer in list(finalize._registry):
        finalizer.atexit = False
    finalize._registered_with_atexit = False  # it has been cleared too
    for name, function in _EVERY_EXIT:
        handler = getattr(sys.modules.get(name), function, None)
        if handler is not None:
            lazy_import.load("atexit").register(handler)


def _about(count, one, many, fate, is_branch):
    """Returns what became of things of the original: fate is how it began and how it ended."""
    things = f"{count} {one if count == 1 else many}"
    if not count:
        return ""
    if is_branch:
        stay = "stays" if count == 1 else "stay"
        return f"{things} {stay} with the interpreter that this one was branched from"
    if count == 1:
        return f"{things} that an earlier call had {fate[0]} was {fate[1]}"
    return f"{things} that earlier calls had {fate[0]} were {fate[1]}"
