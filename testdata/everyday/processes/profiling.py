# Profilers, tracers, timers, tests within the session.
import cProfile
import doctest
import gc
import io
import pstats
import sys
import timeit
import tracemalloc
import unittest


def work(n):
    """
    >>> work(3)
    3
    """
    return sum(range(n))


profile = cProfile.Profile()
profile.runcall(work, 100_000)
text = io.StringIO()
pstats.Stats(profile, stream=text).print_stats()
assert "work" in text.getvalue()
tracemalloc.start()
kept = [bytes(1000) for _ in range(100)]
assert tracemalloc.take_snapshot().statistics("lineno")
tracemalloc.stop()
assert timeit.timeit("sum(range(10))", number=100) > 0
seen = []
sys.settrace(lambda frame, event, arg: seen.append(event))
work(3)
sys.settrace(None)
assert "call" in seen and gc.collect() >= 0
assert doctest.run_docstring_examples(work, globals()) is None


class Test(unittest.TestCase):
    def test(self):
        self.assertEqual(work(3), 3)


run = unittest.TextTestRunner(stream=io.StringIO()).run(
    unittest.defaultTestLoader.loadTestsFromTestCase(Test)
)
assert run.wasSuccessful()
print("ok")
