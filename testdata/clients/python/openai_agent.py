"""An agent of OpenAI's Agents SDK, whose model follows the conversation.

With the variant "strict" the tools are converted for OpenAI's strict mode, where a model
must fill in every argument, and does so with zeros. https://pypi.org/project/openai-agents
"""

import itertools
import json
from base64 import b64decode
from contextlib import asynccontextmanager
from importlib.metadata import version

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from plan import stdio

VERSION = version("openai-agents")
ZEROS = {"string": "", "number": 0, "integer": 0, "boolean": False, "array": [], "object": {}}

set_tracing_disabled(True)


def zero(schema):
    kind = schema.get("type")
    return None if isinstance(kind, list) and "null" in kind else ZEROS[kind]


class Scripted(Model):
    """Makes one call and remembers what it was offered and what it read."""

    numbers = itertools.count()

    def __init__(self, call=None):
        self.wanted, self.offered, self.read = call, [], None

    async def get_response(self, system_instructions, input, model_settings, tools, *rest, **more):
        self.offered = tools
        newest = input[-1] if isinstance(input, list) else {}
        if newest.get("type") == "function_call_output":
            self.read = newest["output"]
        if self.wanted and self.read is None:
            output = self._call(*self.wanted)
        else:
            output = ResponseOutputMessage(
                id="m", role="assistant", status="completed", type="message",
                content=[ResponseOutputText(text="done", type="output_text", annotations=[])],
            )  # fmt: skip
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def _call(self, name, arguments):
        tool = next(tool for tool in self.offered if tool.name == name)
        if tool.strict_json_schema:
            schemas = tool.params_json_schema["properties"]
            arguments = {key: zero(schema) for key, schema in schemas.items()} | arguments
        return ResponseFunctionToolCall(
            name=name, arguments=json.dumps(arguments), call_id=f"call{next(self.numbers)}",
            type="function_call",
        )  # fmt: skip

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def seen(output):
    """What a model reads of a tool's output: texts, and images as bytes."""
    if isinstance(output, str):
        return output, []
    texts = [part["text"] for part in output if part["type"] == "input_text"]
    urls = [part["image_url"] for part in output if part["type"] == "input_image"]
    return "\n".join(texts), [b64decode(url.partition(",")[2]) for url in urls]


class Agents:
    def __init__(self, server, strict):
        self.server, self.strict = server, strict

    async def _ask(self, model):
        config = {"convert_schemas_to_strict": self.strict}
        agent = Agent("agent", model=model, mcp_servers=[self.server], mcp_config=config)
        await Runner.run(agent, "go on")
        return model

    async def tools(self):
        offered = (await self._ask(Scripted())).offered
        lax = [tool.name for tool in offered if self.strict and not tool.strict_json_schema]
        if lax:
            raise AssertionError(f"these can't be called in strict mode: {lax}")
        return [tool.name for tool in offered]

    async def call(self, tool, arguments):
        return seen((await self._ask(Scripted((tool, arguments)))).read)


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        server = MCPServerStdio(stdio(plan))
    else:
        kind = {"http": MCPServerStreamableHttp, "sse": MCPServerSse}[plan["transport"]]
        server = kind({"url": plan["url"]})
    async with server:
        yield Agents(server, plan["variant"] == "strict")
