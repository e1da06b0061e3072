# Processes by hand: fork, exec, posix_spawn, daemons, waiting.
# brief
import os
import time

reader, writer = os.pipe()
if (pid := os.fork()) == 0:
    os.write(writer, b"child")
    os._exit(5)
assert os.read(reader, 10) == b"child"
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
if (pid := os.fork()) == 0:
    os.execvp("true", ["true"])
assert os.waitpid(pid, 0)[1] == 0
pid = os.posix_spawnp("true", ["true"], os.environ)
assert os.waitpid(pid, 0)[1] == 0
if (pid := os.fork()) == 0:
    os.setsid()
    if os.fork() == 0:
        with open("daemon.tmp", "w") as out:
            out.write(str(os.getppid()))
        os.rename("daemon.tmp", "daemon")
    os._exit(0)
os.waitpid(pid, 0)
for _ in range(6000):
    if os.path.exists("daemon"):
        break
    time.sleep(0.01)
assert int(open("daemon").read()) >= 0
assert os.getpgid(0) >= 0 and os.getsid(0) >= 0
print("ok")
