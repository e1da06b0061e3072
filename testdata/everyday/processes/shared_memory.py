# Shared memory, seen by another process.
# brief
import subprocess
import sys
from multiprocessing import shared_memory

block = shared_memory.SharedMemory(create=True, size=1_000_000)
try:
    block.buf[:5] = b"hello"
    code = f"""
from multiprocessing import resource_tracker, shared_memory
block = shared_memory.SharedMemory({block.name!r})
resource_tracker.unregister(block._name, "shared_memory")
block.buf[:5] = bytes(block.buf[:5]).upper()
block.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert bytes(block.buf[:5]) == b"HELLO"
    shared_list = shared_memory.ShareableList([1, "two", 3.0])
    assert list(shared_list) == [1, "two", 3.0]
    shared_list.shm.close()
    shared_list.shm.unlink()
finally:
    block.close()
    block.unlink()
print("ok")
