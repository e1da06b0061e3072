"""Copies of a worker that become branches."""

import os

from pyworker.tests.fork.forker import CopyCase, parent_of, send, wait_for_end
from pyworker.tests.worker import FAKES

SLEEPER = "import subprocess\np = subprocess.Popen(['sleep', '1000'])\n"


class Branches(CopyCase):
    def test_both_go_on_with_pipes_and_folders_of_their_own(self):
        self.lead.run("import os, sys\nx = [1]\nsaved = os.dup(1); print('before')")
        branch = self.branch(self.lead)
        self.assertEqual(self.tree.process.pid, parent_of(branch.pid))
        self.assertEqual(branch.pid, os.getpgid(branch.pid))
        self.assertNotEqual(self.lead.workdir, branch.workdir)
        code = (
            "x.append({}); n = os.write(saved, b's')\n"
            "print(x, os.getcwd(), sys.path[0]); os.system('echo e >&2');"
        )
        for worker, number in ((self.lead, 2), (branch, 3)):
            answer = worker.run(code.format(number))
            place = worker.workdir
            self.assertEqual(f"s[1, {number}] {place} {place}\n", answer.stdout)
            self.assertEqual("e\n", answer.stderr)

    def test_a_branch_holds_nothing_of_the_original(self):
        self.lead.run("import os; saved = [os.dup(1), os.dup(2)]; p = os.popen('cat')")
        held = (
            "[os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd')"
            " if os.path.islink('/proc/self/fd/' + n)]"
        )
        before = set(self.lead.value(held))
        branch = self.branch(self.lead)
        shared = before & set(branch.value(held))
        self.assertEqual(set(), {n for n in shared if n.startswith(("pipe:", "socket:"))})

    def test_modules_and_tracebacks_of_the_new_folder(self):
        with open(os.path.join(self.lead.workdir, "mine.py"), "w") as file:
            file.write("def fail(): 1 / 0\n")
        self.lead.run("import mine")
        branch = self.branch(self.lead)
        with open(os.path.join(branch.workdir, "other.py"), "w") as file:
            file.write("def fail(): 1 / 0\n")
        for module in ("mine", "other"):
            exception = self.failing(branch, f"import {module}; {module}.fail()")
            self.assertEqual([f"{module}.py", 1], exception["stack"][-1][:2])
            self.assertNotIn("worker-", exception["traceback"])

    def test_figures_go_to_the_new_folder(self):
        lead = self.worker(self.root(library=[FAKES]))
        branch = self.branch(lead)
        for worker in (lead, branch):
            answer = worker.run("import matplotlib_capture as c\nc.show('t', b'x')")
            self.assertEqual(
                worker.private, os.path.dirname(os.path.dirname(answer.figures[0][0]["path"]))
            )

    def test_crashes_of_a_branch_are_its_own(self):
        branch = self.branch(self.lead)
        branch.begin("import ctypes\nctypes.string_at(0)")
        self.assertIsNone(branch.receive())
        wait_for_end(branch.pid)
        self.assertIn('File "<cell 1>", line 2 in <module>', branch.fault_text())
        self.assertEqual("", self.lead.fault_text())
        self.assertTrue(self.lead.run("1").ok)

    def test_text_that_is_held_back_is_written_once(self):
        self.lead.run(
            "f = open('out.txt', 'w'); n = f.write('a'); g = open('bin', 'wb'); n = g.write(b'b')"
        )
        branch = self.branch(self.lead)
        for worker in (self.lead, branch):
            worker.run("f.close(); g.close()")
        for name, text in (("out.txt", "a"), ("bin", "b")):
            with open(os.path.join(self.lead.workdir, name)) as file:
                self.assertEqual(text, file.read())

    def test_a_full_pipe_does_not_hold_a_branch_up(self):
        self.lead.run(
            "import os; r, w = os.pipe()\n"
            "f = open(w, 'wb', buffering=200000); n = f.write(b'x' * 100000)"
        )
        self.assertTrue(self.branch(self.lead).run("1").ok)

    def test_handlers_at_exit_stay_with_the_original(self):
        self.lead.run("import sys; sys.modules['pyworker.loop'].STOP_SECONDS = 60")
        self.lead.run(
            "import atexit, tempfile, os\n"
            "folder = tempfile.TemporaryDirectory(); path = folder.name\n"
            "at = atexit.register(print, 'from the original')\n"
            "import logging, logging.handlers, sys\n"
            "held = logging.handlers.MemoryHandler(9, 99, logging.StreamHandler(sys.stdout))\n"
            "logging.basicConfig(handlers=[held])"
        )
        path = self.lead.value("path")
        branch = self.branch(self.lead)
        branch.run(
            "at = atexit.register(print, 'from the branch')\n"
            "own = tempfile.TemporaryDirectory(); path = own.name\n"
            "logging.warning('logged in the branch')"
        )
        own = branch.value("path")
        branch.send({"type": "stop"})
        self.assertIsNone(branch.receive())
        wait_for_end(branch.pid)
        branch._read_pipes()
        self.assertEqual("from the branch\nlogged in the branch\n", branch._take("stdout"))
        self.assertEqual([True, False], [os.path.exists(path), os.path.exists(own)])
        self.lead.send({"type": "stop"})
        self.assertIsNone(self.lead.receive())
        wait_for_end(self.lead.pid)
        self.assertFalse(os.path.exists(path))

    def test_children_stay_with_the_original(self):
        self.lead.run(SLEEPER)
        pid = self.lead.value("p.pid")
        branch = self.branch(self.lead)
        note = (
            "1 child process stays with the interpreter that this one was branched from "
            f"(pid {pid})"
        )
        self.assertEqual([note], branch.notes)
        self.gives(branch, "p.poll()", 255)
        self.assertIsNone(self.lead.value("p.poll()"))
        self.lead.run("p.kill()")
        self.gives(self.lead, "p.wait()", -9)

    def test_two_event_loops(self):
        self.lead.run(
            "import asyncio, socket\na, b = socket.socketpair()\n"
            "reader, writer = await asyncio.open_connection(sock=b)"
        )
        branch = self.branch(self.lead)
        self.assertEqual(
            ["2 pipes and connections stay with the interpreter that this one was branched from"],
            branch.notes,
        )
        code = (
            "loop = asyncio.get_running_loop()\n"
            "fut = loop.run_in_executor(None, lambda: 3)\n"
            "x = await asyncio.wait_for(fut, 60)"
        )
        for worker in (branch, self.lead, branch):  # each wakes its own loop only
            self.assertEqual(3, worker.run(code, "x").result)
        self.prints(branch, "await asyncio.wait_for(reader.read(), 60)", "b''\n")
        self.lead.run("n = a.send(b'x\\n')")
        answer = self.lead.run(
            "line = (await asyncio.wait_for(reader.readline(), 60)).decode()", "line"
        )
        self.assertEqual("x\n", answer.result)

    def test_wrong_numbers_of_descriptors_end_a_copy(self):
        copy = self.copy(self.lead, detached=True)
        message = {"type": "wake", "interpreter_id": "x", "workdir": copy.workdir, "mark": ""}
        message["private_dir"] = copy.private
        send(copy.socket, message, [0])
        self.assertIsNone(copy.receive())
        wait_for_end(copy.pid)
