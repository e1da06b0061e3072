"""The simplest thing a user would write: exec in the server's own process.

All clients share one namespace, and code that crashes or hangs takes the server
with it. The tool is a coroutine so that calls don't run at the same time, which
would mix up what they print.
"""

import contextlib
import io
import sys

from fastmcp import FastMCP

server = FastMCP("exec")
namespace = {}


@server.tool
async def run_python_code(code: str) -> str:
    """Run Python code and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return printed.getvalue()


server.run(
    transport=sys.argv[1],
    host="127.0.0.1",
    port=int(sys.argv[2]),
    show_banner=False,
    log_level="error",
)
