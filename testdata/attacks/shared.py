"""What is shared past the file system: memory, semaphores, queues, names of sockets."""

import ctypes
import ctypes.util
import os
import socket

from attempting import T, attempt, checked, holds, libc

# What the filter of system calls leaves, since programs use it among themselves.
APART = "namespaces"


@attempt(APART)
def attach_system_v_memory():
    """Attaches a segment of shared memory of the host's (System V) and reads it."""
    libc.shmat.restype = ctypes.c_void_p
    memory = libc.shmat(checked(libc.shmget(T["ipc_key"], 0, 0)), None, 0o10000)
    if memory == ctypes.c_void_p(-1).value:
        checked(-1)
    try:
        return holds(ctypes.string_at(memory))
    finally:
        libc.shmdt(ctypes.c_void_p(memory))


@attempt(APART)
def list_system_v_memory():
    """Lists the host's segments of shared memory in /proc/sysvipc."""
    with open("/proc/sysvipc/shm") as segments:
        return holds(segments.read(), str(T["ipc_key"]))


@attempt(APART)
def reach_a_siblings_system_v_memory():
    """Finds the segment of shared memory (System V) that another session made."""
    return checked(libc.shmget(T["sibling_ipc_key"], 0, 0))


@attempt("namespaces")
def read_posix_memory():
    """Reads the host's shared memory (POSIX) in /dev/shm."""
    with open(f"/dev/shm/{T['shm']}") as memory:
        return holds(memory.read())


@attempt("namespaces | own_uid")
def read_a_siblings_posix_memory():
    """Reads the shared memory (POSIX) that another session has made."""
    with open(f"/dev/shm/{T['sibling_shm']}") as memory:
        return holds(memory.read())


@attempt("namespaces")
def list_posix_memory():
    """Lists what others have in /dev/shm."""
    return holds(" ".join(os.listdir("/dev/shm")), T["shm"])


@attempt("namespaces | seccomp")
def open_a_message_queue():
    """Opens the host's message queue (POSIX)."""
    library = ctypes.CDLL(ctypes.util.find_library("rt") or "librt.so.1", use_errno=True)
    name = f"/{T['queue']}".encode()
    os.close(checked(library.mq_open(name, os.O_RDWR)))
    return "it was opened"


def greeted(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(15)
        client.connect(address)
        return holds(client.recv(100))


@attempt("namespaces | landlock6")
def connect_to_an_abstract_socket():
    """Connects to an abstract Unix socket of the host's."""
    return greeted("\0" + T["abstract"])


@attempt("namespaces | landlock6")
def connect_to_a_siblings_abstract_socket():
    """Connects to an abstract Unix socket that another session listens on."""
    return greeted("\0" + T["sibling_abstract"])


@attempt("namespaces | landlock9")
def connect_to_a_socket():
    """Connects to a Unix socket of the host's by its path, as to Docker's."""
    return greeted(T["socket"])


@attempt("namespaces | landlock9 | own_uid")
def connect_to_a_siblings_socket():
    """Connects to a Unix socket in another session's directory."""
    directory = os.open(T["sibling"], os.O_PATH)  # the whole path is too long for an address
    try:
        return greeted(f"/proc/self/fd/{directory}/s")
    finally:
        os.close(directory)


@attempt("namespaces | landlock | own_uid")
def take_the_name_of_a_socket():
    """Listens in the place of the host's Unix socket, to hear what is for that."""
    with socket.socket(socket.AF_UNIX) as server:
        path = T["socket"] + "-2"
        server.bind(path)
        os.unlink(path)
    return "it listens"


@attempt("namespaces | own_uid | landlock")
def write_into_a_pipe_of_the_hosts():
    """Opens a named pipe of the host's that anybody may write to."""
    os.close(os.open(T["pipe"], os.O_RDWR | os.O_NONBLOCK))
    return "it was opened"
