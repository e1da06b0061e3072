"""The session's event loop: plain cells run in it, and it goes on between calls."""

import os
import socket

from pyworker.interrupt import NUDGE
from pyworker.tests.fork.forker import CopyCase
from pyworker.tests.worker import WorkerCase

JOB = "import asyncio\nasync def job(x=7):\n    await asyncio.sleep(0)\n    return x\n"
TICK = (
    "import asyncio, os\nasync def tick(times=10**9):\n"
    "    for i in range(times):\n        print(f'tick{os.getpid()}', flush=True)\n"
    "        await asyncio.sleep(0.001)\n"
    "t = asyncio.create_task(tick());"
)
SERVER = (
    "import asyncio, os\nasync def answer(reader, writer):\n"
    "    writer.write(str(os.getpid()).encode()); await writer.drain(); writer.close()\n"
    "server = await asyncio.start_server(answer, '127.0.0.1', 0)\n"
    "port = server.sockets[0].getsockname()[1];"
)


def run_on(worker, code, mark):
    """Runs code after which the loop prints a line; returns the answer when it has."""
    worker.begin(code)
    worker.wait_for_line(mark)
    return worker.finish()


def ask(port):
    """Returns which process has answered at a port."""
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        return int(connection.recv(100))


class PlainCells(WorkerCase):
    # Cells of one session each, and what the last one echoes.
    CASES = (
        (JOB + "t = asyncio.create_task(job())", "await t", "7"),
        ("import asyncio\nf = asyncio.ensure_future(asyncio.sleep(0, 3))", "await f", "3"),
        (JOB, "asyncio.run(job())", "7"),
        (JOB, "asyncio.run(job()) + asyncio.run(job())", "14"),
        (JOB, "t = asyncio.create_task(job()); asyncio.run(job()) and t.done()", "False"),
        (JOB, "asyncio.get_event_loop().run_until_complete(job())", "7"),
        (JOB, "asyncio.new_event_loop().run_until_complete(job())", "7"),
        (JOB, "loop = asyncio.get_running_loop()", "await job()", "loop.is_closed()", "False"),
        (JOB, "asyncio.get_event_loop() is asyncio.get_running_loop()", "True"),
        (
            JOB,
            "a = asyncio.get_event_loop()",
            "await job()\na is asyncio.get_running_loop()",
            "True",
        ),
        (JOB + "q = asyncio.Queue(); q.put_nowait(5)", "await q.get()", "5"),
        (JOB, "a = []\nasyncio.get_event_loop().call_soon(a.append, 1);", "1", "a", "[1]"),
        ("import asyncio; asyncio.get_event_loop().close()", JOB + "await job()", "7"),
        ("1", "('as' + 'yncio') in __import__('sys').modules", "False"),
    )

    def test_each(self):
        for *cells, expected in self.CASES:
            with self.subTest(cells[-1]):
                worker = self.start()
                for cell in cells:
                    answer = worker.run(cell)
                    self.assertTrue(answer.ok, answer.done)
                self.assertEqual(expected, answer.stdout.splitlines()[-1])
                self.assertEqual("", answer.stderr)

    def test_context_variables_stay_whatever_cell_sets_them(self):
        worker = self.start()
        worker.run(JOB + "import contextvars\nv = contextvars.ContextVar('v'); v.set(1);")
        self.assertEqual("1\n", worker.run("v.get(); await job(); v.set(2);").stdout.split("7")[0])
        self.prints(worker, "v.get()", "2\n")
        worker.run("v.set(3); await job(); v.set(4); raise ValueError")
        self.prints(worker, "v.get()", "4\n")
        worker.run("async def inner(): v.set(5)\nawait asyncio.create_task(inner())")
        self.prints(worker, "v.get()", "4\n")

    def test_a_child_that_a_cell_forks_runs_loops_of_its_own(self):
        worker = self.start()
        worker.run(JOB + "import multiprocessing\ndef child(n): return asyncio.run(job(n))")
        code = "with multiprocessing.get_context('fork').Pool(1) as p: x = p.map(child, [1, 2])"
        self.assertEqual([1, 2], worker.run(code, "x").result)

    def test_threads_have_no_running_loop(self):
        worker = self.start()
        worker.run(JOB)
        code = (
            "import concurrent.futures\n"
            "with concurrent.futures.ThreadPoolExecutor(1) as pool:\n"
            "    x = pool.submit(lambda: asyncio.run(job(2))).result()"
        )
        self.assertEqual(2, worker.run(code, "x").result)


