"""Memory that is made a process's own ahead."""

import mmap
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

from pyworker.fork import pages
from pyworker.tests.fork.forker import ForkerCase

PAUSE = pages.OFTEN


def in_fork(act):
    """Returns whether act() is true in a fork of this process, which lives on."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def faults():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def faults_of(pid):
    """Returns how often a process has waited for a page."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[7])


@unittest.skipUnless(pages._madvise(), "this system can't make pages a process's own ahead")
class PagesTest(unittest.TestCase):
    def test_what_was_written_to_since_the_fork_is_found(self):
        with mmap.mmap(-1, 64 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE) as memory:
            for page in range(64):
                memory[page * mmap.PAGESIZE] = 1

            def act():
                before = {a + i for a, size in pages._ours() for i in range(0, size, mmap.PAGESIZE)}
                for page in range(0, 64, 4):
                    memory[page * mmap.PAGESIZE] = 2
                after = {a + i for a, size in pages._ours() for i in range(0, size, mmap.PAGESIZE)}
                return len(after - before) >= 16

            self.assertTrue(in_fork(act))

    def test_pages_made_ours_are_not_waited_for(self):
        size = 500 * mmap.PAGESIZE
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE) as memory:
            memory[:] = b"x" * size
            address = pages.lazy_import.load("ctypes").addressof(
                pages.lazy_import.load("ctypes").c_char.from_buffer(memory)
            )

            def act(runs):
                pages._make_ours(runs, lambda: False)
                before = faults()
                for at in range(0, size, mmap.PAGESIZE):
                    memory[at] = 1
                return faults() - before

            self.assertTrue(in_fork(lambda: act([]) >= 500))
            self.assertTrue(in_fork(lambda: act([(address, size)]) < 100))

    def test_stops_when_it_is_told_to(self):
        asked = []
        pages._make_ours([(0, mmap.PAGESIZE)] * 1000, lambda: asked.append(1) or len(asked) == 3)
        self.assertEqual(len(asked), 3)

    def test_has_a_bound(self):
        with (
            mock.patch.object(pages, "_madvise") as madvise,
            mock.patch.object(pages, "_entries", lambda *_: b"\x80"),
        ):
            pages._make_ours([(0, 1 << 20)] * 100, lambda: False)
        self.assertEqual(madvise.return_value.call_count, pages._MOST >> 20)

    def test_a_file_in_the_place_of_memory_is_left_alone(self):
        """Populating would allocate its blocks, and change its time."""
        with tempfile.NamedTemporaryFile() as file:
            size = 64 * mmap.PAGESIZE
            file.truncate(size)
            os.utime(file.name, (1, 1))
            with mmap.mmap(file.fileno(), size) as memory:
                for page in range(0, 64, 2):
                    memory[page * mmap.PAGESIZE]  # so it is present
                ctypes = pages.lazy_import.load("ctypes")
                place = ctypes.c_char.from_buffer(memory)
                before = os.fstat(file.fileno())
                run = (ctypes.addressof(place), size)
                self.assertTrue(in_fork(lambda: not pages._make_ours([run], lambda: False)))
                after = os.fstat(file.fileno())
                del place
        self.assertEqual((before.st_blocks, 1), (after.st_blocks, after.st_mtime))


class ForesightTest(unittest.TestCase):
    """When it looks, and when it acts, by a clock of its own."""

    def calls(self, *pauses):
        """Makes calls after pauses, each followed by a fork; returns what was done."""
        done, now = [], [0.0]
        with (
            mock.patch.multiple(pages, _monotonic=lambda: now[0], _madvise=lambda: True),
            mock.patch.object(pages, "_ours", lambda: done.append("look") or ["some"]),
            mock.patch.object(pages, "_make_ours", lambda runs, _: done.append(len(runs))),
        ):
            foresight = pages.Foresight()
            for pause in pauses:
                now[0] += pause
                with foresight:
                    now[0] += 100  # a long call is not a long pause
                foresight.look()
                foresight.act(lambda: False)
        return done

    def test_a_session_that_is_called_rarely_is_left_alone(self):
        self.assertEqual(self.calls(0, *[PAUSE * 2] * 50), [])

    def test_a_busy_session_is_looked_at_now_and_then(self):
        done = self.calls(0, *[PAUSE / 2] * 40)
        self.assertEqual(done[:3], ["look", 1, 1])
        self.assertEqual(done.count("look"), 2)

    def test_a_look_sees_what_calls_have_written_to_and_nothing_else(self):
        done = self.calls(0, *[PAUSE / 2] * 2 * pages._FORKS)
        acts = done.index("look", 1) - 1  # between two looks
        self.assertEqual(acts, pages._FORKS, "as many as forks before the last one")

    def test_a_session_that_comes_to_rest_is_left_alone_again(self):
        self.assertEqual(self.calls(0, PAUSE / 2, PAUSE * 2), ["look", 1])


@unittest.skipUnless(sys.platform == "linux" and pages._madvise(), "for Linux 5.14 and newer")
class BusySessionTest(ForkerCase):
    def test_calls_after_a_fork_wait_for_few_pages(self):
        worker = self.worker(self.root())
        self.copy(worker)
        rare = self.call(worker)
        deadline = time.monotonic() + 60  # on a slow machine few pauses are short
        while time.monotonic() < deadline:
            if self.call(worker) < rare / 3:
                return
        self.fail(f"no call has waited for less than a third of {rare} pages")

    def call(self, worker):
        """Makes a call and a copy, waits until the worker rests, and counts its faults."""
        before = faults_of(worker.pid)
        worker.run("1")
        waited = faults_of(worker.pid) - before
        kept = self.copy(worker)
        self.rest(worker)
        self.older, older = kept, getattr(self, "older", None)
        if older is not None:
            older.close()
        return waited

    def rest(self, worker):
        """Returns when the worker sleeps, having done what nobody has asked for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open(f"/proc/{worker.pid}/stat", "rb") as file:
                if file.read().rpartition(b") ")[2].startswith(b"S"):
                    return
            time.sleep(0.005)

    def test_files_are_not_touched(self):
        """A mapping that has taken the place of memory is no business of ours."""
        with tempfile.TemporaryFile() as file:
            size = 64 * mmap.PAGESIZE
            file.truncate(size)
            with mmap.mmap(file.fileno(), size) as memory:
                memory[0] = 1
                ctypes = pages.lazy_import.load("ctypes")
                start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
                within = [run for run in pages._ours() if start <= run[0] < start + size]
        self.assertEqual(within, [])
