"""What a zygote does before it forks workers: imports, and a rehearsal of their work.

Root shares a page of memory with each zygote, in which that notes what it is about to
import or to use. When it has died in the midst, root can tell of what, and the next
zygote leaves that out.

The rehearsal is for the memory that forks share. CPython changes the code that it runs:
it counts calls, and specializes instructions until they fit. After a rehearsal that has
settled. And small objects are put into whatever gaps there are among those that the
imports have left, each in another page; the gaps are filled first. The cache in which
types are looked up refers to the names that the imports have used: each that another
name takes the place of would be written to. Together that is a third of the memory of a
session that has done little.
"""

import _signal
import gc
import mmap
import os
import sys
import traceback

from pyworker import compiler, interrupt, lazy_import, protocol
from pyworker.display import variables

from . import children, obstacles

# Deaths that need not be the module's fault, as when memory was short: it takes two.
_FROM_OUTSIDE = frozenset((_signal.SIGHUP, _signal.SIGINT, _signal.SIGKILL, _signal.SIGTERM))

_TIMES = 30  # enough for every instruction to be specialized
_FRAMES = (
    {"type": "start", **{name: kind() for name, kind in protocol.FROM_GO["start"].items()}},
    {"type": "run", **{name: kind() for name, kind in protocol.FROM_GO["run"].items()}},
    {"type": "done", "execution": 1, "ok": True, "notes": [], "variables": {"added": ["x"]}},
)

# What is used of a library, as often.
_LIBRARIES = {
    "numpy": "import numpy; numpy.arange(10).sum(); repr(numpy.zeros(3) + 1)",
    "pandas": """import pandas
table = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
repr(table), table["a"].sum(), len(pandas.Series([1, 2, 3]))""",
}

# Bytes, of CPython's allocator of small objects: their sizes, and the pools that
# each hold objects of one size, after a header.
_SMALLEST, _LARGEST, _STEP = 48, 512, 16
_POOL, _POOL_HEADER = 16 << 10, 48
_HEADER = 33  # bytes of a bytes object of length 0
_MOST = 1 << 20  # bytes for one size: with another allocator there are no such pools
_INTEGERS = 4 * _POOL // 32
_filling = []

loaded = frozenset()  # the packages and modules that forks begin with, by their first names


class Suspects:
    """What root knows about the imports of its zygotes."""

    def __init__(self):
        self.trials = {}  # process id of a living zygote -> its Trial
        self.left_out = {}  # name of a module that the next one leaves out -> why
        self._suspected = set()  # names of modules noted at one death from outside

    def judge(self, pid, status):
        """Learns from a death, told as os.waitpid does."""
        trial = self.trials.pop(pid, None)
        name, act = trial.under_way() if trial else ("", "")
        if not name:
            return
        code = os.waitstatus_to_exitcode(status)
        if -code in _FROM_OUTSIDE and name not in self._suspected:
            self._suspected.add(name)
        elif code < 0:
            self.left_out[name] = f"killed its process (signal {-code}) when it was {act}"
        else:
            self.left_out[name] = f"ended its process (exit code {code}) when it was {act}"


class Trial:
    """The imports of one zygote, and the first use of what was imported."""

    def __init__(self, names, left_out):
        self.names = names
        self.left_out = left_out  # name -> why it is not imported
        self._page = mmap.mmap(-1, mmap.PAGESIZE)  # shared with forks

    def note(self, name="", act=""):
        """Notes what is done with a module now; without one nobody is to blame for what comes."""
        self._page[:] = f"{name} {act}".encode().ljust(mmap.PAGESIZE)[: mmap.PAGESIZE]

    def under_way(self):
        """Returns what was noted last: (name, what was done)."""
        name, _, act = self._page[:].decode(errors="replace").strip("\0 ").partition(" ")
        return name, act

    def end(self):
        """Notes in the zygote that all is done."""
        self.note()
        self._page.close()


def prepare(trial):
    """Does all that a zygote does for its forks; returns what load does."""
    outcome = load(trial)
    rehearse(trial)
    trial.end()
    if obstacle := obstacles.why_not(sys.maxsize):
        print(f"workers may lack what was preloaded: {obstacle}", file=sys.stderr, flush=True)
    settle()
    fill()
    settle()
    return outcome


def load(trial):
    """Imports a Trial's modules one after another; returns ([name], [[name, reason]]).

    Whatever an import raises, SystemExit too, costs that module only.
    """
    global loaded
    imported, failed = [], []
    for name in trial.names:
        if name in trial.left_out:
            failed.append([name, trial.left_out[name]])
            continue
        trial.note(name, "imported")
        try:
            __import__(name)
            imported.append(name)
        except BaseException as error:
            reason = "".join(traceback.format_exception_only(type(error), error))
            failed.append([name, reason.strip()[:500]])
    trial.note()
    lazy_import.load_own("shell.notebook").warm()
    loaded = frozenset(name for name in sys.modules if "." not in name)
    return imported, failed


def settle():
    """Keeps the garbage collector of the forks away from what is shared with them.

    It would write to each object, and so have the memory copied.
    """
    gc.collect()
    gc.freeze()


def rehearse(trial):
    """Runs those parts of an execution that leave no trace, the libraries of a Trial too."""
    if sys.version_info < (3, 12):  # later the names are never written to
        sys._clear_type_cache()  # so that it holds what is looked up here
    to_blame = set(trial.names).difference(trial.left_out)
    libraries = [name for name in _LIBRARIES if name in sys.modules and name in to_blame]
    for _ in range(_TIMES):
        decoder = protocol.Decoder()
        for frame in _FRAMES:
            decoder.feed(b"".join(protocol.encode(frame)))
            protocol.check_fields(decoder.next()[0])
        _run("x = 1\nx + 1")
        obstacles.why_not(1 << 60)
        children.present(())
        for name in libraries:
            trial.note(name, "used on trial")
            try:
                exec(_LIBRARIES[name], {})
            except BaseException:
                pass  # of another version, say: nothing depends on it
        trial.note()


def _run(code):
    interrupts, names = interrupt.Interrupts(), {}
    snapshot = variables.Snapshot(names)
    interrupts.begin()
    for part, _ in compiler.Compiler("all").compile(code, "<rehearsal>"):
        interrupts.guarded(lambda part=part: eval(part, names))
    interrupts.rest()
    snapshot.advance(names)


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
