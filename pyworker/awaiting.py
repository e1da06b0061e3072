"""The session's event loop: every cell runs in it, and it goes on between calls.

It is made when a cell may need it. Cells that await something run as its tasks. A
plain cell runs beside it, while asyncio takes it for the running loop: tasks that the
cell makes begin when the worker waits, and asyncio.run() and run_until_complete() work
there, as in a script.
"""

import sys
import types

from . import late, openfiles, resting
from .fork import obstacles

_WORDS = ("async", "await", "uvloop")  # of cells that may need a loop
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
        self._watched = None  # tasks whose failure between calls is to be told
        self._notes = []  # about what was stopped that kept a call waiting
        self._told = 0  # how many tasks the last note was about

    def prepare(self, code):
        """Makes the loop if a cell may need it; what imports no asyncio pays nothing."""
        if "asyncio" in sys.modules or any(word in code for word in _WORDS):
            with self._interrupts.held():
                self._open()

    def enter(self):
        """Has asyncio take the loop for the running one, while plain code runs."""
        if self._loop is not None and not self._loop.is_closed():
            late.load("asyncio").set_event_loop(self._loop)  # asyncio.run() leaves none
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
        tasks = len(late.load("asyncio").all_tasks(loop))
        if not hasattr(loop, "_selector"):  # uvloop, which keeps the rest to itself
            return tasks
        timers = sum(not handle.cancelled() for handle in loop._scheduled)
        return tasks or timers + len(loop._selector.get_map()) - 1

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
        watched = self._watch()
        self._interrupts.rouse = resting.is_in_callback
        try:
            goes_on = self._go_on(stream)
            while goes_on and not stream.readable():
                goes_on = self._go_on(stream)
        finally:
            self._interrupts.rouse = None
        for task in [task for task in watched if task.done()]:
            self._watched.discard(task)
            if not task.cancelled() and task._log_traceback:  # which nobody has asked for
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
            if stream.readable():
                self._notes = [_ROUSED]
        except SystemExit:
            pass  # of a task: it ends that and no more
        except BaseException as error:  # of a loop that was tampered with
            sys.stderr.write(f"{type(error).__name__} in the event loop: {error}\n")
            return False
        return True

    def _watch(self):
        if self._watched is None:
            self._watched = late.load("weakref").WeakSet()
        self._watched.update(late.load("asyncio").all_tasks(self._loop))
        return set(self._watched)

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
        """Returns the coroutine's value; an interrupt cancels it first."""
        context = _Context()
        wrapped = context.wrap(coroutine)
        try:
            self.leave()
            asyncio = self._open()
            task = self._loop.create_task(wrapped)
        except BaseException:  # an interrupt, above all
            wrapped.close()  # or Python would warn that nobody awaited it
            coroutine.close()
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
            if not interrupted.asked:  # else it has been told to end, and is left to itself
                _settle(asyncio, self._loop, task)
            raise
        finally:
            self._interrupts.cancel = None
            interrupted.end()
            context.keep()
            if task.done():
                coroutine.close()  # it may have been cancelled before it began

    def _open(self):
        """Makes the loop unless there is one; returns asyncio."""
        asyncio = late.load("asyncio")
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


class _Context:
    """Brings what a task has set in context variables to those of the session."""

    def __init__(self):
        self._variables = None

    async def wrap(self, coroutine):
        """Is the task."""
        try:
            return await coroutine
        finally:
            self._variables = late.load("contextvars").copy_context()

    def keep(self):
        """Sets what was set."""
        if self._variables is None:
            return
        missing = object()
        for variable, value in self._variables.items():
            if variable.get(missing) is not value:
                variable.set(value)


class _Interruption:
    """Turns a signal that finds the loop waiting into a cancellation."""

    def __init__(self, asyncio, loop, task):
        self.asked = False
        self._asyncio = asyncio
        self._loop = loop
        self._task = task
        self._over = False
        self._insistence = None  # a timer, once the task was cancelled

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
        self._loop.call_soon_threadsafe(self._begin)
        return True

    def _begin(self):
        """Wakes the loop, by being called, and sees that a task ends that swallows it all."""
        if not self._over:
            self._insistence = self._loop.call_later(_PATIENCE, self._insist)

    def _insist(self):
        error = KeyboardInterrupt("the code went on after it was cancelled")
        raise error.with_traceback(_place_of(self._task.get_coro()))

    def end(self):
        """Ends what was begun."""
        self._over = True
        if self._insistence is not None:
            self._insistence.cancel()


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
        late.load("signal").set_wakeup_fd(loop._csock.fileno())


def _settle(asyncio, loop, task):
    """Lets the task clean up behind an exception that ended the loop under it."""
    if not task.done():
        task.cancel()
        timer = loop.call_later(_PATIENCE, loop.stop)
        try:
            loop.run_until_complete(task)
        except (asyncio.CancelledError, RuntimeError):
            pass  # RuntimeError: it has swallowed that, and is left to itself
        finally:
            timer.cancel()
    elif not task.cancelled():
        task.exception()  # seen: asyncio need not report it as lost


def _tell(task, error):
    sys.stderr.write(f"Exception in task {task.get_name()}:\n")
    sys.excepthook(type(error), error, error.__traceback__)
