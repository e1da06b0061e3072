"""One execution, from the code to its record.

The layers are set up in order and torn down in reverse: place, streams and
figures around the run of the cell's parts. Whatever runs code of the user's
(the cell, a figure's drawing, a __repr__) runs in a guarded region, so that an
interrupt ends that and nothing else.
"""

import builtins
import functools
import sys
import time
import types

from . import compiler, lazy_import, sources, tracebacks
from .awaiting import Awaiting
from .display import encode, kinds, variables
from .reserve import Reserve

_MOST_PYTHON = 1 << 20  # characters of what a cell became that are told
_LEAST_RECURSION = 500  # frames that our own work may need

_UNVERIFIED = (
    "outside this interpreter, where the server checks code, this is not valid Python; "
    "write it so that no earlier __future__ import or setting is needed to read it"
)


class Executor:
    """Runs the executions of one session."""

    def __init__(self, session):
        self._session = session
        self._compiler = compiler.Compiler(session.echo, session.notebook)
        self.awaiting = Awaiting(session.interrupts, session.forks.own)
        session.run_inside = self.run_inside
        self._snapshot = variables.Snapshot(vars(session.module))
        self._recursion_limit = sys.getrecursionlimit()
        self._compiled = False  # the present cell has been compiled
        self._became = None  # the Python that it became, if it was written otherwise
        self._execution = 0
        self._part = None  # of the present cell, the part that ran last
        self._returned = []  # what the plugin that was called, or the install, has returned
        self._exit_code = None  # of the present command or install, once it has ended
        self._reserve = Reserve() if sys.platform == "linux" else None
        self._watch = None  # on the variable that measures the present run, if one does

    def initialize(self, code):
        """Runs the operator's code; returns its traceback, "" if all went well."""
        self._session.prepare()
        # Nothing of it is echoed, but its __future__ imports count.
        usual = self._compiler
        self._compiler = compiler.Compiler("none", self._session.notebook)
        sources.add("<init>", code)
        self.awaiting.prepare(code)
        error, _ = self._run(lambda: self._run_cell(code, "<init>", {}))
        error = self._forgive(error, [])
        self._compiler = usual
        self._session.take_shell_notes()  # they would be told with the first execution
        self._finish()
        self._snapshot = variables.Snapshot(vars(self._session.module))
        if error is None:
            return ""
        text, _ = self._guard(lambda: self._session.describer.text(error))
        tracebacks.let_go(error)
        return text or f"{tracebacks.class_name(error)}\n"

    def execute(self, request):
        """Does what a "run" frame asks and returns the fields of its "done" frame."""
        session, execution = self._session, request["execution"]
        result_var_name = request["result_var_name"]
        session.interrupts.begin()
        session.packages.find(request.get("packages_dir", ""))
        notes = session.prepare() + self.awaiting.take_notes()
        if (kind := request["kind"]) == "code":
            action = self._code(request, notes)
        else:
            action = functools.partial(getattr(self, f"_run_{kind}"), request, notes)
        session.figures.begin(execution)
        session.artifacts.begin()
        session.outlet.begin(execution)
        self._execution = execution
        error, seconds = self._run(action, compiled=kind != "code")
        error = self._forgive(error, notes)
        notes += session.take_shell_notes()
        notes += self._compiler.notes
        notes += session.notebook.changed(request)
        notes += filter(None, [session.workdir.leave()])
        session.code_file.remove()
        signalled, start = session.interrupts.signalled, time.perf_counter()
        error = self._end_figures(error, notes)
        self._end_artifacts(notes)
        session.outlet.end()
        # It is waited for, but what stops it has not stopped the code.
        seconds += time.perf_counter() - start
        session.interrupts.excuse(signalled)
        record = {"type": "done", "execution": execution, "ok": error is None}
        if len(self._became or "") <= _MOST_PYTHON:  # else it is not known to have run as it was
            record["python"] = self._became or ""
        if not self._compiled:
            record["refused"] = True
        if self._exit_code is not None:
            record.update(ok=record["ok"] and self._exit_code == 0, exit_code=self._exit_code)
        if result_var_name:
            record.update(self._result(result_var_name, notes))
        elif self._returned and error is None:
            record.update(self._encode("what was returned", self._returned.pop(), notes))
        if self._watch is not None:
            record["metric"] = self._metric(error is not None)
        if error is not None:
            record["exception"] = self._exception(error, notes)
            session.describer.remember(error)
            error = None
        self._finish()
        notes += session.streams.take_notes()
        record["variables"] = self._difference()
        record["notes"] = notes
        record["exec_time"] = seconds
        record["signalled"] = session.interrupts.signalled
        record["obstacle"] = session.forks.obstacle()
        if tasks := self.awaiting.tell_live(notes):
            record["tasks"] = tasks
        return record

    def variables(self):
        """Returns the fields of the "variables" frame."""
        return {"type": "variables", **variables.describe(vars(self._session.module))}

    def _code(self, request, notes):
        """Returns an action for _run: the cell, which is the code file's contents too."""
        code, session = request["code"], self._session
        written = request.get("raw", code) if request.get("judged") else code
        cell = f"<cell {request['execution']}>"
        note = session.code_file.write(code, vars(session.module))
        notes += filter(None, [note, *request.get("notes", ())])
        session.notebook.enter(request["execution"], cell, written)
        if name := request.get("metric_var_name"):
            self._watch = lazy_import.load_own("display.metric").Watch(name, vars(session.module))
        sources.add(cell, written)
        self.awaiting.prepare(code)
        return lambda: self._run_cell(code, cell, request)

    def _run_plugin(self, request, _):
        server, _, name = request["code"].rpartition(".")
        if server:  # as mcptools.github
            value = getattr(lazy_import.load(server), name)(**request["arguments"])
            for part in value if type(value) is list else [value]:
                if hasattr(type(part), "_repr_png_"):
                    builtins.display(part)
        else:
            value = self._session.plugins.find(name)(**request["arguments"])
        if isinstance(value, types.CoroutineType):
            value = self.awaiting.run(value)
        self._returned.append(value)

    def _run_command(self, request, _):
        self._exit_code = self._session.shell().run_command(request["code"])

    def _run_install(self, request, notes):
        install = lazy_import.load_own("shell.installing").install
        self._exit_code, record, told = install(self._session, request["arguments"])
        self._returned.append(record)
        notes += told

    def _run(self, action, compiled=False):
        """Runs an action; returns (exception or None, seconds)."""
        self._compiled, self._part, self._looked = compiled, None, 0.0
        self._became = None
        self._returned.clear()
        self._exit_code = None
        if self._recursion_limit != sys.getrecursionlimit():
            sys.setrecursionlimit(self._recursion_limit)
        start = time.perf_counter()
        self.awaiting.enter()
        _, error = self._guard(lambda: self._released(action))
        self.awaiting.leave()
        self._session.handlers.hold()  # a handler may have raised before that
        seconds = time.perf_counter() - start - self._looked
        self._recursion_limit = sys.getrecursionlimit()
        if self._recursion_limit < _LEAST_RECURSION:
            sys.setrecursionlimit(_LEAST_RECURSION)
        return error, seconds

    def _released(self, action):
        """Runs an action with what is the user's let in: handlers, settings of the interpreter."""
        try:
            if self._reserve is not None:
                self._reserve.take()
            self._session.handlers.release()
            self._session.forks.deaths.release()
            action()
        finally:
            if self._reserve is not None:
                self._reserve.release()
            self._session.handlers.hold()
            self._take_back()

    def _run_cell(self, code, filename, request):
        begin = None if self._watch is None else self._watch.begin
        raw = request.get("raw", code) if request.get("judged") else None
        parts = self._compiler.compile(code, filename, begin, raw)
        if request.get("compile_only"):  # what the server took for a syntax error is none here
            raise SyntaxError(_UNVERIFIED, (filename, 1, None, None))
        self._became = self._compiler.transformed
        if self._became is not None:
            self._session.code_file.write_python(self._became)
        self._look(parts)
        self._compiled = True
        notebook, failed = self._session.notebook, None
        heard = notebook.before(code)
        try:
            self._run_parts(parts)
        except BaseException as error:
            failed = error
            raise
        finally:
            notebook.after(heard, failed)
            failed = None

    def _run_parts(self, parts):
        if any(part.co_flags & compiler.COROUTINE for part, _ in parts):
            self.awaiting.run(self._run_awaiting(parts))
            return self.awaiting.enter()  # for the cell that this may be the body of
        names = vars(self._session.module)
        for part, echoed in parts:
            self._part = part
            value = eval(part, names)
            if echoed:
                self._echo(value)

    def _echo(self, value):
        """Shows a value, past a debugger that steps from one part to the next."""
        if (trace := sys.gettrace()) is None:
            self._session.show_value(value, self._execution)
            return
        sys.settrace(None)
        self._session.show_value(value, self._execution)
        sys.settrace(trace)

    def run_inside(self, code, echoed):
        """Runs code that a cell gives to its shell, as the body of %%capture."""
        filename, written = self._session.notebook.cell
        before, found, _ = written.rstrip().rpartition(code.rstrip())
        if found and before and written.rstrip().endswith(found):  # it keeps its lines
            code = "\n" * before.count("\n") + code
        else:
            filename = f"{filename[:-1]}, inside>"
            sources.add(filename, code)
        notes, parts = self._compiler.notes, self._compiler.compile(code, filename)
        self._look(parts)
        self._run_parts([(part, is_shown and echoed) for part, is_shown in parts])
        self._compiler.notes = notes + self._compiler.notes

    async def _run_awaiting(self, parts):
        names = vars(self._session.module)
        for part, echoed in parts:
            self._part = part
            value = eval(part, names)
            if part.co_flags & compiler.COROUTINE:
                value = await value
            if echoed:
                self._echo(value)
        if sys.gettrace() is not None:
            sys.settrace(None)  # a debugger would step on into asyncio

    def _take_back(self):
        """Ends what the code has set that would reach into our own work."""
        if sys.gettrace() is not None:
            sys.settrace(None)
        if sys.getprofile() is not None:
            sys.setprofile(None)
        self._session.interrupts.install()

    def _finish(self):
        """Ends what the session has put around the run."""
        self._session.finish(self._guard)
        if self._session.forks.is_possible():
            self.awaiting.end_idle_threads()

    def _guard(self, action):
        """Runs what may run code of the user's; a forked child ends here."""
        value, error = self._session.interrupts.guarded(action)
        forks = self._session.user_forks
        if forks.in_child:
            forks.end(error, self._session.describer.text, self._session.streams.flush)
        return value, error

    def _ours(self, action, failed, notes, stopped=""):
        """Runs work of ours; returns (its value, whether there is one).

        If not, the log is told, and notes get a sentence: failed with the class of the
        exception, or after an interrupt stopped.
        """
        value, error = self._guard(action)
        if error is None:
            return value, True
        if issubclass(type(error), KeyboardInterrupt):
            notes.append(stopped)
        else:
            self._session.complain(failed, error)
            notes.append(f"{failed}: {tracebacks.class_name(error)}")
        return None, False

    def _end_figures(self, error, notes):
        """Returns the exception of the run, or what has kept a figure from being drawn."""
        undrawn, _ = self._ours(
            lambda: self._session.figures.end(error is not None),
            "figures could not be captured",
            notes,
            "the drawing of figures was stopped; the code had ended before",
        )
        if error is not None or undrawn is None:
            return error
        self._part = None  # none of the code's statements has raised it
        return undrawn

    def _end_artifacts(self, notes):
        session, failed = self._session, "artifacts could not be kept"
        hurried = session.interrupts.signalled
        stopped = "the keeping of plotly's figures was stopped; the code had ended before"
        told = []
        self._ours(lambda: session.outlet.finish(hurried), failed, told, stopped)
        if stopped in told:
            last = "not all of plotly's figures were kept"
            self._ours(lambda: session.outlet.finish(True), failed, told, last)
        notes += session.artifacts.end() + told

    def _result(self, name, notes):
        """Returns the fields of the variable that was asked for."""
        names = vars(self._session.module)
        if name not in names:
            notes.append(f"{name} is not defined")
            return {"result": None, "result_encoding": "json"}
        return self._encode(name, names[name], notes)

    def _metric(self, failed):
        """Returns what the variable came to that measures the run."""
        watch, self._watch = self._watch, None
        metric, error = self._guard(lambda: watch.end(failed))
        if error is None:
            return metric
        if issubclass(type(error), KeyboardInterrupt):
            return {"problem": f"the reading of {watch.label} was interrupted"}
        return {"problem": f"{watch.label} could not be read ({tracebacks.class_name(error)})"}

    def _encode(self, name, value, notes):
        fields = {"result_type": kinds.name(type(value)), "result_encoding": "json"}
        encoded, error = self._guard(lambda: encode.encode(value, self._session.result_limit))
        if error is None:
            notes += encoded.notes
            return {**fields, "result": encoded.value, "result_encoding": encoded.encoding}
        if issubclass(type(error), KeyboardInterrupt):
            notes.append(f"the encoding of {name} was interrupted: the result is null")
        else:
            notes.append(f"{name} can't be encoded ({tracebacks.class_name(error)})")
        return {**fields, "result": None}

    def _forgive(self, error, notes):
        """Returns the exception of a run, None where its code has ended itself well."""
        if said := tracebacks.clean_exit(error):
            tracebacks.let_go(error)
            notes.append(f"the code ended itself ({said}): no more of it ran")
        return None if said else error

    def _exception(self, error, notes):
        describer, name = self._session.describer, tracebacks.class_name(error)
        described, ok = self._ours(
            lambda: describer.describe(error, self._compiled, notes, self._part),
            "an exception could not be described",
            [],
        )
        if not ok:
            text = f"{name}: (its description failed)\n"
            return {"type": name, "info": {"args": []}, "stack": [], "traceback": text}
        if issubclass(type(error), ImportError):
            advice = lazy_import.load_own("shell.missing").advice
            fault = "there is no advice on an import"
            said, _ = self._ours(lambda: advice(error, self._session), fault, [])
            notes += filter(None, [said])
        return described

    def _look(self, parts):
        """Keeps what the variables hold that are about to be used, for the difference."""
        start = time.perf_counter()
        self._snapshot.look([part for part, _ in parts], vars(self._session.module))
        self._looked = time.perf_counter() - start  # no time of the code's

    def _difference(self):
        names, failed = vars(self._session.module), "variables could not be compared"
        difference, ok = self._ours(lambda: self._snapshot.advance(names), failed, [])
        return difference if ok else {"added": [], "changed": [], "removed": []}
