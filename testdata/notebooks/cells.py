"""Runs cells in Jupyter's kernel and says what a reader of each case's last one sees.

cells.py DIRECTORY < CASES: a JSON list of cases, each a list of cells that are run one
after the other in a kernel that knows nothing of the case before. Prints a JSON list of
{"text", "images", "failed"}. What a pager would show, and what would be put into the next
cell, is text.
"""

import json
import os
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

_TEXTS = ("text/plain", "text/markdown", "text/latex", "text/html", "application/json")
_FRESH = "get_ipython().reset(new_session=True)\nget_ipython().run_line_magic('xmode', 'Context')"


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\r(?=\n)")


def seen(cell, payload):
    """Returns what the outputs of a cell show."""
    text, images, failed = [], 0, False
    for piece in payload:
        text += [*piece.get("data", {}).values(), piece.get("text", "")]
    for output in cell.outputs:
        if output.output_type == "stream":
            text.append(output.text)
        elif output.output_type == "error":
            failed = True
            text.append("\n".join([*output.traceback, f"{output.ename}: {output.evalue}"]))
        else:
            images += any(kind in output.data for kind in ("image/png", "image/jpeg"))
            text += [f"{output.data[kind]}\n" for kind in _TEXTS if kind in output.data]
    return {"text": _ESCAPES.sub("", "".join(text)), "images": images, "failed": failed}


def run(client, cells):
    """Runs the cells of a case and returns what the last one shows."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    client.nb = notebook
    client.reset_execution_trackers()
    payload = []
    client.on_cell_executed = lambda execute_reply, **_: payload.append(execute_reply["content"])
    for number, cell in enumerate(notebook.cells):
        try:
            client.execute_cell(cell, number)
        except CellExecutionError:
            pass  # its outputs say so
    return seen(notebook.cells[-1], payload[-1].get("payload", []) if payload else [])


def main():
    """Runs all cases."""
    cases = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what children of the kernel print goes there
    with tempfile.TemporaryDirectory() as sockets:
        config = Config()
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = os.path.join(sockets, "kernel")
        client = NotebookClient(
            nbformat.v4.new_notebook(),
            timeout=600,
            startup_timeout=300,
            iopub_timeout=600,
            allow_errors=True,
            resources={"metadata": {"path": sys.argv[1]}},
            config=config,
        )
        found = []
        with client.setup_kernel():
            for cells in cases:
                run(client, [_FRESH])
                found.append(run(client, cells))
    json.dump(found, answer)
    answer.close()


main()
