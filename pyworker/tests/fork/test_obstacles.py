"""What stands in the way of a copy, and what does not."""

import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from pyworker.fork import kin, native, obstacles
from pyworker.tests.fork.forker import PATIENCE, ForkerCase
from pyworker.tests.libraries import needs

LINUX = sys.platform == "linux"


class Judging(unittest.TestCase):
    """Threads that are made up."""

    def test_judgements(self):
        unknown = " not known to survive a copy "
        told = "native threads of a library are running "
        for names, pool, said in (
            ([], 0, ""),
            (["python3"] * 3, 3, ""),
            (["python3"] * 3, 7, ""),
            (["python3"] * 30, None, ""),
            (["python3"] * 4, 3, f"1 native thread that is{unknown}is running"),
            (["python3"] * 2, 0, f"2 native threads that are{unknown}are running"),
            (["polars-0", "python3", "polars-1"], None, f"{told}(polars-0, polars-1)"),
            (list("abcde"), 0, f"{told}(a, b, c and 2 more)"),
        ):
            self.assertEqual(said, native.judge(names, {"python3"}, pool))

    def test_files_of_libraries(self):
        for name, kind in (
            ("libgomp.so.1", native._GOMP),
            ("libgomp-a34b3233.so.1.0.0", native._GOMP),
            ("libiomp5.so", native._FORK_SAFE_OPENMP),
            ("libomp.so.5", native._FORK_SAFE_OPENMP),
            ("libscipy_openblas64_-6bb31eeb.so", native._BLAS),
        ):
            self.assertTrue(kind.match(name), name)
        self.assertFalse(native._FORK_SAFE_OPENMP.match("libompstuff.so"))

    def test_a_context_of_torchs(self):
        with mock.patch.dict(sys.modules, {"torch.cuda": mock.Mock(_initialized=True)}):
            self.assertIn("CUDA", obstacles.why_not(0))

    @unittest.skipUnless(LINUX, "/proc is Linux's")
    def test_a_card_that_is_open(self):
        with tempfile.TemporaryDirectory() as folder:
            nodes = f"{os.path.realpath(folder)}/nvidia"
            with mock.patch.object(native, "_NODES", nodes):
                self.assertEqual("", obstacles.why_not(1 << 40))
                with open(f"{nodes}ctl", "w"):  # no thread is needed for it
                    self.assertIn("CUDA", obstacles.why_not(1 << 40))
                self.assertEqual("", obstacles.why_not(1 << 40))

    @unittest.skipUnless(LINUX, "/proc is Linux's")
    def test_sizes_are_said_in_human_words(self):
        self.assertRegex(
            obstacles._memory(2_000_000),
            r"\Athe session holds \d+\.\d MB, more than the 2\.0 MB that may be copied "
            r"\(--checkpoint-memory\)\Z",
        )
        self.assertEqual("", obstacles._memory(1 << 40))
        self.assertEqual("13.2 GB", obstacles._size(13_200_000_000))


