"""LangChain's tools of an MCP server, https://pypi.org/project/langchain-mcp-adapters.

get_tools() opens an MCP session for each call, on stdio with a server of its own; with the
variant "session" all calls are in one, and the tools are converted for Gemini, too.
"""

from base64 import b64decode
from contextlib import asynccontextmanager
from importlib.metadata import version

import gemini
from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from plan import stdio

VERSION = version("langchain-mcp-adapters")


def connection(plan):
    if plan["transport"] == "stdio":
        return {"transport": "stdio", **stdio(plan)}
    kind = {"http": "streamable_http", "sse": "sse"}[plan["transport"]]
    return {"transport": kind, "url": plan["url"]}


class LangChain:
    def __init__(self, tools):
        self.by_name = {tool.name: tool for tool in tools}

    async def tools(self):
        return list(self.by_name)

    async def call(self, tool, arguments):
        wanted = {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
        content = (await self.by_name[tool].ainvoke(wanted)).content
        if isinstance(content, str):
            return content, []
        texts = [part["text"] for part in content if part["type"] == "text"]
        images = [b64decode(part["base64"]) for part in content if part["type"] == "image"]
        return "\n".join(texts), images


@asynccontextmanager
async def connect(plan):
    client = MultiServerMCPClient({"understudy": connection(plan)})
    if plan["variant"] == "session":
        async with client.session("understudy") as session:
            tools = await load_mcp_tools(session)
            converted = convert_to_genai_function_declarations(tools)
            told = [
                one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in converted
            ]
            gemini.accept(one for tool in told for one in tool["functionDeclarations"])
            yield LangChain(tools)
    else:
        yield LangChain(await client.get_tools())
