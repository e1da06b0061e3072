"""Waiting for children, and hearing of their deaths, beside copies."""

import os
import signal
import time

from pyworker.fork import kin
from pyworker.tests.fork.forker import CopyCase, parent_of, wait_for_end
from pyworker.tests.worker import ANSWER_SECONDS


class Waits(CopyCase):
    """os.wait and its kin see the user's children only."""

    def setUp(self):
        super().setUp()
        self.copies = [self.copy(self.lead) for _ in range(2)]
        self.lead.run(
            "import os, signal\n"
            "def child(code=0):\n"
            "    pid = os.fork()\n"
            "    if pid == 0: os._exit(code)\n"
            "    return pid"
        )

    def result(self, code):
        answer = self.lead.run(code, "x")
        self.assertTrue(answer.ok, answer.done)
        return answer.result

    def test_nobody_to_wait_for(self):
        calls = [
            "os.wait()",
            "os.waitpid(-1, 0)",
            "os.waitpid(-1, os.WNOHANG)",
            "os.waitpid(0, os.WNOHANG)",
            "os.wait3(0)",
            "os.wait4(-1, os.WNOHANG)",
            "os.waitid(os.P_ALL, 0, os.WEXITED)",
            "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)",
        ]
        for call in calls:
            answer = self.lead.run(call)
            self.assertEqual("ChildProcessError", answer.exception["type"], call)
            self.assertEqual([10, "No child processes"], answer.exception["info"]["args"], call)

    def test_a_loop_of_waits_ends_also_when_copies_die_meanwhile(self):
        self.copies[0].socket.close()
        wait_for_end(self.copies[0].pid)
        code = (
            "pids = sorted(child() for _ in range(3)); seen = []\n"
            "try:\n"
            "    while True: seen.append(os.wait()[0])\n"
            "except ChildProcessError: pass\n"
            "x = sorted(seen) == pids"
        )
        self.assertIs(True, self.result(code))
        self.copies[1].kill()
        self.assertIs(True, self.result(code))
        self.assertIs(True, self.result(code))

    def test_a_copy_that_dies_during_a_wait_is_not_seen(self):
        self.lead.run_until_printed(
            "r, w = os.pipe()\npid = os.fork()\n"
            "if pid == 0:\n"
            "    os.close(w); os.read(r, 1); os._exit(4)\n"
            "print('waiting', flush=True)\n"
            "found = os.wait()\nx = [found[0] == pid, found[1] >> 8]",
            "waiting",
            "x",
        )
        for copy in self.copies:
            copy.kill()
        # The wait takes notice of both before its own child may end.
        deadline = time.monotonic() + ANSWER_SECONDS
        while any(parent_of(copy.pid) for copy in self.copies):
            self.assertLess(time.monotonic(), deadline, "the copies were never reaped")
        (child,) = kin.children(self.lead.pid)
        os.kill(child, signal.SIGKILL)
        self.assertEqual([True, 0], self.lead.finish().result)

    def test_what_each_call_returns(self):
        code = (
            "x = []\n"
            "pid = child(3); x.append(os.waitpid(-1, 0) == (pid, 3 << 8))\n"
            "pid = child(3); found = os.wait3(0); x.append((found[0], found[1]) == (pid, 3 << 8))\n"
            "pid = child(3); found = os.wait4(-1, 0); x.append(found[2].ru_utime >= 0)\n"
            "pid = child(3); found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)\n"
            "x += [found.si_pid == pid, found.si_status]\n"
            "x.append(os.waitid(os.P_ALL, 0, os.WEXITED).si_pid == pid)\n"
            "pid = child(3); x.append(os.waitpid(pid, 0) == (pid, 3 << 8))\n"
            "pid = child(3); x.append(os.wait4(pid, 0)[0] == pid)\n"
            "pid = child(3); x.append(os.waitid(os.P_PID, pid, os.WEXITED).si_pid == pid)"
        )
        self.assertEqual([True, True, True, True, 3, True, True, True, True], self.result(code))

    def test_no_news_is_not_waited_for(self):
        code = (
            "r, w = os.pipe(); pid = os.fork()\n"
            "if pid == 0:\n"
            "    os.close(w); os.read(r, 1); os._exit(0)\n"
            "x = [os.waitpid(-1, os.WNOHANG), list(os.wait3(os.WNOHANG))[:2],\n"
            "     list(os.wait4(-1, os.WNOHANG)[2])[:3],\n"
            "     os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)]\n"
            "os.close(w); x.append(os.wait()[0] == pid)"
        )
        self.assertEqual([[0, 0], [0, 0], [0, 0, 0], None, True], self.result(code))

    def test_stopped_children_are_told_of_and_stopped_copies_not(self):
        os.kill(self.copies[0].pid, signal.SIGSTOP)
        code = (
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    signal.pause()\n"
            "os.kill(pid, signal.SIGSTOP)\n"
            "found, status = os.waitpid(-1, os.WUNTRACED)\n"
            "x = [found == pid, os.WIFSTOPPED(status)]\n"
            "os.kill(pid, signal.SIGKILL); x.append(os.wait()[0] == pid)"
        )
        self.assertEqual([True, True, True], self.result(code))
        os.kill(self.copies[0].pid, signal.SIGCONT)

    def test_handlers_hear_of_the_users_children_only(self):
        self.lead.run(
            "heard = []\n"
            "def hear(*_): heard.append(os.wait()[0])\n"
            "n = signal.signal(signal.SIGCHLD, hear)"
        )
        for copy in self.copies:
            copy.kill()
        self.gives(self.lead, "heard", [])
        copy = self.copy(self.lead)
        code = "r, w = os.pipe()\npid = os.fork()\nif pid == 0:\n    os.read(r, 1)"
        self.lead.run(code)
        child = self.lead.value("pid")
        copy.kill()
        os.kill(child, signal.SIGKILL)
        wait_for_end(child)
        self.gives(self.lead, "heard", [child])
        code = "pid = child()\nwhile len(heard) < 2: pass\nx = heard[1] == pid"
        self.assertIs(True, self.result(code))
        self.prints(self.lead, "signal.pthread_sigmask(0, [])", "set()\n")

    def test_ignored_deaths(self):
        self.lead.run("n = signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
        for _ in range(2):
            copy = self.copy(self.lead)
            copy.kill()
        self.branch(self.lead)
