"""One attempt on each layer: whether the wall stands where code runs in another way."""

import os
import resource
import socket

from attempting import (
    ALWAYS,
    Stopped,
    T,
    attempt,
    attempts,
    checked,
    environment,
    fields_of_status,
    greeted,
    holds,
    in_child,
    libc,
    planted,
    read,
)

attempts(
    {
        "landlock | namespaces | own_uid": {
            "read a file of another session": lambda: holds(read(T["sibling"], "secret.txt"))
        },
        "landlock | namespaces | uid": {"make a file in /etc": lambda: planted("/etc")},
        "seccomp": {
            "make a user namespace": lambda: in_child(lambda: checked(libc.unshare(0x10000000)))
        },
        "uid": {"become root": lambda: in_child(lambda: os.setresuid(0, 0, 0))},
        "landlock | own_uid": {
            "read the server's environment": lambda: environment(T["pids"]["server"])
        },
        "namespaces | seccomp | landlock4": {
            "connect to what listens on the host's loopback": lambda: greeted(
                socket.AF_INET, ("127.0.0.1", T["tcp"])
            )
        },
        "namespaces | landlock6": {
            "connect to an abstract Unix socket of the host's": lambda: greeted(
                socket.AF_UNIX, "\0" + T["abstract"]
            )
        },
    }
)


@attempt(ALWAYS)
def gain_privileges_by_exec():
    status = fields_of_status()
    if status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0:
        raise Stopped("no_new_privs is set and it has no capabilities")


@attempt(ALWAYS)
def have_no_limit_of_open_files_but_the_servers():
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= T["open_files"]:
        raise Stopped("it has one")
