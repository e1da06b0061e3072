# Forty threads at once, with locks, queues, timers and arrays of their own.
# brief
import queue
import threading

everyone = threading.Barrier(41)
results = queue.Queue()
local = threading.local()


def run(number):
    local.number = number
    everyone.wait(60)
    held = bytearray(100_000)
    results.put(local.number + len(held))


crowd = [threading.Thread(target=run, args=(n,)) for n in range(40)]
for thread in crowd:
    thread.start()
everyone.wait(60)
for thread in crowd:
    thread.join()
assert sum(results.get() for _ in range(40)) == sum(range(40)) + 4_000_000
threading.stack_size(16 << 20)
deep = threading.Thread(target=run, args=(0,), daemon=True)
threading.stack_size(0)
rang = threading.Event()
threading.Timer(0.01, rang.set).start()
assert rang.wait(60)
print("ok")
