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


def leads_to(stream, texts, raws, pipes):
    """Says whether a user's stream, flushed on this occasion, writes to ours.

    texts and raws are our streams, pipes the identities of what is below them.
    """
    with _Watch((*texts, *raws)) as watch:
        _try(lambda: stream.flush())
        if not watch.seen:
            _try(lambda: stream.write(""))
    return bool(watch.seen) or _try(lambda: identity(stream.fileno())) in pipes


def settle(stream):
    """Has a stream that stays write each line at once, as a task between calls may print."""
    if type(stream) is io.TextIOWrapper:
        _try(lambda: stream.reconfigure(line_buffering=True))


def note(name, stream):
    """Returns the sentence about a stream that does not stay."""
    kind = type(stream).__name__
    return f"sys.{name} was left as a {kind} that the output does not reach; it is the usual again"


def _try(action):
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None  # a user's object without that, or a closed one


class _Watch:
    """Notes whether this thread calls our streams, which do what they are asked to."""

    def __init__(self, streams):
        self.seen = []
        self._streams = streams

    def __enter__(self):
        for stream in self._streams:
            for name in _METHODS:
                stream.__dict__[name] = self._noting(getattr(stream, name))
        return self

    def __exit__(self, *_):
        for stream in self._streams:
            for name in _METHODS:
                stream.__dict__.pop(name, None)

    def _noting(self, method):
        mine = _thread.get_ident()

        def call(*arguments):
            if _thread.get_ident() == mine:
                self.seen.append(method)
            return method(*arguments)

        return call
