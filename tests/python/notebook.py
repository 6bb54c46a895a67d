"""Runs a notebook without a browser; an error in a cell is an error here. usage: notebook.py IN.ipynb OUT.ipynb"""

import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
print({kind: kinds.count(kind) for kind in sorted(set(kinds))})
