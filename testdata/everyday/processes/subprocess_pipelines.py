# Subprocesses: pipelines, input, errors, time limits, groups, environment.
# brief
import os
import signal
import subprocess
import sys

first = subprocess.Popen(["printf", "b\\na\\nb\\n"], stdout=subprocess.PIPE)
second = subprocess.Popen(["sort"], stdin=first.stdout, stdout=subprocess.PIPE)
first.stdout.close()
assert second.communicate()[0] == b"a\nb\nb\n"
assert first.wait() == 0
assert subprocess.check_output("seq 100 | grep 7 | wc -l", shell=True).strip() == b"19"
assert subprocess.run(["cat"], input="text", capture_output=True, text=True).stdout == "text"
failed = subprocess.run("echo oops >&2; exit 3", shell=True, capture_output=True, text=True)
assert (failed.returncode, failed.stderr) == (3, "oops\n")
try:
    subprocess.run(["sleep", "60"], timeout=0.1)
    raise AssertionError("it slept")
except subprocess.TimeoutExpired:
    pass
asleep = subprocess.Popen(["sleep", "60"], start_new_session=True)
os.killpg(asleep.pid, signal.SIGTERM)
assert asleep.wait() == -signal.SIGTERM
environment = {**os.environ, "COLOR": "blue"}
assert subprocess.check_output(["sh", "-c", "echo $COLOR"], env=environment) == b"blue\n"
os.makedirs("inner", exist_ok=True)
assert subprocess.check_output(["pwd"], cwd="inner", text=True).strip().endswith("/inner")
code = "import sys; print(sys.stdin.read()[::-1])"
assert subprocess.check_output([sys.executable, "-c", code], input=b"abc") == b"cba\n"
assert os.popen("echo popen").read() == "popen\n"
assert os.system("true") == 0
many = [subprocess.Popen(["true"]) for _ in range(20)]
assert [child.wait() for child in many] == [0] * 20
print("ok")
