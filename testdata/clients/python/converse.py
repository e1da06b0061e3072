"""Holds a conversation with the server through the official SDK.

The argument is a plan in JSON (internal/conformance/clients_test.go); each step
that went well is a line on stdout.
"""

import base64
import json
import os
import re
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

# Seconds that any single answer may take on a slow machine.
PATIENCE = 120


def said(step):
    print("ok", step, flush=True)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


async def accept(context, params):
    """Answers a form with "Ada" in every field."""
    fields = params.requested_schema.get("properties", {})
    return types.ElicitResult(action="accept", content=dict.fromkeys(fields, "Ada"))


class Agent:
    """One connected client and the interpreter that it works with."""

    def __init__(self, plan):
        self.plan = plan
        self.id = None
        self._stack = AsyncExitStack()

    async def open(self):
        plan = self.plan
        self.client = await self._stack.enter_async_context(
            Client(
                await self._transport(),
                mode="2026-07-28" if plan["era"] == "modern" else "legacy",
                read_timeout_seconds=PATIENCE,
                elicitation_callback=accept if plan["elicit"] else None,
            )
        )
        return self

    async def _transport(self):
        plan = self.plan
        headers = {"Authorization": "Bearer " + plan["token"]} if plan["token"] else {}
        if plan["transport"] == "stdio":
            command, *args = plan["command"]
            return stdio_client(
                StdioServerParameters(command=command, args=args, env=os.environ | plan["env"])
            )
        if plan["transport"] == "http":
            http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE)
            return streamable_http_client(
                plan["url"], http_client=await self._stack.enter_async_context(http)
            )
        return sse_client(plan["url"], headers=headers, timeout=PATIENCE)

    async def close(self):
        await self._stack.aclose()

    async def again(self):
        """Comes back with a new client that knows the same interpreter."""
        await self.close()
        other = Agent(self.plan)
        other.id = self.id
        return await other.open()

    async def call(self, tool, arguments, progress=None):
        """Calls a tool; an error of the tool's is raised. Returns text and images."""
        result = await self.client.call_tool(tool, arguments, progress_callback=progress)
        text = "\n".join(c.text for c in result.content if c.type == "text")
        if result.is_error:
            raise AssertionError(f"{tool}: {text}")
        return text, [c for c in result.content if c.type == "image"]

    async def run(self, code, progress=None, **arguments):
        if self.id:
            arguments["interpreter_id"] = self.id
        return await self.call("run_python_code", {"code": code} | arguments, progress)


def handle(text):
    return re.search(r"interpreter ([0-9a-f]{32})", text)[1]


def waiting(file):
    """Python that says "ready" and waits until the file is there."""
    return f"""import os, time
print("ready", flush=True)
while not os.path.exists({str(file)!r}): time.sleep(0.05)
print("went on")"""


async def state(agent):
    tools = {tool.name for tool in (await agent.client.list_tools()).tools}
    check({"run_python_code", "manage_interpreters"} <= tools, tools)
    text, _ = await agent.run("x = 6 * 7")
    if agent.plan["anonymous"]:
        agent.id = handle(text)
    text, _ = await agent.run("print('x is', x)")
    check("x is 42" in text, text)
    said("state")


async def figure(agent):
    text, images = await agent.run(
        "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()"
    )
    check(len(images) == 1, text)
    check(images[0].mime_type == "image/png", images[0].mime_type)
    check(base64.b64decode(images[0].data)[1:4] == b"PNG", "no PNG")
    said("figure")


async def progress(agent):
    file = Path(agent.plan["dir"], "progress")
    told = []

    async def on_progress(value, total, message):
        told.append(message or "")
        if "ready" in told[-1]:
            file.touch()

    text, _ = await agent.run(waiting(file), on_progress)
    check("went on" in text, text)
    check(any("ready" in message for message in told), told)
    said("progress")


async def cancellation(agent):
    with anyio.CancelScope() as scope:

        async def on_progress(value, total, message):
            if "ready" in (message or ""):
                scope.cancel()

        await agent.run(waiting(Path(agent.plan["dir"], "never")), on_progress)
    check(scope.cancelled_caught, "the call ended before it was cancelled")
    text, _ = await agent.run("print('still', x)")
    check("still 42" in text, text)
    said("cancellation")


async def elicitation(agent):
    text, _ = await agent.run("name = input('Who are you? ')\nprint('Hello', name)")
    check("Hello Ada" in text, text)
    said("elicitation")


async def come_back(agent):
    """Comes back with a new client. How its session is found is the plan's."""
    how = agent.plan["comeback"]
    file = Path(agent.plan["dir"], "comeback")
    if how == "handle" and not agent.id:
        text, _ = await agent.run("pass")
        agent.id = handle(text)
    if how == "wait":
        text, _ = await agent.run(waiting(file), wait=0.01)
        agent.id = handle(text)
    other = await agent.again()
    if how == "wait":
        file.touch()
        text, _ = await other.call(
            "manage_interpreters", {"operation": "wait", "interpreter_id": other.id}
        )
        check("went on" in text, text)
    text, _ = await other.run("print('again', x)")
    check("again 42" in text, text)
    said("comeback")
    return other


async def converse(plan):
    agent = await Agent(plan).open()
    await state(agent)
    await figure(agent)
    await progress(agent)
    await cancellation(agent)
    if plan["elicit"]:
        await elicitation(agent)
    if plan["comeback"]:
        agent = await come_back(agent)
    await agent.close()
    said("goodbye")


anyio.run(converse, json.loads(sys.argv[1]))
