"""Command lines: a worker, and the root of a tree of forks (see forker.py).

python -m pyworker --frames 3 --fault 4
python -m pyworker --root 3 [NONCE]
"""

import sys


def _options(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    frames = options.pop("--frames", None)
    fault = options.pop("--fault", None)
    if frames is None or options or len(arguments) % 2:
        sys.exit(
            "usage: python -m pyworker --frames FD|tcp:127.0.0.1:PORT [--fault FD]"
            " | --root FD [NONCE]"
        )
    return frames, None if fault is None else int(fault)


def _main(arguments):
    if arguments[:1] == ["--root"] and len(arguments) in (2, 3):
        from .fork import forker

        forker.run(int(arguments[1]), *arguments[2:])
    options = _options(arguments)
    from . import loop

    loop.run(*options)


if __name__ == "__main__":
    _main(sys.argv[1:])
