# concurrent.futures: threads and processes.
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from math import factorial

with ThreadPoolExecutor(8) as threads:
    assert sum(threads.map(factorial, range(6))) == 154
with ProcessPoolExecutor(2) as processes:
    futures = [processes.submit(factorial, n) for n in range(6)]
    assert sum(future.result() for future in as_completed(futures)) == 154
print("ok")
