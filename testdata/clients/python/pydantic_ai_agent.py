"""An agent of pydantic-ai, https://ai.pydantic.dev, whose model follows the conversation."""

from contextlib import asynccontextmanager
from importlib.metadata import version

from fastmcp_client import client_of
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    BinaryContent,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

VERSION = version("pydantic-ai-slim")


def seen(messages):
    """What a model reads of the newest message: texts, and images as bytes."""
    texts, images = [], []
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            texts.append(part.model_response_str())
            images += [file.data for file in part.files]
        elif isinstance(part, RetryPromptPart):
            texts.append(part.model_response())
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            images += [c.data for c in part.content if isinstance(c, BinaryContent)]
    return "\n".join(texts), images


class PydanticAi:
    def __init__(self, toolset):
        self.toolset = toolset

    async def _answer(self, *calls):
        """Has the agent's model make the calls, and returns what it reads then."""
        read = {}

        def model(messages, info):
            if calls and len(messages) == 1:
                return ModelResponse(parts=[ToolCallPart(tool, args) for tool, args in calls])
            read["tools"] = [tool.name for tool in info.function_tools]
            read["seen"] = seen(messages)
            return ModelResponse(parts=[TextPart("done")])

        await Agent(FunctionModel(model), toolsets=[self.toolset]).run("go on")
        return read

    async def tools(self):
        return (await self._answer())["tools"]

    async def call(self, tool, arguments):
        return (await self._answer((tool, arguments)))["seen"]


@asynccontextmanager
async def connect(plan):
    async with MCPToolset(client_of(plan)) as toolset:
        yield PydanticAi(toolset)
