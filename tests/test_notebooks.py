"""The notebooks run from top to bottom, and are kept without outputs."""

import ast
import json
import linecache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def run(path):
    """What the cells show: the value of the last expression of each. Their text is where IPython has it too, for inspect."""
    names, shown = {"__name__": "__main__"}, []
    for number, cell in enumerate(cells(path, "code")):
        text, file = "".join(cell["source"]), f"<{path.stem}-{number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        body = ast.parse(text).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), file, "exec"), names)
        shown.append(None if last is None else eval(compile(ast.Expression(last.value), file, "eval"), names))
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    for value in run(path):
        if hasattr(value, "_repr_html_"):
            assert value._repr_html_().startswith(("<svg", "<div", "<iframe"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_has_no_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path, "code"))


def test_the_systolic_notebook_says_and_draws(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    shown = [value for value in run(ROOT / "notebooks" / "systolic.ipynb") if value is not None]
    out = capsys.readouterr().out
    assert "manhattan 3\ndiagonal 24\n" in out
    assert "os   t = i + j + k, x = i, y = j" in out and "1 folds" in out
    assert "must run after" in out or "cannot come from" in out
    assert "reads elements that data decide" in out
    assert [str(value)[:5].lower() for value in shown] == ["<svg "] * 4 + ["<!doc"]
