# pexpect: a conversation with a program in a terminal.
# needs: pexpect terminals:own
import sys

import pexpect

python = pexpect.spawn(sys.executable, ["-q"], timeout=60)
python.expect(">>> ")
python.sendline("6 * 7")
python.expect("42")
python.expect(">>> ")  # before it reads again, readline would take the end for a character
python.sendeof()
python.expect(pexpect.EOF)
print("ok")
