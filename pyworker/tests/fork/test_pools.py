"""Functions and classes of the session in pools of every method."""

from pyworker.tests.worker import WorkerCase

SESSION = """\
import multiprocessing, concurrent.futures
OFFSET = 10
class P:
    def __init__(self, v): self.v = v
def f(p): return P(p.v + OFFSET)
"""
POOL = """\
with multiprocessing.get_context({method!r}).Pool(2) as pool:
    found = [p.v for p in pool.map(f, [P(1), P(2)])]
    found.append(type(pool.map(f, [P(3)])[0]) is P)
"""
EXECUTOR = """\
context = multiprocessing.get_context({method!r})
with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
    found = [p.v for p in pool.map(f, [P(1), P(2)])]
"""
WITHOUT = "import sys\nfor m in ('cloudpickle', 'joblib.externals'): sys.modules[m] = None"


class Pools(WorkerCase):
    def session(self):
        worker = self.start()
        worker.run(SESSION)
        return worker

    def test_every_method(self):
        worker = self.session()
        if not worker.run("import cloudpickle").ok and not worker.run("import joblib").ok:
            self.skipTest("without cloudpickle")
        for method in ("spawn", "forkserver", "fork"):
            with self.subTest(method):
                self.assertEqual(
                    [11, 12, True], worker.run(POOL.format(method=method), "found").result
                )
                self.assertEqual(
                    [11, 12], worker.run(EXECUTOR.format(method=method), "found").result
                )

    def test_a_lambda_in_a_process(self):
        worker = self.session()
        if not worker.run("import cloudpickle").ok and not worker.run("import joblib").ok:
            self.skipTest("without cloudpickle")
        answer = worker.run(
            "p = multiprocessing.get_context('spawn').Process(target=lambda: print(OFFSET))\n"
            "p.start(); p.join()"
        )
        self.assertEqual("10\n", answer.stdout)

    def test_without_cloudpickle_it_fails_at_once(self):
        worker = self.session()
        worker.run(WITHOUT)
        for code in (POOL, EXECUTOR):
            for method in ("spawn", "forkserver"):
                with self.subTest(code[:20], method=method):
                    said = self.failing(worker, code.format(method=method))["traceback"]
                    self.assertIn(f"a worker of the method '{method}' can't import it: use", said)
        self.assertEqual([11, 12, True], worker.run(POOL.format(method="fork"), "found").result)

    def test_a_fork_gets_no_copy(self):
        """By its name a function finds what the fork has inherited, whatever that is."""
        worker = self.session()
        worker.run("import threading\nlock = threading.Lock()\ndef g(x): return lock.locked()")
        code = "with multiprocessing.get_context('fork').Pool(1) as pool: found = pool.map(g, [1])"
        self.assertEqual([False], worker.run(code, "found").result)
