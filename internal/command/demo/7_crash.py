import ctypes

print("reading from address 0")
ctypes.string_at(0)
