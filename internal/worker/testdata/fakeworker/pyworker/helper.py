"""A helper that answers with what it has, and hangs when it is told to."""

import json
import os
import sys

sys.stderr.write("é" * 3000 + "\nlast words")
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "hang":
        while True:
            pass
    elif word == "fill":
        try:
            answer = len(bytearray(int(rest)))
        except MemoryError:
            answer = "MemoryError"
    else:
        answer = {
            "environ": dict(os.environ),
            "path": sys.path,
            "isolated": sys.flags.isolated,
            "group": os.getpgrp() == os.getpid() if hasattr(os, "getpgrp") else True,
        }
    print(json.dumps(answer), flush=True)
