# Unix sockets: pairs, files, descriptors over them, multiprocessing.connection.
# brief
import array
import os
import socket
import threading
from multiprocessing.connection import Client, Listener

one, other = socket.socketpair()
one.sendall(b"hello")
assert other.recv(10) == b"hello"
with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
    server.bind("server.sock")
    server.listen()
    client.connect("server.sock")
    connection, _ = server.accept()
    with open("passed", "w") as passed:
        socket.send_fds(client, [b"x"], [passed.fileno()])
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
        os.write(descriptors[0], b"through the other")
    connection.close()
assert open("passed").read() == "through the other"
listener = Listener("listener.sock", authkey=b"key")
answer = threading.Thread(target=lambda: listener.accept().send({"a": array.array("i", [1])}))
answer.start()
assert Client("listener.sock", authkey=b"key").recv() == {"a": array.array("i", [1])}
answer.join()
print("ok")
