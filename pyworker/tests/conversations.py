"""Reads the recorded conversations in testdata, which the Go half replays too."""

import json
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "testdata")


class Frame:
    """One file of an archive; what testdata/hello.txtar says of its form."""

    def __init__(self, name, body):
        self.name = name
        self.number, self.sender, self.kind = name.split("-", 2)
        lines = [line for line in body.splitlines() if line and not line.startswith("#")]
        self.header, self.volatile, self.attachments, self.data = None, [], [], b""
        if self.sender == "bytes":
            self.data = bytes.fromhex("".join(lines))
            return
        self.header = json.loads(lines[0])
        for line in lines[1:]:
            field, _, value = line.partition(":")
            if field == "volatile":
                self.volatile += value.split()
            elif field == "attachment":
                self.attachments.append(bytes.fromhex(value))
            else:
                raise ValueError(f"{name}: a line that means nothing: {line}")


def archives():
    """Returns the names of the archives."""
    return sorted(n[:-6] for n in os.listdir(FOLDER) if n.endswith(".txtar"))


def read(name):
    """Returns the frames of an archive."""
    with open(os.path.join(FOLDER, name + ".txtar"), encoding="utf-8") as file:
        parts = re.split(r"^-- (.+) --\n", file.read(), flags=re.MULTILINE)
    return [Frame(*pair) for pair in zip(parts[1::2], parts[2::2])]


def settle(header, volatile):
    """Returns a copy of a header without the values that differ from run to run."""
    copy = json.loads(json.dumps(header))
    for path in volatile:
        *way, last = path.split(".")
        place = copy
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[last] = type(place[last]).__name__  # there, and of the same type
    return copy


def at_home(header, workdir):
    """Returns a copy of a header with the real working directory in its strings."""
    text = json.dumps(header).replace("$WORK", json.dumps(workdir)[1:-1])
    return json.loads(text)
