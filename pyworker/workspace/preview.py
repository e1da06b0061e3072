"""Describes in a text for a model what is in a directory of data: a tree of the files, and
for each file of data what its columns, keys or dimensions are.

It runs in an interpreter of its own, behind the wall of the sessions, that runs no user's
code. Files may be hostile or broken: each is read in a process of its own, which may take
so much memory and time and no more, so that a file costs its own description and no other.
"""

import collections
import hashlib
import json
import os
import select
import signal
import stat
import time
import warnings

from . import binaries, tables, texts, tree
from .words import NAME, NotSaid, clean, code_span, count, fence, section, what_is_wrong

_SECTIONS = 40  # files that are described
_FILE = 8 << 20  # bytes that are read of a file
_ALL = 64 << 20  # bytes that are read in all
_LEAST = 64 << 10  # that must be left for a file to be looked into
_MEMORY = 512 << 20  # bytes that the reading of a file may take
_ANSWER = 1 << 20  # bytes that may be told of a file
_PICTURES = 24  # of a directory that are looked at
_LINES = 100  # of the tree


def _of_text(read):
    return lambda file, name, size, room: read(texts.Sample(file, name, size, room), name)


_KINDS = {
    _of_text(tables.read_table): "csv tsv tab psv csv.gz tsv.gz csv.bz2 tsv.bz2",
    _of_text(texts.read_text_or_table): "txt dat data",
    _of_text(texts.read_json): "json geojson json.gz",
    _of_text(texts.read_lines): "jsonl ndjson jsonl.gz ndjson.gz",
    _of_text(texts.read_text): "md names rst py yaml yml toml ini cfg r sql",
    binaries.read_parquet: "parquet pq",
    binaries.read_workbook: "xlsx xlsm",
    binaries.read_npy: "npy",
    binaries.read_npz: "npz",
}
_READERS = {"." + kind: read for read, kinds in _KINDS.items() for kind in kinds.split()}
_READERS[""] = _of_text(texts.read_text)


def describe(directory, roots=(), known="", name="input", characters=6000, seconds=8):
    """Returns {"print": of names, sizes and times, "hasted", "text"}.

    There is no text where the print is the known one. roots are files and directories
    elsewhere that links may lead to; others are named and not followed. An error of the
    directory itself is in "error".
    """
    end = time.monotonic() + seconds
    try:
        walker = tree.Walker(directory, roots, lambda: time.monotonic() > end)
        top = walker.walk()
    except (OSError, NotSaid) as error:
        return {"error": f"{name}: {what_is_wrong(error)}"}
    mark = hashlib.sha256("\n".join(top.print()).encode("utf-8", "surrogatepass")).hexdigest()
    if mark == known:
        return {"print": mark}
    hasted, folders = time.monotonic() > end, list(top.shown_tree())
    # Imports are slow on a cold disk, and no file's fault.
    binaries.prepare({tree.extension(each.name) for folder in folders for each in folder.files})
    look = _Look(walker.top, time.monotonic() + seconds)
    for folder in folders:
        look.folder(folder)
    return {
        "print": mark,
        "hasted": hasted or look.hasted,
        "text": _compose(top.lines(name), look.sections, characters),
    }


