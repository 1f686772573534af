"""The same fault ends every command with the same exit status."""

import pytest

from polyml.cli import main
from polyml.cli.inputs import kernel_file
from polyml.errors import CompileError
from tests.cli.running import run

GOOD = "def scale(A):\n    for i in range(A.shape[0]):\n        A[i] *= 2.0\n"
WORDS = {  # of each command that takes a kernel, what follows the kernel
    "run": (),
    "show": ("--stage", "ast"),
    "trace": (),
    "explain": (),
    "schedule": (),
    "report": ("--no-simulation",),
    "simulate": ("--array", "4x4"),
}
OTHERS = {"bench", "doctor", "bisect", "machine", "cache", "completion"}  # which take no file of a kernel
A, N = "--arg", "A=f64[8]"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "square.py").write_text(GOOD.replace("A[i] *=", "A[i * i] *="))
    (tmp_path / "outside.py").write_text(GOOD.replace("A[i] *=", "A[i + 1] *="))
    (tmp_path / "bad.py").write_text("1 / 0\n")
    return tmp_path


def kernel_commands() -> set[str]:
    return {name for name, each in main.commands.items() if any(p.name in ("kernel", "call") for p in each.params)}


def test_every_command_is_in_the_table():
    assert kernel_commands() == {*WORDS} | (kernel_commands() - {*WORDS} - OTHERS)
    assert {*WORDS} <= {*main.commands}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize(
    "words",
    [("none.py", A, N), ("good.py:none", A, N), ("bad.py", A, N), ("good.py", A, "A=f99[8]"), ("good.py", "--no-such")],
    ids=" ".join,
)
def test_what_cannot_be_used_has_status_2(command, words):
    _, err = run(command, *words, *WORDS[command], code=2)
    assert "rror" in err and "a defect of polyml" not in err


@pytest.mark.parametrize("command", WORDS)
def test_a_kernel_that_is_refused_has_status_1(command):
    runs_anyway = command in ("run", "explain")
    if command == "run":
        with pytest.warns(UserWarning, match="runs as plain Python"):
            run(command, "square.py", A, "A=f64[1]", *WORDS[command], code=0)
        return
    _, err = run(command, "square.py", A, N, *WORDS[command], code=0 if runs_anyway else 1)
    assert runs_anyway or "square.py:3:11: error: subscript `i * i`" in err


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_a_call_that_leaves_its_arrays_has_status_1(command):
    _, err = run(command, "outside.py", A, N, *WORDS[command], code=1)
    assert "out of bounds" in err or "`A[i + 1]`" in err or command == "simulate"


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("failure", [CompileError("stage x failed"), RuntimeError("boom")], ids=["stage", "other"])
def test_a_defect_has_status_3(command, failure, monkeypatch):
    def fail(*given):
        raise failure

    monkeypatch.setattr(kernel_file, "_import", fail)
    _, err = run(command, "good.py", A, N, *WORDS[command], code=3)
    assert str(failure) in err


def test_schedules_that_break_a_dependence_have_status_1_and_damaged_ones_2(folder):
    (folder / "sums.py").write_text("def sums(A):\n    for i in range(1, A.shape[0]):\n        A[i] += A[i - 1]\n")
    run("schedule", "sums.py", A, N, "--save", "s.txt")
    text = (folder / "s.txt").read_text()
    assert "S0[i] -> [(i)]" in text
    (folder / "illegal.txt").write_text(text.replace("S0[i] -> [(i)]", "S0[i] -> [(-i)]"))
    (folder / "damaged.txt").write_text(text[: len(text) // 2])
    for command in ("schedule", "run"):
        assert "must run after" in run(command, "sums.py", A, N, "--load", "illegal.txt", code=1)[1]
        assert "is damaged" in run(command, "sums.py", A, N, "--load", "damaged.txt", code=2)[1]
        assert "does not exist" in run(command, "sums.py", A, N, "--load", "none.txt", code=2)[1]


@pytest.mark.parametrize(
    "words", [("machine", "none"), ("machine", "none.toml"), ("bisect", "none"), ("bench", "none"), ("doctor", "--reduce", "none")]
)
def test_other_commands_have_status_2_for_what_is_not_there(words):
    run(*words, code=2)
