"""Why a process can't be copied in its present state.

A fork copies the memory and one thread. What other threads were doing stops in
the midst, and whatever they held stays locked in the copy for ever.
"""

import _thread
import os
import sys

from . import late, native

_NAMED = 3  # threads that a sentence names
_SELF = 2  # links of a folder that has no folders in it


def why_not(limit):
    """Returns a clause for the agent, or "" when nothing stands in the way.

    limit is how much private memory a process may have and be copied, in bytes.
    """
    return _python_threads() or native_threads() or _memory(limit)


def _python_threads():
    """Names the Python threads beside the present one."""
    frames, count = sys._current_frames(), _thread._count()
    if len(frames) == 1 and not count:
        return ""
    others = frames.keys() - {_thread.get_ident()}
    active = late.load("threading")._active  # in the order in which they were started
    names = [_name(thread) for ident, thread in list(active.items()) if ident in others]
    # Threads that run a function of C have no frame.
    names += ["one without a name"] * (max(len(others), count) - len(names))
    return f"{_count(names, 'Python thread')} running ({_list(names)})"


def _name(thread):
    return late.load("threading").Thread.name.fget(thread)


def native_threads(threads=None):
    """Says what native threads would not survive a copy.

    threads is what native.Threads answers; a test gives one that makes it up.
    """
    if threads is None:
        if os.stat("/proc/self/task").st_nlink == _SELF + 1:
            return ""
        threads = native.threads
    found = threads.look()
    if found.cuda:
        return "a CUDA context is open"
    if found.named:
        return f"native threads of a library are running ({_list(found.named)})"
    if found.unknown:
        count = _count(range(found.unknown), "native thread", relative="that")
        return f"{count} not known to survive a copy {_be(found.unknown)} running"
    return ""


def _memory(limit):
    usage = late.load("resource").getrusage(0).ru_maxrss * 1024
    if usage <= limit:  # the most it ever was
        return ""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        resident, shared = file.readall().split()[1:3]
    held = (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    if held <= limit:
        return ""
    return (
        f"the session holds {_size(held)}, more than the {_size(limit)} "
        "that may be copied (--checkpoint-memory)"
    )


def _size(count):
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1000:.1f} kB"


def _count(things, noun, relative=""):
    """Returns as "2 Python threads are", or as "1 native thread that is"."""
    number = len(things)
    words = [str(number), noun + ("s" if number != 1 else ""), relative, _be(number)]
    return " ".join(filter(None, words))


def _be(number):
    return "is" if number == 1 else "are"


def _list(names):
    more = len(names) - _NAMED
    shown = ", ".join(map(str, names[:_NAMED]))
    return f"{shown} and {more} more" if more > 0 else shown
