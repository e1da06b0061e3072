"""The user's handlers of signals, while no code of the user's runs.

What one of them raised there, as on an alarm that was left behind, would meet our
own work, in the midst of a frame, say. They are called, but what they raise is
dropped.
"""

import _signal
import operator

from .interrupt import SIGNALS, Interrupts

_NUMBERS = frozenset(range(1, _signal.NSIG)) - frozenset(SIGNALS)
_TRIES = 1000  # to come between two signals


class Handlers:
    """Takes the place of those handlers between executions."""

    def __init__(self, report):
        self._report = report  # is called with a line for the user
        self._held = {}  # signal's number -> (what takes its handler's place, the handler)
        self._all_held = False
        self._looked = [None]  # at which handlers none was to be held

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
        found = list(map(_signal.getsignal, _NUMBERS))
        if len(found) != len(self._looked) or not all(map(operator.is_, found, self._looked)):
            self._hold_all(found)
        self._all_held = True

    def _hold_all(self, found):
        for number, handler in zip(_NUMBERS, found):
            if not callable(handler) or self._held.get(number, (None,))[0] is handler:
                continue
            if getattr(handler, "__func__", None) is not Interrupts.nudged:
                self._held[number] = self._shield(handler), handler
                _signal.signal(number, self._held[number][0])
        if not self._held:
            self._looked = found

    def release(self):
        """Begins one. A handler may be called here, and raise."""
        self._all_held = False
        while self._held:
            number, (shield, handler) = self._held.popitem()
            if _signal.getsignal(number) is shield:
                _signal.signal(number, handler)

    def _shield(self, handler):
        """Returns what calls a handler and drops what it raises; it says so once."""
        told = []

        def shield(number, frame):
            try:
                handler(number, frame)
            except BaseException as error:
                if not told:
                    told.append(True)
                    self._report(
                        f"{type(error).__name__} was dropped: the handler of signal {number}"
                        " has raised it after the execution"
                    )

        return shield
