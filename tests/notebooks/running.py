"""A notebook is run from a clean kernel, in a process of its own, as Jupyter runs it: each cell with what it shows.

Behind each cell that shows `polyml.plot(...)` another one is run, which is not in the notebook: it prints what the picture has to show
(tests/notebooks/oracle.py), in the state in which the notebook drew it.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.notebooks.notebook import FOLDER, ROOT, python

_LONGEST = 120  # seconds of a cell
_HEAD = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.notebooks.oracle import tell; "


@dataclass(frozen=True)
class Shown:
    """What a code cell shows.

    source: its text.
    printed: what it printed.
    pictures: its SVG and HTML outputs.
    facts: what its first and last picture have to show, or its only one; None where it does not call `polyml.plot` last.
    """

    source: str
    printed: str
    pictures: tuple[str, ...]
    facts: list[dict] | None


def run(path: Path) -> list[Shown]:
    """What the code cells of a notebook show. Raises nbclient's CellExecutionError where one fails."""
    notebook = nbformat.read(path, 4)
    cells = []
    for cell in notebook.cells:
        asked = question(cell.source) if cell.cell_type == "code" else ""
        cells += [cell, nbformat.v4.new_code_cell(_HEAD + asked)] if asked else [cell]
    notebook.cells = cells
    NotebookClient(notebook, timeout=_LONGEST, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
    found = list[Shown]()
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.startswith(_HEAD):
            found[-1] = Shown(found[-1].source, found[-1].printed, found[-1].pictures, json.loads(printed(cell)))
        elif cell.cell_type == "code":
            found.append(Shown(cell.source, printed(cell), tuple(pictures(cell)), None))
    return found


def question(source: str) -> str:
    """The call that prints what a cell's picture has to show; "" where the cell's last expression is no `polyml.plot(...)`."""
    body = ast.parse(python(source)).body if not source.startswith("%") else []
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if not isinstance(last, ast.Call) or ast.unparse(last.func) != "polyml.plot":
        return ""
    return ast.unparse(ast.Call(ast.Name("tell"), last.args, last.keywords))


def printed(cell: nbformat.NotebookNode) -> str:
    return "".join(each.text for each in cell.outputs if each.output_type == "stream" and each.name == "stdout")


def pictures(cell: nbformat.NotebookNode):
    """Yields the texts of the cell's outputs that a browser draws."""
    for each in cell.outputs:
        for kind in ("image/svg+xml", "text/html"):
            if kind in each.get("data", {}):
                yield each.data[kind]
                break
