# faulthandler and tracebacks: to files, and of a child that crashes.
import faulthandler
import subprocess
import sys
import traceback

with open("stacks", "w+") as out:
    faulthandler.dump_traceback(out, all_threads=True)
    faulthandler.dump_traceback_later(60, file=out)
    faulthandler.cancel_dump_traceback_later()
    out.seek(0)
    assert "most recent call first" in out.read()
child = subprocess.run(
    [sys.executable, "-X", "faulthandler", "-c", "import os; os.abort()"], capture_output=True
)
assert child.returncode == -6 and b"Fatal Python error" in child.stderr
try:
    1 / 0
except ZeroDivisionError:
    assert "1 / 0" in traceback.format_exc()
print("ok")
