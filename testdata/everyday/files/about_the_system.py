# What programs ask of the system they run on.
# brief
import os
import platform
import shutil
import socket
import subprocess
import sys
import sysconfig

assert "processor" in open("/proc/cpuinfo").read() or platform.machine() != "x86_64"
assert "MemTotal" in open("/proc/meminfo").read()
assert "VmRSS" in open("/proc/self/status").read()
assert open("/proc/self/maps").read() and os.listdir("/proc/self/fd")
assert os.readlink("/proc/self/exe") and open("/proc/version").read()
assert open("/etc/passwd").read() and os.path.exists("/usr/bin") and os.path.exists("/etc")
assert socket.getaddrinfo("localhost", 80) and socket.gethostbyname("localhost") == "127.0.0.1"
assert platform.uname().system == "Linux" and platform.python_version()
assert shutil.which("sh") and shutil.disk_usage(".").free > 0
assert os.path.exists(sysconfig.get_path("stdlib")) and sysconfig.get_config_var("EXT_SUFFIX")
assert subprocess.check_output([sys.executable, "--version"]).startswith(b"Python 3")
for device in "null", "zero", "full", "urandom", "random":
    assert os.access(f"/dev/{device}", os.R_OK)
with open("/dev/null", "w") as sink:
    sink.write("gone")
assert open("/dev/zero", "rb").read(10) == bytes(10)
print("ok")
