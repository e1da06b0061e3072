"""AutoGen's workbench for an MCP server, https://pypi.org/project/autogen-ext."""

from base64 import b64decode
from contextlib import asynccontextmanager
from importlib.metadata import version

from autogen_ext.tools.mcp import (
    McpWorkbench,
    SseServerParams,
    StdioServerParams,
    StreamableHttpServerParams,
)
from plan import stdio

VERSION = version("autogen-ext")


class AutoGen:
    def __init__(self, workbench):
        self.workbench = workbench

    async def tools(self):
        return [tool["name"] for tool in await self.workbench.list_tools()]

    async def call(self, tool, arguments):
        result = (await self.workbench.call_tool(tool, arguments)).result
        images = [part.content for part in result if part.type == "ImageResultContent"]
        texts = [part.content for part in result if part.type == "TextResultContent"]
        return "\n".join(texts), [b64decode(image.to_base64()) for image in images]


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        way = StdioServerParams(**stdio(plan))
    else:
        kind = {"http": StreamableHttpServerParams, "sse": SseServerParams}[plan["transport"]]
        way = kind(url=plan["url"])
    async with McpWorkbench(way) as workbench:
        yield AutoGen(workbench)
