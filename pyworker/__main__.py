"""Command line of a worker: python -m pyworker --frames 3 --fault 4 --stage 5 --bell 6."""

import sys

from . import loop

_DESCRIPTORS = ("--fault", "--stage", "--bell")


def _options(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    frames = options.pop("--frames", None)
    descriptors = [options.pop(name, None) for name in _DESCRIPTORS]
    if frames is None or options or len(arguments) % 2:
        sys.exit(
            "usage: python -m pyworker --frames FD|tcp:127.0.0.1:PORT "
            "[--fault FD] [--stage FD --bell FD]"
        )
    return frames, *(None if fd is None else int(fd) for fd in descriptors)


if __name__ == "__main__":
    loop.run(*_options(sys.argv[1:]))
