# What a process may use: its limits, its usage, priority, processors.
# brief
import multiprocessing
import os
import resource

usage = resource.getrusage(resource.RUSAGE_SELF)
assert usage.ru_maxrss > 0 and resource.getrusage(resource.RUSAGE_CHILDREN)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
assert soft > 200
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
files = [open(os.devnull) for _ in range(150)]
for file in files:
    file.close()
assert os.nice(1) >= 1 and os.getpriority(os.PRIO_PROCESS, 0) >= 1
processors = os.sched_getaffinity(0)
os.sched_setaffinity(0, processors)
assert multiprocessing.cpu_count() >= len(processors) >= 1
assert os.sysconf("SC_PAGE_SIZE") and os.getloadavg() and os.times().user >= 0
os.sched_yield()
print("ok")
