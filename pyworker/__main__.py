"""Command line of a worker: python -m pyworker --frames 3 --fault 4."""

import sys

from . import loop


def _options(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    frames = options.pop("--frames", None)
    fault = options.pop("--fault", None)
    if frames is None or options or len(arguments) % 2:
        sys.exit("usage: python -m pyworker --frames FD|tcp:127.0.0.1:PORT [--fault FD]")
    return frames, None if fault is None else int(fault)


if __name__ == "__main__":
    loop.run(*_options(sys.argv[1:]))
