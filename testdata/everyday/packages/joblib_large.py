# joblib hands large arrays to its processes by memory-mapped files.
# needs: joblib numpy
import numpy as np
from joblib import Parallel, delayed


def total(part):
    return float(part.sum())


large = np.ones((4, 500_000))
assert (
    Parallel(n_jobs=2, max_nbytes="1M")(delayed(total)(part) for part in large) == [500_000.0] * 4
)
print("ok")
