# mmap: files, memory that children share, protection, advice.
import mmap
import os

with open("mapped", "wb+") as file:
    file.truncate(1 << 20)
    with mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:5] = b"hello"
        mapped.flush()
        mapped.madvise(mmap.MADV_SEQUENTIAL)
        mapped.resize(2 << 20)
with open("mapped", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
    assert mapped.find(b"hello") == 0 and len(mapped) == 2 << 20
shared = mmap.mmap(-1, 4096)
if (pid := os.fork()) == 0:
    shared[0] = 7
    os._exit(0)
os.waitpid(pid, 0)
assert shared[0] == 7
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
print("ok")
