# say: A library falls over and takes the whole process with it.
import ctypes

print("reading from address 0")
ctypes.string_at(0)
