"""Runs the tests of the Python half: python -m pyworker.tests [module...].

Most tests start a worker and wait for it, so as many modules run at once as there are
processors, each in a process of its own. What one says is shown whole, as it ends; one
that does not end is made to say where it is.
"""

import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

PACKAGES = ("matplotlib_capture", "pyworker")
LONGEST = 900  # seconds: the slowest module takes 125 on two busy processors


def find_modules(root):
    """Returns the names of the modules that unittest would discover."""
    return [
        ".".join(path.relative_to(root).with_suffix("").parts)
        for package in PACKAGES
        for path in sorted(root.glob(f"{package}/tests/**/test*.py"))
    ]


def run_module(name, root):
    """Runs the tests of a module; returns (its exit status, all that it said).

    It says so to a file: a pipe would be held open by processes that it leaves.
    """
    command = [sys.executable, "-X", "faulthandler", "-m", "unittest", name]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        )
        ended = _has_ended(process, LONGEST)
        if not ended:
            if os.name == "nt":
                process.kill()
            else:  # faulthandler says where its threads are
                process.send_signal(signal.SIGABRT)
            process.wait()
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    if not ended:
        text += f"{name} was ended: it ran for more than {LONGEST} s.\n"
    return process.returncode, text


def _has_ended(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def main():
    """Runs the modules that are named, or all; returns the exit status."""
    root = pathlib.Path(__file__).resolve().parents[2]
    names = sys.argv[1:] or find_modules(root)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run_module, name, root): name for name in names}
        for done in concurrent.futures.as_completed(running):
            name, (status, said) = running[done], done.result()
            print(f"{name}\n{said}", flush=True)
            if status:
                failed.append(name)
    if failed:
        print("Failed:", *sorted(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
