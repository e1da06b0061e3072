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

from . import kinds, names
from .pages import plain, shorten

FOLDER = "artifacts"  # in the private directory
SIZE_LIMIT = 50_000_000  # bytes of one artifact
COUNT_LIMIT = 100  # of one execution
TOTAL_LIMIT = 200_000_000  # bytes of the artifacts of one execution
PREVIEW_LIMIT = 2_000  # characters
_NOTE_LIMIT = 5  # about values that could not be kept


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
    """Keeps artifacts and sends them through a session's Outlet, while an execution runs."""

    def __init__(self, outlet, private_dir, max_side):
        self._outlet = outlet
        self.max_side = max_side  # pixels, of an image for a model
        self._lock = RLock()  # code may keep artifacts in its threads
        self._sizes = {}  # in bytes, by name, of what the execution has kept
        self._unnamed = 0
        self._seen = set()  # fingerprints of what the execution has shown
        self._notes = []
        self.move(private_dir)

    def move(self, private_dir):
        """Saves artifacts under another folder from now on, in a branch."""
        self._directory = os.path.join(private_dir, FOLDER)

    def install(self):
        """Puts artifact() among the builtins, again if it was replaced."""
        builtins.artifact = self.artifact

    def begin(self):
        """Begins an execution."""
        self._sizes, self._unnamed, self._seen, self._notes = {}, 0, set(), []

    def end(self):
        """Returns notes about what could not be kept."""
        notes, self._notes = self._notes, []
        if (more := len(notes) - _NOTE_LIMIT) > 0:
            notes[_NOTE_LIMIT:] = [f"{more} more values could not be kept as artifacts"]
        return notes

    def artifact(self, obj, name=None, kind=None):
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
        if isinstance(name, os.PathLike):
            name = os.fspath(name)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        self._check()
        from . import forms

        return self._store(forms.of(obj, kind, self.max_side), name)

    def show(self, form, before=None):
        """Keeps what is displayed; returns its name, None if it is shown already.

        before is the name of what it takes the place of.
        """
        if before is not None:
            same = names.ending(before) == form.ending
            return self._store(form, before if same else None).name
        return None if form.fingerprint in self._seen else self._store(form, None).name

    def forget_seen(self):
        """Takes nothing for shown already: it was cleared."""
        self._seen.clear()

    def complain(self, what, error):
        """Notes that something was not kept."""
        said = shorten(f"{kinds.name(type(error))}: {error}".removesuffix(": "), 300)
        self.note(f"{what} was not kept as an artifact: {said}")

    def note(self, sentence):
        """Notes something for the reader."""
        self._notes.append(sentence)

    def _check(self, name=None):
        if not self._outlet.is_ours():
            raise RuntimeError(
                "artifact() can be used only while a call runs code; it can't be used in a child "
                "process: let the parent call it"
            )
        if len(self._sizes) >= COUNT_LIMIT and name not in self._sizes:
            raise RuntimeError(
                f"there are {COUNT_LIMIT} artifacts of this call already, the limit; "
                "keep the others in another call, or several things in one file"
            )

    def _store(self, form, name):
        """Writes an artifact and sends it."""
        asked = names.clean(name or form.name)
        with self._lock:
            name = form.named(asked) if asked else self._unused(form)
            self._check(name)
            path = os.path.join(self._directory, name)
            part = os.path.join(self._directory, f".{name}.part")
            os.makedirs(self._directory, exist_ok=True)
            try:
                self._weigh(name, form.size)
                form.write(part)
                self._weigh(name, os.path.getsize(part))
                os.replace(part, path)
            except BaseException:
                if os.path.exists(part):
                    os.unlink(part)
                raise
        _, wrong = names.split(asked)
        if wrong and wrong.lower() != names.ending(name):
            form.preview = f"not as {wrong}: it is saved as {form.ending}\n{form.preview}"
        self._tell(form, name)
        return Artifact(name, form.kind, path)

    def _weigh(self, name, size):
        """Raises ValueError if an artifact has too many bytes."""
        if size > SIZE_LIMIT:
            raise ValueError(
                f"it is larger than {SIZE_LIMIT // 1_000_000} MB, the limit of an artifact; "
                "keep a part of it, or write a file into the working directory"
            )
        if sum(self._sizes.values()) - self._sizes.get(name, 0) + size > TOTAL_LIMIT:
            raise ValueError(
                f"the artifacts of this call have {TOTAL_LIMIT // 1_000_000} MB, the limit; "
                "keep the others in another call"
            )

    def _unused(self, form):
        """Returns a name that no file has: nobody expects that an unnamed value replaces one."""
        while True:
            self._unnamed += 1
            name = form.named(f"{form.kind}-{self._outlet.execution}-{self._unnamed}")
            if not os.path.lexists(os.path.join(self._directory, name)):
                return name

    def _tell(self, form, name):
        """Sends a file that is there, with what can be seen of it."""
        try:
            if form.draw is not None:
                form.draw()
        finally:  # the file is there, whatever stops its drawing
            self._send(form, name, os.path.join(self._directory, name))

    def _send(self, form, name, path):
        header = {
            "type": "artifact",
            "execution": self._outlet.execution,
            "name": name,
            "kind": form.kind,
            "path": path,
            "mime_type": names.mime_type(name, form.mime_type),
            "size": os.path.getsize(path),
            "preview": shorten(plain(form.preview), PREVIEW_LIMIT),
        }
        with self._lock:
            self._check(name)
            self._sizes[name] = header["size"]
            self._seen.add(form.fingerprint)
            self._outlet.send(header, [form.image] if form.image else [])
