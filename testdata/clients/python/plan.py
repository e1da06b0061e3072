"""What the clients' modules share: how to reach the server that a plan names."""

import os
from base64 import b64decode

# Seconds that any single answer may take on a slow machine.
PATIENCE = 120


def modern(plan):
    return plan["era"] == "modern"


def headers(plan):
    return {"Authorization": "Bearer " + plan["token"]} if plan["token"] else {}


def stdio(plan):
    """The server's command, its arguments and its environment."""
    command, *args = plan["command"]
    return {"command": command, "args": args, "env": os.environ | plan["env"]}


def parts(result):
    """The texts and the images of an answer of MCP's, in either line of the SDK."""
    text = "\n".join(part.text for part in result.content if part.type == "text")
    return text, [b64decode(part.data) for part in result.content if part.type == "image"]
