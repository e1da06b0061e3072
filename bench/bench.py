"""Measure understudy beside ipykernel and jupyter-mcp-server, in about five minutes.

    make bench                      # all of it, into docs/benchmarks.md
    python bench/bench.py -only warm,new

Everything is measured in one run with one Python, in turns: in each round every contender
once, in an order that turns round, so that what slows the machine down for a while slows
them all. A first round is not counted. Numbers are medians of rounds; what is compared
are these medians. Every answer is checked.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from contenders import (
    LIBRARIES,
    TOKEN,
    Kernel,
    Remote,
    Understudy,
    jupyter_over_http,
    understudy_over_http,
)

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ["ipykernel==7.4.0", "jupyter_client==8.10.0"]
JUPYTER_PACKAGES = [
    "jupyter-mcp-server==2.2.4",
    "jupyter_server==2.21.1",
    "jupyterlab==4.6.6",
    *PACKAGES,
]
PAUSE = 0.03  # seconds before a paced call: an agent needs longer


class Settings:
    """Where a run keeps its files, and how its servers are started."""

    def __init__(self, directory):
        self.directory = directory
        pathlib.Path(directory, "config.yaml").touch()

    def command(self, *more):
        """Arguments of a server with its defaults, whatever the user's settings are."""
        place = pathlib.Path(self.directory)
        return [
            str(ROOT / "understudy"), "serve", "--config", str(place / "config.yaml"),
            "--data-dir", str(place / "data"), "--python", sys.executable,
            "--log-level", "error", *more,
        ]  # fmt: skip


class Report:
    """The rows that the tables get."""

    def __init__(self):
        self.numbers, self.targets = [], []

    def number(self, what, value, *, against=None, wanted=None, times=None):
        """Add a row: what was measured, as text; the target is times, at least or at most."""
        self.numbers.append((what, value))
        print(f"{what}: {value}", flush=True)
        if wanted is not None:
            met = times >= wanted if against == "at least" else times <= wanted
            self.targets.append(
                (what, f"{against} {wanted:g}×", f"{times:.2f}×", "met" if met else "**not met**")
            )


def rounds(count, contenders):
    """Measure each of some functions in turns and return a list of values for each name."""
    names, found = list(contenders), {name: [] for name in contenders}
    for n in range(count + 1):
        for name in names[n % len(names) :] + names[: n % len(names)]:
            value = contenders[name]()
            if n > 0:
                found[name].append(value)
    return {name: statistics.median(values) for name, values in found.items()}


def calls(run, count, pause=0.0):
    """Return the median of how long some calls of 1+1 take."""
    times = []
    for _ in range(count):
        time.sleep(pause)
        began = time.perf_counter()
        answer = run("1+1")
        times.append(time.perf_counter() - began)
        if answer != "2\n":
            raise RuntimeError(f"1+1 is {answer!r}")
    return statistics.median(times)


def measure_warm(settings, report):
    """A warm call, as an agent makes it and back to back; what its copies cost."""
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(contextlib.closing(started(settings)))
        bare = stack.enter_context(
            contextlib.closing(started(settings, "--checkpoint-memory", "0", "--no-journal"))
        )
        kernel = stack.enter_context(contextlib.closing(new_kernel(settings)))
        for one in (ours, bare, kernel):
            one.run(LIBRARIES)
        paced = rounds(9, {
            "ours": lambda: calls(ours.run, 40, PAUSE),
            "bare": lambda: calls(bare.run, 40, PAUSE),
            "kernel": lambda: calls(kernel.run, 40, PAUSE),
        })  # fmt: skip
        burst = rounds(9, {
            "ours": lambda: calls(ours.run, 60),
            "bare": lambda: calls(bare.run, 60),
            "kernel": lambda: calls(kernel.run, 30),
        })  # fmt: skip
    report.number("a warm call of `1+1`, paced: ipykernel", ms(paced["kernel"]))
    report.number(
        "a warm call of `1+1`, paced",
        ms(paced["ours"]),
        against="at least",
        wanted=5,
        times=paced["kernel"] / paced["ours"],
    )
    report.number(
        "the same against one without journal and copies", ms(paced["bare"]),
        against="at most", wanted=1.15, times=paced["ours"] / paced["bare"],
    )  # fmt: skip
    report.number("back to back: ipykernel", ms(burst["kernel"]))
    report.number(
        "back to back",
        ms(burst["ours"]),
        against="at least",
        wanted=4,
        times=burst["kernel"] / burst["ours"],
    )
    report.number(
        "back to back, without journal and copies", ms(burst["bare"]),
        against="at least", wanted=8, times=burst["kernel"] / burst["bare"],
    )  # fmt: skip
    report.number(
        "a copy, with its end and the journal: the difference of the two",
        ms(burst["ours"] - burst["bare"]),
    )


