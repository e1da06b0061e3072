"""What an execution keeps for its reader: artifact(), and values that are shown as one.

An artifact is a file in the folder artifacts of the private directory, a few lines
that say what is in it, and where it can be seen an image that is small enough for a
model. Within it each interpreter has a folder of its own, because several may
share a working directory. Another artifact of the same name takes its place.

What a value becomes is in forms.py, which is imported with the first one.
"""

import builtins
import os
from _thread import RLock

from . import kinds, names, plotly_show
from .pages import counted, plain

FOLDER = "artifacts"  # in the private directory
KINDS = ("chart", "image", "df", "file", "txt", "svg", "html")
SIZE_LIMIT = 50_000_000  # bytes of one artifact
COUNT_LIMIT = 100  # of one execution
TOTAL_LIMIT = 200_000_000  # bytes of the artifacts of one execution
PREVIEW_LIMIT = 2_000  # characters
_NOTE_LIMIT = 5  # about values that could not be kept
_REMEMBERED = 200  # artifacts that need not be written again


class Artifact:
    """A file that was kept.

    `name` is unique in its interpreter, `kind` one of chart, image, df, file, txt,
    svg and html, `path` the absolute path of the file.
    """

    __slots__ = ("kind", "name", "path")

    def __init__(self, name, kind, path):
        self.name = name
        self.kind = kind
        self.path = path

    def __repr__(self):
        return f"<artifact {self.name} ({self.kind}), saved to {self.path}>"


