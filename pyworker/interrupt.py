"""What SIGINT does: it stops the user's code, and never our own bookkeeping.

An execution runs in guarded regions. Only inside one does the handler raise
KeyboardInterrupt; elsewhere it leaves a mark, and the next guarded region of
the same execution raises at its start. While the worker waits for the next
request the signal means nothing, unless a request has already come.
"""

import _signal
import _thread
import sys

# On Windows a console's CTRL_BREAK takes the place of SIGINT.
SIGNALS = tuple(getattr(_signal, name) for name in ("SIGINT", "SIGBREAK") if hasattr(_signal, name))
# Ends a system call that Python waits in, so that it sees to an interrupt that
# came just before it. Its default is to do nothing, in programs of the user's too.
NUDGE = getattr(_signal, "SIGURG", None)


class Interrupts:
    """The state of interruption of the worker's main thread."""

    def __init__(self):
        self.signalled = False  # a signal has come during this execution
        self.has_input = lambda: False  # says if an unread request waits
        # While the event loop runs between calls, says if a frame is of code that it has called.
        self.rouse = None
        self._idle = True
        self._armed = False  # a guarded region is open
        self._pending = False  # a signal is to be raised in the next guarded region
        self._lost = False  # one was raised where it is swallowed
        self._held = 0  # depth of regions that put an interrupt off
        self.main = _thread.get_ident()

    def install(self):
        """Makes the handler ours (again), and lets the signals through."""
        for number in SIGNALS:
            if _signal.getsignal(number) != self._handle:
                _signal.signal(number, self._handle)
        if NUDGE is not None and _signal.getsignal(NUDGE) == _signal.SIG_DFL:
            _signal.signal(NUDGE, self.nudged)
        if hasattr(_signal, "pthread_sigmask"):
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
        if sys.unraisablehook is sys.__unraisablehook__:
            sys.unraisablehook = self._retry

    def rest(self):
        """Ends an execution: what comes now is for nobody."""
        self._idle = True
        self._pending = False

    def is_idle(self):
        """Says whether no execution runs, and no request is being read."""
        return self._idle

    def awake(self):
        """Says that input has come: a signal from now on is for that."""
        self._idle = False

    def begin(self):
        """Begins an execution."""
        self.signalled, self._lost = self._pending, False

    def excuse(self, signalled):
        """Says whether a signal had come before work of ours that is over now.

        One that work has not met is left for the next guarded region.
        """
        self.signalled = signalled or self._pending

    def guarded(self, action):
        """Runs action() and returns (its value, None) or (None, its exception).

        The handler doesn't raise in this function's own frame, so that no
        interrupt can pass between the end of action and the return.
        """
        try:
            self._armed = True
            return self._enter(action), None
        except BaseException as error:  # the user's code may raise anything
            return None, error
        finally:
            self._armed = False

    def _enter(self, action):
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt
        return action()

    def held(self):
        """Returns a context in which an interrupt is put off to its end."""
        return _Held(self)

    def _retry(self, lost):
        """Notes an interrupt that has met what Python calls where nothing can be raised.

        A finalizer or the callback of a weak reference, the import system's too,
        would swallow it. It is raised again with the next nudge.
        """
        if issubclass(lost.exc_type, KeyboardInterrupt) and self._armed:
            self._lost = True
        else:
            sys.__unraisablehook__(lost)

    def _handle(self, _number, frame):
        if self._idle:
            self._pending = self.has_input()
            self.nudged(NUDGE, frame)
            return
        self.signalled = True
        self._stop(frame)

    def _stop(self, frame):
        if not self._armed or self._held or frame is None or frame.f_code is _GUARDED:
            self._pending = True
        else:
            raise KeyboardInterrupt

    def nudged(self, _number, frame):
        """Raises an interrupt that was lost, or stops a task that keeps a request waiting.

        Else it does nothing: that the signal came is enough.
        """
        if self._lost and not self._idle:
            self._lost = False
            self._stop(frame)
        elif self._idle and self.rouse is not None and self.has_input() and self.rouse(frame):
            raise KeyboardInterrupt


_GUARDED = Interrupts.guarded.__code__


class _Held:
    """Puts interrupts of the main thread off; signals reach no other thread."""

    def __init__(self, interrupts):
        self._interrupts = interrupts
        self._mine = _thread.get_ident() == interrupts.main

    def __enter__(self):
        if self._mine:
            self._interrupts._held += 1

    def __exit__(self, *_):
        interrupts = self._interrupts
        if not self._mine:
            return
        interrupts._held -= 1
        if interrupts._pending and interrupts._armed and not interrupts._held:
            interrupts._pending = False
            raise KeyboardInterrupt
