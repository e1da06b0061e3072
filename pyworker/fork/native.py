"""Native threads: which of them survive that their process is copied.

- OpenBLAS ends its threads before a fork by itself, and starts them when they
  are needed again. So does the OpenMP of Intel and LLVM, after the fork.
- libgomp, the OpenMP of GCC, would wait for ever in the copy for threads that
  are not there. It is told to end them first.
- Arrow makes its two pools anew in the copy. What they were doing is lost there, so
  they must be idle.
- Threads with a name of their own belong to a library that has made no such
  provision: polars, tokio, jemalloc.
- Of any other thread nothing is known, DuckDB's among them.

CUDA refuses to work in a copy once it has begun, also before it has threads.
"""

import functools
import os
import re
import sys

from pyworker import lazy_import

PATIENCE = (0.0002, 0.0005, 0.001, 0.002)  # seconds in which an ended thread may go

_PAUSE_HARD = 2  # omp_pause_hard of omp.h: ends the threads
_NODES = "/dev/nvidia"  # and what begins so: the cards, and how they are controlled
_NAMED = 3  # threads that a sentence names

# What a library's file is called, by the kind of its threads.
_GOMP = re.compile(r"libgomp[.-]")
_FORK_SAFE_OPENMP = re.compile(r"lib(iomp5|omp)[.-]")
_BLAS = re.compile(r".*openblas")
_ARROW = re.compile(r"libarrow[.-]")
_BLAS_THREADS = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
)
_ARROW_AT_FORK = "_ZN5arrow8internal14RegisterAtForkESt8weak_ptrINS0_13AtForkHandlerEE"
_ARROW_POOLS = (
    "_ZN5arrow8internal16GetCpuThreadPoolEv",
    "_ZN5arrow2io8internal15GetIOThreadPoolEv",
)
_ARROW_THREADS = "_ZN5arrow8internal10ThreadPool17GetActualCapacityEv"
_ARROW_TASKS = "_ZN5arrow8internal10ThreadPool11GetNumTasksEv"


def judge(names, own_names, pool_size):
    """Says of threads, by their names, which would not survive; "" if all do.

    pool_size is how many threads the known pools have, None for any number.
    """
    named = [name for name in names if name not in own_names]
    unnamed = len(names) - len(named)
    unknown = 0 if pool_size is None else max(0, unnamed - pool_size)
    if named:
        return f"native threads of a library are running ({listed(named)})"
    if unknown == 1:
        return "1 native thread that is not known to survive a copy is running"
    if unknown:
        return f"{unknown} native threads that are not known to survive a copy are running"
    return ""


def listed(names):
    """Returns the first of the names, and how many more there are."""
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


class Threads:
    """Looks at the native threads of this process, as far as their libraries are known.

    A verdict is kept until the threads are other ones.
    """

    def __init__(self):
        self._own_names = {_name_of(os.getpid())}
        self._judged = None  # the threads of the last verdict, and whether one was at work
        self._verdict = ""
        self._modules = 0  # loaded when it was looked for libraries last
        self._gomp = []  # functions that end libgomp's threads
        self._blas = {}  # path of an OpenBLAS: (function that counts threads, the most it said)
        self._arrow = []  # for each pool, functions that count its threads and its tasks
        self._any_number = False

    def why_not(self):
        """Ends what can be ended, and judges the rest as judge does."""
        if self._present() != self._judged:
            self._judge()
            for seconds in PATIENCE:
                if not self._verdict:
                    break
                lazy_import.load("time").sleep(seconds)
                self._modules = 0
                self._judge()
        return self._verdict

    def _present(self):
        others = frozenset(os.listdir("/proc/self/task")) - {str(os.getpid())}
        return others, any(tasks() for _, tasks in self._arrow)

    def _judge(self):
        if len(sys.modules) != self._modules:
            self._find_libraries()
        for end in self._gomp:
            end(_PAUSE_HARD)
        self._judged = self._present()
        names = [name for name in map(_name_of, self._judged[0]) if name]
        self._own_names.add(_name_of(os.getpid()))
        self._verdict = judge(names, self._own_names, self._pool_size()) if names else ""

    def _pool_size(self):
        if self._any_number:
            return None
        for path, (count, most) in self._blas.items():
            # A pool keeps its threads when it is told to use fewer.
            self._blas[path] = count, max(most, count())
        arrow = sum(threads() for threads, tasks in self._arrow if not tasks())
        return sum(most - 1 for _, most in self._blas.values()) + arrow

    def _find_libraries(self):
        self._modules = len(sys.modules)
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if ".so" in line}

        def of(kind):
            return sorted(path for path in paths if kind.match(os.path.basename(path)))

        self._gomp = [f for path in of(_GOMP) for f in _functions(path, "omp_pause_resource_all")]
        blas = {path: (f, 1) for path in of(_BLAS) for f in _functions(path, *_BLAS_THREADS)[:1]}
        self._blas = {**blas, **self._blas}
        self._arrow = [pool for path in of(_ARROW) for pool in _arrow_pools(path)]
        self._any_number = bool(of(_FORK_SAFE_OPENMP))


def _functions(path, *names):
    """Returns those of the functions that a library has which is loaded already."""
    ctypes = lazy_import.load("ctypes")
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:  # it was deleted since
        return []
    return [getattr(library, name) for name in names if hasattr(library, name)]


def _arrow_pools(path):
    """Returns functions that count threads and tasks, for each pool of an Arrow."""
    names = (_ARROW_AT_FORK, _ARROW_THREADS, _ARROW_TASKS, *_ARROW_POOLS)
    found = _functions(path, *names)
    if len(found) < len(names):
        return []  # of a version that is not known
    _, threads, tasks, *pools = found
    pointer = lazy_import.load("ctypes").c_void_p
    for get in pools:
        get.restype = pointer
    places = [pointer(get()) for get in pools]
    return [[functools.partial(count, place) for count in (threads, tasks)] for place in places]


def _name_of(thread):
    """Returns the name that a thread has for the system, "" when it has ended."""
    try:
        with open(f"/proc/self/task/{thread}/comm", "rb", buffering=0) as file:
            return file.readall().decode("utf-8", "replace").rstrip("\n")
    except OSError:
        return ""


def card():
    """Says whether this process has begun to use a card, which it goes on to hold; "" if not."""
    torch = getattr(sys.modules.get("torch.cuda"), "_initialized", False) is True
    if not torch and not (
        os.path.exists(f"{_NODES}ctl") and any(map(_is_card, os.listdir("/proc/self/fd")))
    ):
        return ""
    return "the session has begun to use a GPU (CUDA), which a copy of it could not"


def _is_card(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith(_NODES)
    except OSError:  # it is the listing's own
        return False


threads = Threads()
