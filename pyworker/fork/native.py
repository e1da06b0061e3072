"""Native threads: which of them survive that their process is copied.

- OpenBLAS ends its threads before a fork by itself, and starts them when they
  are needed again. So does the OpenMP of Intel and LLVM, after the fork.
- libgomp, the OpenMP of GCC, would wait for ever in the copy for threads that
  are not there. It is told to end them first.
- Arrow makes its two pools anew in the copy. What they were doing is lost there, so
  they must be idle.
- Threads with a name of their own belong to a library that has made no such
  provision: polars, tokio, jemalloc, CUDA.
- Of any other thread nothing is known, DuckDB's among them.
"""

import os
import sys

from pyworker import late

_PAUSE_HARD = 2  # omp_pause_hard of omp.h: ends the threads
_PATIENCE = (0.0002, 0.0005, 0.001, 0.002)  # seconds in which an ended thread may go

# What a library's file is called, by the kind of its threads.
_GOMP = ("libgomp",)
_FORK_SAFE_OPENMP = ("libiomp5", "libomp")
_BLAS = ("openblas",)
_PAUSES = ("omp_pause_resource_all",)
_BLAS_THREADS = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
)
_ARROW = ("libarrow",)
_ARROW_AT_FORK = "_ZN5arrow8internal14RegisterAtForkESt8weak_ptrINS0_13AtForkHandlerEE"
_ARROW_POOLS = (
    "_ZN5arrow8internal16GetCpuThreadPoolEv",
    "_ZN5arrow2io8internal15GetIOThreadPoolEv",
)
_ARROW_THREADS = "_ZN5arrow8internal10ThreadPool17GetActualCapacityEv"
_ARROW_TASKS = "_ZN5arrow8internal10ThreadPool11GetNumTasksEv"


class Found:
    """What a look has found."""

    __slots__ = ("cuda", "named", "unknown")

    def __init__(self, named=(), unknown=0, cuda=False):
        self.named = list(named)  # the names of threads that have one of their own
        self.unknown = unknown  # how many threads nothing is known of
        self.cuda = cuda  # a CUDA context is open


def judge(names, own_names, pool_size, cuda=False):
    """Judges threads by their names, given the sizes of the known pools.

    pool_size is None where a known pool may have any number of threads.
    """
    named = [name for name in names if name not in own_names]
    unnamed = len(names) - len(named)
    unknown = 0 if pool_size is None else max(0, unnamed - pool_size)
    return Found(named, unknown, cuda)


class Threads:
    """Looks at the native threads of this process.

    A verdict is kept until the threads are other ones.
    """

    def __init__(self):
        self._own_names = {_name_of(os.getpid())}
        self._judged = None  # the threads of the last verdict, and whether one was at work
        self._verdict = Found()
        self._libraries = Libraries()

    def look(self):
        """Ends what can be ended, and judges the rest."""
        if (self._others(), self._libraries.is_busy()) == self._judged:
            return self._verdict
        self._libraries.pause()
        verdict = self._judge()
        for seconds in _PATIENCE:
            if not verdict.unknown and not verdict.named:
                break
            late.load("time").sleep(seconds)
            self._libraries.renew()
            self._libraries.pause()
            verdict = self._judge()
        return verdict

    def _others(self):
        return frozenset(os.listdir("/proc/self/task")) - {str(os.getpid())}

    def _judge(self):
        others = self._others()
        self._judged = others, self._libraries.is_busy()
        names = [name for name in map(_name_of, others) if name]
        self._own_names.add(_name_of(os.getpid()))
        if not names:
            self._verdict = Found()
            return self._verdict
        pools = self._libraries.pool_size()
        self._verdict = judge(names, self._own_names, pools, _has_cuda())
        return self._verdict


class Libraries:
    """The loaded libraries that have threads, as far as their kinds are known."""

    def __init__(self):
        self._modules = 0  # loaded when it was looked for libraries last
        self._gomp = []  # functions that end libgomp's threads
        self._blas = {}  # path of an OpenBLAS: (function that counts threads, the most it said)
        self._arrow = []  # for each pool, functions that count its threads and its tasks
        self._any_number = False

    def pause(self):
        """Ends the threads of libgomp."""
        if len(sys.modules) != self._modules:
            self.renew()
        for end in self._gomp:
            end(_PAUSE_HARD)

    def pool_size(self):
        """Returns how many threads the known pools have, None for any number."""
        if self._any_number:
            return None
        for path, (count, most) in self._blas.items():
            # A pool keeps its threads when it is told to use fewer.
            self._blas[path] = count, max(most, count())
        arrow = sum(threads() for threads, tasks in self._arrow if not tasks())
        return sum(most - 1 for _, most in self._blas.values()) + arrow

    def is_busy(self):
        """Says whether a pool of Arrow has work that a copy would not do."""
        return any(tasks() for _, tasks in self._arrow)

    def renew(self):
        """Looks for the libraries again."""
        self._modules = len(sys.modules)
        paths = _mapped_libraries()
        self._gomp = [f for p in paths if _is_one(p, _GOMP) for f in _functions(p, _PAUSES)]
        blas = {p: (f, 1) for p in paths if _is_blas(p) for f in _functions(p, _BLAS_THREADS)}
        self._blas = {**blas, **self._blas}
        self._arrow = [pool for p in paths if _is_one(p, _ARROW) for pool in _arrow_pools(p)]
        self._any_number = any(_is_one(p, _FORK_SAFE_OPENMP) for p in paths)


def _is_one(path, stems):
    """Says whether a file is a library of one of the names, as "libgomp-a34b3233.so.1"."""
    name = os.path.basename(path)
    return any(name == stem or name.startswith((stem + ".", stem + "-")) for stem in stems)


def _is_blas(path):
    return any(part in os.path.basename(path) for part in _BLAS)


def _mapped_libraries():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if ".so" in line}
    return sorted(paths)


def _arrow_pools(path):
    """Returns functions that count threads and tasks, for each pool of an Arrow."""
    library = _loaded(path)
    counts = [getattr(library, name, None) for name in (_ARROW_THREADS, _ARROW_TASKS)]
    pools = [getattr(library, name, None) for name in _ARROW_POOLS]
    if None in (*counts, *pools, getattr(library, _ARROW_AT_FORK, None)):
        return []  # of a version that is not known
    pointer = late.load("ctypes").c_void_p
    for get in pools:
        get.restype = pointer
    partial = late.load("functools").partial
    return [[partial(count, pointer(get())) for count in counts] for get in pools]


def _loaded(path):
    """Returns a library that is loaded already, None if it was deleted since."""
    ctypes = late.load("ctypes")
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None


def _functions(path, names):
    """Returns the first of the functions that a loaded library has, in a list."""
    library = _loaded(path)
    for name in names:
        function = getattr(library, name, None)
        if function is not None:
            return [function]
    return []


def _name_of(thread):
    """Returns the name that a thread has for the system, "" when it has ended."""
    try:
        with open(f"/proc/self/task/{thread}/comm", "rb", buffering=0) as file:
            return file.readall().decode("utf-8", "replace").rstrip("\n")
    except OSError:
        return ""


def _has_cuda():
    torch = sys.modules.get("torch.cuda")
    if getattr(torch, "_initialized", False) is True:
        return True
    return any(map(_is_nvidia, os.listdir("/proc/self/fd")))


def _is_nvidia(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/nvidia")
    except OSError:
        return False


threads = Threads()
