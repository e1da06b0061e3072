# Terminals: a shell in one, its size, its settings.
# needs: terminals:own
# brief
import fcntl
import os
import pty
import struct
import subprocess
import termios

master, slave = pty.openpty()
assert os.isatty(slave) and os.ttyname(slave).startswith("/dev/")
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))
assert os.get_terminal_size(slave) == (100, 30)
child = subprocess.Popen(
    ["sh", "-c", "test -t 0 && echo in a terminal"],
    stdin=slave,
    stdout=slave,
    stderr=slave,
    close_fds=True,
)
assert child.wait() == 0
assert b"in a terminal" in os.read(master, 1000)
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "stty -a > /dev/null && tty"])
text = b""
try:
    while piece := os.read(terminal, 1000):
        text += piece
except OSError:
    pass  # the shell has gone
assert os.waitpid(pid, 0)[1] == 0 and b"/dev/" in text, text
print("ok")
