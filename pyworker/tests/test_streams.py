"""Everything that is printed arrives, whatever is done to the streams."""

import resource
import signal

from pyworker.tests.worker import WorkerCase

FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
NONBLOCKING_WRITER = """
import fcntl, os
for fd in (1, 2):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
print("é" * 700_000)
"""


class Capture(WorkerCase):
    def test_each_way_of_printing_arrives_in_order(self):
        answer = self.start().run(
            "import os, subprocess, sys, threading\n"
            "print('print')\n"
            "os.write(1, b'descriptor\\n');\n"
            "subprocess.run(['echo', 'child']);\n"
            "sys.stdout.write('text\\n');\n"
            "sys.stdout.buffer.write(b'bytes\\n');\n"
            "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
            "sys.stdout.writelines(['a', 'b\\n'])\n"
            "print('error', file=sys.stderr)\n"
            "os.system('echo shell >&2');"
        )
        expected = "print\ndescriptor\nchild\ntext\nbytes\nthread\nab\n"
        self.assertEqual(expected, answer.stdout)
        self.assertEqual("error\nshell\n", answer.stderr)

    def test_a_million_bytes_to_a_pipe_that_became_nonblocking(self):
        answer = self.start().run(NONBLOCKING_WRITER)
        self.assertTrue(answer.ok, answer.done)
        self.assertEqual("é" * 700_000 + "\n", answer.stdout)

    def test_half_a_line_comes_before_what_follows_it(self):
        worker = self.start()
        worker.run(
            "import os, sys\n"
            "sys.modules['pyworker.order'].PATIENCE = 60\n"
            "print('out', end=' ')\nprint('err', file=sys.stderr)\nprint('out', end=' ')\n"
            "if os.fork() == 0:\n    print('child')\n    os._exit(0)\n"
            "os.wait();\nprint('end')"
        )
        self.assertEqual("out err\nout child\nend\n", worker.arrived.decode())

    def test_streams_are_real_ones(self):
        worker = self.start()
        probe = (
            "[type(s).__name__, s.isatty(), s.fileno(), s.encoding, s.errors, s.name, s.writable()]"
        )
        for name, fd in (("stdout", 1), ("stderr", 2)):
            expected = ["TextIOWrapper", False, fd, "utf-8", "backslashreplace"]
            value = worker.value(f"[{probe} for s in [__import__('sys').{name}]][0]")
            self.assertEqual([*expected, f"<{name}>", True], value)
        self.assertTrue(worker.value("__import__('sys').__stdout__ is __import__('sys').stdout"))


class Repair(WorkerCase):
    DAMAGE = (
        "import sys, io; sys.stdout = sys.stderr = io.StringIO()",
        "import sys; sys.stdout = None",
        "import sys; del sys.stdout, sys.stderr",
        "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys; buffer = sys.stdout.detach()",
        "import sys; sys.stdout.reconfigure(encoding='utf-16', errors='strict')",
        "import sys; sys.stdout.reconfigure(write_through=False)",
        "import os; os.close(0); os.close(1); os.close(2)",
        # Where there may be few descriptors ours are among the first thousand.
        f"import os; os.closerange(0, {1024 if FILES >= 1200 else 50})",
        "import os; fd = os.open('other', os.O_CREAT | os.O_RDWR); os.dup2(fd, 1); os.dup2(fd, 0)",
        "import contextlib, io; manager = contextlib.redirect_stdout(io.StringIO()); "
        "manager.__enter__()",
        "import sys; sys.stdout = type('S', (), {'write': 1, 'flush': lambda s: 1 / 0, "
        "'__eq__': lambda s, o: 1 / 0})()",
        "import sys; sys.stdin = None",
    )

    def test_the_next_execution_prints_after_any_damage(self):
        worker = self.start()
        for damage in self.DAMAGE:
            with self.subTest(damage):
                self.assertTrue(worker.run(damage).ok)
                answer = worker.run(
                    "import os, sys\nprint('out')\nprint('err', file=sys.stderr)\n"
                    "os.write(1, b'raw')\nsys.stdin.readline() == ''"
                )
                self.assertEqual(("out\nraw3\nTrue\n", "err\n"), (answer.stdout, answer.stderr))

    def test_text_of_before_the_damage_arrives(self):
        worker = self.start()
        answer = worker.run(
            "import os, sys\nsys.stdout.reconfigure(write_through=False)\n"
            "print('held back')\nos.close(1);"
        )
        self.assertEqual("held back\n", answer.stdout)

    def test_the_users_own_stream_is_flushed(self):
        worker = self.start()
        worker.run("import sys; sys.stdout = open('mine', 'w'); print('kept')")
        self.gives(worker, "open('mine').read()", "kept\n")

    def test_a_logging_handler_goes_on_working(self):
        worker = self.start()
        worker.run("import logging; logging.basicConfig(format='%(message)s')")
        self.assertEqual("later\n", worker.run("logging.warning('later')").stderr)

    def test_closing_every_descriptor_ends_the_worker_and_says_so(self):
        worker = self.start()
        worker.begin("import os; os.closerange(3, 65536)")
        status, stderr = worker.wait()
        self.assertEqual(70, status)
        self.assertIn("Bad file descriptor", stderr)


