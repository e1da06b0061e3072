"""The signal of a child's death, when the child is a copy of the process.

A handler of the user's for SIGCHLD is not to be called for that. Between
executions, when copies end, the signal is blocked; before the next one begins
it is taken back, unless a child of the user's has ended too.
"""

import _signal

from . import children

_SIGNALS = {_signal.SIGCHLD} if hasattr(_signal, "SIGCHLD") else set()


class Deaths:
    """Blocks the signal while no code of the user's runs."""

    def __init__(self, copies):
        self._copies = copies  # a set of process ids, None where there can't be any
        self._held = False

    def hold(self):
        """Ends an execution."""
        if self._copies is not None and callable(_signal.getsignal(_signal.SIGCHLD)):
            before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _SIGNALS)
            self._held = not before & _SIGNALS  # else the user has blocked it

    def release(self):
        """Begins one. The user's handler may run here, and raise."""
        if not self._held:
            return
        self._held = False
        ended = children.present(self._copies).values()
        if not any(code is not None for code in ended):
            _signal.sigtimedwait(_SIGNALS, 0)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _SIGNALS)
