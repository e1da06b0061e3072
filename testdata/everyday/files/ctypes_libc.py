# ctypes: the C library, callbacks from it, memory of one's own.
import ctypes
import ctypes.util

libc = ctypes.CDLL(ctypes.util.find_library("c"))
assert libc.abs(-3) == 3
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc.qsort(numbers, 5, ctypes.sizeof(ctypes.c_int), compare(lambda a, b: a[0] - b[0]))
assert list(numbers) == [1, 2, 3, 4, 5]
assert ctypes.CDLL(ctypes.util.find_library("m")).labs(-4) == 4
assert ctypes.create_string_buffer(b"text").value == b"text"
print("ok")
