"""Fork a Python that has the usual imports: the least that a new process can cost.

A line of JSON on standard input asks for some forks, a line on standard output
tells how many seconds each took until the fork had written a byte to a pipe.
"""

import gc
import json
import os
import sys
import time

import matplotlib.pyplot
import numpy
import pandas


def fork():
    """Return the seconds until a fork has spoken."""
    reading, writing = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if not pid:
        os.write(writing, b".")
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 1)
    took = time.perf_counter() - began
    os.close(reading)
    os.waitpid(pid, 0)
    if not said:
        raise RuntimeError("the fork said nothing")
    return took


def main():
    assert matplotlib.pyplot and numpy and pandas
    gc.collect()
    gc.freeze()  # as understudy's zygote does
    for line in sys.stdin:
        seconds = [fork() for _ in range(json.loads(line)["count"])]
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
