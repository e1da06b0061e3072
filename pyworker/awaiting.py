"""Top-level await: one event loop per session, made when it is first needed."""

import _signal

from . import late
from .fork import idle


class Awaiting:
    """Runs coroutines of the session to their end; tasks live on in between."""

    def __init__(self, interrupts):
        self._interrupts = interrupts
        self._loop = None

    def descriptors(self):
        """Returns the descriptors through which the loop is woken."""
        ends = (getattr(self._loop, name, None) for name in ("_ssock", "_csock"))
        return {end.fileno() for end in ends if end is not None}

    def end_idle_threads(self):
        """Ends the threads that would keep the process from being copied, and do nothing."""
        idle.end(self._loop)

    def refresh(self):
        """Makes the loop a copy's own, which is the original's too after a fork.

        The kernel's part of the selector is shared by the two, and the sockets
        through which the loop is woken have been hung up. Returns a note if
        that fails.
        """
        if self._loop is None or self._loop.is_closed():
            return ""
        try:
            _renew_selector(self._loop)
        except Exception:  # a loop that isn't asyncio's own, as uvloop's
            self._loop = None
            return "the event loop of the earlier calls was given up, with its tasks"
        return ""

    def run(self, coroutine):
        """Returns the coroutine's value; an interrupt cancels it first."""
        try:
            asyncio = late.load("asyncio")
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
            task = self._loop.create_task(coroutine)
        except BaseException:  # an interrupt, above all
            coroutine.close()  # or Python would warn that nobody awaited it
            raise
        interrupted = _Interruption(asyncio, self._loop, task)
        self._interrupts.cancel = interrupted.ask
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError as error:
            if not interrupted.asked:
                raise
            while isinstance(error.__context__, asyncio.CancelledError):
                error = error.__context__  # Python 3.10 keeps the frames there
            raise KeyboardInterrupt().with_traceback(error.__traceback__) from None
        except BaseException:
            self._interrupts.cancel = None
            _settle(asyncio, self._loop, task)
            raise
        finally:
            self._interrupts.cancel = None


class _Interruption:
    """Turns a signal that finds the loop waiting into a cancellation."""

    def __init__(self, asyncio, loop, task):
        self.asked = False
        self._asyncio = asyncio
        self._loop = loop
        self._task = task

    def ask(self):
        """Cancels the task unless Python code of some task is running just now.

        There, or when asked again, the caller raises KeyboardInterrupt instead.
        """
        if self.asked or self._task.done():
            return False
        if self._asyncio.current_task(self._loop) is not None:
            return False
        self.asked = True
        self._task.cancel()
        self._loop.call_soon_threadsafe(_wake)
        return True


def _renew_selector(loop):
    old = loop._selector
    loop._selector = type(old)()
    for key in list(old.get_map().values()):
        try:
            loop._selector.register(key.fileobj, key.events, key.data)
        except (OSError, ValueError):
            pass  # closed under the loop
    old.close()
    loop._close_self_pipe()
    loop._make_self_pipe()
    if loop._signal_handlers:
        _signal.set_wakeup_fd(loop._csock.fileno())


def _wake():
    """Does nothing: that it is called makes the loop look up from its wait."""


def _settle(asyncio, loop, task):
    """Lets the task clean up behind an exception that ended the loop under it."""
    if not task.done():
        task.cancel()
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
    elif not task.cancelled():
        task.exception()  # seen: asyncio need not report it as lost
