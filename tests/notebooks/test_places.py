"""What a notebook shows of places in the source names the cell, and never the temporary file in which Jupyter keeps it."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

DEFINED = """\
import numpy as np, polyml, warnings
from IPython.display import SVG, HTML
warnings.simplefilter("ignore")
@polyml.kernel(cache=False)
def sums(A, B):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]
    for j in range(A.shape[0]):
        B[j] = A[j]
@polyml.kernel(cache=False)
def halved(n):
    global m

    return n // 2
@polyml.kernel(cache=False)
def partly(A, d):
    for i in range(A.shape[0]):
        A[i] = 2.0
    d["a"] = len(d)
    for i in range(A.shape[0]):
        A[i] *= 3.0
sums(np.ones(9), np.ones(9)); halved(9); partly(np.ones(9), {})"""
CELL, SHORT = r"Cell In\[1\]", r"Cell In\[1\]:\d+"
SHOWN = {  # cell: what stands at least once in what it shows
    "sums": SHORT, "halved": SHORT, "partly": SHORT, "print(sums.status())": SHORT, "print(sums.explain())": SHORT, "sums.explain()": SHORT,
    "print(halved.explain())": SHORT, "print(partly.explain())": SHORT, "partly.explain()": SHORT, 'sums.why("i", "parallel")': SHORT,
    'print(sums.why("i", "parallel"))': SHORT, "sums.signatures": "first call", "sums.inspect_deps()": CELL, "print(sums.inspect_deps())": CELL,
    "sums.inspect_domain()": SHORT, "sums.inspect_schedule()": "", "sums.inspect_ast()": "", 'print(sums.report("f64[99]", "f64[99]"))': CELL,
    'sums.report("f64[99]", "f64[99]")': CELL, "polyml.plot(sums)": "<svg", "polyml.plot(sums, 'misses', {'A_0': 9, 'B_0': 9})": "<svg",
    "polyml.plot(sums, 'fusion')": "<svg", "polyml.plot(sums, 'compilation')": "<svg", "sums.explore('f64[:]', 'f64[:]')": "<iframe",
    'print(polyml.kernel(sums.py_func, target=polyml.Target.opencl()).inspect_opencl("f64[:]", "f64[:]"))': SHORT,
    'sums.schedule("source", "f64[:]", "f64[:]").parallel("i")': r"Cell In\[\d+\]:1:\d+: error: step 1",
    'polyml.kernel(halved.py_func, fallback="error")(9)': SHORT,
    "sums(np.ones(9), np.ones(3))": SHORT,
    "%load_ext polyml": "",
    "%%polyml --show explain\ndef again(A):\n    for i in range(A.shape[0]):\n        A[i] = 1.0\nagain(np.ones(3))": r"Cell In\[\d+\]:\d",
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs():
    cells = [nbformat.v4.new_code_cell(text) for text in (DEFINED, *SHOWN)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return {cell.source: "\n".join(texts(cell)) for cell in notebook.cells}


def texts(cell):
    for each in cell.outputs:
        yield from map(str, each.get("data", {}).values())
        yield each.get("text", "") + "\n".join(each.get("traceback", []))


@pytest.mark.parametrize("cell", SHOWN)
def test_places_are_named_by_cells(outputs, cell):
    shown = re.sub(r"\x1b\[[0-9;]*m", "", outputs[cell])
    assert re.search(SHOWN[cell], shown), shown[:2000]
    assert not re.search(r"ipykernel|\b\d{5,}\.py", shown), shown[:2000]