class Replaced(WorkerCase):
    """What users put in the place of a stream, {s}, and leave there."""

    IMPORTS = "import codecs, contextlib, gc, io, logging, os, sys\n"
    TEE = (
        "class Tee:\n    def __init__(self, *files): self.files = files\n"
        "    def write(self, text):\n        for file in self.files: file.write(text)\n"
        "    def flush(self): pass\n"
        "log = io.StringIO(); sys.{s} = Tee(sys.{s}, log)"
    )
    STAYS = (
        "sys.{s} = io.TextIOWrapper(sys.{s}.buffer, encoding='utf-8')",
        "sys.{s} = io.TextIOWrapper(sys.{s}.detach(), encoding='utf-8')",
        "sys.{s} = codecs.getwriter('utf-8')(sys.{s}.buffer)",
        "sys.{s} = codecs.getwriter('utf-8')(sys.{s}.detach())",
        "sys.{s} = os.fdopen(os.dup(sys.{s}.fileno()), 'w')",
        "sys.{s} = open(sys.{s}.fileno(), 'w')",
        TEE,
        "class Loud:\n    def write(self, text): sys.__{s}__.write(text)\nsys.{s} = Loud()",
    )
    GOES = (
        ("sys.{s} = io.StringIO()", "StringIO"),
        ("sys.{s} = open('file', 'w')", "TextIOWrapper"),
        ("contextlib.redirect_{s}(io.StringIO()).__enter__();", "StringIO"),
        ("class Mute:\n    def write(self, text): return len(text)\nsys.{s} = Mute()", "Mute"),
    )
    SECOND = "counter = 1\nprint('second', file=sys.{s})\ncounter = 2"
    BACK = "sys.{s} = sys.__{s}__\ngc.collect();"

    def start_with(self, code, name, worker=None):
        worker = worker or self.start()
        answer = worker.run(self.IMPORTS + code.replace("{s}", name))
        self.assertTrue(answer.ok, answer.done)
        return worker, answer

    def test_it_stays_while_it_writes_to_the_output(self):
        for code in self.STAYS:
            worker = self.start()
            for name in ("stdout", "stderr"):
                with self.subTest(code, stream=name):
                    _, answer = self.start_with(f"{code}\nmine = sys.{{s}}", name, worker)
                    self.assertEqual([], answer.notes)
                    second = self.SECOND.replace("{s}", name)
                    self.assertEqual("second\n", getattr(worker.run(second), name))
                    self.assertTrue(worker.value(f"sys.{name} is mine"))
                    worker.run("del mine\n" + self.BACK.replace("{s}", name))
                    self.assertEqual("second\n", getattr(worker.run(second), name))
                    self.gives(worker, "counter", 2)

    def test_a_tee_has_all_calls(self):
        worker, _ = self.start_with(self.TEE + "\nprint('first')", "stdout")
        worker.run("print('second')")
        self.gives(worker, "log.getvalue()", "first\nsecond\n")

    def test_what_keeps_text_to_itself_goes_and_that_is_said_once(self):
        for code, kind in self.GOES:
            worker = self.start()
            for name in ("stdout", "stderr"):
                with self.subTest(code, stream=name):
                    _, answer = self.start_with(code, name, worker)
                    self.assertEqual(1, len(answer.notes), answer.notes)
                    self.assertIn(f"sys.{name} was left as a {kind} ", answer.notes[0])
                    answer = worker.run(self.SECOND.replace("{s}", name))
                    self.assertEqual("second\n", getattr(answer, name))
                    self.assertEqual([], answer.notes)

    def test_one_stream_for_the_other(self):
        worker, _ = self.start_with("sys.stderr = sys.stdout", "stderr")
        self.prints(worker, "print('second', file=sys.stderr)", "second\n")

    def test_a_handler_of_an_earlier_call_goes_on(self):
        for code in (
            "sys.stdout.reconfigure(encoding='utf-8')",
            "sys.stdout = io.TextIOWrapper(sys.stdout.buffer)",
            "old = sys.stdout; sys.stdout = io.StringIO()",
        ):
            with self.subTest(code):
                handler = "logging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
                worker, _ = self.start_with(handler + code, "stdout")
                for _ in range(2):
                    self.prints(worker, "logging.warning('told')", "told\n")
                    worker.run(self.BACK.replace("{s}", "stdout"))

    def test_a_close_closes_nothing(self):
        answer = self.start().run("import sys\nprint('a', end='')\nsys.stdout.close()\nprint('b')")
        self.assertEqual("ab\n", answer.stdout)

    def test_a_thread_prints_through_the_probe(self):
        worker, answer = self.start_with(
            "import threading\nstop = False\ncount = 0\n"
            "def work():\n    global count\n"
            "    while not stop:\n        sys.__stdout__.write('.'); count += 1\n"
            "t = threading.Thread(target=work); t.start()",
            "stdout",
        )
        printed = answer.stdout.count(".")
        for _ in range(5):
            answer = worker.run("sys.stdout = io.StringIO()")
            self.assertEqual(1, len(answer.notes), answer.notes)
            printed += answer.stdout.count(".")
        answer = worker.run("stop = True; t.join()")
        self.assertEqual(worker.value("count"), printed + answer.stdout.count("."))


