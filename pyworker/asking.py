"""input() and lines of stdin, which the server's user or its client gives."""

import _thread
import builtins
import io
import sys

from . import lazy_import

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
    asker = _Asker(streams, frames, interrupts)

    def input(prompt="", /):
        """Asks the user or the caller through MCP; EOFError says why that can't be.

        Reads a stdin that the user has set.
        """
        if sys.stdin is not streams.stdin:
            return _builtin_input(prompt)
        if "bdb" in sys.modules:
            lazy_import.load_own("debugging").tidy(sys._getframe(1))
        prompt = str(prompt)
        print(prompt, end="", flush=True)
        return asker.ask(prompt)

    builtins.input = input
    Stdin.ask = staticmethod(asker.ask)


class _Asker:
    """Puts one question at a time to the server and waits for its answer."""

    def __init__(self, streams, frames, interrupts):
        self._streams = streams
        self._frames = frames
        self._interrupts = interrupts
        self._question = 0  # number of the last one
        self._asking = False

    def ask(self, prompt):
        """Returns the answer; an interrupt ends the wait, as in a terminal."""
        state = self._interrupts
        for is_so, why in (
            (self._frames.closed, "can't be answered in a child process"),
            (_thread.get_ident() != state.main, "can be answered in the main thread only"),
            # of a task that goes on between calls
            (state.is_idle(), "can be answered during a run only"),
            (self._asking, "can't be answered while another one waits"),
            (state.signalled, "asks no more: the run was interrupted"),  # pdb would for ever
        ):
            if is_so:
                raise EOFError(f"input() {why}")
        self._asking = True
        self._question += 1
        question = {"type": "ask", "question": self._question, "prompt": prompt[:_PROMPT_LIMIT]}
        try:
            self._frames.send(question)
            while (answer := self._frames.receive_answer())["question"] != question["question"]:
                pass  # of one that was interrupted
        finally:
            self._asking = False
        if answer["refusal"]:
            raise EOFError("input() got no answer: " + answer["refusal"])
        self._streams.show_typed(answer["text"])
        return answer["text"]
