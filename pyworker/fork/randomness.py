"""Random numbers after a fork: new ones in a new session, the same in a copy."""

import os
import sys

_WORDS = 624  # 32-bit words of a state of the Mersenne Twister


def renew():
    """Gives a new session, forked from modules that were preloaded, its own.

    The module random does so by itself, numpy and torch don't. Nor does
    multiprocessing, whose key must not be known to other sessions.
    """
    for name, act in (
        ("numpy.random", _renew_numpy),
        ("torch", lambda module: module.seed()),
        ("multiprocessing.process", _renew_key),
    ):
        module = sys.modules.get(name)
        if module is not None:
            act(module)


def _renew_numpy(module):
    """Gives numpy's global generator a state of its own.

    seed() would do the same, and touch three times as much of the memory that is
    shared with the zygote.
    """
    words = sys.modules["numpy"].frombuffer(os.urandom(4 * _WORDS), dtype="uint32")
    module.set_state(("MT19937", words, _WORDS))


def _renew_key(process):
    process.current_process().authkey = os.urandom(32)


class Kept:
    """The state of the module random, which seeds itself anew in every fork."""

    def __init__(self):
        module = sys.modules.get("random")
        self._instance = getattr(module, "_inst", None)
        self._state = None
        try:
            self._state = self._instance.getstate()
        except Exception:
            pass  # not imported, or a random.py of the user's

    def restore(self):
        """Makes it what it was, in the copy."""
        if self._state is not None:
            self._instance.setstate(self._state)
