def understudy_shell(command, captured=False, after=None, values=None):
    """Runs a command of the shell; returns the lines that it printed if captured.

    values are those of Python that {expression} and $name stand for. after is the number
    of seconds after which it is ended, as it was in the session.
    """
    import builtins
    import os
    import re
    import subprocess
    import sys

    def fill(found):
        try:
            return builtins.str(builtins.eval(found[1] or found[2], builtins.dict(values)))
        except builtins.Exception:
            return found[0]  # the shell's own

    if values is not None:
        command = re.sub(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)", fill, command)
    shell = "/bin/bash" if os.path.exists("/bin/bash") else None
    try:
        done = subprocess.run(
            command,
            shell=True,
            executable=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if captured else None,
            timeout=after,
        )
    except subprocess.TimeoutExpired:
        sys.stderr.write("as in the session: the command was ended\n")
        return None
    builtins.globals()["_exit_code"] = done.returncode
    return done.stdout.decode("utf-8", "replace").splitlines() if captured else None


def understudy_install(line, captured=False):
    """Runs a line that begins with pip or conda; returns what it printed if captured."""
    import builtins
    import importlib
    import shlex
    import subprocess
    import sys

    program, *words = shlex.split(line, comments=True)
    argv = [sys.executable, "-m", "pip"] if program == "pip" else ["conda"]
    stdout = subprocess.PIPE if captured else None
    done = subprocess.run(argv + words, stdin=subprocess.DEVNULL, stdout=stdout)
    importlib.invalidate_caches()
    builtins.globals()["_exit_code"] = done.returncode
    return done.stdout.decode("utf-8", "replace").splitlines() if captured else None
