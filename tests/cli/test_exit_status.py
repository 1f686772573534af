"""The same fault ends every command with the same exit status."""

import click
import pytest

from polyml.cli import main
from polyml.cli.inputs import kernel_file
from polyml.errors import CompileError
from tests.cli.running import run

GOOD = "def scale(A):\n    for i in range(A.shape[0]):\n        A[i] *= 2.0\n"
WORDS = {  # of each command that takes a kernel, what follows the kernel and its types
    "run": (),
    "show": ("--stage", "ast"),
    "trace": (),
    "explain": (),
    "build": ("-o", "out"),
    "schedule": (),
    "explore": ("--html", "page.html"),
    "report": ("--no-simulation",),
    "simulate": ("--array", "4x4"),
}
OTHERS = {  # of each command that takes no kernel, what it cannot use
    "bench": [("none",), ("gemm", "--preset", "none")],
    "doctor": [("--reduce", "none")],
    "bisect": [("none",)],
    "machine": [("none",), ("none.toml",)],
    "cache": [("none",), ("info", "none"), ("clear", "none"), ("verify", "none")],
    "completion": [("tcsh",)],
}
TYPE = "f64[8]"


def typed(command, kind):
    """The words by which a command knows the type of the only parameter, A."""
    return ("--signature", kind) if command == "build" else ("--arg", f"A={kind}")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "square.py").write_text(f"import numpy as np\n{GOOD}".replace("A[i] *= 2.0", "A[i] = np.unique(A + 1j).size"))
    (tmp_path / "outside.py").write_text(GOOD.replace("A[i] *=", "A[i + 1] *="))
    (tmp_path / "bad.py").write_text("1 / 0\n")
    return tmp_path


def kernel_commands(commands) -> set[str]:
    return {name for name, each in commands.items() if any(p.name in ("kernel", "call") for p in each.params)}


def without_row(commands) -> set[str]:
    """The commands that stand in neither table, or in the wrong one."""
    taking = kernel_commands(commands)
    return (taking ^ {*WORDS}) | ({*commands} - taking ^ {*OTHERS})


def test_every_command_is_in_the_table():
    assert not without_row(main.commands)


@pytest.mark.parametrize("words", [["kernel"], ["name"]])
def test_a_command_without_a_row_is_found(words):
    new = click.Command("new", params=[click.Argument(words)])
    assert without_row({**main.commands, "new": new}) == {"new"}
    assert without_row({name: each for name, each in main.commands.items() if name not in ("cache", "build")}) == {"cache", "build"}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("file, kind, more", [
    ("none.py", TYPE, ()), ("good.py:none", TYPE, ()), ("bad.py", TYPE, ()), ("good.py", "f99[8]", ()), ("good.py", TYPE, ("--no-such",)),
], ids=str)  # fmt: skip
def test_what_cannot_be_used_has_status_2(command, file, kind, more):
    _, err = run(command, file, *typed(command, kind), *more, *WORDS[command], code=2)
    assert "rror" in err and "a defect of polyml" not in err


@pytest.mark.parametrize("command", WORDS)
def test_what_is_done_has_status_0(command):
    refused = command == "simulate"  # its array has nothing to hand on
    _, err = run(command, "good.py", *typed(command, TYPE), *WORDS[command], code=int(refused))
    assert ("there is nothing for units to hand on" in err) is refused


@pytest.mark.parametrize("command", WORDS)
def test_a_kernel_that_is_refused_has_status_1(command):
    if command == "run":
        with pytest.warns(UserWarning, match="runs as plain Python"):
            run(command, "square.py", *typed(command, "f64[1]"), code=0)
        return
    _, err = run(command, "square.py", *typed(command, TYPE), *WORDS[command], code=0 if command == "explain" else 1)
    assert command == "explain" or "square.py:4:16: error: np.unique of complex numbers" in err


@pytest.mark.parametrize("command", ["run", "simulate"])
def test_a_call_that_leaves_its_arrays_has_status_1(command):
    _, err = run(command, "outside.py", *typed(command, TYPE), *WORDS[command], code=1)
    assert "out of bounds" in err or "`A[i + 1]`" in err or command == "simulate"


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("failure", [CompileError("stage x failed"), RuntimeError("boom")], ids=["stage", "other"])
def test_a_defect_has_status_3(command, failure, monkeypatch):
    def fail(*given):
        raise failure

    monkeypatch.setattr(kernel_file, "_import", fail)
    _, err = run(command, "good.py", *typed(command, TYPE), *WORDS[command], code=3)
    assert str(failure) in err


def test_schedules_that_break_a_dependence_have_status_1_and_damaged_ones_2(folder):
    (folder / "sums.py").write_text("def sums(A):\n    for i in range(1, A.shape[0]):\n        A[i] += A[i - 1]\n")
    run("schedule", "sums.py", "--arg", "A=f64[8]", "--save", "s.txt")
    text = (folder / "s.txt").read_text()
    assert "S0[i] -> [(i)]" in text
    (folder / "illegal.txt").write_text(text.replace("S0[i] -> [(i)]", "S0[i] -> [(-i)]"))
    (folder / "damaged.txt").write_text(text[: len(text) // 2])
    for command in ("schedule", "run"):
        assert "must run after" in run(command, "sums.py", "--arg", "A=f64[8]", "--load", "illegal.txt", code=1)[1]
        assert "is damaged" in run(command, "sums.py", "--arg", "A=f64[8]", "--load", "damaged.txt", code=2)[1]
        assert "does not exist" in run(command, "sums.py", "--arg", "A=f64[8]", "--load", "none.txt", code=2)[1]


@pytest.mark.parametrize("words", [(name, *words) for name, rows in OTHERS.items() for words in rows], ids=" ".join)
def test_commands_without_a_kernel_have_status_2_for_what_cannot_be_used(words):
    _, err = run(*words, code=2)
    assert "rror" in err and "a defect of polyml" not in err


@pytest.mark.parametrize(
    "words", [("completion", "zsh"), ("cache", "info"), ("cache", "clear"), ("cache", "verify"), ("machine", "zen4")]
)
def test_commands_without_a_kernel_have_status_0_for_what_is_done(words):
    assert run(*words, code=0)[0]
