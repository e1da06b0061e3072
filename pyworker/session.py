"""What an execution finds around it."""

import os
import sys

from . import by_value, codefile, handlers, lazy_import, namespace, sources, stack
from .display import adapters, artifacts, echo, figures, publisher
from .fork import kin
from .fork.forks import Forks
from .fork.userforks import UserForks, prefer_fork
from .mcptools import door, finder
from .plugins.plugins import Plugins
from .shell.notebook import Notebook
from .shell.packages import Packages, environment
from .tracebacks import Describer
from .workdir import WorkingDirectory


class Session:
    """One session: its namespace, its place, and the layers around an execution."""

    def __init__(self, start, frames, streams, interrupts, fault):
        self.echo = start["echo"]
        self.result_limit = start["result_limit"]
        self.streams = streams
        self.interrupts = interrupts
        self.fault = fault
        self.private_dir = start["private_dir"]
        self.workdir = WorkingDirectory(start["workdir"])
        self.packages = Packages(self.workdir, bool(start.get("confine")), start.get("hosts"))
        self.environment = environment(start.get("python") or {})
        self.code_file = codefile.CodeFile(start["private_dir"], start["code_file"])
        self.module = namespace.make(self.code_file.path)
        self.notebook = Notebook(self)
        self.describer = Describer(
            start["workdir"], start["private_dir"], start["traceback"], start["code_file"]
        )
        self.user_forks = UserForks(frames, streams)
        self.forks = Forks(start["checkpoint_limit"], frames, streams, fault, self.user_forks)
        self.outlet = publisher.Outlet(frames, streams)
        where = start["private_dir"], start["figure_max_side"]
        self.figures = figures.Figures(self.outlet, *where)
        self.artifacts = artifacts.Artifacts(self.outlet, *where)
        self.outlet.artifacts = self.artifacts
        self.outputs = echo.Outputs(vars(self.module))
        self.show_value = echo.Echo(self)
        self.handlers = handlers.Handlers(streams.report)
        self.plugins = Plugins(frames.log, lambda: self.workdir.path)
        self._frames = frames
        self._shell = None  # made when it is first needed
        mark(start["mark"])
        if start["warnings"] == "ignore":
            lazy_import.load("warnings").simplefilter("ignore")
        adapters.install(self)
        self.notebook.begin()

    def shell(self):
        """Returns what runs commands."""
        if self._shell is None:
            self._shell = lazy_import.load_own("shell.shell").Shell(self)
        return self._shell

    def take_shell_notes(self):
        """Returns sentences on what the shell has run since the last call."""
        return self._shell.take_notes() if self._shell is not None else []

    def prepare(self):
        """Makes everything as an execution expects it; returns notes."""
        namespace.repair(self.module)
        self.artifacts.install()
        self.outputs.install()
        self.interrupts.install()
        self.streams.begin()
        self.fault.enable()  # the user may have turned faulthandler elsewhere
        note = self.workdir.enter()
        return [note] if note else []

    def equip(self, plugins, variables, door_fd=None):
        """Says which plugins and session variables there are from now on, and opens the door."""
        self.plugins.equip(plugins, variables)
        self.describer.begin_at(self.plugins.files())
        if door_fd is not None:
            self.forks.door = door.open_door(door_fd)
            finder.install(self)

    def drop_door(self):
        """Lets go of the original's, in a copy: the next equip brings another."""
        door.close_door()
        self.forks.door = None

    def finish(self, guard):
        """Brings out all that was printed, and takes our streams back."""
        _, error = guard(self.streams.flush)
        self.streams.restore(repaired=error is None)
        self.forks.deaths.hold()

    def complain(self, what, error):
        """Tells the server's log about a fault of ours."""
        self._frames.log("error", f"{what}: {self.describer.text(error)}")

    def move(self, workdir, private_dir):
        """Takes other folders for its own, in a branch."""
        script, self.private_dir = self.code_file.path, private_dir
        for part in (self.code_file, self.figures, self.artifacts):
            part.move(private_dir)
        self.describer.move(workdir, private_dir)
        if workdir != self.workdir.path:
            self.workdir.move(workdir)
        if sys.argv == [script]:
            sys.argv = [self.code_file.path]


def open_session(start, frames, streams, interrupts, fault):
    """Makes a session, and Python's hooks to fit it."""
    sources.install()
    stack.install(start["code_file"])
    by_value.install()
    session = Session(start, frames, streams, interrupts, fault)
    _show_sources(session.describer)
    prefer_fork()
    return session


def mark(value):
    """Marks the processes that the session will start, unless value is empty."""
    if value:
        os.environ[kin.MARK] = value


def _show_sources(describer):
    """Makes exceptions that end a thread show the lines of cells.

    Before Python 3.13 the hooks were written in C and looked for files only.
    """

    def show_thread(arguments):
        if arguments.exc_type is not SystemExit:
            name = arguments.thread.name if arguments.thread is not None else "?"
            error = arguments.exc_value or arguments.exc_type()
            sys.stderr.write(f"Exception in thread {name}:\n{describer.text(error)}")

    def show(kind, error, trace):
        sys.stderr.write(describer.text(error.with_traceback(trace)))

    lazy_import.load("threading").excepthook = show_thread
    sys.excepthook = show
