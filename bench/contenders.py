"""Who is measured: understudy over stdio and HTTP, ipykernel, jupyter-mcp-server.

Each is driven by the least client that misses no output. Times are seconds, sizes bytes.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request

LIBRARIES = "import numpy as np, pandas as pd, matplotlib.pyplot as plt"
PROTOCOL = "2025-11-25"
# The Jupyter server's clients share so many kernels, started ahead.
KERNELS = 8
TOKEN = "bench"


class MCP:
    """The half of a client that is the same on every transport."""

    last_id = 0

    def message(self, method, params):
        self.last_id += 1
        return {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}

    def greet(self):
        client = {"name": "understudy-bench", "version": "1"}
        self.ask(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        )
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def run(self, code, interpreter=None):
        """Run code, which has to succeed, and return what it printed."""
        there = {"interpreter_id": interpreter} if interpreter else {}
        answer = self.call("run_python_code", code=code, **there)["structuredContent"]
        if not answer["success"]:
            raise RuntimeError(f"{code!r} failed: {answer}")
        return answer["stdout"]

    def manage(self, operation, **arguments):
        answer = self.call("manage_interpreters", operation=operation, **arguments)[
            "structuredContent"
        ]
        if not answer["success"]:
            raise RuntimeError(f"{operation} failed: {answer}")
        return answer


class Understudy(MCP):
    """A server that speaks lines of JSON-RPC over its pipes."""

    def __init__(self, settings, *more):
        self.process = subprocess.Popen(
            settings.command(*more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.greet()

    def tell(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        message = self.message(method, params)
        self.tell(message)
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer["result"]
        raise RuntimeError("the server has ended")

    def create(self):
        return self.manage("create")["interpreter_id"]

    def delete(self, interpreter):
        self.manage("delete", interpreter_id=interpreter)

    def settle(self):
        """Wait until each session's present state has been copied."""
        wait_until(lambda: all(one["recoverable"] for one in self.manage("list")["interpreters"]))

    def rest(self):
        """Wait until no session keeps a copy of its present state, as none is used."""
        self.settle()
        time.sleep(30)
        wait_until(
            lambda: all(
                one.get("uncopied_while_idle") for one in self.manage("list")["interpreters"]
            )
        )

    def warm_up(self):
        """Wait until new sessions have the usual libraries."""

        def warm():
            interpreter = self.create()
            found = self.run("print('matplotlib.pyplot' in __import__('sys').modules)", interpreter)
            self.delete(interpreter)
            return found == "True\n"

        wait_until(warm)
        return self

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Kernel:
    """ipykernel with the client of jupyter_client, over IPC sockets: its fastest form."""

    def __init__(self, directory):
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager(transport="ipc", ip=os.path.join(directory, "s"))
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code):
        """Run code and return what it printed, or its value's text.

        That is: send it, read the output channel until the kernel is idle again, take the
        reply. Without history this is the fastest form that misses nothing.
        """
        ident = self.client.execute(code, store_history=False)
        pieces = []
        while True:
            message = self.client.get_iopub_msg(timeout=300)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != ident:
                continue
            if kind == "stream":
                pieces.append(content["text"])
            elif kind == "execute_result":
                pieces.append(content["data"]["text/plain"] + "\n")
            elif kind == "error":
                raise RuntimeError(f"{code!r} failed: {content}")
            elif kind == "status" and content["execution_state"] == "idle":
                break
        while self.client.get_shell_msg(timeout=300)["parent_header"].get("msg_id") != ident:
            pass
        return "".join(pieces)

    def crash(self):
        """Have the kernel kill itself, and start it again, as its manager does."""
        process = self.manager.provisioner.process
        self.client.execute("import os; os.kill(os.getpid(), 9)", store_history=False)
        process.wait(timeout=60)
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Remote(MCP):
    """A client of streamable HTTP, with a connection and an MCP session of its own."""

    def __init__(self, port, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if token:
            self.headers["Authorization"] = f"token {token}"
        self.greet()

    def tell(self, message):
        self.connection.request("POST", "/mcp", json.dumps(message), self.headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{response.status}: {text[:2000]}")
        if session := response.headers.get("Mcp-Session-Id"):
            self.headers.update({"Mcp-Session-Id": session, "Mcp-Protocol-Version": PROTOCOL})
        return response, text

    def ask(self, method, params):
        message = self.message(method, params)
        response, text = self.tell(message)
        lines = [text]
        if response.headers["Content-Type"].startswith("text/event-stream"):
            lines = [
                line[5:]
                for line in text.splitlines()
                if line.startswith(b"data:") and line[5:].strip()
            ]
        for line in lines:
            answer = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer["result"]
        raise RuntimeError(f"{method} was answered {text[:2000]}")


@contextlib.contextmanager
def understudy_over_http(settings):
    """Yield the port of a server that takes as many calls as come."""
    port = free_port()
    command = settings.command(
        "--transport", "http", "--addr", f"127.0.0.1:{port}", "--max-sessions", "200",
        "--max-requests-per-second", "0", "--max-calls-per-client", "0",
    )  # fmt: skip
    with daemon(command, port, settings.directory):
        yield port


@contextlib.contextmanager
def jupyter_over_http(settings, python):
    """Yield the port of a Jupyter server with jupyter-mcp-server in it, and its kernels."""
    port = free_port()
    command = [
        python, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.log_level=ERROR",
        f"--ServerApp.root_dir={settings.directory}", f"--IdentityProvider.token={TOKEN}",
    ]  # fmt: skip
    with daemon(command, port, settings.directory):
        kernels = []
        for _ in range(KERNELS):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/kernels",
                b'{"name": "python3"}',
                {"Authorization": f"token {TOKEN}"},
            )
            with urllib.request.urlopen(request) as answer:
                kernels.append(json.load(answer)["id"])
        yield port, kernels


@contextlib.contextmanager
def daemon(command, port, directory):
    """Keep a server that listens on a port of this machine."""
    own = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **dict.fromkeys(own, directory)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def listens():
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} has ended with status {process.returncode}")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True

    try:
        wait_until(listens)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(done, longest=90):
    end = time.monotonic() + longest
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"it did not come about within {longest} s")
        time.sleep(0.02)
