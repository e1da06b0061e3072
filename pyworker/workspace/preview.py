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

from . import binaries, documents, sample, tables, tree
from .words import NAME, NotSaid, clean, code_span, count, fence, section, what_is_wrong

_SECTIONS = 40  # files that are described
_FILE = 8 << 20  # bytes that are read of a file; larger ones are sampled
_ALL = 64 << 20  # bytes that are read in all
_LEAST = 64 << 10  # that must be left for a file to be looked into
_MEMORY = 512 << 20  # bytes that the reading of a file may take
_ANSWER = 1 << 20  # bytes that may be told of a file
_PICTURES = 24  # of a directory that are looked at


def _of_text(read):
    return lambda file, name, size, room: read(sample.Sample(file, name, size, room), name)


_KINDS = {
    _of_text(tables.read_table): "csv tsv tab psv csv.gz tsv.gz csv.bz2 tsv.bz2",
    _of_text(tables.read_text_or_table): "txt dat data",
    _of_text(documents.read_json): "json geojson json.gz",
    _of_text(documents.read_lines): "jsonl ndjson jsonl.gz ndjson.gz",
    _of_text(documents.read_text): "md names rst py yaml yml toml ini cfg r sql",
    binaries.read_parquet: "parquet pq",
    binaries.read_workbook: "xlsx xlsm",
    binaries.read_npy: "npy",
    binaries.read_npz: "npz",
}
_READERS = {"." + kind: read for read, kinds in _KINDS.items() for kind in kinds.split()}
_READERS[""] = _of_text(documents.read_text)


def describe(directory, roots=(), known="", name="input", characters=6000, seconds=8):
    """Returns {"print": of names, sizes and times, "hasted", "text"}.

    There is no text where the print is the known one. roots are files and directories
    elsewhere that links may lead to; others are named and not followed. An error of the
    directory itself is in "error".
    """
    end = time.monotonic() + seconds
    try:
        place = tree.Place(directory, roots)
        top = tree.Walker(place, lambda: time.monotonic() > end).walk()
    except (OSError, NotSaid) as error:
        return {"error": f"{name}: {what_is_wrong(error)}"}
    mark = hashlib.sha256("\n".join(top.print()).encode("utf-8", "surrogatepass")).hexdigest()
    if mark == known:
        return {"print": mark}
    look = _Look(place, end)
    for folder in top.shown_tree():
        look.folder(folder)
    return {
        "print": mark,
        "hasted": time.monotonic() > end or look.hasted,
        "text": _compose(top, look.sections, name, characters),
    }


