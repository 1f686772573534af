"""What commands print where the terminal is narrow."""

import pytest

from polyml.cli.inputs import output
from tests.cli.running import run

LONG_NAMES = '''
import polyml

@polyml.kernel
def smooth_and_scale(concentrations, temperatures, weights_of_neighbours):
    for step in range(weights_of_neighbours.shape[0]):
        for row in range(1, temperatures.shape[0] - 1):
            for column in range(1, temperatures.shape[1] - 1):
                temperatures[row, column] = (concentrations[row - 1, column] + concentrations[row + 1, column]) * weights_of_neighbours[step]
        for row in range(1, temperatures.shape[0] - 1):
            for column in range(1, temperatures.shape[1] - 1):
                concentrations[row, column] = temperatures[row, column]
'''  # fmt: skip
GEMM = "kernels/gemm.py:gemm"
TYPES = ("--type", "concentrations=f64[30,30]", "--type", "temperatures=f64[30,30]", "--type", "weights_of_neighbours=f64[5]")
COMMANDS = {
    "bench": ("bench", "gemm", "jacobi-2d", "--preset", "MINI", "--repeat", "1"),
    "machine": ("machine",),
    "machine of a GPU": ("machine", "h100"),
    "report": ("report", GEMM, "--preset", "MINI", "--machine", "skylake-sp"),
    "explain": ("explain", GEMM, "--preset", "MINI"),
    "dependences": ("show", "--stage", "deps", GEMM),
}


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def longer(text, width=80):
    return [line for line in text.splitlines() if len(line) > width]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal(narrow, name):
    printed, _ = run(*COMMANDS[name])
    assert printed and longer(printed) == []


@pytest.mark.parametrize("words", [("explain",), ("show", "--stage", "deps"), ("report", "--machine", "skylake-sp")])
def test_a_kernel_with_long_names_fits_too(narrow, tmp_path, words):
    file = tmp_path / "k.py"
    file.write_text(LONG_NAMES)
    printed, _ = run(*words, f"{file}:smooth_and_scale", *TYPES)
    assert [line for line in longer(printed) if str(file) not in line] == []


def test_folding_loses_no_word(monkeypatch):
    wide, _ = run("show", "--stage", "deps", GEMM)
    machine, _ = run("machine", "h100")
    monkeypatch.setenv("COLUMNS", "60")
    narrow, _ = run("show", "--stage", "deps", GEMM)
    assert longer(wide) and not longer(narrow, 60) and narrow.split() == wide.split()
    assert set(machine.split()) <= set(run("machine", "h100")[0].split())


def test_lines_stay_whole_where_no_width_is_known(monkeypatch):
    for value in ("", "wide", "0", "-5"):
        monkeypatch.setenv("COLUMNS", value)
        assert output.width() is None
    monkeypatch.setenv("COLUMNS", "72")
    assert output.width() == 72
