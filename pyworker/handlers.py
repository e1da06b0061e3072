"""The user's handlers of signals, while no code of the user's runs.

What one of them raised there, as on an alarm that was left behind, would meet our
own work, in the midst of a frame, say. They are called, but what they raise is
dropped.
"""

import _signal

from .interrupt import SIGNALS, Interrupts

_NUMBERS = frozenset(range(1, _signal.NSIG)) - frozenset(SIGNALS)
_TRIES = 1000  # to come between two signals


class Handlers:
    """Takes the place of those handlers between executions."""

    def __init__(self, report):
        self._report = report  # is called with a line for the user
        self._shields = {}  # by a signal's number
        self._all_held = False

    def hold(self):
        """Ends an execution, whatever a handler that is called meanwhile raises."""
        for _ in range(_TRIES):
            try:
                if not self._all_held:
                    self._hold()
                return
            except BaseException:  # whatever they like to raise
                pass

    def _hold(self):
        for number in _NUMBERS:
            handler = _signal.getsignal(number)
            if not callable(handler) or type(handler) is _Shield:
                continue
            if getattr(handler, "__func__", None) is not Interrupts.nudged:
                shield = self._shields[number] = _Shield(handler, self._report)
                _signal.signal(number, shield)
        self._all_held = True

    def release(self):
        """Begins one. A handler may be called here, and raise."""
        self._all_held = False
        while self._shields:
            number, shield = self._shields.popitem()
            if _signal.getsignal(number) is shield:
                _signal.signal(number, shield.handler)


class _Shield:
    """Calls a handler and drops what it raises; it says so once."""

    def __init__(self, handler, report):
        self.handler = handler
        self._report = report
        self._told = False

    def __call__(self, number, frame):
        try:
            self.handler(number, frame)
        except BaseException as error:
            if not self._told:
                self._told = True
                self._report(
                    f"{type(error).__name__} was dropped: the handler of signal {number}"
                    " has raised it after the execution"
                )
