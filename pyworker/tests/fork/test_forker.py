"""Root and zygote: what they fork, what they reap, and how they end."""

import os
import signal
import socket
import time

from pyworker import protocol
from pyworker.tests.fork.forker import (
    Forked,
    Forker,
    ForkerCase,
    Talk,
    parent_of,
    send,
    wait_for_end,
)
from pyworker.tests.libraries import needs
from pyworker.tests.worker import ANSWER_SECONDS

HOLD = "import time\nprint('here', flush=True)\ntime.sleep(1000)"


class Spawning(ForkerCase):
    def test_a_forked_worker_is_like_a_spawned_one(self):
        root = self.root()
        ready = [root.ready[name] for name in ("type", "pid", "protocol", "notes")]
        self.assertEqual(["ready", root.process.pid, protocol.VERSION, []], ready)
        answer = root.spawn("worker", [0, 1])
        self.assertEqual(0, answer["pid"])
        self.assertIn("2 descriptors", answer["reason"])
        worker = self.worker(root)
        answer = worker.run("import os, sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
        self.assertEqual(("out\n42\n", "err\n"), (answer.stdout, answer.stderr))
        self.assertEqual(worker.pid, worker.ready["pid"])
        self.gives(worker, "[os.getcwd(), sys.path[0]]", [worker.workdir] * 2)
        self.gives(worker, "[os.getpid(), os.getpgid(0)]", [worker.pid] * 2)
        self.gives(worker, "sys.stdin.read()", "")
        with open(os.path.join(worker.workdir, "random.py"), "w") as file:
            file.write("mine = 1")
        self.gives(
            worker, "__import__('random').mine", 1
        )  # what is beside the server hides nothing
        worker.run("import signal")
        self.gives(worker, "signal.getsignal(signal.SIGCHLD).name", "SIG_DFL")
        self.gives(worker, "signal.set_wakeup_fd(-1)", -1)
        worker.run_until_printed(HOLD, "here")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        for nobodys in (worker.pid, os.getpid()):  # the living and strangers have no status
            self.assertEqual(-1, root.ask({"type": "reap", "pid": nobodys})["status"])

    def test_it_holds_no_descriptors_of_roots(self):
        worker = self.worker(self.root())
        names = worker.value(
            "[__import__('os').readlink('/proc/self/fd/' + n)"
            " for n in __import__('os').listdir('/proc/self/fd') if int(n) > 2"
            " if __import__('os').path.islink('/proc/self/fd/' + n)]"
        )
        # Its frames, its fault pipe, and the spare copies of 0, 1 and 2.
        self.assertEqual(1, sum(name.startswith("socket:") for name in names), names)
        self.assertEqual(3, sum(name.startswith("pipe:") for name in names), names)

    def test_nothing_is_left_to_import_for_the_first_execution(self):
        worker = self.worker(self.root())
        before = set(worker.value("list(__import__('sys').modules)"))
        worker.run("print(1)")
        worker.run("1 / 0")
        self.assertEqual(set(), set(worker.value("list(__import__('sys').modules)")) - before)
        self.assertIn("traceback", before)

    def test_a_fork_that_fails_says_why(self):
        library = self.library(
            sitecustomize="import errno, os\n"
            "fork = os.fork\n"
            "def refuse():\n"
            "    if os.path.exists(os.environ['NO_FORK']):\n"
            "        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))\n"
            "    return fork()\n"
            "os.fork = refuse"
        )
        flag = os.path.join(library, "flag")
        root = self.root(library=[library], environment={"NO_FORK": flag})
        self.worker(root)
        open(flag, "w").close()
        with self.assertRaisesRegex(OSError, "^fork failed: Resource temporarily unavailable$"):
            Forked.spawn(root)
        os.unlink(flag)
        self.worker(root)


class Reaping(ForkerCase):
    def test_orphans_of_the_users_are_reaped_at_once(self):
        root = self.root()
        kept, worker = self.worker(root), self.worker(root)
        kept.kill()  # a dead one that must be kept stands before the others
        worker.run(
            "import os, time\nr, w = os.pipe()\n"
            "if os.fork() == 0:\n"
            "    if os.fork() == 0:\n"
            "        os.write(w, str(os.getpid()).encode())\n"
            "        time.sleep(1000)\n"
            "    os._exit(0)\n"
            "os.wait(); orphan = int(os.read(r, 20))"
        )
        orphan = worker.value("orphan")
        self.assertEqual(root.process.pid, parent_of(orphan))
        os.kill(orphan, signal.SIGKILL)
        wait_for_end(orphan)
        deadline = time.monotonic() + ANSWER_SECONDS
        while parent_of(orphan):
            self.assertLess(time.monotonic(), deadline, "the orphan was never reaped")
        self.assertEqual(-signal.SIGKILL, os.waitstatus_to_exitcode(root.reap(kept.pid)))


class Ending(ForkerCase):
    def test_those_who_breed_while_they_are_killed_end_too(self):
        root = self.root()
        worker = self.worker(root)
        worker.run_until_printed(
            "import os, time\nprint('here', flush=True)\n"
            "for _ in range(2000):\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        if os.fork(): os._exit(0)\n"
            "        time.sleep(1000)\n",
            "here",
        )
        root.socket.close()
        self.assertEqual(0, root.process.wait(ANSWER_SECONDS))
        self.assertIsNone(parent_of(worker.pid))

    def test_a_zygote_that_is_told_to_stop_ends_and_its_workers_live_on(self):
        root = self.root()
        zygote = root.zygote([])
        worker = self.worker(zygote)
        root.adopt(worker.pid)
        zygote.send({"type": "stop"})
        self.assertEqual(0, root.reap(zygote.pid))
        self.gives(worker, "2 + 3", 5)
        self.assertEqual(root.process.pid, parent_of(worker.pid))
        worker.kill()
        self.assertEqual(-signal.SIGKILL, os.waitstatus_to_exitcode(root.reap(worker.pid)))

    def test_a_zygote_that_answers_too_late_finds_that_it_was_told_to_stop(self):
        root = self.root()
        zygote = root.zygote([])
        worker = self.worker(zygote)
        root.adopt(worker.pid)
        os.kill(zygote.pid, signal.SIGSTOP)
        zygote.send({"type": "reap", "pid": worker.pid})  # whose answer nobody hears
        zygote.send({"type": "stop"})
        zygote.socket.close()
        os.kill(zygote.pid, signal.SIGCONT)
        self.assertEqual(0, root.reap(zygote.pid))
        self.gives(worker, "2 + 3", 5)

    def test_a_broken_frame_ends_root_with_a_line(self):
        root = self.root()
        root.socket.sendall(b"\0\0\0\2[]")
        self.assertEqual(protocol.EXIT_BROKEN_FRAME, root.process.wait(ANSWER_SECONDS))
        self.assertIn("pyworker: broken frame (object)", root.printed())


class Zygotes(ForkerCase):
    def test_imports_that_fail_are_named_and_cost_only_themselves(self):
        library = self.library(
            good="value = 5",
            bad="raise RuntimeError('no\\nluck')",
            leaving="raise SystemExit(3)",
            stopped="raise KeyboardInterrupt",
        )
        root = self.root(library=[library])
        names = ["bad", "good", "leaving", "nosuch", "stopped", "json.tool"]
        preloaded = root.zygote(names).preloaded
        self.assertEqual(["good", "json.tool"], preloaded["imported"])
        self.assertEqual(
            [
                ["bad", "RuntimeError: no\nluck"],
                ["leaving", "SystemExit: 3"],
                ["nosuch", "ModuleNotFoundError: No module named 'nosuch'"],
                ["stopped", "KeyboardInterrupt"],
            ],
            preloaded["failed"],
        )

    def test_requests_wait_for_the_imports(self):
        library = self.library(gate="import os\nopen(os.environ['GATE']).read()")
        gate = os.path.join(library, "gate")
        os.mkfifo(gate)
        root = self.root(library=[library], environment={"GATE": gate})
        zygote = Forker()
        self.addCleanup(zygote.close)
        root.spawn("zygote", [zygote.theirs.fileno()], ["gate"])
        worker = Forked()
        self.addCleanup(worker.close)
        fds = worker.make_pipes()
        request = {"type": "spawn", "kind": "worker", "preload": []}
        zygote.send(request, [*fds[:2], worker._theirs.fileno(), fds[2]])
        worker.close_theirs(*fds)
        self.gives(self.worker(root), "2 + 2", 4)  # root answers meanwhile
        open(gate, "w").close()
        self.assertEqual(["gate"], zygote.receive()["imported"])
        self.assertTrue(zygote.receive()["pid"])

    @needs("matplotlib")
    def test_figures_of_a_preloaded_pyplot_are_captured(self):
        root = self.root()
        zygote = root.zygote(["matplotlib.pyplot"])
        self.assertEqual(["matplotlib.pyplot"], zygote.preloaded["imported"], root.printed())
        worker = self.worker(zygote)
        answer = worker.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
        self.assertTrue(answer.ok, answer.done)
        self.assertEqual(1, len(answer.figures))

    def test_a_library_that_begins_threads_when_it_is_used_is_complained_of(self):
        library = self.library(
            numpy="import threading, time\n"
            "def arange(_):\n"
            "    if threading.active_count() == 1:\n"
            "        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"
        )
        root = self.root(library=[library])
        root.zygote(["numpy"])
        self.assertIn("1 Python thread is running (Thread-1", root.printed())

    def test_a_library_that_leaves_threads_behind_is_complained_of(self):
        library = self.library(
            threaded="import threading, time\n"
            "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"
        )
        root = self.root(library=[library])
        zygote = root.zygote(["threaded"])
        self.assertEqual(["threaded"], zygote.preloaded["imported"])
        self.assertIn("1 Python thread is running (Thread-1", root.printed())
        # That is not in the workers, and no obstacle to their copies; their own are.
        worker = self.worker(zygote)
        self.assertEqual("", worker.run("x = 1").obstacle)
        for lead in (self.branch(worker), self.succeed(worker)):
            lead.be_patient()
            code = "import threading\ngo = threading.Event()\n"
            code += "t = threading.Thread(target=go.wait, name='T'); t.start()"
            self.assertEqual("1 Python thread is running (T)", lead.run(code).obstacle)
            self.assertEqual("", lead.run("go.set(); t.join()").obstacle)
            code = "import _thread\nlock = _thread.allocate_lock(); n = lock.acquire()\n"
            code += "before = _thread._count(); n = _thread.start_new_thread(lock.acquire, ())\n"
            code += "while _thread._count() == before: pass"
            reason = "1 Python thread is running (one without a name)"
            self.assertEqual(reason, lead.run(code).obstacle)


class Fatalities(ForkerCase):
    """Modules whose import ends the zygote."""

    def die(self, root, names):
        """Has root fork a zygote that dies of its imports, and returns the wait status."""
        zygote = Forker()
        self.addCleanup(zygote.close)
        zygote.pid = root.spawn("zygote", [zygote.theirs.fileno()], names)["pid"]
        zygote.theirs.close()
        self.assertIsNone(zygote.receive())
        return root.reap(zygote.pid)

    def test_they_are_left_out_of_the_next_one(self):
        library = self.library(
            good="value = 5",
            aborting="import os; os.abort()",
            leaving="import os; os._exit(3)",
        )
        root = self.root(library=[library])
        names = ["good", "aborting", "json.tool", "leaving"]
        self.assertEqual(signal.SIGABRT, os.WTERMSIG(self.die(root, names)))
        self.assertEqual(3, os.waitstatus_to_exitcode(self.die(root, names)))
        reasons = [
            ["aborting", "killed its process (signal 6) when it was imported"],
            ["leaving", "ended its process (exit code 3) when it was imported"],
        ]
        for _ in range(2):
            preloaded = root.zygote(names).preloaded
            self.assertEqual(["good", "json.tool"], preloaded["imported"])
            self.assertEqual(reasons, preloaded["failed"])
        self.gives(self.worker(root.zygote(names)), "__import__('good').value", 5)

    def test_one_that_ends_the_zygote_when_it_is_rehearsed_is_left_out_too(self):
        library = self.library(numpy="import os\ndef arange(_): os._exit(5)")
        root = self.root(library=[library])
        self.assertEqual(5, os.waitstatus_to_exitcode(self.die(root, ["json.tool", "numpy"])))
        preloaded = root.zygote(["json.tool", "numpy"]).preloaded
        self.assertEqual(["json.tool"], preloaded["imported"])
        reason = "ended its process (exit code 5) when it was used on trial"
        self.assertEqual([["numpy", reason]], preloaded["failed"])

    def test_a_kill_that_may_come_from_outside_is_held_against_it_the_second_time(self):
        library = self.library(killed="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        root = self.root(library=[library])
        for _ in range(2):
            self.assertEqual(signal.SIGKILL, self.die(root, ["killed"]))
        reason = "killed its process (signal 9) when it was imported"
        self.assertEqual([["killed", reason]], root.zygote(["killed"]).preloaded["failed"])

    def test_a_zygote_that_dies_later_blames_nobody(self):
        root = self.root()
        for _ in range(2):
            zygote = root.zygote(["json.tool"])
            os.kill(zygote.pid, signal.SIGSEGV)
            self.assertEqual(signal.SIGSEGV, os.WTERMSIG(root.reap(zygote.pid)))
        self.assertEqual([], root.zygote(["json.tool"]).preloaded["failed"])

    def test_forks_of_root_leave_the_notes_of_a_living_zygote_alone(self):
        library = self.library(
            gate="import os\nopen(os.environ['GATE']).read()\nos.abort()", good="value = 5"
        )
        gate = os.path.join(library, "gate")
        os.mkfifo(gate)
        root = self.root(library=[library], environment={"GATE": gate})
        zygote = Forker()
        self.addCleanup(zygote.close)
        pid = root.spawn("zygote", [zygote.theirs.fileno()], ["gate"])["pid"]
        with open(gate, "w"):  # is open when the import has begun
            self.worker(root)
            root.zygote(["good"])
        self.assertEqual(signal.SIGABRT, os.WTERMSIG(root.reap(pid)))
        self.assertEqual("gate", root.zygote(["gate"]).preloaded["failed"][0][0])


class Descriptors(ForkerCase):
    """What comes with frames."""

    def test_frames_that_come_at_once_keep_their_descriptors_apart(self):
        root = self.root()
        talks = [Talk() for _ in range(3)]
        requests = [
            ({"type": "reap", "pid": 1}, []),
            *(
                ({"type": "spawn", "kind": "zygote", "preload": [f"x{i}"]}, [t.theirs.fileno()])
                for i, t in enumerate(talks)
            ),
            ({"type": "reap", "pid": 1}, []),
        ]
        for request in requests:
            root.send(*request)
        kinds = [root.receive()["type"] for _ in requests]
        self.assertEqual(["reaped", *["spawned"] * 3, "reaped"], kinds)
        for i, talk in enumerate(talks):
            self.assertEqual(f"x{i}", talk.receive()["failed"][0][0])
            talk.close()

    def test_a_frame_cut_anywhere_keeps_its_descriptors(self):
        root, talk = self.root(), Talk()
        self.addCleanup(talk.close)
        request = {"type": "spawn", "kind": "zygote", "preload": [], "descriptors": 1}
        data = b"".join(protocol.encode(request))
        socket.send_fds(root.socket, [data[:1]], [talk.theirs.fileno()])
        for i in range(1, len(data), 7):
            root.socket.sendall(data[i : i + 7])
        self.assertTrue(root.receive()["pid"])
        self.assertEqual("preloaded", talk.receive()["type"])

    def test_what_nobody_takes_is_closed(self):
        root = self.root()
        before = len(os.listdir(f"/proc/{root.process.pid}/fd"))
        for _ in range(3):
            send(root.socket, {"type": "reap", "pid": 1}, [0, 1, 2])
            root.receive()
        root.ask({"type": "reap", "pid": 1})
        self.assertEqual(before, len(os.listdir(f"/proc/{root.process.pid}/fd")))

    def test_a_process_without_room_for_them_says_so(self):
        worker = self.worker(self.root())
        worker.run(
            "import os, resource\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
            "taken = []\n"
            "try:\n"
            "    while True: taken.append(os.dup(0))\n"
            "except OSError: pass"
        )
        self.assertEqual("too many files are open in the session", worker.fork())
        worker.run("for fd in taken: os.close(fd)")
        self.copy(worker)
