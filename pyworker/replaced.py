"""What users put in the place of stdout and stderr.

It stays from call to call as long as it passes on to our streams what it is given, as
another wrapper of sys.stdout.buffer does, or a class that writes to a log too. What
keeps text to itself would have later calls print nothing: it is gone with its call,
and the call says so.
"""

import _thread
import io

from .openfiles import identity

_METHODS = ("write", "flush")


def leads_to(stream, ours, pipes):
    """Says whether a user's stream, flushed on this occasion, writes to ours.

    pipes are the identities of what is below ours.
    """
    seen = []
    for each in ours:
        for name in _METHODS:
            each.__dict__[name] = _noting(getattr(each, name), seen)
    try:
        _try(lambda: stream.flush())
        if not seen:
            _try(lambda: stream.write(""))
    finally:
        for each in ours:
            for name in _METHODS:
                each.__dict__.pop(name, None)
    return bool(seen) or _try(lambda: identity(stream.fileno())) in pipes


def settle(stream):
    """Has a stream that stays write each line at once, as a task between calls may print."""
    if type(stream) is io.TextIOWrapper:
        _try(lambda: stream.reconfigure(line_buffering=True))


def note(name, stream):
    """Returns the sentence about a stream that does not stay."""
    kind = type(stream).__name__
    return f"sys.{name} was left as a {kind} that the output does not reach; it is the usual again"


def _noting(method, seen):
    """Returns a method that notes whether this thread calls it."""
    mine = _thread.get_ident()

    def call(*arguments):
        if _thread.get_ident() == mine:
            seen.append(method)
        return method(*arguments)

    return call


def _try(action):
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None  # a user's object without that, or a closed one
