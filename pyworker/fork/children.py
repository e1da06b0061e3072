"""Child processes that the user's code has started, after the process was copied.

They are no children of the copy: it can't wait for them, and the objects that
stand for them must not try.
"""

import os
import sys

from . import kin

# What the objects say of a process in the original, which lives on. poll()
# must not find out by itself: for it a child that it can't wait for has ended well.
# asyncio says the same of a child whose end it can't know; no signal has that number.
ELSEWHERE = 255
KILLED = -9  # ended with the dead process that has started it


def present(copies):
    """Returns the children but for copies, with the returncodes of those that have ended."""
    return {pid: _returncode(pid) for pid in kin.children() if pid not in copies}


def _returncode(pid):
    """Returns what Popen would of a child, without reaping it: None if it lives."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def settle(children, returncode):
    """Settles the objects that stand for the children that the original had.

    Those of children that were alive get the returncode.
    """
    if children:
        _settle_processes(children, returncode)
        _settle_popens(children, returncode)


def _settle_popens(children, returncode):
    subprocess = sys.modules.get("subprocess")
    if subprocess is None:
        return
    import gc

    for popen in gc.get_objects():
        if issubclass(type(popen), subprocess.Popen):
            fields = vars(popen)
            if fields.get("returncode", 0) is None:
                ended = children.get(fields.get("pid"))
                fields["returncode"] = returncode if ended is None else ended


def _settle_processes(children, returncode):
    module = sys.modules.get("multiprocessing.process")
    if module is None:
        return
    for process in module._children:
        popen = getattr(process, "_popen", None)
        if getattr(popen, "returncode", 0) is None:
            ended = children.get(popen.pid)
            popen.returncode = returncode if ended is None else ended
        process._parent_pid = os.getpid()  # join and is_alive may be asked here
    module._children.clear()
