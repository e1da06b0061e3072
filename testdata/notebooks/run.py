"""Checks a notebook against its format and runs it from top to bottom.

run.py NOTEBOOK DIRECTORY: prints the notebook as it is afterwards.
"""

import os
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

notebook = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
nbformat.validate(notebook)
with tempfile.TemporaryDirectory() as sockets:
    # Ports are chosen before the kernel listens on them, and may be another's by then.
    config = Config()
    config.KernelManager.transport = "ipc"
    config.KernelManager.ip = os.path.join(sockets, "kernel")
    # What a cell prints may come long after it has ended; by default it is then left out.
    NotebookClient(
        notebook,
        timeout=600,
        startup_timeout=300,
        iopub_timeout=600,
        resources={"metadata": {"path": sys.argv[2]}},
        config=config,
    ).execute()
nbformat.write(notebook, sys.stdout)
