"""Makes system calls behind a filter and says how each one ended.

Standard input is JSON: filter, the program in base64 ("" for none), and trials, each
with the number of a system call and its arguments, or with the bytes of machine code
in base64. Standard output is the list of their errnos, 0 for success; what killed a
trial is a negative signal.
"""

import base64
import ctypes
import json
import mmap
import os
import resource
import sys

C = ctypes.CDLL(None, use_errno=True)
CODE = {}  # of trials, which live as long as the process


def install(program):
    code = ctypes.create_string_buffer(program, len(program))
    it = (ctypes.c_size_t * 2)(len(program) // 8, ctypes.addressof(code))
    zero = ctypes.c_long(0)
    for option, *arguments in ((38, 1), (22, 2, ctypes.byref(it))):
        rest = [zero] * (4 - len(arguments))
        arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
        if C.prctl(option, *arguments, *rest):
            raise OSError(ctypes.get_errno(), "prctl")


def call(trial):
    """Returns what a system call returned, -errno for a failure."""
    if trial.get("code"):
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(base64.b64decode(trial["code"]))
        CODE[page] = place = ctypes.c_char.from_buffer(page)
        return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(place))()
    arguments = [ctypes.c_long(a) for a in trial["arguments"] or ()]
    C.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    returned = C.syscall(ctypes.c_long(trial["number"]), *arguments)
    return -ctypes.get_errno() if returned == -1 else returned


def ending(trial, program):
    """Returns how the trial ends in a process of its own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 255
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if program:
            install(program)
        code = max(0, -call(trial))
    finally:
        os._exit(min(code, 255))


def main():
    wanted = json.load(sys.stdin)
    program = base64.b64decode(wanted["filter"])
    json.dump([ending(trial, program) for trial in wanted["trials"]], sys.stdout)


if __name__ == "__main__":
    main()
