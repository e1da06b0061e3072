"""What is shared past the file system: memory, semaphores, queues, names of sockets."""

import ctypes
import ctypes.util
import os
import socket

from attempting import T, attempt, attempts, checked, greeted, holds, libc, listed, made, read


@attempt("namespaces")  # the filter of system calls leaves what programs use among themselves
def attach_and_read_system_v_memory_of_the_hosts():
    libc.shmat.restype = ctypes.c_void_p
    memory = libc.shmat(checked(libc.shmget(T["ipc_key"], 0, 0)), None, 0o10000)
    if memory == ctypes.c_void_p(-1).value:
        checked(-1)
    try:
        return holds(ctypes.string_at(memory))
    finally:
        libc.shmdt(ctypes.c_void_p(memory))


@attempt("namespaces | seccomp")
def open_a_message_queue_of_the_hosts():
    library = ctypes.CDLL(ctypes.util.find_library("rt") or "librt.so.1", use_errno=True)
    made(checked(library.mq_open(f"/{T['queue']}".encode(), os.O_RDWR)))


@attempt("namespaces | landlock9 | own_uid")
def connect_to_a_socket_in_a_siblings_directory():
    directory = os.open(T["sibling"], os.O_PATH)  # the whole path is too long for an address
    try:
        return greeted(socket.AF_UNIX, f"/proc/self/fd/{directory}/s")
    finally:
        os.close(directory)


@attempt("namespaces | landlock | own_uid")
def listen_in_the_place_of_the_hosts_socket():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(T["socket"] + "-2")
        os.unlink(T["socket"] + "-2")


attempts(
    {
        "namespaces": {
            "list the host's System V memory": lambda: holds(
                read("/proc/sysvipc/shm"), str(T["ipc_key"])
            ),
            "find a sibling's System V memory": lambda: checked(
                libc.shmget(T["sibling_ipc_key"], 0, 0)
            ),
            "read the host's POSIX memory": lambda: holds(read("/dev/shm", T["shm"])),
            "list what others have in /dev/shm": lambda: holds(listed("/dev/shm"), T["shm"]),
        },
        "namespaces | own_uid": {
            "read a sibling's POSIX memory": lambda: holds(read("/dev/shm", T["sibling_shm"]))
        },
        "namespaces | landlock6": {
            f"connect to {whose} abstract socket": lambda name=name: greeted(
                socket.AF_UNIX, "\0" + T[name]
            )
            for whose, name in {"the host's": "abstract", "a sibling's": "sibling_abstract"}.items()
        },
        "namespaces | landlock9": {
            "connect to the host's socket, as to Docker's": lambda: greeted(
                socket.AF_UNIX, T["socket"]
            )
        },
        "namespaces | own_uid | landlock": {
            "write into a pipe of the host's": lambda: made(
                os.open(T["pipe"], os.O_RDWR | os.O_NONBLOCK)
            )
        },
    }
)
