# psutil: this process, its children and the machine.
# needs: psutil
import subprocess

import psutil

me = psutil.Process()
child = subprocess.Popen(["sleep", "60"])
assert [c.pid for c in me.children()] == [child.pid]
psutil.Process(child.pid).terminate()
child.wait()
assert me.memory_info().rss > 1e6 and me.num_threads() >= 1 and me.cpu_times().user >= 0
assert me.memory_full_info().uss > 0 and me.open_files() is not None and me.name()
assert me.cwd() and me.exe() and me.cmdline() is not None and me.environ() is not None
assert psutil.cpu_count() >= 1 and psutil.virtual_memory().total > 0
assert psutil.cpu_percent(0.01) >= 0 and psutil.disk_usage(".").total > 0
assert psutil.boot_time() > 0 and psutil.swap_memory() and psutil.getloadavg()
assert psutil.pid_exists(me.pid) and me.pid in psutil.pids()
print("ok")
