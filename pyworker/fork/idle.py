"""Threads that libraries keep for more work to come, and have none at present.

They would stand in the way of copies for ever. The libraries start others when
there is work again.
"""

import sys

from pyworker import late

from . import obstacles

_PATIENCE = (0.0002, 0.0005, 0.001, 0.002)  # seconds in which a thread goes idle after its work
_END = 0.1  # seconds in which a thread that was told to end does so


def end(loop):
    """Ends them; loop is the session's own event loop, or None.

    Whatever is not as it is in the versions that are known is left alone.
    """
    try:
        if not obstacles.is_alone():
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
    if _becomes_idle(executor, threads):
        loop._default_executor = None
        executor.shutdown(wait=False)
        _join(threads)


def _becomes_idle(executor, threads):
    """Says whether nothing is queued or running, now or in a moment.

    A result is there before the thread that has worked for it is idle.
    """
    for seconds in _PATIENCE:
        if _is_idle(executor, threads):
            return True
        late.load("time").sleep(seconds)
    return _is_idle(executor, threads)


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
    threads = obstacles.other_threads()
    if not all(type(thread) is module.TMonitor for thread in threads):
        return
    for monitor in threads:
        monitor.was_killed.set()
        if monitor.tqdm_cls.monitor is monitor:
            monitor.tqdm_cls.monitor = None
    _join(threads)


def _join(threads):
    for thread in threads:
        thread.join(_END)
