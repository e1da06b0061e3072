"""One execution, from the code to its record.

The layers are set up in order and torn down in reverse: place, streams and
figures around the run of the cell's parts. Whatever runs code of the user's
(the cell, a figure's drawing, a __repr__) runs in a guarded region, so that an
interrupt ends that and nothing else.
"""

import sys
import time

from . import cells, encode, kinds, sources, tracebacks, variables
from .awaiting import Awaiting
from .echo import echo

_LEAST_RECURSION = 500  # frames that our own work may need

_UNVERIFIED = (
    "outside this interpreter, where the server checks code, this is not valid Python; "
    "write it so that no earlier __future__ import or setting is needed to read it"
)


class Executor:
    """Runs the executions of one session."""

    def __init__(self, session):
        self._session = session
        self._compiler = cells.Compiler(session.echo)
        self.awaiting = Awaiting(session.interrupts)
        self._snapshot = variables.Snapshot(vars(session.module))
        self._recursion_limit = sys.getrecursionlimit()
        self._compiled = False  # the present cell has been compiled
        self._part = None  # of the present cell, the part that ran last

    def initialize(self, code):
        """Runs the operator's code; returns its traceback, "" if all went well."""
        self._session.prepare()
        # Nothing of it is echoed, but its __future__ imports count.
        compiler, self._compiler = self._compiler, cells.Compiler("none")
        error, _ = self._run(code, "<init>")
        self._compiler = compiler
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
        code, result_var_name = request["code"], request["result_var_name"]
        compile_only = request.get("compile_only", False)
        session.interrupts.begin()
        notes = session.prepare()
        notes += filter(None, [session.code_file.write(code, vars(session.module))])
        session.figures.begin(execution)
        error, seconds = self._run(code, f"<cell {execution}>", compile_only)
        notes += filter(None, [session.place.leave()])
        session.code_file.remove()
        self._end_figures(notes)
        record = {"type": "done", "execution": execution, "ok": error is None}
        if result_var_name:
            record.update(self._result(result_var_name, notes))
        if error is not None:
            record["exception"] = self._exception(error, notes)
            tracebacks.let_go(error)
            error = None
        self._finish()
        record["variables"] = self._difference()
        record["notes"] = notes
        record["exec_time"] = seconds
        record["signalled"] = session.interrupts.signalled
        record["obstacle"] = session.forks.obstacle()
        return record

    def variables(self):
        """Returns the fields of the "variables" frame."""
        return {"type": "variables", "variables": variables.describe(vars(self._session.module))}

    def _run(self, code, filename, compile_only=False):
        """Runs a cell; returns (exception or None, seconds)."""
        sources.add(filename, code)
        self._compiled, self._part = False, None
        if self._recursion_limit != sys.getrecursionlimit():
            sys.setrecursionlimit(self._recursion_limit)
        start = time.perf_counter()
        _, error = self._guard(lambda: self._run_cell(code, filename, compile_only))
        self._session.handlers.hold_at_last()
        seconds = time.perf_counter() - start
        self._recursion_limit = sys.getrecursionlimit()
        if self._recursion_limit < _LEAST_RECURSION:
            sys.setrecursionlimit(_LEAST_RECURSION)
        return error, seconds

    def _run_cell(self, code, filename, compile_only):
        try:
            self._session.handlers.release()
            self._session.forks.deaths.release()
            parts = self._compiler.compile(code, filename)
            if compile_only:  # what the server took for a syntax error is none here
                raise SyntaxError(_UNVERIFIED, (filename, 1, None, None))
            self._compiled = True
            if any(part.co_flags & cells.COROUTINE for part, _ in parts):
                self.awaiting.run(self._run_awaiting(parts))
                return
            names = vars(self._session.module)
            for part, echoed in parts:
                self._part = part
                value = eval(part, names)
                if echoed:
                    echo(value)
        finally:
            try:
                self._session.handlers.hold()
            finally:
                self._session.handlers.hold()  # what one raised has kept it from the others
                self._take_back()

    async def _run_awaiting(self, parts):
        names = vars(self._session.module)
        for part, echoed in parts:
            self._part = part
            value = eval(part, names)
            if part.co_flags & cells.COROUTINE:
                value = await value
            if echoed:
                echo(value)

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

    def _end_figures(self, notes):
        _, error = self._guard(self._session.figures.end)
        if issubclass(type(error), KeyboardInterrupt):
            notes.append("the drawing of figures was interrupted")
        elif error is not None:
            self._session.complain("figures could not be captured", error)
            notes.append(f"figures could not be captured: {tracebacks.class_name(error)}")

    def _result(self, name, notes):
        """Returns the fields of the variable that was asked for."""
        names = vars(self._session.module)
        if name not in names:
            notes.append(f"{name} is not defined")
            return {"result": None, "result_encoding": "json"}
        value = names[name]
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

    def _exception(self, error, notes):
        describer = self._session.describer
        described, fault = self._guard(
            lambda: describer.describe(error, self._compiled, notes, self._part)
        )
        if fault is None:
            return described
        name = tracebacks.class_name(error)
        if not issubclass(type(fault), KeyboardInterrupt):
            self._session.complain("an exception could not be described", fault)
        text = f"{name}: (its description failed with {tracebacks.class_name(fault)})\n"
        return {"type": name, "info": {"args": []}, "stack": [], "traceback": text}

    def _difference(self):
        names = vars(self._session.module)
        difference, error = self._guard(lambda: self._snapshot.advance(names))
        if error is None:
            return difference
        if not issubclass(type(error), KeyboardInterrupt):
            self._session.complain("variables could not be compared", error)
        return {"added": [], "changed": [], "removed": []}
