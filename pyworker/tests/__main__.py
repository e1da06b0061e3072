"""Runs the tests of the Python half: python -m pyworker.tests [module...].

Most tests start a worker and wait for it, so as many modules run at once as there are
processors, each in a process of its own. What one says is shown whole, as it ends.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

PACKAGES = ("matplotlib_capture", "pyworker")


def find_modules(root):
    """Returns the names of the modules that unittest would discover."""
    return [
        f"{package}.tests.{path.stem}"
        for package in PACKAGES
        for path in sorted(root.glob(f"{package}/tests/test*.py"))
    ]


def run_module(name, root):
    """Runs the tests of a module; returns its process, which has ended, with all it said."""
    command = [sys.executable, "-m", "unittest", name]
    return subprocess.run(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def main():
    """Runs the modules that are named, or all; returns the exit status."""
    root = pathlib.Path(__file__).resolve().parents[2]
    names = sys.argv[1:] or find_modules(root)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run_module, name, root): name for name in names}
        for done in concurrent.futures.as_completed(running):
            name, ended = running[done], done.result()
            print(f"{name}\n{ended.stdout}", flush=True)
            if ended.returncode:
                failed.append(name)
    if failed:
        print("Failed:", *sorted(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
