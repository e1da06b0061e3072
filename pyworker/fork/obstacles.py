"""Why a process can't be copied in its present state.

A fork copies the memory and one thread. What other threads were doing stops in
the midst, and whatever they held stays locked in the copy for ever.
"""

import _thread
import os
import sys

from pyworker import late

from . import native

_NAMED = 3  # threads that a sentence names
_SELF = 2  # links of a folder that has no folders in it

_ended = 0  # threads that _thread counts, and that the fork of this process has ended


def begin():
    """Is called in a worker that may be copied, before any code of the user's runs.

    Threads that a preloaded module has started stay in the zygote, but for
    _thread they count in its forks for ever.
    """
    global _ended
    try:
        if is_alone():
            _ended = _thread._count()
    except OSError:
        pass  # no /proc: why_not will say so


def why_not(limit):
    """Returns a clause for the agent, or "" when nothing stands in the way.

    limit is how much private memory a process may have and be copied, in bytes.
    """
    threads = "" if is_alone() else _python_threads() or native_threads()
    return threads or _memory(limit)


def is_alone():
    """Says whether the present thread is the only one of the process, of whatever kind."""
    return os.stat("/proc/self/task").st_nlink == _SELF + 1


def other_threads():
    """Returns the Thread objects of the threads beside the present one, oldest first."""
    others = sys._current_frames().keys() - {_thread.get_ident()}
    active = late.load("threading")._active  # in the order in which they were started
    return [thread for ident, thread in list(active.items()) if ident in others]


def _python_threads():
    """Names the Python threads beside the present one."""
    running = len(sys._current_frames()) - 1
    count = _thread._count() - _ended  # threads that run a function of C have no frame
    if not running and count <= 0:
        return ""
    names = [_name(thread) for thread in other_threads()]
    names += ["one without a name"] * (max(running, count) - len(names))
    return f"{_count(names, 'Python thread')} running ({_list(names)})"


def _name(thread):
    return late.load("threading").Thread.name.fget(thread)


def native_threads(threads=native.threads):
    """Says what native threads would not survive a copy.

    threads looks at those of this process; a test gives one that makes them up.
    """
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
