"""FastMCP's client, https://gofastmcp.com."""

from contextlib import asynccontextmanager
from importlib.metadata import version

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from plan import modern, parts, stdio

VERSION = version("fastmcp")


def client_of(plan):
    if plan["transport"] == "stdio":
        transport = StdioTransport(**stdio(plan))
    else:
        kind = {"http": StreamableHttpTransport, "sse": SSETransport}[plan["transport"]]
        transport = kind(plan["url"])
    return Client(transport, mode="auto" if modern(plan) else "legacy")


class FastMcp:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, tool, arguments):
        return parts(await self.client.call_tool(tool, arguments, raise_on_error=False))


@asynccontextmanager
async def connect(plan):
    async with client_of(plan) as client:
        yield FastMcp(client)
