# What the other session has, that attempts look for. Prints where it is.

import ctypes
import json
import os
import socket
import threading

with open("given.json") as file:
    given = json.load(file)

for name in ("secret.txt", "to-delete", "to-replace", "to-truncate"):
    with open(name, "w") as file:
        file.write(given["secret"])
held = open("secret.txt")  # noqa: SIM115 - another session tries to get at it
memory = ctypes.create_string_buffer(given["memory_secret"].encode())


def listen(address):
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()

    def greet():
        while True:
            guest, _ = server.accept()
            with guest:
                try:
                    guest.sendall(given["secret"].encode())
                except OSError:
                    pass

    threading.Thread(target=greet, daemon=True).start()


listen("s")
os.chmod("s", 0o777)
listen("\0" + given["sibling_abstract"])
made = {}
try:
    with open(f"/dev/shm/{given['sibling_shm']}", "w") as file:
        file.write(given["secret"])
    os.chmod(file.name, 0o600)  # as multiprocessing makes it
except OSError as error:
    made["shm"] = str(error)
if ctypes.CDLL(None).shmget(given["sibling_ipc_key"], 4096, 0o1666) < 0:
    made["ipc"] = "refused"
print(
    json.dumps(
        made
        | {
            "pid": os.getpid(),
            "uid": os.getuid(),
            "address": ctypes.addressof(memory),
            "fd": held.fileno(),
            "workdir": os.getcwd(),
        }
    )
)