def measure_new(settings, report):
    """A new session with the usual libraries, to its first answer; a crash, to the next one."""
    with contextlib.closing(started(settings)) as ours:

        def session():
            began = time.perf_counter()
            interpreter = ours.create()
            ours.run(LIBRARIES, interpreter)
            took = time.perf_counter() - began
            ours.delete(interpreter)
            return took

        def kernel():
            began = time.perf_counter()
            one = new_kernel(settings)
            one.run(LIBRARIES)
            took = time.perf_counter() - began
            one.close()
            return took

        new = rounds(
            5, {"ours": lambda: statistics.median(session() for _ in range(5)), "kernel": kernel}
        )
        report.number(
            "a new kernel of ipykernel with numpy, pandas and matplotlib", ms(new["kernel"])
        )
        report.number(
            "a new session with them",
            ms(new["ours"]),
            against="at least",
            wanted=100,
            times=new["kernel"] / new["ours"],
        )
        heap = "import numpy as np; heap = np.ones(62_500_000)"
        total = "print(int(heap.sum()))"
        ours.run(heap)
        with contextlib.closing(new_kernel(settings)) as jupyter:
            crash = rounds(
                3, {"ours": lambda: crashed(ours, total), "kernel": lambda: timed(jupyter.crash)}
            )
    report.number(
        "from a crash to the next answer: ipykernel, which has lost everything", ms(crash["kernel"])
    )
    report.number("from a crash to the next answer, with the 500 MB it held", ms(crash["ours"]))


def crashed(ours, total):
    """Kill a session's process from within and return how long it takes until its state answers."""
    ours.settle()
    began = time.perf_counter()
    answer = ours.call("run_python_code", code="import os; os.kill(os.getpid(), 9)")[
        "structuredContent"
    ]
    if not answer["state_restored"] or ours.run(total) != "62500000\n":
        raise RuntimeError(f"the state is lost: {answer}")
    return time.perf_counter() - began


def measure_write(settings, report):
    """What copies cost a call that writes to all of 500 MB."""
    with contextlib.ExitStack() as stack:
        found = {}
        for name, more in {"with": (), "without": ("--checkpoint-memory", "0")}.items():
            server = stack.enter_context(contextlib.closing(started(settings, *more)))
            server.run("import numpy as np; a = np.zeros(62_500_000); a += 1")
            found[name] = lambda server=server: timed(
                server.run, "a += 1", before=lambda: time.sleep(0.5)
            )
        took = rounds(5, found)
    report.number("`a += 1` on 500 MB of arrays, without copies", ms(took["without"]))
    report.number(
        f"`a += 1` on 500 MB of arrays: {took['with'] / took['without']:.1f}×", ms(took["with"])
    )


