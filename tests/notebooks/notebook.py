"""Notebooks as values: their cells, and the form in which they are kept, without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def paths() -> list[Path]:
    """The notebooks of the project, in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def stripped(notebook: dict) -> dict:
    """The notebook without outputs, numbers of runs and what editors add; cells are named by their places."""
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        kept = {"cell_type": cell["cell_type"], "id": f"cell-{number}", "metadata": {}}
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append({**kept, "source": text.rstrip("\n").splitlines(keepends=True)})
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def text(notebook: dict) -> str:
    """The text of the notebook's file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def sources(notebook: dict, kind: str) -> list[str]:
    """The texts of the cells of a kind, "code" or "markdown"."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def python(source: str) -> str:
    """The Python text of a code cell: the body of a cell under a magic, nothing of a line magic, and cells without one as they are."""
    if source.startswith("%%"):
        return source.partition("\n")[2]
    return "" if source.startswith("%") else source


def imported(source: str) -> set[str]:
    """The modules from which a code cell imports, with their names where they may be modules: `from polyml import kernels` is polyml.kernels."""
    found = set()
    for node in ast.walk(ast.parse(python(source))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or ""))
    return found
