"""Holds a conversation with the server through a client that others wrote.

The argument is a plan in JSON (internal/conformance/clients_test.go); its client names the
module beside this one that opens the client. Every line of stdout is JSON: the client's
version first, then each step with how it went. A step that failed says why.
"""

import asyncio
import importlib
import json
import re
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from plan import PATIENCE

# An interpreter's id, as answers have it.
ID = re.compile(r"\b([0-9a-f]{32}|py\d+)\b")

# The code runs on: the answer asked for, or one that comes after that of a call given up.
RUNNING = re.compile(r'\[running\]|"status": ?"running"|execution \d+ is running')
BUSY = re.compile(r"interpreter \S+ is busy")


@dataclass
class Answer:
    """What the client hands on of an answer: to its model, where it has one."""

    text: str
    images: list = field(default_factory=list)  # the bytes of each


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Conversation:
    """One opened client and the interpreter that it works with."""

    def __init__(self, plan, client):
        self.plan = plan
        self.client = client
        self.id = None  # of the interpreter, once it has to be named
        self.keeps = True  # variables stay from call to call
        self.waited = False  # some answer was "running"

    def file(self, name):
        return Path(self.plan["dir"], name)

    async def call(self, tool, arguments, **options):
        if self.id:
            arguments["interpreter_id"] = self.id
        return Answer(*await self.client.call(tool, arguments, **options))

    async def run(self, code, **options):
        """Runs code, and waits for it as the answers say, as long as it is running."""
        answer = await self.call("run_python_code", {"code": code}, **options)
        while RUNNING.search(answer.text):
            self.waited = True
            answer = await self.call("manage_interpreters", {"operation": "wait"})
        return answer


async def listing(talk):
    tools = set(await talk.client.tools())
    check({"run_python_code", "manage_interpreters"} <= tools, tools)


async def state(talk):
    first = await talk.run("x = 41")
    answer = await talk.run("print('x is', x + 1)")
    if "x is 42" in answer.text:
        return "yes"
    if named := ID.search(first.text):
        talk.id = named[1]
        answer = await talk.run("print('x is', x + 1)")
        if "x is 42" in answer.text:
            return "by handle"
    check(talk.plan["leaves"], f"{first.text}\n{answer.text}")
    talk.id, talk.keeps = None, False
    return "no"


async def figure(talk):
    answer = await talk.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()")
    if not answer.images and "iVBORw0KGgo" in answer.text:  # how a PNG in base64 begins
        return "as text"
    check(len(answer.images) == 1, answer.text[:1000])
    check(answer.images[0][1:4] == b"PNG", answer.images[0][:20])


async def six_seconds(talk):
    talk.waited = False
    answer = await talk.run("import time\ntime.sleep(6)\nprint('slept', 'well')")
    check("slept well" in answer.text, answer.text)
    return "by wait" if talk.waited else "yes"


async def until(condition, what):
    end = monotonic() + PATIENCE
    while not condition():
        check(monotonic() < end, what)
        await asyncio.sleep(0.02)


def endless(started, ended):
    """Python that says in files that it has begun, with its process, and that it was stopped."""
    return f"""import os, time
with open({str(started)!r} + ".new", "w") as file: file.write(str(os.getpid()))
try:
    os.rename(file.name, {str(started)!r})
    while True: time.sleep(0.05)
finally:
    open({str(ended)!r}, "w").close()"""


def alive(process):
    """Whether there is such a process. On Linux, where the conversations are held."""
    return Path("/proc", process).exists()


async def cancellation(talk):
    started, ended = talk.file("started"), talk.file("ended")
    call = asyncio.create_task(talk.run(endless(started, ended)))
    await until(lambda: started.exists() or call.done(), "the code does not start")
    check(not call.done(), "the call has ended by itself")
    call.cancel()
    await asyncio.wait([call])
    # Some clients trip over closing what they were waiting on, and raise that.
    check(call.cancelled() or call.exception(), "the call was not cancelled")
    outcome = await still(talk) if talk.keeps else "yes"
    process = started.read_text()
    await until(lambda: ended.exists() or not alive(process), "the code was not stopped")
    return outcome


async def still(talk):
    """Calls again: its turn comes only when the cancelled call has ended."""
    for interrupts in (False, True):
        for _ in range(2):  # each shorter than any client waits
            answer = await talk.call("run_python_code", {"code": "print('still', x)", "wait": 3})
            if not BUSY.search(answer.text):
                check("still 41" in answer.text, answer.text)
                return "by interrupt" if interrupts else "yes"
        await talk.call("manage_interpreters", {"operation": "interrupt"})
    raise AssertionError(answer.text)


def waiting(file):
    """Python that says "ready" and waits until the file is there."""
    return f"""import os, time
print("ready", flush=True)
while not os.path.exists({str(file)!r}): time.sleep(0.05)
print("went on")"""


async def progress(talk):
    file, told = talk.file("progress"), []

    async def on_progress(value, total, message):
        told.append(message or "")
        if "ready" in told[-1]:
            file.touch()

    answer = await talk.run(waiting(file), progress=on_progress)
    check("went on" in answer.text, answer.text)
    check(any("ready" in message for message in told), told)


async def elicitation(talk):
    answer = await talk.run("name = input('Who are you? ')\nprint('Hello', name)")
    check("Hello Ada" in answer.text, answer.text)


async def leave(talk):
    """Has the next client find the interpreter as the plan says."""
    if talk.plan["comeback"] == "wait":
        code = waiting(talk.file("comeback"))
        answer = await talk.call("run_python_code", {"code": code, "wait": 0.1})
        talk.id = ID.search(answer.text)[1]
    return talk.id


async def comeback(talk):
    if talk.plan["comeback"] == "wait":
        talk.file("comeback").touch()
        answer = await talk.call("manage_interpreters", {"operation": "wait"})
        check("went on" in answer.text, answer.text)
    answer = await talk.run("print('again', x)")
    check("again 41" in answer.text, answer.text)


STEPS = {
    "list": listing,
    "state": state,
    "figure": figure,
    "six seconds": six_seconds,
    "cancellation": cancellation,
    "progress": progress,
    "elicitation": elicitation,
    "comeback": comeback,
}


async def take(name, talk):
    """Takes a step and says how it went. Returns whether it went well."""
    try:
        async with asyncio.timeout(PATIENCE):
            outcome = await STEPS[name](talk) or "yes"
    except Exception:
        say({"step": name, "failed": traceback.format_exc(limit=-4)})
        return False
    say({"step": name, "outcome": outcome})
    return True


def say(what):
    print(json.dumps(what), flush=True)


async def converse(plan):
    module = importlib.import_module(plan["client"])
    say({"version": module.VERSION})
    left, well = None, True
    first = [name for name in plan["steps"] if name != "comeback"]
    for steps in (first, ["comeback"]) if plan["comeback"] else (first,):
        async with module.connect(plan) as client:
            talk = Conversation(plan, client)
            talk.id = left
            for name in steps:
                well = await take(name, talk) and well
            if steps is first and plan["comeback"]:
                left = await leave(talk)
    say({"step": "goodbye", "outcome": "yes"})
    return well


sys.exit(0 if asyncio.run(converse(json.loads(sys.argv[1]))) else 1)
