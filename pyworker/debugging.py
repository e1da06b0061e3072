"""A debugger that asks shows the user's program, and none of what runs it.

Every question of pdb's comes through input(), which calls this first.
"""

import bdb

from . import tracebacks

_OWN_MODULES = "pyworker.*"
_NOTES = ("__return__", "__exception__")  # pdb's own, which it leaves among a frame's variables

bdb.BdbQuit.__str__ = lambda _: "the debugger was left; the rest of the code did not run"


def tidy(asking):
    """Prepares the debugger whose frame asks, if it is one."""
    if asking.f_code.co_name != "cmdloop":
        return
    debugger = asking.f_locals.get("self")
    if not isinstance(debugger, bdb.Bdb) or not getattr(debugger, "stack", None):
        return
    first = min(tracebacks.first_of_users([f for f, _ in debugger.stack]), debugger.curindex)
    for frame, _ in debugger.stack[:first]:
        frame.f_trace = None
    del debugger.stack[:first]
    debugger.curindex -= first
    debugger.botframe = debugger.stack[0][0]
    debugger.skip = {*(debugger.skip or ()), _OWN_MODULES}
    for name in _NOTES:
        debugger.stack[debugger.curindex][0].f_globals.pop(name, None)
    if getattr(debugger, "mode", None) == "inline":
        debugger.mode = None  # in Python 3.14 "q" would be sys.exit()
    debugger.nosigint = True  # or after "c" an interrupt would ask, and stop nothing
