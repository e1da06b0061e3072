"""input() and lines of stdin, which the server's user or its client gives."""

import _thread
import builtins
import io
import sys

from . import late

_builtin_input = builtins.input
_PROMPT_LIMIT = 10_000  # characters that go to the server; all are printed
_NO_SECRETS = (
    "getpass() asks nobody: the answer would pass through the client and the model. Have the user "
    "set an environment variable for the server, and read that from os.environ"
)


class Stdin(io.TextIOWrapper):
    """Text on descriptor 0, the null device; the main thread's lines are asked for.

    What reads more than lines finds nothing, as in a notebook: libraries look whether
    something was piped in.
    """

    ask = None  # a function of a prompt that returns a line; raises EOFError

    def __init__(self):
        raw = io.FileIO(0, closefd=False)
        super().__init__(io.BufferedReader(raw), encoding="utf-8", errors="surrogateescape")
        self.mode = "r"

    def readline(self, size=-1, /):
        """Returns a line that was asked for, "" when nobody gives one."""
        if self.ask is None or size == 0:
            return ""
        try:
            return self.ask("") + "\n"
        except EOFError:
            return ""

    def __next__(self):
        if line := self.readline():
            return line
        raise StopIteration

    def fileno(self):
        """Returns 0, and keeps getpass from asking with all that it tries."""
        if sys._getframe(1).f_globals.get("__name__") == "getpass":
            raise EOFError(_NO_SECRETS) from None
        return super().fileno()


def install(streams, frames, interrupts):
    """Puts our input() in the place of the built-in one."""
    asker = _Asker(frames, interrupts)

    def ask(prompt):
        answer = asker.ask(prompt)
        streams.show_typed(answer)
        return answer

    def input(prompt="", /):
        """Asks the user or the caller through MCP; EOFError says why that can't be.

        Reads a stdin that the user has set.
        """
        if sys.stdin is not streams.stdin:
            return _builtin_input(prompt)
        if "bdb" in sys.modules:
            late.load_own("debugging").tidy(sys._getframe(1))
        prompt = str(prompt)
        print(prompt, end="", flush=True)
        return ask(prompt)

    builtins.input = input
    Stdin.ask = staticmethod(ask)


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
        if self._interrupts.is_idle():  # a task that goes on between calls
            raise EOFError("input() can be answered during a run only")
        if self._asking:
            raise EOFError("input() can't be answered while another one waits")
        if self._interrupts.signalled:  # pdb would ask for ever
            raise EOFError("input() asks no more: the run was interrupted")
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