@unittest.skipUnless(LINUX, "/proc is Linux's")
class Descent(unittest.TestCase):
    def test_children_are_found_without_the_kernels_lists_too(self):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        try:
            self.assertIn(pid, kin.children())
            self.assertEqual(sorted(kin.children()), sorted(kin._children_by_parent(os.getpid())))
            self.assertIn(pid, kin.descendants())
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def test_a_mark_is_seen_while_a_process_becomes_another_program(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
            script.write('exec sh "$0"\n')  # it does so for ever
            script.flush()
            process = subprocess.Popen(["sh", script.name], env={**os.environ, "A_MARK": "1"})
            try:
                with mock.patch.object(kin, "_LONGEST_END", 60):  # it may be kept waiting
                    for _ in range(5000):
                        self.assertIn(b"A_MARK=1", kin._environ(process.pid))
            finally:
                process.kill()
                process.wait()


class InSessions(ForkerCase):
    """Threads that are real."""

    def setUp(self):
        self.lead = self.worker(self.root())

    def obstacle(self, code):
        answer = self.lead.run(code)
        self.assertTrue(answer.ok, answer.done)
        if answer.obstacle:
            for detached in (False, True):
                reason = self.lead.fork(detached)
                # Measured twice, the size may differ by what was touched between.
                self.assertEqual(
                    *(re.sub(r"holds \S+ MB", "", r) for r in (answer.obstacle, reason))
                )
        else:
            self.copy(self.lead)
        return answer.obstacle

    def test_python_threads_are_named_until_they_end(self):
        self.lead.be_patient()
        code = (
            "import threading\n"
            "go = threading.Event()\n"
            "def work(): go.wait()\n"
            "threads = [threading.Thread(target=work, name=f'T{i}') for i in range(5)]\n"
            "for t in threads[:2]: t.start()"
        )
        self.assertEqual("2 Python threads are running (T0, T1)", self.obstacle(code))
        code = "for t in threads[2:]: t.start()"
        self.assertEqual(
            "5 Python threads are running (T0, T1, T2 and 2 more)", self.obstacle(code)
        )
        self.assertEqual("", self.obstacle("go.set()\nfor t in threads: t.join()"))

    def test_a_thread_that_was_joined_a_moment_ago_is_none(self):
        self.lead.be_patient()
        code = (
            "import threading\n"
            "for _ in range(20):\n"
            "    t = threading.Thread(target=print, args=('x' * 1000,)); t.start(); t.join()"
        )
        for _ in range(10):
            self.assertEqual("", self.lead.run(code).obstacle)

    def test_a_native_thread(self):
        code = (
            "import ctypes\nc = ctypes.CDLL(None)\n"
            "thread = ctypes.c_ulong()\n"
            "n = c.pthread_create(ctypes.byref(thread), None, c.pause, None)"
        )
        self.assertEqual(
            "1 native thread that is not known to survive a copy is running", self.obstacle(code)
        )
        answer = self.lead.run(
            "named = ctypes.c_ulong()\n"
            "n = c.pthread_create(ctypes.byref(named), None, c.pause, None)\n"
            "n = c.pthread_setname_np(named, b'pool-7')"
        )
        self.assertEqual("native threads of a library are running (pool-7)", answer.obstacle)

    def test_too_much_memory_until_it_is_given_back(self):
        lead = self.lead = self.worker(self.root(), checkpoint_limit=100_000_000)
        self.assertEqual("", self.obstacle("x = 1"))
        self.assertRegex(
            self.obstacle("x = bytearray(b'x') * 200_000_000"),
            r"\Athe session holds 2\d\d\.\d MB, more than the 100\.0 MB that may be copied",
        )
        self.assertEqual("", self.obstacle("del x"))
        self.assertEqual("", lead.run("1").obstacle)

    def test_idle_threads_of_the_loops_executor_are_ended(self):
        self.lead.be_patient()
        code = (
            "import asyncio, threading\n"
            "await asyncio.to_thread(print, 'one')\n"
            "x = sorted(await asyncio.gather(*(asyncio.to_thread(abs, -i) for i in range(50))))"
        )
        for _ in range(20):
            self.assertEqual("", self.lead.run(code).obstacle)
        self.assertEqual("", self.obstacle(code))
        self.gives(self.lead, "x", list(range(50)))
        self.assertEqual(list(range(50)), self.branch(self.lead).run(code, "x").result)

    def test_busy_threads_of_the_loops_executor_go_on(self):
        code = (
            "import asyncio, threading\n"
            "go, began = threading.Event(), threading.Event()\n"
            "def work(): began.set(); return go.wait() and 7\n"
            "task = asyncio.create_task(asyncio.to_thread(work))\n"
            "await asyncio.to_thread(began.wait)"
        )
        names = "asyncio_0, asyncio_1"
        self.assertEqual(f"2 Python threads are running ({names})", self.obstacle(code))
        answer = self.lead.run(PATIENCE + "go.set(); x = await task", "x")
        self.assertEqual((7, ""), (answer.result, answer.obstacle))

    def test_an_executor_of_the_users_is_left_alone(self):
        self.lead.be_patient()
        code = (
            "import asyncio, concurrent.futures\n"
            "mine = concurrent.futures.ThreadPoolExecutor(1)\n"
            "async def use():\n"
            "    asyncio.get_running_loop().set_default_executor(mine)\n"
            "    return await asyncio.to_thread(lambda: 5)\n"
            "x = await use()"
        )
        reason = "1 Python thread is running (ThreadPoolExecutor-0_0)"
        self.assertEqual(reason, self.obstacle(code))
        self.assertEqual(6, self.lead.run("x = mine.submit(lambda: 6).result()", "x").result)
        self.assertEqual("", self.obstacle("mine.shutdown()"))

    @needs("tqdm")
    def test_the_monitor_of_tqdm_is_ended(self):
        self.lead.be_patient()
        code = (
            "import threading, tqdm, tqdm.asyncio\n"
            "for bar in (tqdm.asyncio.tqdm_asyncio, tqdm.tqdm):\n"
            "    for _ in bar(range(3)): pass\n"
            "    print(sum(t.name == 'tqdm_monitor' for t in threading.enumerate()))"
        )
        path = os.path.dirname(os.path.dirname(importlib.util.find_spec("tqdm").origin))
        self.lead.run(f"import sys; sys.path.append({path!r})")
        for _ in range(2):
            answer = self.lead.run(code)
            self.assertEqual(("1\n2\n", ""), (answer.stdout, answer.obstacle), answer.done)
        self.copy(self.lead)


@needs("numpy", "sklearn")
class NativePools(ForkerCase):
    """Libraries with threads of their own, after a copy was made."""

    WORK = (
        "a = np.random.default_rng(0).random((400, 400)); a = a @ a\n"
        "X = np.random.default_rng(1).random((3000, 8)); y = X.sum(axis=1)\n"
        "k = KMeans(4, n_init=1, random_state=0).fit(X).inertia_\n"
        "h = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X, y).score(X, y)\n"
        "x = [float(a.sum()), k, h]"
    )
    IMPORTS = (
        "import numpy as np\nfrom sklearn.cluster import KMeans\n"
        "from sklearn.ensemble import HistGradientBoostingRegressor\n"
    )

    def result(self, worker, code=WORK):
        answer = worker.run(code, "x")
        self.assertTrue(answer.ok, answer.done)
        self.assertEqual("", answer.obstacle)
        return answer.result

    def check(self, expected, got):
        """Compares results: three threads and more add up in any order."""
        for one, other in zip(expected, got, strict=True):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-12), (expected, got))

    def test_fits_go_on_everywhere(self):
        # Threads that spin while they wait would fight over the processors of a busy machine.
        root = self.root(environment={"OMP_WAIT_POLICY": "passive"})
        zygote = root.zygote(["numpy", "sklearn.ensemble", "sklearn.cluster"])
        lead = self.worker(zygote)
        lead.be_patient()
        expected = self.result(lead, self.IMPORTS + self.WORK)
        branch = self.branch(lead)
        copy = self.copy(lead)
        spare = self.copy(lead)
        self.check(expected, self.result(lead))
        self.check(expected, self.result(branch))
        lead.run_until_printed(
            "print('fitting', flush=True)\nwhile True: KMeans(4, n_init=50).fit(X)", "fitting"
        )
        lead.kill()
        copy.wake(lead)
        self.check(expected, self.result(copy))
        twig = self.branch(copy)
        self.check(expected, self.result(twig))
        copy.kill()
        spare.wake(copy)
        self.check(expected, self.result(spare))

    @needs("threadpoolctl")
    def test_a_pool_that_was_told_to_use_fewer_threads(self):
        lead = self.worker(self.root(environment={"OMP_WAIT_POLICY": "passive"}))
        lead.be_patient()
        self.result(lead, self.IMPORTS + self.WORK)
        code = "from threadpoolctl import threadpool_limits\nlimits = threadpool_limits(1)\n"
        self.result(lead, code + self.WORK)
        self.check(self.result(lead), self.result(self.branch(lead)))


