"""Google's SDK for Gemini, https://pypi.org/project/google-genai, given an MCP session.

In the place of the service is a function that accepts the tools that Gemini accepts, makes
the calls of the conversation, and keeps what it is told of them.
"""

import json
from contextlib import asynccontextmanager
from importlib.metadata import version

import gemini
import httpx
import python_sdk
from google import genai

VERSION = version("google-genai")


class Gemini:
    def __init__(self, session):
        self.session = session

    async def _ask(self, call=None):
        """Has the service make a call. Returns its tools and what it was told of the call."""
        asked = []

        def service(request):
            asked.append(json.loads(request.content))
            part = {"text": "done"}
            if call and len(asked) == 1:
                part = {"functionCall": {"name": call[0], "args": call[1]}}
            content = {"role": "model", "parts": [part]}
            return httpx.Response(200, json={"candidates": [{"content": content}]})

        options = {"async_client_args": {"transport": httpx.MockTransport(service)}}
        async with genai.Client(api_key="none", http_options=options).aio as client:
            await client.models.generate_content(
                model="gemini", contents="go on", config={"tools": [self.session]}
            )
        return asked[0]["tools"], asked[-1]["contents"][-1]

    async def tools(self):
        tools, _ = await self._ask()
        declared = [one for tool in tools for one in tool["functionDeclarations"]]
        gemini.accept(declared)
        return [one["name"] for one in declared]

    async def call(self, tool, arguments):
        _, told = await self._ask((tool, arguments))
        answer = told["parts"][0]["functionResponse"]["response"]
        return json.dumps(answer), []


@asynccontextmanager
async def connect(plan):
    async with python_sdk.connect(plan) as sdk:
        yield Gemini(sdk.client.session)
