# Logging to files that turn round, to queues; warnings.
import logging
import logging.handlers
import os
import queue
import warnings

log = logging.getLogger("everyday")
log.setLevel("DEBUG")
log.propagate = False
log.addHandler(logging.handlers.RotatingFileHandler("everyday.log", maxBytes=1000, backupCount=2))
for n in range(300):
    log.info("line %d", n)
assert sorted(name for name in os.listdir(".") if "everyday.log" in name) == [
    "everyday.log",
    "everyday.log.1",
    "everyday.log.2",
]
messages = queue.Queue()
listener = logging.handlers.QueueListener(messages, logging.FileHandler("queued.log"))
listener.start()
messages.put(log.makeRecord("x", logging.INFO, "", 0, "through a queue", (), None))
listener.stop()
assert open("queued.log").read() == "through a queue\n"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("careful", stacklevel=1)
assert len(caught) == 1
print("ok")