class BetweenCalls(WorkerCase):
    def test_tasks_servers_and_timers_go_on(self):
        worker = self.start()
        self.assertEqual(1, run_on(worker, TICK, f"tick{worker.pid}").tasks)
        self.assertEqual(0, worker.run("t.cancel()\nawait asyncio.sleep(0)").tasks)
        self.assertEqual(1, worker.run(SERVER).tasks)
        port = worker.value("port")
        self.assertEqual(worker.pid, ask(port))
        self.assertEqual(1, worker.run("pass").tasks)
        self.assertEqual(worker.pid, ask(port))
        self.assertEqual(0, worker.run("server.close(); await server.wait_closed()").tasks)
        run_on(worker, "asyncio.get_event_loop().call_later(0.001, print, 'rung');", "rung")

    def test_what_fails_is_told_once_unless_somebody_has_seen_it(self):
        worker = self.start()
        worker.run(JOB + "async def fail():\n    await job()\n    1 / 0")
        worker.run("t = asyncio.create_task(fail())")
        told = ""
        while "ZeroDivisionError" not in told:  # it may have been about to fail
            told += worker.run("pass").stderr
        self.assertIn("Exception in task Task-", told)
        self.assertEqual(1, told.count("ZeroDivisionError"))
        self.assertNotIn("pyworker", told)
        self.assertEqual("", worker.run("del t; import gc; gc.collect();").stderr)
        run_on(
            worker,
            "async def care():\n    try: await asyncio.create_task(fail())\n"
            "    except ZeroDivisionError: print('cared', flush=True)\n"
            "t = asyncio.create_task(care())",
            "cared",
        )
        self.assertEqual("", worker.run("pass").stderr)

    def test_a_task_that_exits_ends_itself_only(self):
        worker = self.start()
        run_on(
            worker,
            "import asyncio, sys\nasync def leave():\n    print('left', flush=True)\n"
            "    sys.exit(3)\nt = asyncio.create_task(leave());",
            "left",
        )
        self.assertEqual(3, worker.run("x = t.exception().code", "x").result)

    def test_code_that_keeps_a_call_waiting_is_interrupted(self):
        for body in ("while True: pass", "import time; time.sleep(10**6)", "input()"):
            with self.subTest(body):
                worker = self.start()
                run_on(
                    worker,
                    f"import asyncio\nasync def hog():\n    print('on', flush=True)\n"
                    f"    {body}\nt = asyncio.create_task(hog());",
                    "on",
                )
                worker.begin("t.done()")
                if body != "input()":
                    worker._nudge_in = 0.05  # seconds; Go tells it after two
                answer = worker.finish()
                self.assertTrue(answer.stdout.endswith("True\n"), answer.stdout)
                self.assertEqual("{}".format(body != "input()"), str(bool(answer.notes)))
                self.assertIn(
                    "during a run only" if body == "input()" else "KeyboardInterrupt", answer.stderr
                )
                self.prints(worker, JOB + "await job()", "7\n")

    def test_an_interrupt_of_a_waiting_request_reaches_it_behind_such_code(self):
        worker = self.start()
        run_on(
            worker,
            "import asyncio, time\nasync def hog():\n    print('on', flush=True)\n"
            "    while True: pass\nt = asyncio.create_task(hog());",
            "on",
        )
        worker.begin("time.sleep(10**6)")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        self.prints(worker, "t.done()", "True\n")

    def test_a_nudge_disturbs_nothing_else(self):
        worker = self.start()
        run_on(worker, TICK, f"tick{worker.pid}")
        for _ in range(20):
            os.kill(worker.pid, NUDGE)
        for _ in range(2):  # else one could come with the request, and mean that
            worker.output["stdout"].clear()
            worker.wait_for_line(f"tick{worker.pid}")
        self.assertIs(False, worker.run("x = t.done()", "x").result)

    def test_a_figure_between_calls_breaks_nothing(self):
        worker = self.start()
        run_on(
            worker,
            "import asyncio, sys\nasync def show():\n"
            "    import gc\n"
            "    from pyworker.channel import Channel\n"
            "    c = next(o for o in gc.get_objects() if type(o) is Channel)\n"
            "    c.send({'type': 'figure', 'path': 'x.png'})\n"
            "    print('shown', flush=True)\nt = asyncio.create_task(show());",
            "shown",
        )
        self.assertEqual("2\n", worker.run("1 + 1").stdout[-2:])


