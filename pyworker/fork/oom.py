"""Whom the kernel kills when memory runs out: the code at fault.

A session and its copy share their memory, so either would do for the kernel.
The session is made the likelier one, and the copy has the state from before.
"""

_FILE = "/proc/self/oom_score_adj"
_MORE = 300  # thousandths of the machine's memory that a session seems to use more
_MOST = 1000


class Score:
    """How likely this process is chosen."""

    def __init__(self):
        try:
            with open(_FILE, "rb", buffering=0) as file:
                self._at_start = int(file.readall())
        except (OSError, ValueError):
            self._at_start = None

    def expose(self):
        """Makes it likelier, when it runs the user's code."""
        if self._at_start is not None:
            self._set(min(self._at_start + _MORE, _MOST))

    def shelter(self):
        """Makes it what it was at the start, while it sleeps."""
        if self._at_start is not None:
            self._set(self._at_start)

    def sheltered(self):
        """Returns the file and what shelter would write to it, or None."""
        if self._at_start is None:
            return None
        return _FILE.encode(), str(self._at_start).encode()

    def _set(self, score):
        try:
            with open(_FILE, "wb", buffering=0) as file:
                file.write(str(score).encode())
        except OSError:
            pass  # not allowed here: the kernel's own choice must do
