"""What `import polyml` loads. (How long it takes is measured by the benchmarks.)"""

import json
import subprocess
import sys

import pytest

HEAVY = {"islpy", "llvmlite", "ml_dtypes", "sympy", "matplotlib", "click", "rich", "numba", "scipy", "anywidget", "ipywidgets"}


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a new process after `code`."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_polyml_loads_no_compiler():
    assert loaded_by("import polyml") & HEAVY == set()


def test_decorating_a_kernel_loads_no_compiler(tmp_path):
    file = tmp_path / "decorated.py"
    file.write_text("import polyml\n@polyml.kernel\ndef f(A):\n    for i in range(A.shape[0]):\n        A[i] += 1.0\n")
    assert loaded_by(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import decorated") & HEAVY == set()


def test_a_call_without_bfloat16_loads_no_ml_dtypes(tmp_path):
    file = tmp_path / "called.py"
    file.write_text(
        "import numpy, polyml\n@polyml.kernel\ndef f(A, s):\n    B = A * s\n    return B, B.sum()\n"
        "f(numpy.ones(3), numpy.float16(2))\n"
    )
    assert "ml_dtypes" not in loaded_by(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import called")


def test_operations_are_imported_by_name_and_load_no_compiler():
    assert loaded_by("import polyml; assert 'polyml.ops' not in sys.modules") & HEAVY == set()
    assert loaded_by("import polyml.ops") & HEAVY == set()


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["--version"],
        ["bench", "--help"],
        ["cache", "--help"],
        ["simulate", "--help"],
        ["machine", "--help"],
        ["machine", "zen4", "--json"],
    ],
)
def test_help_loads_no_compiler(command):
    code = f"from polyml.cli import main\ntry:\n    main({command!r})\nexcept SystemExit:\n    pass"
    assert loaded_by(code) & {"islpy", "llvmlite", "sympy", "numba"} == set()
