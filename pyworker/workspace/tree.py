"""The files below a directory, and how they are listed."""

import itertools
import os
import re
import stat

from .words import NAME, NotSaid, clean, count, size, what_is_wrong

_ENTRIES = 100_000  # of the whole tree
_DEEPEST = 12  # directories below one another
_MANY = 30  # entries of a directory; of more, fewer are shown
_SHOWN_DEPTH = 5


class Entry:
    """A file, or what can't be read as one."""

    def __init__(self, name, path):
        self.name = name
        self.path = path  # below the directory
        self.size = self.modified = 0
        self.note = ""  # what is wrong with it

    def line(self):
        """Returns its line in the list."""
        return f"{clean(self.name, NAME)} ({size(self.size)}{': ' if self.note else ''}{self.note})"


class Folder:
    """A directory."""

    def __init__(self, name, path):
        self.name = name
        self.path = path
        self.files = []
        self.folders = []
        self.count = self.bytes = 0  # of the files in it and below
        self.unlisted = False  # there is more than was looked at
        self.note = ""

    def print(self):
        """Yields what is another when a file is."""
        yield f"{self.path!r} {self.note} {self.unlisted}"
        for each in self.files:
            yield f"{each.name!r} {each.size} {each.modified} {each.note}"
        for below in self.folders:
            yield from below.print()

    def shown(self):
        """Picks the files that are named: of each of the first kinds one, then the rest."""
        most = _shown_of(self.files)
        if len(self.files) <= most:
            return self.files
        ranked = sorted(self.files, key=lambda each: rank(extension(each.name)))
        firsts = {extension(each.name): each for each in reversed(ranked)}
        picked = sorted(firsts.values(), key=ranked.index)[: most // 2]
        picked += [each for each in ranked if each not in picked][: most - len(picked)]
        return [each for each in self.files if each in picked]

    def shown_folders(self):
        """Picks the directories that are named."""
        return self.folders[: _shown_of(self.folders)]

    def lines(self, name, depth=0):
        """Lists it with what is below it."""
        indent = "  " * depth
        lines = [f"{indent}{name}/ ({self.note or self._totals()})"]
        if depth >= _SHOWN_DEPTH or self.note:
            return lines
        files, folders = self.shown(), self.shown_folders()
        lines += [f"{indent}  {each.line()}" for each in files]
        if len(files) < len(self.files):
            rest = [each for each in self.files if each not in files]
            words = f"{count(len(rest), 'other file')}: {kinds_of(rest)}"
            lines.append(f"{indent}  … and {words} ({size(sum(each.size for each in rest))})")
        for below in folders:
            lines += below.lines(clean(below.name, NAME), depth + 1)
        if rest := self.folders[len(folders) :]:
            files = count(sum(below.count for below in rest), "file")
            words = count(len(rest), "other directory", "other directories")
            lines.append(f"{indent}  … and {words} ({files}, {size(sum(b.bytes for b in rest))})")
        return lines

    def _totals(self):
        words = f"{count(self.count, 'file')}, {size(self.bytes)}"
        if self.unlisted:
            return f"more than {words}: not all was looked at"
        return words if self.count or self.folders else "empty"

    def shown_tree(self, depth=0):
        """Yields the directories that are listed with their files."""
        if depth < _SHOWN_DEPTH:
            yield self
            for below in self.shown_folders():
                yield from below.shown_tree(depth + 1)


def _shown_of(entries):
    return 4 if len(entries) > _MANY else 8


def kinds_of(entries):
    """Counts the most frequent kinds of files."""
    kinds = {}
    for each in entries:
        kind = extension(each.name)
        kinds[kind] = kinds.get(kind, 0) + 1
    frequent = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
    words = [f"{kinds[kind]} {clean(kind, 12) or 'without extension'}" for kind in frequent[:4]]
    return ", ".join(words + ["…"] * (len(frequent) > 4))


_RANKS = (
    "csv tsv tab psv csv.gz tsv.gz csv.bz2 tsv.bz2 parquet pq xlsx xlsm",
    "json geojson json.gz jsonl ndjson jsonl.gz ndjson.gz npy npz dat data",
    "md txt names rst py yaml yml toml ini cfg r sql",
)
_RANK_OF = {"." + kind: rank for rank, kinds in enumerate(_RANKS) for kind in kinds.split()}


def rank(kind):
    """Says where a kind of file stands when not all can be shown."""
    return _RANK_OF.get(kind, len(_RANKS) + bool(kind))


def extension(name):
    """Returns the end of a name, with that of the content where it is packed: ".csv.gz"."""
    stem, end = os.path.splitext(name.lower())
    if end in (".gz", ".bz2"):
        inner = os.path.splitext(stem)[1]
        return inner + end if 0 < len(inner) <= 8 else end
    return end


def natural(name):
    """Orders part-2 before part-10."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(p[:400]), "") if i % 2 else (-1, p) for i, p in enumerate(parts)], len(name)


class Walker:
    """Goes through a directory; links may lead out of it to the roots, and nowhere else.

    late() says when there is no time any more.
    """

    def __init__(self, directory, roots, late):
        if not stat.S_ISDIR(os.lstat(directory).st_mode):
            raise NotSaid("it is no directory any more, as code has replaced it")
        self.top = os.path.realpath(directory)
        self._roots = [self.top, *map(os.path.realpath, roots)]
        self._late = late
        self._left = _ENTRIES

    def walk(self):
        """Returns the tree."""
        top = Folder("", "")
        self._fill(top, ())
        if top.note:
            raise NotSaid(top.note)
        return top

    def _fill(self, folder, above):
        if len(above) > _DEEPEST or self._late():
            folder.unlisted = True
            return
        here = os.path.join(self.top, folder.path)
        try:
            info = os.stat(here)
            with os.scandir(here) as found:
                names = [each.name for each in itertools.islice(found, self._left + 1)]
        except OSError as error:
            folder.note = what_is_wrong(error)
            return
        mark = info.st_dev, info.st_ino
        if mark in above:
            folder.note = "link to a directory above it"
            return
        folder.unlisted = len(names) > self._left
        del names[self._left :]
        self._left -= len(names)
        for name in sorted(names, key=natural):
            self._add(folder, name, (*above, mark))
        folder.count += len(folder.files) + sum(below.count for below in folder.folders)
        folder.bytes += sum(each.size for each in folder.files)
        folder.bytes += sum(below.bytes for below in folder.folders)
        folder.unlisted |= any(below.unlisted for below in folder.folders)

    def _add(self, folder, name, above):
        each = Entry(name, f"{folder.path}/{name}" if folder.path else name)
        path = os.path.join(self.top, each.path)
        try:
            info = os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                info = self._followed(path)
            if stat.S_ISDIR(info.st_mode):
                below = Folder(name, each.path)
                self._fill(below, above)
                folder.folders.append(below)
                return
            if not stat.S_ISREG(info.st_mode):
                raise NotSaid("not a regular file")
            each.size, each.modified = info.st_size, info.st_mtime_ns
        except (OSError, NotSaid) as error:
            each.note = what_is_wrong(error)
        folder.files.append(each)

    def _followed(self, path):
        """Returns what a link leads to."""
        real = os.path.realpath(path)
        if not any(
            os.path.join(real, "").startswith(os.path.join(each, "")) for each in self._roots
        ):
            raise NotSaid("link that leads elsewhere, not followed")
        try:
            info = os.stat(path)
        except FileNotFoundError:
            raise NotSaid("link to nothing") from None
        if stat.S_ISDIR(info.st_mode) and real.startswith(os.path.join(self.top, "")):
            raise NotSaid("link to a directory of this tree")
        return info