def measure_prints(settings, report):
    """How fast lines of 100 bytes flow."""

    def printing(size):
        return f"line = 'x' * 99\nfor i in range({size // 100}): print(line)"

    with (
        contextlib.closing(started(settings)) as ours,
        contextlib.closing(new_kernel(settings)) as kernel,
    ):
        took = rounds(3, {
            "ours": lambda: timed(ours.run, printing(20_000_000)) / 20,
            "kernel": lambda: timed(kernel.run, printing(4_000_000)) / 4,
        })  # fmt: skip
    report.number("prints of 100 bytes a line: ipykernel", f"{1 / took['kernel']:.1f} MB/s")
    report.number(
        "prints of 100 bytes a line", f"{1 / took['ours']:.1f} MB/s",
        against="at least", wanted=3, times=took["kernel"] / took["ours"],
    )  # fmt: skip


def measure_many(settings, report, sessions=1000):
    """The memory of many sessions, each of which has run twice."""
    before = available()
    with contextlib.closing(started(settings, "--max-sessions", str(sessions + 1))) as ours:
        all_of_them = []
        for i in range(sessions):
            all_of_them.append(ours.create())
            ours.run(f"{LIBRARIES}\nx = {i}", all_of_them[-1])
        for i, interpreter in enumerate(all_of_them):
            if ours.run("print(x)", interpreter) != f"{i}\n":
                raise RuntimeError("a session has the variables of another")
        ours.rest()
        weights = {
            "PSS": proportional(ours.process.pid) / 1e9,
            "drop of MemAvailable": (before - available()) / 1e9,
        }
    for name, gigabytes in weights.items():
        report.number(f"{sessions:,} sessions with their variables, {name}", f"{gigabytes:.2f} GB")
    most = max(weights.values())
    report.targets.append(
        (
            f"{sessions:,} sessions, by both measures",
            "under 6 GB",
            f"{most:.2f} GB",
            "met" if most < 6 else "**not met**",
        )
    )