class Artifacts:
    """Keeps artifacts and sends them, from begin to end of each execution."""

    def __init__(self, channel, private_dir, max_side):
        self._channel = channel
        self.max_side = max_side  # pixels, of an image for a model
        self._lock = RLock()  # code may keep artifacts in its threads
        self._running = False
        self._pid = os.getpid()
        self._execution = 0
        self._sizes = {}  # in bytes, by name, of what the execution has kept
        self._unnamed = 0
        self._swept = False  # the folder has no part-files of a process that died
        self._seen = set()  # fingerprints of what was shown by itself
        self._written = {}  # (name, size) by fingerprint, of what was named by us
        self._directory = ""
        self._drawn = {}  # names of images by the names of their pages
        self._pending = []  # plotly figures that were echoed, to be kept as they are at the end
        self._notes = []
        self._builtin = _make_builtin(self)
        self.move(private_dir)

    def move(self, private_dir):
        """Saves artifacts under another folder from now on, in a branch."""
        directory = os.path.join(private_dir, FOLDER)
        if directory == self._directory:  # a copy in the place of its original
            return
        self._directory = directory
        self._written, self._drawn = {}, {}

    def install(self):
        """Puts artifact() among the builtins, again if it was replaced."""
        builtins.artifact = self._builtin
        plotly_show.install(self._show)

    def begin(self, execution):
        """Begins to take what the execution keeps."""
        self._pid = os.getpid()
        self._execution, self._sizes, self._unnamed = execution, {}, 0
        self._swept = False
        self._seen, self._pending, self._notes = set(), [], []
        self._running = True

    def finish(self, hurried):
        """Keeps the figures that were echoed; may run code of the user's.

        When hurried it only says what it does not keep: a page may take seconds, and
        who is slow to end after an interrupt is killed. It may be called again after one.
        """
        if hurried and (left := len(self._pending)):
            self._pending.clear()
            self._notes.append(
                f"{counted(left, 'figure')} of plotly not kept as an artifact: the call was stopped"
            )
        while self._pending:
            self._keep_plotly(self._pending.pop(0))

    def end(self):
        """Takes nothing any more; returns notes about what could not be kept."""
        with self._lock:
            self._running = False
        notes, self._notes = self._notes, []
        self._seen, self._pending = set(), []
        if (more := len(notes) - _NOTE_LIMIT) > 0:
            notes[_NOTE_LIMIT:] = [f"{more} more values could not be kept as artifacts"]
        return notes

    def keep(self, value, name=None, kind=None):
        """Keeps a value; see artifact() for what may go wrong."""
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r:.80}")
        if isinstance(name, os.PathLike):
            name = os.fspath(name)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        self._check()
        from . import forms

        form = forms.of(value, kind, self.max_side, name or "")
        return self._store(form, name)

    def echoed(self, figure):
        """Keeps a figure of plotly at the end, as it is then."""
        if not any(each is figure for each in self._pending):
            self._pending.append(figure)

    def show(self, form, before=None):
        """Keeps what is displayed; returns its name, None if it is shown already.

        before is the name of what it takes the place of.
        """
        if before is None:
            if form.fingerprint in self._seen:
                return None
            self._seen.add(form.fingerprint)
            return self._again(form) or self._store(form, None, lasting=True).name
        same = names.ending(before) == (form.endings[0] if form.endings else form.ending)
        return self._store(form, before if same else None).name

    def forget_seen(self):
        """Takes nothing for shown already: it was cleared."""
        self._seen.clear()

    def complain(self, what, error):
        """Notes that something was not kept."""
        self._notes.append(f"{what} was not kept as an artifact: {_sentence(error)}")

    def _show(self, figure):
        """Keeps what fig.show() of plotly shows: a dict."""
        if self._running and self._pid == os.getpid():
            self._keep_plotly(figure)

    def _keep_plotly(self, figure):
        """Keeps what nobody has asked for: a failure is a note."""
        from . import forms

        try:
            self.show(forms.of_plotly(figure))
        except Exception as error:
            self.complain("a figure of plotly", error)

    def _check(self, name=None):
        if self._pid != os.getpid():
            raise RuntimeError(
                "artifact() can't be used in a child process; let the parent call it"
            )
        if not self._running:
            raise RuntimeError("artifact() can be used only while a call runs code")
        if len(self._sizes) >= COUNT_LIMIT and name not in self._sizes:
            raise RuntimeError(
                f"there are {COUNT_LIMIT} artifacts of this call already, the limit; "
                "keep the others in another call, or several things in one file"
            )

    def _store(self, form, name, lasting=False):
        """Writes and sends an artifact, which is lasting if it needs not be written again."""
        asked = names.clean(name or form.name)
        name = _ended(asked, form) if asked else self._unused(form)
        self._check(name)
        _, wrong = names.split(asked)
        if form.endings and wrong and wrong.lower() not in form.endings:
            form.preview = f"not as {wrong}: it is saved as {form.endings[0]}\n{form.preview}"
        self._sweep()
        path = os.path.join(self._directory, name)
        part = os.path.join(self._directory, f".{os.urandom(4).hex()}.part")
        size = _write(form, part)
        with self._lock:
            try:
                self._check(name)
                self._weigh(name, size)
                os.replace(part, path)
            except BaseException:
                _remove(part)
                raise
            self._forget(name)
            self._send(form, name, path, size)
            if lasting:
                self._written[form.kind, form.fingerprint] = name, size
        if form.fingerprint is not None:
            self._seen.add(form.fingerprint)
        if form.draw is not None:
            self._draw(form, name)
        return Artifact(name, form.kind, path)

    def _again(self, form):
        """Sends what was written by itself before; returns its name, "" if it is not there."""
        with self._lock:
            name, size = self._written.get((form.kind, form.fingerprint), ("", 0))
            path = os.path.join(self._directory, name)
            try:
                if not name or os.path.getsize(path) != size:
                    return ""
            except OSError:
                return ""
            self._check(name)
            self._send(form, name, path, size)
            return name

    def _unused(self, form):
        """Returns a name that no file has: nobody expects that an unnamed value replaces one."""
        with self._lock:
            while True:
                self._unnamed += 1
                name = _ended(f"{form.kind}-{self._execution}-{self._unnamed}", form)
                if not os.path.lexists(os.path.join(self._directory, name)):
                    return name

    def _draw(self, page, name):
        """Keeps the image of a page as an artifact of its own, where it can be drawn."""
        from . import forms

        png = page.draw(self._notes.append)
        if png is None:
            return
        form = forms.of_drawing(png, name, self.max_side)
        stem, _ = names.split(name)
        drawn, number = self._drawn.get(name) or f"{stem}.png", 1
        while name not in self._drawn and os.path.lexists(os.path.join(self._directory, drawn)):
            number += 1
            drawn = f"{stem}.plotly-{number}.png"
        try:
            self._store(form, drawn)
        except (OSError, RuntimeError, ValueError) as error:
            self._notes.append(f"the image of {name} was not kept: {_sentence(error)}")
        else:
            self._drawn[name] = drawn

    def _weigh(self, name, size):
        """Counts the bytes of an artifact, or raises ValueError."""
        if sum(self._sizes.values()) - self._sizes.get(name, 0) + size > TOTAL_LIMIT:
            raise ValueError(
                f"the artifacts of this call have {TOTAL_LIMIT // 1_000_000} MB, the limit; "
                "keep the others in another call"
            )

    def _forget(self, name):
        """Takes note that another artifact has a name from now on."""
        self._written = {mark: kept for mark, kept in self._written.items() if kept[0] != name}
        while len(self._written) >= _REMEMBERED:
            del self._written[next(iter(self._written))]
        self._drawn = {page: drawn for page, drawn in self._drawn.items() if drawn != name}

    def _sweep(self):
        """Removes what a process that died has not written to its end."""
        with self._lock:
            if self._swept:
                return
            self._swept = True
            try:
                files = os.listdir(self._directory)
            except OSError:
                return
            for name in files:
                if name.startswith(".") and name.endswith(".part"):
                    _remove(os.path.join(self._directory, name))

    def _send(self, form, name, path, size):
        self._sizes[name] = size
        preview = plain(form.preview)
        if len(preview) > PREVIEW_LIMIT:
            preview = preview[: PREVIEW_LIMIT - 1] + "…"
        header = {
            "type": "artifact",
            "execution": self._execution,
            "name": name,
            "kind": form.kind,
            "path": path,
            "mime_type": names.mime_type(name, form.mime_type),
            "size": size,
            "preview": preview,
        }
        self._channel.send(header, [form.image] if form.image else [])


