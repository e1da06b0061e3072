"""Drive ipykernel through jupyter_client, and measure what a client sees.

Orders come as lines of JSON on standard input, findings leave as lines of JSON
on what was standard output: kernels inherit descriptor 1 and may write to it.
Times are seconds. One kernel lives at a time.
"""

import json
import os
import signal
import sys
import time


def separate_jupyter(directory):
    """Keep Jupyter's files and settings apart from the user's."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        os.environ[name] = os.path.join(directory, name.lower())
        os.makedirs(os.environ[name], exist_ok=True)


class Kernel:
    """A kernel and the client that talks to it."""

    def __init__(self, transport, directory):
        from jupyter_client.manager import KernelManager, start_new_kernel

        if transport == "tcp":  # the default, and the usual way to start a kernel
            self.manager, self.client = start_new_kernel(startup_timeout=60)
            return
        self.manager = KernelManager(transport="ipc", ip=os.path.join(directory, "s"))
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code):
        """Execute code as a caller must who wants its output.

        Return how much it gave, in bytes, and the beginning of it.

        That is: send it, take the reply from the shell channel, read the
        output channel until the kernel is idle again. Without history this is
        the fastest form that misses nothing; execute_interactive, which does
        the same with polling between, takes longer.
        """
        ident = self.client.execute(code, store_history=False)
        self.check_reply(ident)
        received, text = 0, ""
        while True:
            message = self.client.get_iopub_msg(timeout=300)
            if message["parent_header"].get("msg_id") != ident:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                piece = content["text"]
            elif kind == "execute_result":
                piece = content["data"]["text/plain"]
            elif kind == "status" and content["execution_state"] == "idle":
                return received, text
            else:
                continue
            received += len(piece)
            if len(text) < 1000:
                text += piece[:1000]

    def check_reply(self, ident):
        """Wait for the reply; those to the questions of the start may still come before it."""
        while True:
            reply = self.client.get_shell_msg(timeout=300)
            if reply["parent_header"].get("msg_id") == ident:
                break
        if reply["content"]["status"] != "ok":
            raise RuntimeError(f"the code failed: {reply['content']}")

    def crash(self):
        """Have the kernel kill itself, and wait until its process is gone."""
        process = self.manager.provisioner.process
        self.client.execute("import os; os.kill(os.getpid(), 9)", store_history=False)
        process.wait(timeout=60)

    def restart(self):
        """Start the kernel again, as its manager does when it finds it dead."""
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def pid(self):
        return self.manager.provisioner.pid

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Driver:
    """Carries out the orders."""

    def __init__(self, directory):
        self.directory = directory
        self.kernel = None

    def start(self, order):
        """Start a kernel and wait for its first answer."""
        began = time.perf_counter()
        self.kernel = Kernel(order["transport"], self.directory)
        _, text = self.kernel.run(order.get("code") or "1+1")
        return {"seconds": [time.perf_counter() - began], "pid": self.kernel.pid(), "text": text}

    def run(self, order):
        """Run code some times, with pauses between; every time is measured."""
        seconds, received, text = [], 0, ""
        for _ in range(order["count"]):
            time.sleep(order.get("pause", 0))
            began = time.perf_counter()
            printed, text = self.kernel.run(order["code"])
            seconds.append(time.perf_counter() - began)
            received += printed
        return {"seconds": seconds, "bytes": received, "text": text}

    def crash(self, order):
        """Kill the kernel from within, restart it and wait for an answer."""
        began = time.perf_counter()
        self.kernel.crash()
        self.kernel.restart()
        _, text = self.kernel.run(order["code"])
        return {"seconds": [time.perf_counter() - began], "text": text}

    def stop(self, order=None):
        if self.kernel is not None:
            self.kernel.stop()
            self.kernel = None
        return {}


def serve(orders, findings, driver):
    for line in orders:
        order = json.loads(line)
        try:
            finding = getattr(driver, order["do"])(order)
        except Exception as error:
            finding = {"error": f"{type(error).__name__}: {error}"}
        findings.write(json.dumps(finding) + "\n")
        findings.flush()


def main():
    # Ctrl-C reaches the whole process group; the bench ends us by closing our input.
    signal.signal(signal.SIGINT, lambda *_: None)
    findings = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    separate_jupyter(sys.argv[1])
    import jupyter_client.manager  # noqa: F401 - its import is no part of a kernel's start

    driver = Driver(sys.argv[1])
    try:
        serve(sys.stdin, findings, driver)
    finally:
        driver.stop()


if __name__ == "__main__":
    main()
