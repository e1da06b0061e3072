"""The official Python SDK, https://pypi.org/project/mcp."""

from contextlib import asynccontextmanager
from importlib.metadata import version

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from plan import PATIENCE, headers, modern, parts, stdio

VERSION = version("mcp")


async def accept(context, params):
    """Answers a form with "Ada" in every field."""
    fields = params.requested_schema.get("properties", {})
    return types.ElicitResult(action="accept", content=dict.fromkeys(fields, "Ada"))


def transport(plan, http):
    if plan["transport"] == "stdio":
        return stdio_client(StdioServerParameters(**stdio(plan)))
    if plan["transport"] == "http":
        return streamable_http_client(plan["url"], http_client=http)
    return sse_client(plan["url"], headers=headers(plan), timeout=PATIENCE)


class Sdk:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, tool, arguments, progress=None):
        return parts(await self.client.call_tool(tool, arguments, progress_callback=progress))


@asynccontextmanager
async def connect(plan):
    async with (
        httpx2.AsyncClient(headers=headers(plan), timeout=PATIENCE) as http,
        Client(
            transport(plan, http),
            mode="2026-07-28" if modern(plan) else "legacy",
            read_timeout_seconds=PATIENCE,
            elicitation_callback=accept if "elicitation" in plan["steps"] else None,
        ) as client,
    ):
        yield Sdk(client)