@needs("pandas", "pyarrow")
class Arrow(ForkerCase):
    """The pools of pyarrow, which pandas has imported."""

    SAVE = "import pandas as pd\npd.DataFrame({'a': range(90_000)}).to_parquet('a.parquet')\n"
    READ = "import pandas as pd\nx = int(pd.read_parquet('a.parquet').a.sum())"

    def read(self, worker):
        answer = worker.run(self.READ, "x")
        self.assertEqual(4_049_955_000, answer.result, answer.done)
        self.assertEqual("", answer.obstacle)

    def test_copies_read_on(self):
        lead = self.worker(self.root())
        lead.be_patient()
        answer = lead.run(self.SAVE)
        self.assertEqual(("", True), (answer.obstacle, answer.ok), answer.done)
        self.read(lead)
        self.assertGreater(lead.value("len(__import__('os').listdir('/proc/self/task'))"), 1)
        branch, copy = self.branch(lead), self.copy(lead)
        self.read(branch)
        lead.kill()
        copy.wake(lead)
        self.read(copy)

    @needs("duckdb")
    def test_other_threads_are_not_taken_for_arrows(self):
        lead = self.worker(self.root())
        lead.run(self.SAVE + self.READ)
        answer = lead.run("import duckdb; duckdb.sql('select 1').fetchall()")
        self.assertRegex(
            answer.obstacle, r"\A\d+ native threads? that (is|are) not known to survive"
        )
        lead.be_patient()
        self.assertEqual("", lead.run("duckdb.close()").obstacle)
