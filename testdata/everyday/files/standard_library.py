# What else the standard library offers.
import configparser
import csv
import decimal
import email.message
import json
import mailbox
import readline
import sched
import statistics
import time
import xml.etree.ElementTree as tree

with open("rows.csv", "w", newline="") as out:
    csv.writer(out).writerows([["a", "b"], [1, 2]])
assert next(csv.DictReader(open("rows.csv"))) == {"a": "1", "b": "2"}
settings = configparser.ConfigParser()
settings["one"] = {"a": "b"}
with open("settings.ini", "w") as out:
    settings.write(out)
assert json.loads(json.dumps({"a": [1, None]})) == {"a": [1, None]}
assert tree.fromstring("<a><b>text</b></a>").find("b").text == "text"
assert decimal.Decimal("0.1") * 3 == decimal.Decimal("0.3")
assert statistics.median([1, 5, 3]) == 3
message = email.message.EmailMessage()
message.set_content("text")
box = mailbox.mbox("mail")
box.lock()
box.add(message)
box.unlock()
box.close()
plan = sched.scheduler()
done = []
plan.enter(0.01, 1, lambda: done.append(time.monotonic()))
plan.run()
assert done and readline.get_history_length() is not None
assert time.get_clock_info("monotonic").resolution and time.clock_gettime(time.CLOCK_REALTIME) > 1e9
print("ok")
