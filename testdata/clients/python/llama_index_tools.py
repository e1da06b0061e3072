"""LlamaIndex's tools of an MCP server, https://pypi.org/project/llama-index-tools-mcp.

Its client opens an MCP session for each call, on stdio with a server of its own.
"""

from contextlib import asynccontextmanager
from importlib.metadata import version

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from plan import stdio

VERSION = version("llama-index-tools-mcp")


class LlamaIndex:
    def __init__(self, tools):
        self.by_name = {tool.metadata.name: tool for tool in tools}

    async def tools(self):
        return list(self.by_name)

    async def call(self, tool, arguments):
        output = await self.by_name[tool].acall(**arguments)
        return output.content, [block.image for block in output.blocks if hasattr(block, "image")]


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        way = stdio(plan)
        client = BasicMCPClient(way["command"], args=way["args"], env=way["env"])
    else:
        client = BasicMCPClient(plan["url"])
    yield LlamaIndex(await McpToolSpec(client).to_tool_list_async())
