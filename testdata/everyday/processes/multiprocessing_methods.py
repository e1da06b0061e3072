# multiprocessing with each method: pools, queues, locks, managers, shared memory.
# brief
import multiprocessing

with open("work.py", "w") as module:
    module.write(
        """
def square(x):
    return x * x


def work(queue, lock, counter, shared):
    with lock:
        counter.value += 1
    shared["seen"] = shared.get("seen", 0) + 1
    queue.put(counter.value)
"""
    )
import work

for name in ("fork", "forkserver", "spawn"):
    methods = multiprocessing.get_context(name)
    with methods.Pool(2) as pool:
        assert pool.map(work.square, range(20)) == [x * x for x in range(20)]
        assert sorted(pool.imap_unordered(work.square, range(5))) == [0, 1, 4, 9, 16]
    with methods.Manager() as manager:
        shared, queue = manager.dict(), methods.Queue()
        lock, counter = methods.Lock(), methods.Value("i", 0)
        child = methods.Process(target=work.work, args=(queue, lock, counter, shared))
        child.start()
        assert queue.get(timeout=60) == 1
        child.join()
        assert (child.exitcode, counter.value, shared["seen"]) == (0, 1, 1)
print("ok")
