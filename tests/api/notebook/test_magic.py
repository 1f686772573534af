"""`%%polyml` in a shell of IPython."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import polyml

pytest.importorskip("IPython")

DOUBLE = "def double(A):\n    for i in range(A.shape[0]):\n        A[i] *= 2.0\n"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell(colors="nocolor")
    monkeypatch.setattr(InteractiveShell, "_instance", made)
    made.history_manager.enabled = False
    made.run_cell("%load_ext polyml")
    yield made
    made.history_manager.end_session()


@pytest.fixture
def cell(shell, capsys):
    """Runs a cell, and returns (its result, what it printed)."""

    def run(text):
        result = shell.run_cell(text, store_history=True)
        return result, re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)

    return run


def test_functions_of_a_cell_become_kernels_with_the_settings(shell, cell):
    result, printed = cell(f"%%polyml --fp strict --threads 1\nimport numpy as np\nA = np.ones(4)\n{DOUBLE}double(A)\nA[0] + 1\n")
    assert result.success and result.result == 3.0
    made = shell.user_ns["double"]
    assert isinstance(made, polyml.Kernel) and made.settings == {"fp": "strict", "threads": 1} and made.compiled
    assert "): compiled" in printed and "options: fp strict" in printed and "A: f64[:], written" in printed


def test_types_show_a_kernel_that_is_not_called(cell):
    _, printed = cell(f'%%polyml --types "f64[N]" --show explain,ast,deps\n{DOUBLE}')
    assert "A: f64[:], written" in printed and "for c0 in range" in printed and "output  none" in printed


def test_nothing_need_be_shown(cell):
    result, printed = cell(f"%%polyml --show nothing\n{DOUBLE}")
    assert result.success and printed == ""


def test_a_report_and_a_picture_are_shown(cell):
    _, printed = cell(f'%%polyml --types "f64[64]" --show report,picture:domain\n{DOUBLE}')
    assert "Report(kernel='double'" in printed and '<picture "Instances of double"' in printed


def test_a_cell_that_runs_as_python_says_why(cell):
    swaps = "def swaps(A, B):\n    while A[0] > 1:\n        A[0] /= 2\n        A, B = B, A\n"
    _, printed = cell(f'%%polyml --types "f64[:], f64[:]"\n{swaps}')
    assert "runs as plain Python" in printed and ":3:5: error: a while loop is not static control" in printed


def test_errors_have_the_lines_that_the_cell_shows(cell):
    _, printed = cell(
        "%%polyml --fallback error\nimport numpy as np\ndef f(A):\n    for i in range(3):\n"
        "        A[i] = np.unique(A + 1j).size\nf(np.ones(9))\n"
    )
    assert re.search(r"Cell In\[\d+\], line 6\n----> 6 f\(np.ones\(9\)\)", printed), printed
    assert re.search(r"Cell In\[\d+\]:5:16: error: np.unique of complex numbers", printed), printed
    assert str(Path(polyml.__file__).parent) not in printed


@pytest.mark.parametrize(
    "text, message",
    [
        (f"%%polyml --speed 3\n{DOUBLE}", "error: %%polyml: unrecognized arguments: --speed 3"),
        ("%%polyml\nx = 1", "error: a cell of %%polyml defines a function, and this one does not"),
        ("%%polyml\ndef f(:\n", ":2:7: error: this is no Python: "),
        (f"%%polyml --show deps\n{DOUBLE}", "error: --show deps needs the types of `double`, which the cell does not call"),
        (f"%%polyml --show report\nimport numpy as np\n{DOUBLE}double(np.ones(3))", "error: --show report needs sizes"),
        (f'%%polyml --show report --types "f64[N]"\n{DOUBLE}', "error: a report needs the sizes of f64[:] as numbers"),
        (f'%%polyml --types "triple: int"\n{DOUBLE}', "error: --types: the cell defines no kernel `triple`"),
        (f'%%polyml --types "f64[:]"\n{DOUBLE}{DOUBLE.replace("double", "twice")}', "error: --types: the cell defines 2 kernels"),
        (f'%%polyml --types "f64[:], int"\n{DOUBLE}', "error: double() takes 1"),
        (f"%%polyml --target tpu\n{DOUBLE}", "error: "),
    ],
)
def test_what_is_wrong_is_said_without_polymls_frames(cell, text, message):
    result, printed = cell(text)
    assert not result.success and message in printed
    assert str(Path(polyml.__file__).parent) not in printed and "a defect of polyml" not in printed


@pytest.mark.parametrize("before", [0, 2])
def test_places_have_the_number_of_the_cell_that_holds_them(cell, before):
    """The number that stands beside the cell: each cell that ran before it counts once."""
    for _ in range(before):
        cell("1 + 1")
    cell("%%polyml\n" + DOUBLE.replace("A[i] *=", "A[i + 1] *="))
    result, _ = cell("import numpy as np\ndouble(np.ones(5))")
    assert f"Cell In[{before + 1}]:4:9: error: " in str(result.error_in_exec)
    result, _ = cell("%%polyml\ndef f(:\n")
    assert str(result.error_in_exec).startswith(f"Cell In[{before + 3}]:2:7: error: ")


def test_the_magic_goes_when_the_extension_goes(shell, cell):
    cell("%unload_ext polyml")
    _, printed = cell(f"%%polyml\n{DOUBLE}")
    assert "double" not in shell.user_ns


def test_polyml_is_imported_without_ipython():
    program = "import sys, polyml; print('IPython' in sys.modules, polyml.load_ipython_extension.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "load_ipython_extension"]
