# Who runs this, and where is home: a directory that may be written to.
# brief
import getpass
import os
import pathlib
import platform
import socket
import subprocess

assert getpass.getuser()
home = pathlib.Path.home()
assert home == pathlib.Path(os.path.expanduser("~")) and home.is_dir(), home
kept = home / ".everyday"
kept.mkdir(exist_ok=True)
(kept / "settings").write_text("x")
assert subprocess.check_output("cat ~/.everyday/settings", shell=True) == b"x"
(kept / "settings").unlink()
kept.rmdir()
assert os.getuid() == os.geteuid() and os.getgid() == os.getegid()
assert os.getgroups() is not None and os.getpid() > 0 and os.getppid() >= 0
assert platform.platform() and platform.node() == socket.gethostname()
assert os.environ["PATH"] and os.getcwd() == os.path.realpath(".")
print("ok")
