"""One execution, from the code to its record.

The layers are set up in order and torn down in reverse: place, streams and
figures around the run of the cell's parts. Whatever runs code of the user's
(the cell, a figure's drawing, a __repr__) runs in a guarded region, so that an
interrupt ends that and nothing else.
"""

import sys
import time
import types

from . import cells, late, sources, tracebacks
from .awaiting import Awaiting
from .display import encode, kinds, variables
from .reserve import Reserve

# By the kind of an execution, what prepares the action that it is.
_ACTIONS = {"code": "_code", "plugin": "_plugin", "command": "_command", "install": "_install"}
_LEAST_RECURSION = 500  # frames that our own work may need

_UNVERIFIED = (
    "outside this interpreter, where the server checks code, this is not valid Python; "
    "write it so that no earlier __future__ import or setting is needed to read it"
)


class Executor:
    """Runs the executions of one session."""

    def __init__(self, session):
        self._session = session
        self._compiler = cells.Compiler(session.echo, session.notebook)
        self.awaiting = Awaiting(session.interrupts, session.forks.own)
        session.run_inside = self.run_inside
        self._snapshot = variables.Snapshot(vars(session.module))
        self._recursion_limit = sys.getrecursionlimit()
        self._compiled = False  # the present cell has been compiled
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
        compiler = self._compiler
        self._compiler = cells.Compiler("none", self._session.notebook)
        error, _ = self._run(self._cell(code, "<init>"))
        error = self._forgive(error, [])
        self._compiler = compiler
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
        self._watch = None
        action = getattr(self, _ACTIONS[request["kind"]])(request, notes)
        session.figures.begin(execution)
        session.artifacts.begin(execution)
        session.outlet.begin(execution)
        self._execution = execution
        error, seconds = self._run(action)
        error = self._forgive(error, notes)
        notes += session.take_shell_notes()
        notes += self._compiler.notes
        notes += session.notebook.changed(request)
        notes += filter(None, [session.place.leave()])
        session.code_file.remove()
        signalled, start = session.interrupts.signalled, time.perf_counter()
        error = self._end_figures(error, notes)
        self._end_artifacts(notes)
        session.outlet.end()
        # It is waited for, but what stops it has not stopped the code.
        seconds += time.perf_counter() - start
        session.interrupts.excuse(signalled)
        record = {"type": "done", "execution": execution, "ok": error is None}
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
        raw = request.get("raw", code) if request.get("judged") else None
        written = code if raw is None else raw
        cell = f"<cell {request['execution']}>"
        note = session.code_file.write(code, vars(session.module))
        notes += filter(None, [note, *request.get("notes", ())])
        session.describer.call(cell, cell if note else session.code_file.name or cell)
        session.notebook.enter(request["execution"], cell, written)
        if name := request.get("metric_var_name"):
            self._watch = late.load_own("display.metric").Watch(name, vars(session.module))
        compile_only = request.get("compile_only", False)
        sources.add(cell, written)
        self.awaiting.prepare(code)
        return lambda: self._run_cell(code, cell, compile_only, raw)

    def _cell(self, code, filename):
        sources.add(filename, code)
        self.awaiting.prepare(code)
        return lambda: self._run_cell(code, filename, False, None)

    def _plugin(self, request, _):
        """Returns an action for _run: the call of a plugin."""
        return lambda: self._run_plugin(request["code"], request["arguments"])

    def _command(self, request, _):
        """Returns an action for _run: the command of a shell."""
        return lambda: self._run_command(request["code"])

    def _install(self, request, notes):
        """Returns an action for _run: the installation of packages."""
        return lambda: self._run_install(request["arguments"], notes)

    def _run(self, action):
        """Runs an action; returns (exception or None, seconds)."""
        self._compiled, self._part = False, None
        self._returned.clear()
        self._exit_code = None
        if self._recursion_limit != sys.getrecursionlimit():
            sys.setrecursionlimit(self._recursion_limit)
        start = time.perf_counter()
        self.awaiting.enter()
        _, error = self._guard(lambda: self._released(action))
        self.awaiting.leave()
        self._session.handlers.hold_at_last()
        seconds = time.perf_counter() - start
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
            try:
                self._session.handlers.hold()
            finally:
                self._session.handlers.hold()  # what one raised has kept it from the others
                self._take_back()

    def _run_cell(self, code, filename, compile_only, raw):
        begin = None if self._watch is None else self._watch.begin
        parts = self._compiler.compile(code, filename, begin, raw)
        if compile_only:  # what the server took for a syntax error is none here
            raise SyntaxError(_UNVERIFIED, (filename, 1, None, None))
        if self._compiler.transformed is not None:
            self._session.code_file.write_python(self._compiler.transformed)
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
        if any(part.co_flags & cells.COROUTINE for part, _ in parts):
            self.awaiting.run(self._run_awaiting(parts))
            return
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
        names, notes = vars(self._session.module), self._compiler.notes
        for part, is_shown in self._compiler.compile(code, filename):
            value = eval(part, names)
            if is_shown and echoed:
                self._echo(value)
        self._compiler.notes = notes + self._compiler.notes

    def _run_plugin(self, name, arguments):
        self._compiled = True
        value = self._session.plugins.call(name, arguments)
        if isinstance(value, types.CoroutineType):
            value = self.awaiting.run(value)
        self._returned.append(value)

    def _run_command(self, text):
        self._compiled = True
        self._exit_code = self._session.shell().run_command(text)

    def _run_install(self, arguments, notes):
        self._compiled = True
        installing = late.load_own("shell.installing")
        outcome = installing.install(self._session.packages, self._session.shell(), arguments)
        self._exit_code = outcome.exit_code
        self._returned.append(outcome.record)
        notes += outcome.notes

    async def _run_awaiting(self, parts):
        names = vars(self._session.module)
        for part, echoed in parts:
            self._part = part
            value = eval(part, names)
            if part.co_flags & cells.COROUTINE:
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

    def _end_figures(self, error, notes):
        """Returns the exception of the run, or what has kept a figure from being drawn."""
        failed = error is not None
        undrawn, fault = self._guard(lambda: self._session.figures.end(failed))
        if issubclass(type(fault), KeyboardInterrupt):
            notes.append("the drawing of figures was stopped; the code had ended before")
        elif fault is not None:
            self._session.complain("figures could not be captured", fault)
            notes.append(f"figures could not be captured: {tracebacks.class_name(fault)}")
        if failed or undrawn is None:
            return error
        self._part = None  # none of the code's statements has raised it
        return undrawn

    def _end_artifacts(self, notes):
        session = self._session
        hurried = session.interrupts.signalled
        _, error = self._guard(lambda: session.outlet.finish(hurried))
        if issubclass(type(error), KeyboardInterrupt):
            notes.append("the keeping of plotly's figures was stopped; the code had ended before")
            _, error = self._guard(lambda: session.outlet.finish(True))
        notes += session.artifacts.end()
        if issubclass(type(error), KeyboardInterrupt):
            notes.append("not all of plotly's figures were kept")
        elif error is not None:
            session.complain("artifacts could not be kept", error)
            notes.append(f"artifacts could not be kept: {tracebacks.class_name(error)}")

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
        fields = {"result_type": kinds.name(type(value))}
        encoded, error = self._guard(lambda: encode.encode(value, self._session.result_limit))
        if error is None:
            notes += encoded.notes
            return {**fields, "result": encoded.value, "result_encoding": encoded.encoding}
        if issubclass(type(error), KeyboardInterrupt):
            notes.append(f"the encoding of {name} was interrupted: the result is null")
        else:
            notes.append(f"{name} can't be encoded ({tracebacks.class_name(error)})")
        return {**fields, "result": None, "result_encoding": "json"}

    def _forgive(self, error, notes):
        """Returns the exception of a run, None where its code has ended itself well."""
        if not tracebacks.is_clean_exit(error):
            return error
        tracebacks.let_go(error)
        notes.append(f"the code ended itself ({tracebacks.exit_text(error)}): no more of it ran")
        return None

    def _exception(self, error, notes):
        describer = self._session.describer
        described, fault = self._guard(
            lambda: describer.describe(error, self._compiled, notes, self._part)
        )
        if fault is None:
            notes += self._about_import(error)
            return described
        name = tracebacks.class_name(error)
        if not issubclass(type(fault), KeyboardInterrupt):
            self._session.complain("an exception could not be described", fault)
        text = f"{name}: (its description failed with {tracebacks.class_name(fault)})\n"
        return {"type": name, "info": {"args": []}, "stack": [], "traceback": text}

    def _about_import(self, error):
        """Returns sentences on an import that failed."""
        if not issubclass(type(error), ImportError):
            return []
        advice = late.load_own("shell.missing").advice
        said, fault = self._guard(lambda: advice(error, self._session))
        if fault is not None and not issubclass(type(fault), KeyboardInterrupt):
            self._session.complain("there is no advice on an import", fault)
        return [said] if said else []

    def _difference(self):
        names = vars(self._session.module)
        difference, error = self._guard(lambda: self._snapshot.advance(names))
        if error is None:
            return difference
        if not issubclass(type(error), KeyboardInterrupt):
            self._session.complain("variables could not be compared", error)
        return {"added": [], "changed": [], "removed": []}
