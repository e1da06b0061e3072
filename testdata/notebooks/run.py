"""Checks a notebook against its format and runs it from top to bottom.

run.py NOTEBOOK DIRECTORY: prints the notebook as it is afterwards.
"""

import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
nbformat.validate(notebook)
NotebookClient(
    notebook, timeout=600, startup_timeout=300, resources={"metadata": {"path": sys.argv[2]}}
).execute()
nbformat.write(notebook, sys.stdout)
