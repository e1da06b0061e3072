"""Does what ordinary programs do behind a filter and says what went wrong.

Standard input is JSON: filter, the program in base64, and inet, whether there are
sockets of the internet. Each line of standard output is the name of something that
works.
"""

import asyncio
import base64
import concurrent.futures
import ctypes
import json
import mmap
import multiprocessing
import os
import pty
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import shared_memory

import trials

METHODS = ("fork", "spawn", "forkserver")


def square(number):
    return number * number


def threads():
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(square, range(20))) == 2470


def fork():
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os._exit(7)
    pidfd = os.pidfd_open(child)
    select.select([pidfd], [], [])
    assert os.waitid(os.P_PIDFD, pidfd, os.WEXITED).si_status == 7
    os.close(pidfd)


def signals():
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as sleeper:
        pidfd = os.pidfd_open(sleeper.pid)
        signal.pidfd_send_signal(pidfd, signal.SIGSTOP)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
        os.killpg(sleeper.pid, signal.SIGCONT)
        os.kill(-sleeper.pid, signal.SIGTERM)
        assert sleeper.wait() == -signal.SIGTERM
        os.close(pidfd)


def subprocesses():
    assert subprocess.run("echo hello | tr a-z A-Z", shell=True, capture_output=True).stdout == (
        b"HELLO\n"
    )
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\n"
    assert os.posix_spawn("/bin/sh", ["sh", "-c", "exit 0"], os.environ)
    os.wait()
    subprocess.run(["nice", "-n", "5", "true"], check=True)


def terminals():
    child, fd = pty.fork()
    if not child:
        os.execvp("sh", ["sh", "-c", "tty; stty -a"])
    said = b""
    try:
        while part := os.read(fd, 10000):
            said += part
    except OSError:
        pass  # the end of a terminal is EIO
    os.waitpid(child, 0)
    assert b"/dev/pts/" in said and b"echo" in said, said


def pools():
    for method in METHODS:
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
        queue = context.Queue()
        process = context.Process(target=queue.put, args=(method,))
        process.start()
        assert queue.get() == method
        process.join()
        assert process.exitcode == 0


def managers():
    with multiprocessing.Manager() as manager:
        numbers = manager.list([1])
        numbers.append(2)
        assert list(numbers) == [1, 2]


def sharing():
    memory = shared_memory.SharedMemory(create=True, size=100000)
    memory.buf[0] = 1
    memory.close()
    memory.unlink()
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def coroutines():
    async def main():
        process = await asyncio.create_subprocess_exec("echo", "x", stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
        assert said == b"x\n"
        assert await asyncio.to_thread(square, 3) == 9

    asyncio.run(main())


def unix_sockets():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.join(folder, "s"))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(server.getsockname())
            client.sendall(b"x")
            with server.accept()[0] as there:
                assert there.recv(1) == b"x"
    for end in socket.socketpair():
        end.close()


def files():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "x")
        with open(name, "w+b") as file:
            file.write(b"x" * 100000)
            os.posix_fallocate(file.fileno(), 0, 200000)
            os.fsync(file.fileno())
            with open(name + "2", "wb") as other:
                os.sendfile(other.fileno(), file.fileno(), 0, 1000)
        shutil.copytree(folder, name + "3")
        os.mkfifo(name + "4")
        os.symlink("x", name + "5")
        os.link(name, name + "6")
        os.chmod(name, 0o640)
        os.utime(name)
        os.statvfs(name)
        os.listxattr(name)
        shutil.disk_usage(folder)
        assert len(os.listdir(folder)) == 6


def databases():
    with tempfile.TemporaryDirectory() as folder:
        with sqlite3.connect(os.path.join(folder, "x")) as base:
            base.execute("pragma journal_mode=wal")
            base.execute("create table t (a)")
            base.execute("insert into t values (1)")
        base.close()


def limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    os.nice(0)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.getpriority(os.PRIO_PROCESS, os.getpid())
    assert os.cpu_count()


def clocks():
    time.sleep(0.001)
    time.clock_gettime(time.CLOCK_BOOTTIME)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    signal.setitimer(signal.ITIMER_REAL, 0)
    threading.Timer(0.001, square, (1,)).run()
    assert os.getrandom(4)


def compilers():
    if not shutil.which("gcc"):
        return
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "x.so")
        with open(os.path.join(folder, "x.c"), "w") as file:
            file.write("int one(void) { return 1; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, file.name], check=True)
        assert ctypes.CDLL(library).one() == 1


def numbers():
    try:
        import numpy
    except ImportError:
        return
    assert numpy.linalg.inv(numpy.eye(500) * 2)[0, 0] == 0.5


def processes():
    try:
        import psutil
    except ImportError:
        return
    me = psutil.Process()
    os.nice(0), os.setpriority(os.PRIO_PROCESS, 0, me.nice())  # by its id it would be another's
    me.cpu_affinity(me.cpu_affinity())
    me.rlimit(psutil.RLIMIT_NOFILE)
    me.memory_full_info(), me.open_files(), me.children(), me.num_threads()
    psutil.virtual_memory(), psutil.cpu_percent(), psutil.disk_usage("/")


def internet():
    assert socket.getaddrinfo("localhost", 80)
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", 9))
    assert socket.if_nameindex()


def no_internet():
    try:
        socket.socket()
    except PermissionError:
        return
    raise AssertionError("there is a socket")


ORDINARY = (
    *(threads, fork, signals, subprocesses, terminals, pools, managers, sharing, coroutines),
    *(unix_sockets, files, databases, limits, clocks, compilers, numbers, processes),
)


def main():
    wanted = json.load(sys.stdin)
    trials.install(base64.b64decode(wanted["filter"]))
    for trial in (*ORDINARY, internet if wanted["inet"] else no_internet):
        trial()
        print(trial.__name__, flush=True)


if __name__ == "__main__":
    main()
