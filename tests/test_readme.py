"""What README.md shows works: its example, and the two commands that .ci/run and users rely on."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def blocks(language):
    """The fenced blocks of a language, "" for plain ones."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def test_the_example_runs_and_explains_itself(tmp_path):
    (tmp_path / "example.py").write_text(blocks("python")[0])
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "POLYML_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "example.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    assert "gemm (" in done.stdout and "compiled" in done.stdout and done.stderr == ""


def test_the_script_of_a_schedule_runs_and_computes_the_same(tmp_path):
    kernel, script = blocks("python")
    check = "want = C.copy(); gemm(1.5, 1.2, want, A, B); fast(1.5, 1.2, C, A, B); print(np.allclose(C, want))"
    (tmp_path / "example.py").write_text(f"{kernel}\n{script}\n{check}\n")
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "POLYML_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "example.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("True\n") and "for j:  # vectorize, unroll_jam(2)" in done.stdout


def test_the_two_commands_stand_on_lines_of_their_own():
    commands = [block.strip() for block in blocks("") if "pip install" in block]
    assert commands == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/polyml bench gemm jacobi_2d cholesky --preset LARGE",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest -n 2 --dist worksteal",
    ]


def test_every_command_that_is_shown_exists():
    from polyml.cli import main

    shown = set(re.findall(r"^polyml (\w+)", TEXT, re.MULTILINE))
    assert shown == set(main.commands)


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", ".ci/run"])
def test_files_that_are_referred_to_exist(name):
    assert (ROOT / name).is_file()


def test_the_machine_that_is_shown_is_one(tmp_path):
    from polyml.measure import lookup

    (tmp_path / "mine.toml").write_text(blocks("toml")[0])
    found = lookup.find(str(tmp_path / "mine.toml"))
    assert found.peak("f64", 1).value == 80e9 and found.read("memory").value == 60e9 and len(found.machine.caches) == 2


def test_the_simulations_that_are_shown_are_real(tmp_path, monkeypatch):
    """But for how long they take."""
    from tests.cli.running import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "product.py").write_text(blocks("py")[0])
    shown, refused = blocks("console")

    def lines(text):
        text = text.replace(f"{tmp_path}/", "").replace(os.path.realpath(tmp_path) + "/", "")
        return [line for line in text.splitlines() if not line.startswith("speed ")]

    command, *output = shown.splitlines()
    out, err = run(*shlex.split(command)[2:])
    assert lines(out) == lines("\n".join(output)) and err == ""
    command, *output = refused.splitlines()
    out, err = run(*shlex.split(command)[2:], code=2)
    assert out == "" and lines(err) == lines("\n".join(output))


def test_the_kernel_with_a_target_that_is_shown_is_one():
    import polyml

    kernel, calls = blocks("py")[1].split("\n\n")
    names = {"polyml": polyml}
    exec(kernel, names)
    assert names["product"].target.array == (16, 16)
    used = set(re.findall(r"product\.(\w+)", calls))
    assert used == {"simulate", "compare", "report"} and all(hasattr(names["product"], name) for name in used)


def test_the_array_that_is_shown_is_one(tmp_path):
    from polyml.measure import lookup

    (tmp_path / "mine.toml").write_text(blocks("toml")[1])
    found = lookup.find(str(tmp_path / "mine.toml"))
    assert (found.rows, found.number, found.peak("bf16").value) == (32, "bf16", 2 * 1024 * 800e6)
    assert found.read("buffer").value == 128 * 800e6 and found.read("memory").origin == "estimate"
