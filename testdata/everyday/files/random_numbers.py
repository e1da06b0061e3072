# Random numbers, seeds, secrets, uuids.
# brief
import os
import random
import secrets
import uuid

random.seed(42)
assert random.randint(1, 100) == 82
assert random.SystemRandom().random() < 1
assert len(os.urandom(32)) == 32 == len(os.getrandom(32))
assert secrets.token_hex(16) != secrets.token_hex(16)
assert uuid.uuid4() != uuid.uuid4() and uuid.uuid1() and uuid.getnode()
assert uuid.uuid5(uuid.NAMESPACE_DNS, "example.org").version == 5
with open("/dev/urandom", "rb") as device:
    assert len(device.read(10)) == 10
print("ok")
