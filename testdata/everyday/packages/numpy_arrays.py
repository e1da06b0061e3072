# numpy: linear algebra on all processors, files, memory maps, random numbers.
# needs: numpy
# brief
import numpy as np

rng = np.random.default_rng(7)
a = rng.normal(size=(400, 400))
assert np.allclose(np.linalg.inv(a) @ a, np.eye(400), atol=1e-6)
u, s, v = np.linalg.svd(a[:100, :100])
np.save("a.npy", a)
np.savez_compressed("many.npz", a=a, s=s)
assert np.array_equal(np.load("a.npy", mmap_mode="r"), a)
assert np.array_equal(np.load("many.npz")["s"], s)
mapped = np.memmap("mapped.bin", dtype="f8", mode="w+", shape=(1000, 100))
mapped[:] = 3
mapped.flush()
assert np.fromfile("mapped.bin").sum() == 300_000
large = np.ones(40_000_000)
assert large.sum() == 40_000_000
print("ok")
