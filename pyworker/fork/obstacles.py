"""Why a process can't be copied in its present state, and what of it can be ended.

A fork copies the memory and one thread. What other threads were doing stops in
the midst, and whatever they held stays locked in the copy for ever. Threads that
libraries keep for more work to come would stand in the way of copies for ever:
those that have none are ended. The libraries start others when there is work again.
"""

import _thread
import os
import sys

from pyworker import lazy_import

from . import native

_SELF = 2  # links of a folder that has no folders in it
_END = 0.1  # seconds in which a thread that was told to end does so

_ended = 0  # threads that _thread counts, and that the fork of this process has ended


def begin():
    """Is called in a worker that may be copied, before any code of the user's runs.

    Threads that a preloaded module has started stay in the zygote, but for
    _thread they count in its forks for ever.
    """
    global _ended
    try:
        if _is_alone():
            _ended = _thread._count()
    except OSError:
        pass  # no /proc: why_not will say so


def why_not(limit):
    """Returns a clause for the agent, or "" when nothing stands in the way.

    limit is how much private memory a process may have and be copied, in bytes.
    """
    threads = "" if _is_alone() else _python_threads() or native.threads.why_not()
    return native.card() or threads or _memory(limit)


def _is_alone():
    """Says whether the present thread is the only one of the process, of whatever kind."""
    return os.stat("/proc/self/task").st_nlink == _SELF + 1


def _other_threads():
    """Returns the Thread objects of the threads beside the present one, oldest first."""
    others = sys._current_frames().keys() - {_thread.get_ident()}
    active = lazy_import.load("threading")._active  # in the order in which they were started
    return [thread for ident, thread in list(active.items()) if ident in others]


def _python_threads():
    """Names the Python threads beside the present one."""
    # Threads that run a function of C have no frame.
    count = max(len(sys._current_frames()) - 1, _thread._count() - _ended)
    if not count:
        return ""
    names = list(map(lazy_import.load("threading").Thread.name.fget, _other_threads()))
    names += ["one without a name"] * (count - len(names))
    some = "1 Python thread is" if len(names) == 1 else f"{len(names)} Python threads are"
    return f"{some} running ({native.listed(names)})"


def _memory(limit):
    usage = lazy_import.load("resource").getrusage(0).ru_maxrss * 1024
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
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{count / 10**6:.1f} MB"


def end_idle_threads(loop):
    """Ends threads that have no work; loop is the session's own event loop, or None.

    Whatever is not as it is in the versions that are known is left alone.
    """
    try:
        if not _is_alone():
            _end_executor(loop)
            _end_monitors()
    except Exception:
        pass  # then they are named as an obstacle


def _end_executor(loop):
    """Ends the threads of asyncio.to_thread and of run_in_executor(None, ...)."""
    executor = getattr(loop, "_default_executor", None)
    # One that the user has made and set is the user's.
    if executor is None or executor._thread_name_prefix != "asyncio":
        return
    threads = list(executor._threads)
    for seconds in (*native.PATIENCE, 0):
        if _is_idle(executor, threads):
            loop._default_executor = None
            executor.shutdown(wait=False)
            _join(threads)
            return
        # A result is there before the thread that has worked for it is idle.
        lazy_import.load("time").sleep(seconds)


def _is_idle(executor, threads):
    # The executor's own count of idle threads is too high before Python 3.12,
    # once there was more work than threads.
    waiting = sys.modules["concurrent.futures.thread"]._worker.__code__
    frames = sys._current_frames()
    tops = [frames.get(thread.ident) for thread in threads]
    return executor._work_queue.empty() and all(top and top.f_code is waiting for top in tops)


def _end_monitors():
    """Ends the threads by which tqdm looks after its bars, if there are no others."""
    module = sys.modules.get("tqdm._monitor")
    if module is None:
        return
    threads = _other_threads()
    if not all(type(thread) is module.TMonitor for thread in threads):
        return
    for monitor in threads:
        monitor.was_killed.set()
    _join(threads)


def _join(threads):
    for thread in threads:
        thread.join(_END)
