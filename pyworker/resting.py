"""What asyncio takes for the running loop while plain code runs in the session's.

create_task(), get_running_loop() and the like, in C, ask for the loop that was set.
Who is to run a loop asks by another name, in Python, whether one runs already: that
is answered with none, so that asyncio.run() and run_until_complete() work.
"""

import sys

from . import interrupt

_loop = None  # the resting loop
_set = None  # asyncio's own function, once ours is in place
_callback = None  # the code by which asyncio calls


def install(asyncio):
    """Puts our function in the place of asyncio's, once."""
    global _set, _callback
    events = asyncio.events
    _callback = events.Handle._run.__code__
    if _set is not None or "uvloop" in sys.modules:  # which has taken the others for good
        return
    get, _set = events._get_running_loop, events._set_running_loop

    def _get_running_loop():
        loop = get()
        return None if loop is not None and loop is _loop and not loop.is_running() else loop

    asyncio._get_running_loop = events._get_running_loop = _get_running_loop


def enter(loop):
    """Has the loop taken for the running one in this thread, until another one runs or leave."""
    global _loop
    if _set is not None:
        _loop = loop
        _set(loop)


def leave():
    """Ends that."""
    global _loop
    if _loop is not None:
        _loop = None
        _set(None)


def is_in_callback(frame):
    """Says whether the frame is of code that a loop has called, not the loop's own."""
    if frame is None or frame.f_code is _callback:
        return False
    while (frame := frame.f_back) is not None:
        if frame.f_code is _callback:
            return True
    return False


def has_callback(trace):
    """Says whether an interrupt's traceback leads through Python that a loop has called."""
    while trace is not None and trace.tb_frame.f_code is not _callback:
        trace = trace.tb_next
    inner = trace and trace.tb_next
    return inner is not None and inner.tb_frame.f_code.co_filename != interrupt.__file__