class _Look:
    """Looks into the files that the tree shows."""

    def __init__(self, top, end):
        self._top = top
        self._end = end
        self._left = _ALL
        self.sections = []
        self.hasted = False

    def folder(self, folder):
        """Describes the files of a directory."""
        forms = {}  # the names of those described, by their columns
        for each in folder.shown():
            kind = tree.extension(each.name)
            if each.note or kind not in _READERS:
                continue
            try:
                self._describe(each, _READERS[kind], forms)
            except NotSaid as why:
                each.note = str(why)
        self._pictures(folder)

    def _describe(self, each, read, forms):
        if each.size == 0:
            raise NotSaid("empty")
        if len(self.sections) >= _SECTIONS or self._left < _LEAST:
            raise NotSaid("not looked into: enough was read of the others")
        # A workbook can't be read in part: it has its own limit.
        is_book = each.path.lower().endswith((".xlsx", ".xlsm"))
        room = self._left if is_book else min(_FILE, self._left)
        path = os.path.join(self._top, each.path)
        told = self._apart(lambda: _read(path, read, room))
        self._left -= min(each.size, room)
        twin = forms.setdefault(told["form"], each.name) if told["form"] else each.name
        if twin != each.name:
            told["simple"] = f"The same columns as {clean(twin, NAME)}."
            told["full"] = [told["simple"]]
        self.sections.append({**told, "path": each.path})

    def _apart(self, job):
        """Reads in a process of its own, which may take half of the time left."""
        left = self._end - time.monotonic()
        found = apart(job, max(left / 2, 0.2)) if left > 0 else {"note": _LATE}
        self.hasted |= found.get("note") == _LATE
        if "note" in found:
            raise NotSaid(found["note"])
        return found

    def _pictures(self, folder):
        """Describes the pictures of a directory together, by some at even distances."""
        files = [each for each in folder.files if not each.note and each.size]
        found = [each for each in files if tree.extension(each.name) in binaries.PICTURES]
        if not found or len(self.sections) >= _SECTIONS:
            return
        some = found[:: -(-len(found) // _PICTURES)]
        try:
            sizes = self._apart(lambda: _sizes([os.path.join(self._top, p.path) for p in some]))
        except NotSaid:
            sizes = {}
        unread = sizes.pop("", 0)
        words = [f"{each} ({n})" for each, n in sorted(sizes.items(), key=lambda p: (-p[1], p[0]))]
        words[4:] = [f"… {count(len(words) - 4, 'other size')}"] if len(words) > 4 else []
        head = f"Pictures: {tree.kinds_of(found)}"
        head += f"; of {len(some)} that were looked at" if len(some) < len(found) else ""
        head += f": {', '.join(words)}" if words else ""
        head += f"; {unread} can't be read" if unread else ""
        path = f"{folder.path}/*" if folder.path else "*"
        self.sections.append({**section(head), "path": path})


def _sizes(paths):
    """Counts the dimensions of pictures; "" is that of those that can't be read."""
    sizes = collections.Counter()
    for path in paths:
        try:
            with _opened(path) as file:
                sizes[binaries.dimensions(file)] += 1
        except NotSaid:
            raise  # there is no Pillow
        except Exception:
            sizes[""] += 1
    return sizes


def _opened(path):
    """Opens a file. Nothing waits here, as the opening of a named pipe would."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotSaid("not a regular file")
    return file


def _read(path, read, room):
    with _opened(path) as file:
        return read(file, os.path.basename(path), os.fstat(file.fileno()).st_size, room)


_LATE = "not looked into: there was no time left"


def apart(job, seconds):
    """Does a job in a process of its own; returns its result, or a note on why there is none."""
    if not hasattr(os, "fork"):
        return _done(job)
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # threads matter to those who wait for their locks
            child = os.fork()
    except OSError as error:  # no more processes
        os.close(reading)
        os.close(writing)
        return {"note": what_is_wrong(error)}
    if child == 0:
        try:
            _limit_memory()
            with os.fdopen(writing, "wb") as out:
                out.write(json.dumps(_done(job)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    end, answer = time.monotonic() + seconds, b""
    with os.fdopen(reading, "rb", 0) as out:
        while len(answer) <= _ANSWER:  # what is cut is no JSON
            late = not select.select([out], [], [], max(0, end - time.monotonic()))[0]
            if late or not (more := out.read(1 << 16)):
                break
            answer += more
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if late:
        return {"note": _LATE}
    try:
        return json.loads(answer)
    except ValueError:
        return {"note": "can't be described: reading it ended the process"}


def _done(job):
    try:
        return job()
    except (Exception, MemoryError) as error:
        return {"note": what_is_wrong(error)}


def _limit_memory():
    """Lets this process take so much more memory than it has, where the system can do that."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = used + _MEMORY
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
    except (ImportError, OSError, ValueError):
        pass  # the limits of the interpreter hold


def _compose(lines, sections, most):
    """Writes all, else names alone, else as much of that as fits."""
    text = _written(lines, sections, "full")
    kept = len(sections)
    while len(text) > most and kept:
        left = f"\n[the descriptions of {count(len(sections) - kept, 'more file')} are left out]\n"
        text = _written(lines, sections[:kept], "simple") + left * (kept < len(sections))
        kept -= 1
    if len(text) > most:
        keep = max(0, most - 40)
        text = f"{text[:keep]}\n[{len(text) - keep} characters left out]\n"
    return text


def _written(lines, sections, form):
    left = len(lines) - _LINES
    more = [f"… and {count(left, 'more line')} of this list"] if left > 0 else []
    text = fence("\n".join(lines[:_LINES] + more))
    for each in sections:
        said = each["full"] if form == "full" else filter(None, [each["simple"]])
        text += ["", f"### {code_span(clean(each['path'], 2 * NAME))}", each["head"], *said]
    return "\n".join(text) + "\n"
