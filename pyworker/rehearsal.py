"""What a forker does so that its forks write to less of the memory they share.

CPython changes the code that it runs: it counts calls, and specializes
instructions until they fit. After a rehearsal in the forker that has settled.
And small objects are put into whatever gaps there are among those that the
imports have left, each in another page; the gaps are filled first.

Together that is a tenth of the memory of a session that has done little.
"""

from . import cells, children, interrupt, obstacles, protocol, variables

_TIMES = 30  # enough for every instruction to be specialized
_FRAMES = (
    {"type": "start", **{name: kind() for name, kind in protocol.FROM_GO["start"].items()}},
    {"type": "run", "execution": 1, "code": "x = 1\nx + 1", "result_var_name": ""},
    {"type": "done", "execution": 1, "ok": True, "notes": [], "variables": {"added": ["x"]}},
)

_SMALLEST, _LARGEST, _STEP = 48, 512, 16  # bytes of the small objects of CPython's allocator
_FILLED = 64 << 10  # bytes, for each size
_HEADER = 33  # bytes of a bytes object of length 0

_filling = []


def rehearse():
    """Runs those parts of an execution that leave no trace."""
    for _ in range(_TIMES):
        decoder = protocol.Decoder()
        for frame in _FRAMES:
            decoder.feed(b"".join(protocol.encode(frame)))
            protocol.check_fields(decoder.next()[0])
        _run(_FRAMES[1]["code"])
        obstacles.why_not(1 << 60)
        children.present(())


def _run(code):
    interrupts, names = interrupt.Interrupts(), {}
    snapshot = variables.Snapshot(names)
    interrupts.begin()
    for part, _ in cells.Compiler("all").compile(code, "<rehearsal>"):
        interrupts.guarded(lambda part=part: eval(part, names))
    interrupts.rest()
    snapshot.advance(names)


def fill():
    """Fills the gaps between small objects, for good."""
    for size in range(_SMALLEST, _LARGEST + 1, _STEP):
        _filling.append([bytes(size - _HEADER) for _ in range(_FILLED // size)])
