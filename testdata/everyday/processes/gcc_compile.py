# A C compiler: a program, and a library that ctypes loads.
# needs: program:gcc
import ctypes
import subprocess

with open("seven.c", "w") as source:
    source.write(
        '#include <stdio.h>\nint seven(void) { return 7; }\nint main(void) { return printf("%d\\n", seven()) < 0; }\n'
    )
subprocess.run(["gcc", "-O2", "-o", "seven", "seven.c"], check=True)
assert subprocess.check_output(["./seven"]) == b"7\n"
subprocess.run(["gcc", "-shared", "-fPIC", "-o", "seven.so", "seven.c"], check=True)
assert ctypes.CDLL("./seven.so").seven() == 7
print("ok")
