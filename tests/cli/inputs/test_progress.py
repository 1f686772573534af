"""The line that shows progress: in a terminal alone, on standard error alone, gone at the end."""

import io
import os
import subprocess
import sys

import pytest
from rich.console import Console

from polyml.cli.inputs.progress import working

PRODUCT = """
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
"""
TYPES = ("product.py", *(word for name in "ABC" for word in ("--arg", f"{name}=f64[6,6]")))
COMMANDS = {  # of each command that works for long, what it says meanwhile
    ("bench", "gemm", "--preset", "MINI", "--check-only"): "timing kernels: gemm",
    ("machine", "--measure"): "measuring the host",
    ("simulate", *TYPES, "--array", "4x4"): "simulating the units",
    ("report", *TYPES, "--cache", "32K:8:64"): "simulating caches",
    ("report", *TYPES, "--cache", "32K:8:64", "--measure"): "running the variants",
}


def drawn(is_terminal, **given):
    text = io.StringIO()
    with working("timing", 3, console=Console(file=text, force_terminal=is_terminal, width=80), **given) as done:
        done(0, "gemm")
        done(1, "[bold]lu")
        done(3, "")
    return text.getvalue()


@pytest.mark.parametrize("is_timing", [False, True])
def test_a_terminal_shows_each_part_and_is_clean_at_the_end(monkeypatch, is_timing):
    monkeypatch.setenv("TERM", "xterm")
    found = drawn(True, is_timing=is_timing)
    for said in ("timing: gemm", "timing: [bold]lu", "0/3", "1/3", "3/3"):
        assert said in found
    assert ("0:00:0" in found) is not is_timing  # a clock alone would have to be redrawn all the time
    assert found.endswith("\x1b[2K") and "\x1b[?25h" in found  # the line is erased and the cursor shown


def test_what_is_no_terminal_gets_nothing():
    assert drawn(False) == ""


def test_the_line_vanishes_where_the_work_fails(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = io.StringIO()
    with pytest.raises(KeyError), working("timing", console=Console(file=text, force_terminal=True)):
        raise KeyError
    assert text.getvalue().endswith("\x1b[2K")


def typed(words, folder, error):
    """What a command prints on standard output, and its exit status; standard error is the given file."""
    (folder / "product.py").write_text(PRODUCT)
    environment = {**os.environ, "POLYML_CACHE_DIR": str(folder / "cache"), "TERM": "xterm", "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "polyml", *words]
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=error, timeout=300)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:1] + words[-1:]))
def test_commands_that_work_for_long_say_so_in_a_terminal(words, tmp_path):
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
    ours, theirs = pty.openpty()
    try:
        done = typed(words, tmp_path, theirs)
    finally:
        os.close(theirs)
    shown = b""
    try:
        while some := os.read(ours, 65_536):
            shown += some
    except OSError:  # how Linux says that a pseudo-terminal ends
        pass
    os.close(ours)
    assert done.returncode == 0 and COMMANDS[words] in shown.decode(), shown.decode()
    assert COMMANDS[words] not in done.stdout.decode()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:1] + words[-1:]))
def test_commands_are_quiet_in_a_pipe_even_if_colours_are_forced(words, tmp_path):
    with (tmp_path / "errors").open("w+b") as errors:
        done = typed(words, tmp_path, errors)
        errors.seek(0)
        assert done.returncode == 0 and COMMANDS[words].encode() not in errors.read() + done.stdout