def measure_http(settings, report):
    """Calls a second over HTTP, of clients that call again as soon as they are answered."""
    python = environment(ROOT / "build/jupyter-mcp-env", JUPYTER_PACKAGES)
    code = "print(1234*5678)"
    with (
        understudy_over_http(settings) as ours,
        jupyter_over_http(settings, python) as (theirs, kernels),
    ):
        for crowd, wanted in {8: 5, 64: 4}.items():
            with ThreadPoolExecutor(crowd) as threads:
                of_ours = list(threads.map(lambda _: Remote(ours), range(crowd)))
                of_theirs = list(threads.map(lambda _: Remote(theirs, TOKEN), range(crowd)))

                def our_rate(clients=of_ours, threads=threads):
                    def work(client):
                        for _ in range(256 // len(clients)):
                            if client.run(code) != "7006652\n":
                                raise RuntimeError("a wrong answer")

                    return 256 / timed(lambda: list(threads.map(work, clients)))

                def their_rate(clients=of_theirs, threads=threads):
                    def work(numbered):
                        n, client = numbered
                        for _ in range(max(1, 64 // len(clients))):
                            client.call(
                                "execute_code", code=code, kernel_id=kernels[n % len(kernels)]
                            )

                    return max(64, len(clients)) / timed(
                        lambda: list(threads.map(work, enumerate(clients)))
                    )

                rates = rounds(5, {"ours": our_rate, "theirs": their_rate})
            report.number(
                f"calls a second over HTTP, {crowd} clients: jupyter-mcp-server",
                f"{rates['theirs']:.0f}",
            )
            report.number(
                f"calls a second over HTTP, {crowd} clients", f"{rates['ours']:.0f}",
                against="at least", wanted=wanted, times=rates["ours"] / rates["theirs"],
            )  # fmt: skip


SECTIONS = {
    "warm": measure_warm,
    "new": measure_new,
    "write": measure_write,
    "prints": measure_prints,
    "many": measure_many,
    "http": measure_http,
}


def started(settings, *more):
    return Understudy(settings, *more).warm_up()


def new_kernel(settings):
    return Kernel(tempfile.mkdtemp(dir=settings.directory))


def timed(function, *arguments, before=None):
    if before:
        before()
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def ms(seconds):
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def available():
    return field("/proc/meminfo", "MemAvailable")


def field(path, name):
    """Return a field in kB of a file of names and values, in bytes."""
    with open(path) as file:
        return int(re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.MULTILINE)[1]) * 1024


def proportional(root):
    """Return the memory of a process and all below it, shared pages counted once."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    total = 0
    for pid in family:
        with contextlib.suppress(OSError, TypeError):  # it has ended
            total += field(f"/proc/{pid}/smaps_rollup", "Pss")
    return total


def environment(place, packages):
    """Make a virtual environment that sees this Python's libraries, and return its Python."""
    python, stamp = place / "bin" / "python", place / "made-by-bench"
    if not stamp.exists() or stamp.read_text() != str(packages):
        print(f"installing {', '.join(packages)} into {place}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        # Before pip runs, so that it settles on the versions that are there.
        purelib = subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        )
        own = [path for path in sys.path if path.endswith("site-packages")]
        pathlib.Path(purelib.strip(), "libraries.pth").write_text("\n".join(own))
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
            check=True,
        )
        stamp.write_text(str(packages))
    return str(python)


def markdown(report, began, sections):
    """Write the tables, with the machine's shape and the command that repeats them."""
    versions = [
        f"{name} {importlib.metadata.version(name)}"
        for name in ("ipykernel", "jupyter_client", "numpy", "pandas", "matplotlib")
    ]
    with open("/proc/cpuinfo") as file:
        processor = re.search(r"model name\s*: (.*)", file.read())[1]
    with open("/proc/loadavg") as file:
        load = file.read().split()[0]
    command = (
        "make bench"
        if sections == list(SECTIONS)
        else f"python bench/bench.py -only {','.join(sections)}"
    )
    machine = (
        f"{processor}, {os.cpu_count()} cores, {field('/proc/meminfo', 'MemTotal') / 1e9:.0f} GB"
    )
    lines = [
        f"Measured on {datetime.date.today()} in {int(time.monotonic() - began)} s by `{command}`:",
        f"{machine}, Linux {platform.release()}, Python {platform.python_version()},",
        f"{', '.join(versions)}; load average {load} at the end.",
        "",
        "| target | wanted | measured | |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in report.targets),
        "",
        "| what | measured |",
        "|---|---|",
        *(f"| {' | '.join(row)} |" for row in report.numbers),
    ]
    return "\n".join(lines) + "\n"


def keep(text):
    """Put the tables between the marks of the document."""
    document = ROOT / "docs" / "benchmarks.md"
    before, begin, rest = document.read_text().partition("<!-- bench:begin -->\n")
    _, end, after = rest.partition("<!-- bench:end -->")
    if not begin or not end:
        sys.exit(f"{document} has no marks bench:begin and bench:end")
    document.write_text(before + begin + text + end + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-only", help=f"sections, separated by commas: {', '.join(SECTIONS)}")
    parser.add_argument(
        "-write", action="store_true", help="put the tables into docs/benchmarks.md"
    )
    options = parser.parse_args()
    sections = options.only.split(",") if options.only else list(SECTIONS)
    if unknown := set(sections) - set(SECTIONS):
        parser.error(
            f"-only: there is no section {unknown.pop()!r}; there are {', '.join(SECTIONS)}"
        )
    if options.only and options.write:
        parser.error("-write needs all sections: leave out -only")
    try:
        importlib.metadata.version("ipykernel")
    except importlib.metadata.PackageNotFoundError:
        python = environment(ROOT / "build/bench-env", PACKAGES)
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "UNDERSTUDY_", "MPL", "JUPYTER_"))
        }
        os.execve(python, [python, *sys.argv], clean)
    began, report = time.monotonic(), Report()
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        for name in sections:
            SECTIONS[name](Settings(directory), report)
    text = markdown(report, began, sections)
    print("\n" + text)
    if options.write:
        keep(text)


if __name__ == "__main__":
    main()
