"""Copies of a worker: asleep, and woken in its place."""

import os
import signal

from pyworker import protocol
from pyworker.tests.fork.forker import CopyCase, parent_of, wait_for_end
from pyworker.tests.libraries import needs

SLEEPER = "import subprocess\np = subprocess.Popen(['sleep', '1000'])\n"


class Sleeping(CopyCase):
    def test_a_copy_is_a_child_in_a_group_of_its_own_and_reaped_at_the_next_copy(self):
        copy = self.copy(self.lead)
        self.assertEqual(protocol.VERSION, copy.ready["protocol"])
        self.assertEqual([], copy.ready["notes"])
        self.assertEqual(self.lead.pid, parent_of(copy.pid))
        self.assertEqual(copy.pid, os.getpgid(copy.pid))
        copy.socket.close()
        wait_for_end(copy.pid)
        self.copy(self.lead)
        self.assertIsNone(parent_of(copy.pid))

    def test_a_copy_ends_with_its_socket_and_runs_no_handlers(self):
        mark = os.path.join(self.lead.workdir, "mark")
        self.lead.run(
            "import atexit, os\n"
            f"atexit.register(lambda: open({mark!r} + str(os.getpid()), 'w').close())\n"
            "held = open('held.txt', 'w'); n = held.write('text')"
        )
        for message in (None, {"type": "stop"}):
            copy = self.copy(self.lead)
            if message:
                copy.send(message)
                self.assertIsNone(copy.receive())
            else:
                copy.socket.close()
            wait_for_end(copy.pid)
        self.assertEqual(["held.txt"], os.listdir(self.lead.workdir))
        self.lead.run("held.close()")
        with open(os.path.join(self.lead.workdir, "held.txt")) as file:
            self.assertEqual("text", file.read())

    def test_a_copy_that_sleeps_refuses_to_work(self):
        for kind in ("run", "variables", "fork", "start"):
            copy = self.copy(self.lead)
            copy.send({"type": kind})
            self.assertIsNone(copy.receive())
            wait_for_end(copy.pid)
        # It has told so on the stderr that it shares.
        self.assertIn("pyworker: broken frame (order): run", self.lead.run("1").stderr)

    def test_wake_is_for_copies_only(self):
        self.lead.send(
            {"type": "wake", "interpreter_id": "", "workdir": "", "private_dir": "", "mark": ""}
        )
        self.assertIsNone(self.lead.receive())

    def test_a_worker_without_a_limit_is_not_copied(self):
        worker = self.worker(self.tree, checkpoint_limit=0)
        self.assertEqual("copies of this interpreter are turned off", worker.fork())
        self.assertEqual("", worker.run("import threading").obstacle)
        self.assertIs(False, worker.value("hasattr(__import__('os').wait, '__code__')"))
        worker.run("import asyncio; await asyncio.to_thread(print)")  # whose thread may stay
        self.gives(worker, "threading.active_count()", 2)

    def test_a_fork_that_fails_says_why_and_the_worker_goes_on(self):
        self.lead.run(
            "import ctypes, errno, os, sys\n"
            "sleep = sys.modules['pyworker.fork.sleep']._sleep\n"
            "class Refusing:\n"
            "    def __getattr__(self, name): return getattr(real, name)\n"
            "    def fork(self):\n"
            "        if os.getpid() == me: return real.fork()\n"
            "        ctypes.set_errno(errno.EAGAIN)\n"
            "        return -1\n"
            "real, sleep._c, me = sleep._c, Refusing(), 0"
        )
        reason = "fork failed: Resource temporarily unavailable"
        self.assertEqual(reason, self.lead.fork())
        self.assertEqual(reason, self.lead.fork(detached=True))
        self.lead.run("me = os.getpid()")  # now the first of a branch's two forks works
        self.assertEqual(reason, self.lead.fork(detached=True))
        self.assertTrue(self.lead.run("sleep._c = real").ok)
        self.copy(self.lead)


