# Much memory for a while, too much at once, deep recursion.
import sys

held = bytearray(600_000_000)
held[::4096] = b"x" * len(held[::4096])
del held
try:
    bytearray(1 << 60)
    raise AssertionError("there is no such machine")
except MemoryError:
    pass


def deeper(n):
    return deeper(n + 1)


try:
    deeper(0)
except RecursionError:
    pass
sys.setrecursionlimit(5000)
print("ok")
