"""The session's event loop: every cell runs in it, and it goes on between calls.

It is made when a cell may need it. Cells that await something run as its tasks. A
plain cell runs beside it, while asyncio takes it for the running loop: tasks that the
cell makes begin when the worker waits, and asyncio.run() and run_until_complete() work
there, as in a script.
"""

import sys
import types

from . import lazy_import, openfiles, resting
from .fork import obstacles

_PATIENCE = 2  # seconds that a cancelled cell may take to clean up
_ROUSED = (
    "code that ran in the event loop since the last call kept this one waiting and was "
    "interrupted: long work belongs in a thread or a process"
)


class Awaiting:
    """Runs coroutines of the session to their end; tasks live on in between."""

    def __init__(self, interrupts, own=None):
        self._interrupts = interrupts
        self._own = own if own is not None else set()  # identities that a copy may share
        self._loop = None
        self._notes = []  # about what was stopped that kept a call waiting
        self._told = 0  # how many tasks the last note was about

    def prepare(self, code):
        """Makes the loop if a cell may need it; what imports no asyncio pays nothing."""
        if "asyncio" in sys.modules or "async" in code or "uvloop" in code:
            self._open()

    def enter(self):
        """Has asyncio take the loop for the running one, while plain code runs."""
        if self._loop is not None and not self._loop.is_closed():
            lazy_import.load("asyncio").set_event_loop(self._loop)  # asyncio.run() leaves none
            resting.enter(self._loop)

    def leave(self):
        """Ends that."""
        if self._loop is not None:
            resting.leave()

    def end_idle_threads(self):
        """Ends the threads that would keep the process from being copied, and do nothing."""
        obstacles.end_idle_threads(self._loop)

    def live(self):
        """Returns how much of the loop goes on: tasks, or what else it waits for."""
        loop = self._loop
        if loop is None or loop.is_closed() or sys.platform == "win32":  # without add_reader
            return 0
        tasks = len(lazy_import.load("asyncio").all_tasks(loop))
        if tasks or not hasattr(loop, "_selector"):  # uvloop, which keeps the rest to itself
            return tasks
        timers = sum(not handle.cancelled() for handle in loop._scheduled)
        return timers + len(loop._selector.get_map()) - 1

    def tell_live(self, notes):
        """Returns how much of the loop goes on; where that has changed a note says it."""
        live, told = self.live(), self._told
        self._told = live
        if live not in (0, told):
            notes.append(f"tasks and servers of the event loop that go on between calls: {live}")
        return live

    def wait(self, stream):
        """Runs the loop until there is input; false if the loop has nothing to do."""
        if not self.live() and not getattr(self._loop, "_ready", None):
            return False
        tasks = lazy_import.load("asyncio").all_tasks(self._loop)
        self._interrupts.rouse = resting.is_in_callback
        try:
            goes_on = self._go_on(stream)
            while goes_on and not stream.wait(0):
                goes_on = self._go_on(stream)
        finally:
            self._interrupts.rouse = None
        for task in tasks:
            if task.done() and not task.cancelled() and task._log_traceback:  # not seen by anybody
                _tell(task, task.exception())
        return goes_on

    def _go_on(self, stream):
        """Runs the loop until there is input or something ends it; false for a broken loop."""
        fd, loop = stream.fileno(), self._loop
        try:
            loop.add_reader(fd, loop.stop)
            try:
                loop.run_forever()
            finally:
                loop.remove_reader(fd)
        except KeyboardInterrupt:
            if stream.wait(0):
                self._notes = [_ROUSED]
        except SystemExit:
            pass  # of a task: it ends that and no more
        except BaseException as error:  # of a loop that was tampered with
            sys.stderr.write(f"{type(error).__name__} in the event loop: {error}\n")
            return False
        return True

    def take_notes(self):
        """Returns sentences about the time between the calls, once."""
        notes, self._notes = self._notes, []
        return notes

    def refresh(self, listeners, rebind):
        """Makes the loop a copy's own, which is the original's too after a fork.

        The kernel's part of the selector is shared by the two. listeners are the sockets
        at which the original listened; the copy listens again if rebind says so. Returns a
        note, if anything fails, and at how many it does listen again.
        """
        loop = self._loop
        if loop is None or loop.is_closed():
            return "", 0
        try:
            mine = [each for each in listeners if each.fd in loop._selector.get_map()]
            lost = [each for each in mine if not (rebind and each.listen_again())]
            _renew_selector(loop, {each.fd for each in lost})
            self._note_own(loop)
        except Exception:  # a loop that isn't asyncio's own, as uvloop's
            self._loop = None
            return "the event loop of the earlier calls was given up, with its tasks", 0
        note = f"a server of an earlier call can't listen at {lost[0].name} again" if lost else ""
        return note if rebind else "", len(mine) - len(lost)

    def run(self, coroutine):
        """Returns the coroutine's value; an interrupt cancels it and lets it clean up."""
        task, context = None, []

        async def whole():
            try:
                return await coroutine
            finally:
                context[:] = lazy_import.load("contextvars").copy_context().items()

        try:
            self.leave()
            asyncio = self._open()
            task = self._loop.create_task(whole())
            return self._loop.run_until_complete(task)
        except BaseException as error:
            if task is not None and not task.done():  # the error has ended the loop under it
                if not resting.has_callback(error.__traceback__):
                    error = error.with_traceback(_place_of(task.get_coro()))
                _settle(asyncio, self._loop, task)
                raise error
            if task is not None and not task.cancelled():
                task.exception()  # seen: asyncio need not report it as lost
            raise
        finally:
            if task is None or task.done():
                coroutine.close()  # it may have been cancelled before it began
            for variable, value in context:  # as the task has set them
                if variable.get(context) is not value:
                    variable.set(value)

    def _open(self):
        """Makes the loop unless there is one; returns asyncio."""
        asyncio = lazy_import.load("asyncio")
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
            resting.install(asyncio)
            self._note_own(self._loop)
        return asyncio

    def _note_own(self, loop):
        """Notes the sockets by which the loop is woken: a copy makes others."""
        self._own.clear()
        ends = (getattr(loop, name, None) for name in ("_ssock", "_csock"))
        self._own.update(openfiles.identity(end.fileno()) for end in ends if end is not None)


def _place_of(coroutine):
    """Returns a traceback of the place where a coroutine waits."""
    frames, trace = [], None
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        frames.append(frame)
        coroutine = coroutine.cr_await
    for frame in reversed(frames):
        trace = types.TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace


def _renew_selector(loop, without):
    old = loop._selector
    loop._selector = type(old)()
    for key in list(old.get_map().values()):
        if key.fd in without:
            continue
        try:
            loop._selector.register(key.fileobj, key.events, key.data)
        except (OSError, ValueError):
            pass  # closed under the loop
    old.close()
    loop._close_self_pipe()
    loop._make_self_pipe()
    if loop._signal_handlers:
        lazy_import.load("signal").set_wakeup_fd(loop._csock.fileno())


def _settle(asyncio, loop, task):
    """Cancels a task and lets it clean up, for a while."""
    task.cancel()
    timer = loop.call_later(_PATIENCE, loop.stop)
    try:
        loop.run_until_complete(task)
    except (asyncio.CancelledError, RuntimeError):
        pass  # RuntimeError: it has swallowed that, and is left to itself
    finally:
        timer.cancel()


def _tell(task, error):
    sys.stderr.write(f"Exception in task {task.get_name()}:\n")
    sys.excepthook(type(error), error, error.__traceback__)