class Interrupts(WorkerCase):
    def stop(self, code, mark="on"):
        """Interrupts code once it has printed the mark; returns the exception."""
        worker = self.start()
        worker.run(JOB)
        worker.run_until_printed(code, mark)
        worker.interrupt()
        exception = worker.finish().exception
        self.assertEqual("KeyboardInterrupt", exception["type"])
        self.assertTrue(worker.run("await job()").stdout.endswith("7\n"))
        return exception

    def test_code_that_swallows_its_cancellation(self):
        exception = self.stop(
            "async def stay():\n    while True:\n"
            "        try: await asyncio.sleep(10**6)\n"
            "        except asyncio.CancelledError: pass\n"
            "import os\n"
            "asyncio.get_running_loop().call_later(0.05, os.write, 1, b'on\\n')\nawait stay()"
        )
        places = [["<cell 2>", 7, "<module>", "await stay()"], ["<cell 2>", 3, "stay"]]
        self.assertEqual(places, [exception["stack"][0], exception["stack"][1][:3]])

    def test_sync_code_of_another_task(self):
        exception = self.stop(
            "async def hog():\n    print('on', flush=True)\n    while True: pass\n"
            "t = asyncio.create_task(hog())\nawait asyncio.sleep(10**6)"
        )
        self.assertEqual("hog", exception["stack"][-1][2])

    def test_plain_cells(self):
        for code in (
            "asyncio.get_event_loop().call_later(0.05, print, 'on')\n"
            "asyncio.get_event_loop().run_until_complete(asyncio.sleep(10**6))",
            "async def f():\n    print('on', flush=True)\n    await asyncio.sleep(10**6)\n"
            "asyncio.run(f())",
            "t = asyncio.create_task(job()); print('on', flush=True)\nwhile True: pass",
        ):
            with self.subTest(code):
                self.stop(code)


class Copies(CopyCase):
    def test_the_loop_of_a_copy_goes_on_where_its_original_died(self):
        run_on(self.lead, TICK, f"tick{self.lead.pid}")
        self.lead.run(SERVER)
        port = self.lead.value("port")
        self.assertEqual(self.lead.pid, ask(port))
        copy = self.succeed(self.lead)
        self.assertEqual([], copy.notes)
        copy.wait_for_line(f"tick{copy.pid}")
        self.assertEqual(copy.pid, ask(port))
        again = self.succeed(copy)
        again.wait_for_line(f"tick{again.pid}")
        self.assertEqual(again.pid, ask(port))

    def test_a_place_that_was_taken_is_told(self):
        self.lead.run(SERVER)
        port = self.lead.value("port")
        copy = self.copy(self.lead)
        self.lead.kill()
        with socket.create_server(("127.0.0.1", port)):
            notes = copy.wake(self.lead)
        told = f"a server of an earlier call can't listen at ('127.0.0.1', {port}) again"
        self.assertIn(told, notes)
        self.prints(copy, JOB + "await job()", "7\n")

    def test_a_branch_has_the_tasks_and_leaves_the_server(self):
        self.lead.run(TICK)
        self.lead.run(SERVER)
        port = self.lead.value("port")
        branch = self.branch(self.lead)
        note = "1 pipe or connection stays with the interpreter that this one was branched from"
        self.assertEqual([note], branch.notes)
        branch.wait_for_line(f"tick{branch.pid}")
        for _ in range(5):
            self.assertEqual(self.lead.pid, ask(port))
        self.assertEqual("", branch.run("pass").stderr)

    def test_a_loop_that_was_made_costs_copies_nothing(self):
        self.lead.run("import asyncio; asyncio.get_event_loop();")
        copy = self.succeed(self.lead)
        self.assertEqual([], copy.notes)
        self.prints(copy, JOB + "await job()", "7\n")
