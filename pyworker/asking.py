"""stdin, which has nothing to give, and input(), which says so."""

import builtins
import io
import sys

_builtin_input = builtins.input


def make_stdin():
    """Returns a text stream on descriptor 0, the null device."""
    return io.open(0, encoding="utf-8", errors="surrogateescape", closefd=False)


def install(streams):
    """Puts our input() in the place of the built-in one."""

    def input(prompt="", /):
        """Raises EOFError: nobody can answer. Reads a stdin that the user has set."""
        if sys.stdin is not streams.stdin:
            return _builtin_input(prompt)
        print(prompt, end="", flush=True)
        raise EOFError(
            "input() can't be answered in this session: assign the value in the code instead"
        )

    builtins.input = input
