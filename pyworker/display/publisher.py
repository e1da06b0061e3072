"""What display() gives out: text into stdout, pictures and pages into frames.

Text that may be replaced or cleared later is marked in stdout itself, which keeps its
order with all that is printed; whoever reads the output resolves the marks:

    ESC ] 5379 ; clear BEL            all text so far goes
    ESC ] 5379 ; clear-wait BEL       the same, when the next text comes
    ESC ] 5379 ; display ; ID BEL     text up to the mark "end" has an ID; "update" in place
                                      of "display" replaces the text of those that have it
"""

import os
import re
import sys

from pyworker import lazy_import

from . import figures

VALUE = "application/x-python-object"  # in a bundle of ours: the value, which is drawn when shown
PLOTLY = "application/vnd.plotly.v1+json"  # a figure of plotly, or its dict
_MARK = "\x1b]5379;{}\x07"
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def mark(*words):
    """Returns a mark for whoever reads the output."""
    return _MARK.format(";".join(words))


class Outlet:
    """Takes what a session displays; Figures and Artifacts send their frames through it."""

    def __init__(self, frames, streams):
        self._frames = frames
        self._streams = streams
        self._pid = os.getpid()
        self.execution = 0
        self._running = False  # no frame is sent between executions
        self._display_id = ""  # of what is being published
        self._names = {}  # of artifacts, by display id
        self._shown = []  # names of artifacts that were displayed since the last clear
        self._figures = False  # some were sent since then
        self._waiting = None  # how much was written when clear_output(wait=True) came
        self.held = 0  # widgets that collect output of their own: clear() is not for us
        self.pending = {}  # figures of plotly to be shown at the end, by id()
        self.artifacts = None  # which sends what it keeps through this

    def begin(self, execution):
        """Begins an execution."""
        self._pid, self.execution, self._running = os.getpid(), execution, True
        self._shown, self._figures, self._waiting, self.pending = [], False, None, {}

    def finish(self, hurried):
        """Shows the pending figures as they are now: each change of one gives it back.

        When hurried it only says what it does not show: a page may take seconds, and
        who is slow to end after an interrupt is killed. It may be called again after one.
        """
        if hurried and (left := len(self.pending)):
            self.pending = {}
            self.artifacts.note(f"figures of plotly not kept, as the call was stopped: {left}")
        while self.pending:
            self.publish({PLOTLY: self.pending.pop(next(iter(self.pending)))})

    def end(self):
        """Ends one: what was to be cleared when something came is, if it did."""
        if self._waiting is not None and self._streams.written() != self._waiting:
            self._settle()
        self._waiting, self._running = None, False

    def send(self, header, attachments=()):
        """Sends a figure or an artifact, while an execution runs."""
        if not self.is_ours():
            return
        self._settle()
        if header["type"] == "figure":
            self._figures = True
            if self._display_id:
                header["display_id"] = self._display_id
        self._frames.send(header, attachments)

    def publish(self, data, display_id="", update=False, stream=None):
        """Shows a bundle, in the place of what has its id when it is an update.

        stream is where its text goes if not to our own stdout.
        """
        display_id = _STRANGE.sub("_", str(display_id))[:64] if display_id else ""
        self._display_id = display_id
        try:
            text, form = self._choose(data)
            if self.is_ours():
                self._keep(form, display_id)
        finally:
            self._display_id = ""
        text = f"{text}\n" if text else ""
        if stream is not None:
            stream.write(text)
        elif display_id:
            begin = mark("update" if update else "display", display_id)
            self._out(f"{begin}{text}{mark('end')}")
        else:
            self._out(text)

    def clear(self, wait=False):
        """Takes away what this execution has shown so far."""
        if self.held:
            return
        self._out(mark("clear-wait" if wait else "clear"))
        self._waiting = self._streams.written()
        if not wait:
            self._settle()

    def _choose(self, data):
        """Returns (text, Form or None) of a bundle; a figure of matplotlib is shown."""
        if figures.figure_of(value := data.get(VALUE)) is not None:
            if self.is_ours():
                figures.show(value, at_once=True)
            return "", None
        try:
            from . import mime

            return mime.choose(data, self.artifacts.max_side)
        except Exception as error:
            self.artifacts.complain("what was displayed", error)
            return str(data.get("text/plain", "")), None

    def _keep(self, form, display_id):
        """Keeps a picture or a page, or None, in the place of what has its id."""
        before, name = self._names.pop(display_id, None), None
        try:
            name = self.artifacts.show(form, before) if form is not None else None
        except Exception as error:
            self.artifacts.complain("what was displayed", error)
        if name is not None:
            self._shown.append(name)
        if name is not None and display_id:
            self._names[display_id] = name
        if before not in (None, name):
            self._drop(False, [before])

    def _out(self, text):
        """Writes past what the user has put in the place of stdout, and after it."""
        stream = sys.__stdout__
        if sys.stdout is not stream:
            try:
                sys.stdout.flush()
            except Exception:
                pass  # a user's object
        if text and stream is not None:
            stream.write(text)

    def _settle(self):
        if self._waiting is None:
            return
        self._waiting = None
        self._drop(self._figures, self._shown)
        self._figures, self._shown = False, []
        self.artifacts.forget_seen()

    def _drop(self, figures, artifacts):
        """Has figures and artifacts that were sent not be shown."""
        if (figures or artifacts) and self.is_ours():
            names = list(dict.fromkeys(artifacts))
            header = {"type": "clear", "execution": self.execution}
            self._frames.send({**header, "figures": figures, "artifacts": names})

    def is_ours(self):
        """Says whether an execution runs, and this is no child of its process."""
        return self._running and self._pid == os.getpid()


class _Ours:
    """What is ours over IPython's class; its shell is a session's."""

    def publish(self, data, metadata=None, *, transient=None, update=False, **more):
        """Shows a bundle."""
        self._validate_data(data, metadata)
        outlet = self.shell.session.outlet
        outlet.publish(data, (transient or {}).get("display_id", ""), update)

    def clear_output(self, wait=False):
        """Takes away what was shown."""
        self.shell.session.outlet.clear(wait)


def publisher_class():
    """Returns the DisplayPublisher of the sessions."""
    publisher = lazy_import.load("IPython.core.displaypub").DisplayPublisher
    return type(publisher)("Publisher", (_Ours, publisher), {})
