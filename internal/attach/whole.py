"""Says of each piece of code, a JSON string on a line, whether it is whole."""

import ast
import codeop
import json
import signal
import sys
import warnings

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the code that runs
warnings.simplefilter("ignore")  # the session's Python will say it


def is_whole(code: str) -> bool:
    # "exec" is for what was pasted: several statements.
    for symbol in "single", "exec":
        compiler = codeop.CommandCompiler()
        compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            return compiler(code, "<prompt>", symbol) is not None
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            pass
    return True  # wrong, a magic or a shell line: the session will say it


for line in sys.stdin:
    print(json.dumps(is_whole(json.loads(line))), flush=True)
