"""One attempt on each layer: whether the wall stands where code runs in another way."""

import os

from attempting import (
    ALWAYS,
    Stopped,
    T,
    attempt,
    checked,
    fields_of_status,
    holds,
    holds_environment,
    in_child,
    libc,
)


@attempt("landlock | namespaces | own_uid")
def core_file():
    """Reads a file of another session."""
    with open(os.path.join(T["sibling"], "secret.txt")) as file:
        return holds(file.read())


@attempt("landlock | namespaces | uid")
def core_write():
    """Makes a file in /etc."""
    path = "/etc/planted-by-an-attempt"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)
    return "it was made"


@attempt("seccomp")
def core_system_call():
    """Makes a user namespace."""
    return in_child(lambda: checked(libc.unshare(0x10000000)))


@attempt("uid")
def core_user():
    """Becomes root."""

    def become():
        os.setresuid(0, 0, 0)
        return "it is"

    return in_child(become)


@attempt(ALWAYS)
def core_privileges():
    """May still gain privileges by exec."""
    status = fields_of_status()
    if status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0:
        raise Stopped("no_new_privs is set and it has no capabilities")
    return "it may"


@attempt("landlock | own_uid")
def core_process():
    """Reads the server's environment."""
    with open(f"/proc/{T['pids']['server']}/environ", "rb") as environ:
        return holds_environment(environ.read())


@attempt("namespaces | seccomp | landlock4")
def core_network():
    """Connects to what listens on the host's loopback."""
    import socket

    with socket.socket() as client:
        client.settimeout(15)
        client.connect(("127.0.0.1", T["tcp"]))
        return holds(client.recv(100))


@attempt("namespaces | landlock6")
def core_shared():
    """Connects to an abstract Unix socket of the host's."""
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(15)
        client.connect("\0" + T["abstract"])
        return holds(client.recv(100))


@attempt(ALWAYS)
def core_limits():
    """Has no limit of open files but the server's own."""
    import resource

    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] > T["open_files"]:
        return "it has none"
    raise Stopped("it has one")
