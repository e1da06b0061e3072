# joblib: its processes, which get functions of the cell, threads, and its cache.
# needs: joblib
from joblib import Memory, Parallel, delayed, dump, load


def square(x):
    return x * x


squares = [x * x for x in range(20)]
assert Parallel(n_jobs=2)(delayed(square)(x) for x in range(20)) == squares
assert Parallel(n_jobs=2, prefer="threads")(delayed(square)(x) for x in range(20)) == squares
assert Parallel(n_jobs=2, backend="multiprocessing")(delayed(square)(x) for x in range(20))
assert Memory("cache", verbose=0).cache(square)(12) == 144
dump(squares, "squares.joblib")
assert load("squares.joblib", mmap_mode="r") == squares
print("ok")
