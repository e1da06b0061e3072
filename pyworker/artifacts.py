"""What an execution keeps for its reader: artifact(), and values that are shown as one.

An artifact is a file in the folder .artifacts of the working directory, a few lines
that say what is in it, and where it can be seen an image that is small enough for a
model. Within it each interpreter has a folder of its own, because several may
share a working directory. Another artifact of the same name takes its place.

What a value becomes is in artifact_forms.py, which is imported with the first one.
"""

import builtins
import os
from _thread import RLock

from . import artifact_names, kinds, plotly_show

FOLDER = ".artifacts"  # in the working directory
KINDS = ("chart", "image", "df", "file", "txt", "svg", "html")
SIZE_LIMIT = 50_000_000  # bytes of one artifact
COUNT_LIMIT = 100  # of one execution
PREVIEW_LIMIT = 2_000  # characters
_NOTE_LIMIT = 5  # about values that could not be kept

# Methods by which a value of any class may be shown, the best first.
_METHODS = ("_repr_png_", "_repr_svg_", "_repr_html_")
# Tables that have such a method and are echoed as text all the same.
_TABLES = {("pandas", "DataFrame"), ("pandas", "Series"), ("polars", "DataFrame")}
_TABLES |= {("polars", "Series"), ("polars", "LazyFrame")}


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

    def __init__(self, channel, workdir, interpreter_id, max_side):
        self._channel = channel
        self._max_side = max_side  # pixels, of an image for a model
        self._lock = RLock()  # code may keep artifacts in its threads
        self._running = False
        self._pid = os.getpid()
        self._execution = 0
        self._count = 0
        self._unnamed = 0
        self._seen = set()  # fingerprints of what was shown by itself
        self._pending = []  # plotly figures that were echoed, to be kept as they are at the end
        self._notes = []
        self._builtin = _make_builtin(self)
        self.move(workdir, interpreter_id)

    def move(self, workdir, interpreter_id):
        """Saves artifacts elsewhere from now on, in a branch."""
        folder = artifact_names.clean(interpreter_id)[:8]
        self._directory = os.path.join(workdir, FOLDER, folder)

    def install(self):
        """Puts artifact() among the builtins, again if it was replaced."""
        builtins.artifact = self._builtin
        plotly_show.install(self._show)

    def begin(self, execution):
        """Begins to take what the execution keeps."""
        self._pid = os.getpid()
        self._execution, self._count, self._unnamed = execution, 0, 0
        self._seen, self._pending, self._notes = set(), [], []
        self._running = True

    def finish(self, hurried):
        """Keeps the figures that were echoed; may run code of the user's.

        When hurried it draws nothing that takes long. After an interrupt it may be
        called again for the rest.
        """
        while self._pending:
            figure = self._pending[0]
            self._by_itself(
                figure,
                lambda forms, figure=figure: forms.of_plotly(figure, not hurried, self._max_side),
            )
            del self._pending[0]

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
        from . import artifact_forms

        form = artifact_forms.of(value, kind, self._max_side, name or "")
        return self._store(form, name)

    def echoed(self, value):
        """Keeps a value whose echo says less than it shows."""
        if plotly_show.is_figure(value):
            if not any(figure is value for figure in self._pending):
                self._pending.append(value)
        elif _is_shown(value):
            self._by_itself(value, lambda forms: forms.of_shown(value, _METHODS, self._max_side))

    def brief(self, value):
        """Returns what is echoed in place of a text that fills pages, or None."""
        return plotly_show.brief(value) if plotly_show.is_figure(value) else None

    def _show(self, figure):
        """Keeps what fig.show() of plotly shows: a dict."""
        if self._running and self._pid == os.getpid():
            self._by_itself(figure, lambda forms: forms.of_plotly(figure, True, self._max_side))

    def _by_itself(self, value, make):
        """Keeps what nobody has asked for: a failure is a note."""
        from . import artifact_forms

        try:
            form = make(artifact_forms)
            if form is None or form.fingerprint in self._seen:
                return
            self._seen.add(form.fingerprint)
            self._store(form, None)
        except Exception as error:
            what = kinds.name(type(value))
            self._notes.append(
                f"a value of type {what} was not kept as an artifact: {_sentence(error)}"
            )

    def _check(self):
        if self._pid != os.getpid():
            raise RuntimeError(
                "artifact() can't be used in a child process; let the parent call it"
            )
        if not self._running:
            raise RuntimeError("artifact() can be used only while a call runs code")
        if self._count >= COUNT_LIMIT:
            raise RuntimeError(
                f"there are {COUNT_LIMIT} artifacts of this call already, the limit; "
                "keep the others in another call, or several things in one file"
            )

    def _store(self, form, name):
        self._check()
        name = self._name(form, name)
        path = os.path.join(self._directory, name)
        part = os.path.join(self._directory, f".{os.urandom(4).hex()}.part")
        size = _write(form, part)
        with self._lock:
            try:
                self._check()
                os.replace(part, path)
            except BaseException:
                os.unlink(part)
                raise
            self._count += 1
            preview = self._beside(form, name)
            self._send(form, name, path, size, preview)
        if form.fingerprint is not None:
            self._seen.add(form.fingerprint)
        return Artifact(name, form.kind, path)

    def _name(self, form, name):
        name = artifact_names.clean(name or form.name)
        if not name:
            with self._lock:
                self._unnamed += 1
                name = f"{form.kind}-{self._execution}-{self._unnamed}"
        if form.endings:
            return artifact_names.with_ending(name, form.endings)
        return name if artifact_names.ending(name) else name + form.ending

    def _beside(self, form, name):
        """Saves the image of a page next to it; returns the preview, which says so."""
        if form.beside is None:
            return form.preview
        beside = artifact_names.with_ending(name, (".png",))
        try:
            with open(os.path.join(self._directory, beside), "wb") as file:
                file.write(form.beside)
        except OSError:
            return form.preview
        return f"{form.preview}\nas an image: {beside}, beside it"

    def _send(self, form, name, path, size, preview):
        if len(preview) > PREVIEW_LIMIT:
            preview = preview[: PREVIEW_LIMIT - 1] + "…"
        header = {
            "type": "artifact",
            "execution": self._execution,
            "name": name,
            "kind": form.kind,
            "path": path,
            "mime_type": artifact_names.mime_type(name, form.mime_type),
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
        unknown kind and for more than 50 MB, OSError when a file can't be read or
        written, RuntimeError in a child process and after 100 artifacts of a call.
        """
        return artifacts.keep(obj, name, kind)

    return artifact


def _is_shown(value):
    """Says whether a value's class says how to show it, and is none that is read as text."""
    kind = type(value)
    if kinds.module(kind) == "builtins":
        return False
    bases = kinds.bases(kind)
    if not any(method in vars(base) for base in bases for method in _METHODS):
        return False
    return not any((kinds.package(base), kinds.name(base)) in _TABLES for base in bases)


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
        if os.path.lexists(part):
            os.unlink(part)
        raise


def _sentence(error):
    try:
        text = str(error)
    except Exception:
        text = ""
    name = kinds.name(type(error))
    return f"{name}: {text}"[:300] if text else name