class Waking(CopyCase):
    def test_a_woken_copy_has_its_mark_its_streams_and_its_fault_pipe(self):
        self.lead.run("import os\nos.close(1); os.close(2)")
        copy = self.copy(self.lead)
        self.lead.kill()
        copy.wake(self.lead, mark="new/mark/2")
        text = "__import__('os').environ.get('UNDERSTUDY_INTERPRETER')"
        self.gives(copy, text, "new/mark/2")
        self.gives(self.worker(self.tree, mark="m"), text, "m")
        self.gives(self.worker(self.tree), text, None)
        answer = copy.run("n = os.write(1, b'ok\\n')")
        self.assertEqual(("ok\n", ""), (answer.stdout, answer.stderr))
        copy.begin("import ctypes\nctypes.string_at(0)")
        self.assertIsNone(copy.receive())
        wait_for_end(copy.pid)
        self.assertIn('File "<cell 4>", line 2 in <module>', copy.fault_text())

    def test_children_of_the_dead_are_forgotten_with_a_note(self):
        self.lead.run(
            SLEEPER + "done = subprocess.Popen(['sh', '-c', 'exit 3'])\n"
            "import os\n"
            "while os.waitid(os.P_PID, done.pid, os.WEXITED | os.WNOWAIT) is None: pass\n"
            "import multiprocessing, time\n"
            "m = multiprocessing.Process(target=time.sleep, args=(1000,)); m.start()"
        )
        pids = sorted(self.lead.value("[p.pid, m.pid]"))
        copy = self.copy(self.lead)
        self.lead.kill()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)  # as Go does
        notes = [
            "2 child processes that earlier calls had started were ended "
            f"(pids {pids[0]}, {pids[1]})",
            "2 pipes and connections that earlier calls had opened were closed",
        ]
        self.assertEqual(notes, copy.wake(self.lead))
        states = "[p.poll(), p.wait(), done.wait(), m.is_alive(), m.exitcode, m.join()]"
        self.gives(copy, states, [-9, -9, 3, False, -9, None])
        self.gives(copy, "multiprocessing.active_children()", [])
        self.gives(copy, "subprocess.call(['true'])", 0)

    def test_an_end_that_the_original_closes_is_closed(self):
        self.lead.run(
            "import socket, subprocess, sys\n"
            "pipe = subprocess.PIPE\n"
            "p = subprocess.Popen(['cat'], stdin=pipe, stdout=pipe, text=True)\n"
            "a, b = socket.socketpair()\n"
            "server = socket.create_server(('127.0.0.1', 0)); place = server.getsockname()"
        )
        pid = self.lead.value("p.pid")
        copy, branch = self.copy(self.lead), self.branch(self.lead)
        self.gives(self.lead, "p.communicate('text')[0]", "text")
        self.prints(self.lead, "a.close(); b.recv(1)", "b''\n")
        exception = self.lead.run("server.close(); socket.create_connection(place)").exception
        self.assertEqual("ConnectionRefusedError", exception["type"])
        self.lead.kill()
        self.assertEqual(
            [
                f"1 child process that an earlier call had started was ended (pid {pid})",
                "5 pipes and connections that earlier calls had opened were closed",
            ],
            copy.wake(self.lead),
        )
        for worker in (copy, branch):
            self.prints(worker, "b.recv(1)", "b''\n")
            answer = worker.run("p.stdin.write('x'); p.stdin.flush()")
            self.assertEqual("BrokenPipeError", answer.exception["type"])

    def test_the_event_loop_goes_on(self):
        self.lead.run(
            "import asyncio, os\n"
            "got = []\n"
            "queue = asyncio.Queue()\n"
            "async def take():\n"
            "    while True: got.append(await queue.get())\n"
            "task = asyncio.ensure_future(take()); await asyncio.sleep(0)\n"
            "loop = asyncio.get_running_loop()\n"
            "fd = os.eventfd(0, os.EFD_NONBLOCK); seen = asyncio.Event()\n"
            "loop.add_reader(fd, lambda: (os.eventfd_read(fd), seen.set()))"
        )
        copy = self.copy(self.lead)
        # The original takes its part out of what the kernel has of both.
        self.lead.run("loop.remove_reader(fd)")
        self.lead.kill()
        self.assertEqual([], copy.wake(self.lead))
        code = (
            "await queue.put(1); os.eventfd_write(fd, 1)\n"
            "await asyncio.wait_for(seen.wait(), 60)\n"
            "x = [got, await asyncio.to_thread(lambda: 5)]"
        )
        copy.be_patient()
        answer = copy.run(code, "x")
        self.assertEqual([[1], 5], answer.result, answer.done)
        self.assertEqual("", answer.obstacle)

    def test_an_interrupt_ends_a_wait_of_the_woken_loop(self):
        self.lead.run("import asyncio; await asyncio.sleep(0)")
        copy = self.succeed(self.lead)
        copy.run_until_printed("print('go', flush=True); await asyncio.sleep(1000)", "go")
        copy.interrupt()
        self.assertEqual("KeyboardInterrupt", copy.finish().exception["type"])

    @needs("numpy")
    def test_numpys_numbers_continue(self):
        code = "import numpy as np\nnp.random.seed(1); r = np.random.default_rng(2)"
        self.lead.run(code)
        draw = "d = [np.random.rand(), r.random()]"
        copy = self.copy(self.lead)
        branch = self.branch(self.lead)
        expected = self.lead.run(draw, "d").result
        self.assertEqual(expected, branch.run(draw, "d").result)
        self.lead.kill()
        copy.wake(self.lead)
        self.assertEqual(expected, copy.run(draw, "d").result)

    def test_users_forks_work_on_both_sides(self):
        code = (
            "import os\n"
            "r, w = os.pipe()\n"
            "if os.fork() == 0:\n"
            "    n = os.write(w, b'child')\n"
            "    raise SystemExit(6)\n"
            "pid, status = os.wait()\n"
            "x = [os.read(r, 5).decode(), os.waitstatus_to_exitcode(status)]"
        )
        copy = self.copy(self.lead)
        self.assertEqual(["child", 6], self.lead.run(code, "x").result)
        self.lead.kill()
        copy.wake(self.lead)
        self.copy(copy)
        self.assertEqual(["child", 6], copy.run(code, "x").result)

    def test_hooks_and_warnings_of_the_users_do_not_break_a_fork(self):
        self.lead.run(
            "import os, warnings\nwarnings.simplefilter('error')\n"
            "os.register_at_fork(before=lambda: 1 / 0)"
        )
        before = self.lead.run("n = len(warnings.filters)", "n").result
        copy = self.copy(self.lead)
        self.gives(self.lead, "len(warnings.filters)", before)
        self.lead.kill()
        copy.wake(self.lead)
        self.gives(copy, "len(warnings.filters)", before)

    def test_a_fork_beside_a_thread_warns_nobody(self):
        # Python 3.12 and later would; here the thread is one that is known to be harmless.
        self.lead.run(
            "import sys, threading, time, warnings\nwarnings.simplefilter('always')\n"
            "sys.modules['pyworker.fork.obstacles'].why_not = lambda _: ''\n"
            "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"
        )
        for detached in (False, True):
            self.copy(self.lead, detached=detached)
        self.assertEqual("", self.lead.run("1").stderr)

    def test_an_audit_hook_may_forbid_the_fork(self):
        self.lead.run(
            "import sys\n"
            "def hook(event, _):\n"
            "    if event == 'os.fork' and strict: raise RuntimeError('no forks')\n"
            "strict = True; sys.addaudithook(hook)"
        )
        self.assertEqual("fork failed: no forks", self.lead.fork())
        self.lead.run("strict = False")
        self.copy(self.lead)

    def test_the_session_is_likelier_to_be_killed_than_its_copy(self):
        score = "int(open('/proc/self/oom_score_adj').read())"
        with open("/proc/self/oom_score_adj") as file:
            base = int(file.read())
        if base > 600:
            self.skipTest("this process is likely to be killed already")
        self.gives(self.lead, score, base + 300)
        copy = self.copy(self.lead)
        with open(f"/proc/{copy.pid}/oom_score_adj") as file:
            self.assertEqual(base, int(file.read()))
        self.lead.kill()
        copy.wake(self.lead)
        self.gives(copy, score, base + 300)