def _make_builtin(artifacts):
    def artifact(obj, name=None, kind=None):
        """Keeps obj as a file for whoever reads the answer; returns an Artifact.

        kind is chart, image, df, file, txt, svg or html, and is guessed when None:
        figures of matplotlib and plotly are charts, PIL images and arrays of 8-bit
        pixels images, DataFrames and Series df (saved as CSV), a str is txt, bytes
        and paths are files (copied), what has _repr_png_, _repr_svg_ or _repr_html_
        is shown by that. With kind "file" or "image" a str is a path.

        name is a file name; its ending may be left out. In the same interpreter a
        second artifact of a name takes the place of the first.

        Raises TypeError for what the kind can't be made of, ValueError for an
        unknown kind and for more than 50 MB, or 200 MB in all of a call, OSError when
        a file can't be read or written, RuntimeError in a child process and after 100
        artifacts of a call.
        """
        return artifacts.keep(obj, name, kind)

    artifact.__qualname__ = "artifact"
    return artifact


class _Limited:
    """A file that takes text or bytes, up to SIZE_LIMIT."""

    def __init__(self, file):
        self._file = file
        self.size = 0

    def write(self, data):
        """Writes all of data, or raises ValueError."""
        if isinstance(data, str):
            data = data.encode("utf-8", "backslashreplace")
        self.size += len(data)
        if self.size > SIZE_LIMIT:
            raise ValueError(
                f"it is larger than {SIZE_LIMIT // 1_000_000} MB, the limit of an artifact; "
                "keep a part of it, or write a file into the working directory"
            )
        self._file.write(data)
        return len(data)


def _write(form, part):
    """Writes the part-file; returns its size in bytes."""
    os.makedirs(os.path.dirname(part), exist_ok=True)
    try:
        with open(part, "xb") as file:
            limited = _Limited(file)
            form.write(limited)
        return limited.size
    except BaseException:
        _remove(part)
        raise


def _remove(part):
    try:
        os.unlink(part)
    except FileNotFoundError:
        pass


def _ended(name, form):
    """Returns a name with an ending that tells what is in the file."""
    if form.endings:
        return names.with_ending(name, form.endings)
    return name if names.ending(name) else name + form.ending


def _sentence(error):
    try:
        text = str(error)
    except Exception:
        text = ""
    name = kinds.name(type(error))
    return f"{name}: {text}"[:300] if text else name