class Stdin(WorkerCase):
    def test_it_has_nothing(self):
        self.gives(self.start(), "__import__('sys').stdin.read()", "")

    def test_input_reads_a_stdin_that_the_user_has_set(self):
        code = "import io, sys; sys.stdin = io.StringIO('ada\\n'); name = input()"
        self.assertEqual("ada", self.start().run(code, "name").result)


class Death(WorkerCase):
    def test_the_fault_pipe_names_the_line_of_a_segfault(self):
        worker = self.start()
        worker.run("import faulthandler, sys; faulthandler.enable(sys.stderr)")
        worker.begin("import ctypes\ndef f():\n    ctypes.string_at(0)\nf()")
        self.assertEqual(-signal.SIGSEGV, worker.wait()[0])
        text = worker.fault_text()
        self.assertIn("Segmentation fault", text)
        self.assertIn('File "<cell 2>", line 3 in f', text)

    def test_stop_runs_atexit_handlers_and_waits_for_no_thread(self):
        worker = self.start()
        worker.run("import sys; sys.modules['pyworker.loop'].STOP_SECONDS = 60")
        worker.run(
            "import atexit, threading, time\n"
            "atexit.register(print, 'bye');\n"
            "threading.Thread(target=time.sleep, args=(10**6,)).start()"
        )
        worker.send({"type": "stop"})
        self.assertEqual(0, worker.wait()[0])
        self.assertEqual(b"bye\n", worker.output["stdout"])

    def test_an_atexit_handler_that_hangs_is_left(self):
        worker = self.start()
        worker.run("import atexit, time; atexit.register(time.sleep, 10**6);")
        worker.send({"type": "stop"})
        self.assertEqual(0, worker.wait()[0])

    def test_a_closed_socket_means_stop(self):
        worker = self.start()
        worker.socket.shutdown(2)
        self.assertEqual((0, ""), worker.wait())

    def test_descriptors_of_ours_are_out_of_the_way(self):
        worker = self.start()
        fds = worker.value("sorted(map(int, __import__('os').listdir('/proc/self/fd')))")
        self.assertEqual([0, 1, 2], [fd for fd in fds if fd < 100][:3])
        self.assertLessEqual(len([fd for fd in fds if fd < 100]), 4)  # and the listing itself
