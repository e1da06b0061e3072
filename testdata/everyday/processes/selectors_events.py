# Waiting for descriptors: select, poll, epoll, event descriptors, files in memory, inotify.
import ctypes
import os
import select
import selectors

reader, writer = os.pipe()
os.write(writer, b"x")
assert select.select([reader], [], [], 60)[0] == [reader]
polling = select.poll()
polling.register(reader, select.POLLIN)
assert polling.poll(60_000)
with selectors.DefaultSelector() as selector:
    selector.register(reader, selectors.EVENT_READ)
    assert selector.select(60)
event = os.eventfd(1)
assert os.eventfd_read(event) == 1
if hasattr(os, "pidfd_open"):
    os.close(os.pidfd_open(os.getpid()))
watch = ctypes.CDLL(None).inotify_init()
assert watch >= 0 and ctypes.CDLL(None).inotify_add_watch(watch, b".", 0x100) >= 0
open("appeared", "w").close()
assert b"appeared" in os.read(watch, 1000)
print("ok")
