"""What a forker does so that its forks write to less of the memory they share.

CPython changes the code that it runs: it counts calls, and specializes
instructions until they fit. After a rehearsal in the forker that has settled.
And small objects are put into whatever gaps there are among those that the
imports have left, each in another page; the gaps are filled first. The cache in
which types are looked up refers to the names that the imports have used: each
that another name takes the place of would be written to.

Together that is a third of the memory of a session that has done little.
"""

import sys

from pyworker import cells, interrupt, protocol
from pyworker.display import variables

from . import children, obstacles

_TIMES = 30  # enough for every instruction to be specialized
_FRAMES = (
    {"type": "start", **{name: kind() for name, kind in protocol.FROM_GO["start"].items()}},
    {
        "type": "run",
        "execution": 1,
        "kind": "code",
        "code": "x = 1\nx + 1",
        "arguments": {},
        "result_var_name": "",
    },
    {"type": "done", "execution": 1, "ok": True, "notes": [], "variables": {"added": ["x"]}},
)

# Bytes, of CPython's allocator of small objects: their sizes, and the pools that
# each hold objects of one size, after a header.
_SMALLEST, _LARGEST, _STEP = 48, 512, 16
_POOL, _POOL_HEADER = 16 << 10, 48
_HEADER = 33  # bytes of a bytes object of length 0
_MOST = 1 << 20  # bytes for one size: with another allocator there are no such pools
_INTEGERS = 4 * _POOL // 32

# What is used of a library, as often.
_LIBRARIES = {
    "numpy": "import numpy; numpy.arange(10).sum(); repr(numpy.zeros(3) + 1)",
    "pandas": """import pandas
table = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
repr(table), table["a"].sum(), len(pandas.Series([1, 2, 3]))""",
}
_filling = []


def rehearse(trial):
    """Runs those parts of an execution that leave no trace, the libraries of a Trial too."""
    _forget_lookups()
    for _ in range(_TIMES):
        decoder = protocol.Decoder()
        for frame in _FRAMES:
            decoder.feed(b"".join(protocol.encode(frame)))
            protocol.check_fields(decoder.next()[0])
        _run(_FRAMES[1]["code"])
        obstacles.why_not(1 << 60)
        children.present(())
        _use_libraries(trial)


def _use_libraries(trial):
    """Does what most sessions do first with what was preloaded."""
    for name, code in _LIBRARIES.items():
        if name in sys.modules and trial.begin_use(name):
            try:
                exec(code, {})
            except BaseException:
                pass  # of another version, say: nothing depends on it
    trial.pause()


def _run(code):
    interrupts, names = interrupt.Interrupts(), {}
    snapshot = variables.Snapshot(names)
    interrupts.begin()
    for part, _ in cells.Compiler("all").compile(code, "<rehearsal>"):
        interrupts.guarded(lambda part=part: eval(part, names))
    interrupts.rest()
    snapshot.advance(names)


def _forget_lookups():
    """Empties the cache of lookups in types, so that it holds those of the rehearsal."""
    if sys.version_info < (3, 12):  # later the names are never written to
        sys._clear_type_cache()


def fill():
    """Fills the gaps between small objects, for good."""
    # Of integers' size a fixed number: _fill needs integers of its own.
    _filling.append(list(range(1 << 40, (1 << 40) + _INTEGERS)))
    for size in range(_SMALLEST, _LARGEST + 1, _STEP):
        _filling.append(_fill(size))


def _fill(size):
    """Makes objects of a size until they have filled a pool from end to end.

    The allocator begins a new pool only when it knows of no gap any more.
    """
    made, in_a_row = [bytes(size - _HEADER)], 1
    whole = (_POOL - _POOL_HEADER) // size
    while in_a_row < whole and len(made) * size < _MOST:
        made.append(bytes(size - _HEADER))
        in_a_row = in_a_row + 1 if id(made[-1]) - id(made[-2]) == size else 1
    return made
