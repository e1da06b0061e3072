"""stdin, which has nothing to give, and input(), which asks the server's user."""

import _thread
import builtins
import io
import sys

_builtin_input = builtins.input
_PROMPT_LIMIT = 10_000  # characters that go to the server; all are printed


def make_stdin():
    """Returns a text stream on descriptor 0, the null device."""
    return io.open(0, encoding="utf-8", errors="surrogateescape", closefd=False)


def install(streams, frames, interrupts):
    """Puts our input() in the place of the built-in one."""
    asker = _Asker(frames, interrupts)

    def input(prompt="", /):
        """Asks the user through the MCP client; EOFError says why that can't be.

        Reads a stdin that the user has set.
        """
        if sys.stdin is not streams.stdin:
            return _builtin_input(prompt)
        prompt = str(prompt)
        print(prompt, end="", flush=True)
        answer = asker.ask(prompt)
        streams.show_typed(answer)
        return answer

    builtins.input = input


class _Asker:
    """Puts one question at a time to the server and waits for its answer."""

    def __init__(self, frames, interrupts):
        self._frames = frames
        self._interrupts = interrupts
        self._question = 0  # number of the last one
        self._asking = False

    def ask(self, prompt):
        """Returns the answer; an interrupt ends the wait, as in a terminal."""
        if self._frames.closed:
            raise EOFError("input() can't be answered in a child process")
        if _thread.get_ident() != self._interrupts.main:
            raise EOFError("input() can be answered in the main thread only")
        if self._asking:
            raise EOFError("input() can't be answered while another one waits")
        self._asking = True
        try:
            return self._await_answer(prompt)
        finally:
            self._asking = False

    def _await_answer(self, prompt):
        self._question += 1
        number = self._question
        self._frames.send({"type": "ask", "question": number, "prompt": prompt[:_PROMPT_LIMIT]})
        while True:
            header = self._frames.receive_answer()
            if header["question"] != number:
                continue  # of one that was interrupted
            if header["refusal"]:
                raise EOFError("input() got no answer: " + header["refusal"])
            return header["text"]