class _Look:
    """Looks into the files that the tree shows."""

    def __init__(self, place, end):
        self._place = place
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
            if each.size == 0:
                each.note = "empty"
            elif len(self.sections) >= _SECTIONS:
                each.note = "not looked into: enough is described"
            else:
                self._describe(each, kind, forms)
        self._pictures(folder)

    def _describe(self, each, kind, forms):
        # A workbook can't be sampled: it is one archive.
        room = self._left if kind in (".xlsx", ".xlsm") else min(_FILE, self._left)
        try:
            told = self._apart(each, _READERS[kind], room)
        except NotSaid as why:
            each.note = str(why)
            return
        self._left -= min(each.size, room)
        twin = forms.get(told["form"])
        if twin:
            told["simple"] = f"The same columns as {clean(twin, NAME)}."
            told["full"] = [told["simple"]]
        elif told["form"]:
            forms[told["form"]] = each.name
        self.sections.append({**told, "path": each.path})

    def _apart(self, each, read, room):
        """Reads a file in a process of its own, which may take half of the time left."""
        left = self._end - time.monotonic()
        if left <= 0:
            self.hasted = True
            raise NotSaid("not looked into: there was no time left")
        if room < _LEAST:
            raise NotSaid("not looked into: enough was read of the others")
        path = os.path.join(self._place.top, each.path)
        binaries.prepare(tree.extension(each.name))  # once, not in each of the processes
        found = apart(lambda: _read(path, read, room), max(left / 2, 0.2))
        self.hasted = self.hasted or "late" in found
        if "note" in found:
            raise NotSaid(found["note"])
        return found

    def _pictures(self, folder):
        """Describes the pictures of a directory together, by some at even distances."""
        files = [each for each in folder.files if not each.note and each.size]
        found = [each for each in files if tree.extension(each.name) in binaries.PICTURES]
        if not found or len(self.sections) >= _SECTIONS:
            return
        n = min(_PICTURES, len(found))
        some = [os.path.join(self._place.top, found[i * len(found) // n].path) for i in range(n)]
        try:
            sizes = self._apart(found[0], lambda *_: _sizes(some), _LEAST)["sizes"]
        except NotSaid:
            sizes, n = {}, len(found)
        unread = sizes.pop("", 0)
        frequent = sorted(sizes, key=lambda each: (-sizes[each], each))
        words = [f"{each} ({sizes[each]})" if len(found) > 1 else each for each in frequent[:4]]
        if len(frequent) > 4:
            words.append(f"… {count(len(frequent) - 4, 'other size')}")
        head = f"Pictures: {tree.kinds_of(found)}"
        head += f"; of {n} that were looked at" if n < len(found) else ""
        head += f": {', '.join(words)}" if words else ""
        head += f"; {unread} can't be read" if unread else ""
        self.sections.append({**section(head), "path": tree.joined(folder.path, "*")})


def _sizes(paths):
    """Counts the dimensions of pictures; "" is that of those that can't be read."""
    sizes = collections.Counter()
    for path in paths:
        try:
            with _opened(path) as file:
                sizes[binaries.dimensions(file)] += 1
        except Exception:
            sizes[""] += 1
    return {"sizes": sizes}


def _opened(path):
    """Opens a file. Nothing waits here, as the opening of a named pipe would."""
    file = os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
    )
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotSaid("not a regular file")
    return file


def _read(path, read, room):
    with _opened(path) as file:
        before = os.fstat(file.fileno())
        found = read(file, os.path.basename(path), before.st_size, room)
        after = os.stat(path)
        if "head" in found and (before.st_size, before.st_mtime_ns) != (
            after.st_size,
            after.st_mtime_ns,
        ):
            found["head"] += "; it changed while it was read"
        return found


def apart(job, seconds):
    """Does a job in a process of its own; returns its result, or a note on why there is none."""
    if not hasattr(os, "fork"):
        return _done(job)
    ends = ()
    try:
        ends = reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # threads matter to those who wait for their locks
            child = os.fork()
    except OSError as error:  # no more descriptors or processes
        for end in ends:
            os.close(end)
        return {"note": what_is_wrong(error)}
    if child == 0:
        try:
            os.close(reading)
            _limit_memory()
            with os.fdopen(writing, "wb") as out:
                out.write(json.dumps(_done(job)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        answer, late = _answer(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if late:
        return {"note": "not looked into: it takes too long", "late": True}
    try:
        return json.loads(answer)
    except ValueError:
        died = f" (signal {os.WTERMSIG(status)})" if os.WIFSIGNALED(status) else ""
        return {"note": f"can't be described: reading it ended the process{died}"}


def _answer(reading, end):
    """Returns what a process says until its end, and whether it took too long."""
    answer = b""
    while len(answer) <= _ANSWER:
        ready, _, _ = select.select([reading], [], [], max(0, end - time.monotonic()))
        if not ready:
            return b"", True
        more = os.read(reading, 1 << 16)
        if not more:
            break
        answer += more
    return answer[: _ANSWER + 1], False


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


def _compose(top, sections, name, most):
    """Writes all, else names alone, else as much of that as fits."""
    lines = top.lines(name)
    full = _written(_first(lines, 100), sections, "full")
    if len(full) <= most:
        return full
    shown = 50
    while shown > 2 and len("\n".join(_first(lines, shown))) > most * 2 // 3:
        shown //= 2
    for kept in range(len(sections), -1, -1):
        text = _written(_first(lines, shown), sections[:kept], "simple")
        left = len(sections) - kept
        if len(text) <= most - 100 or not kept:
            break
    text += f"\n[the descriptions of {count(left, 'more file')} are left out]\n" if left else ""
    if len(text) > most:
        keep = max(0, most - 40)
        text = f"{text[:keep]}\n[{len(text) - keep} characters left out]\n"
    return text


def _first(lines, most):
    left = len(lines) - most
    return lines[:most] + ([f"… and {count(left, 'more line')} of this list"] if left > 0 else [])


def _written(lines, sections, form):
    text = fence("\n".join(lines))
    for each in sections:
        said = each[form] if form == "full" else [each["simple"]] if each["simple"] else []
        text += ["", f"### {code_span(clean(each['path'], 2 * NAME))}", each["head"], *said]
    return "\n".join(text) + "\n"
