"""README.md is short, and holds the two commands that .ci/run and users rely on; its blocks run in tests/docs."""

import re
import subprocess
import sys

import pytest

from polyml.machines import cpu
from tests.cli.running import run
from tests.docs.blocks import ROOT, blocks

TEXT = (ROOT / "README.md").read_text()
PICTURE = ROOT / "docs" / "pictures" / "gemm_roofline.svg"
SHELL = [block.text.strip() for block in blocks("README.md") if block.kind == "sh"]


def test_the_example_explains_itself_in_a_process_of_its_own(tmp_path):
    (tmp_path / "example.py").write_text(blocks("README.md")[0].text)
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "POLYML_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "example.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    assert "gemm (" in done.stdout and "compiled" in done.stdout and done.stderr == ""


def test_the_two_commands_stand_on_lines_of_their_own():
    assert [block for block in SHELL if "pip install" in block] == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/polyml bench gemm jacobi_2d cholesky --preset LARGE",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest -n 2 --dist worksteal",
    ]


def test_the_picture_is_what_its_command_makes(tmp_path, monkeypatch):
    """Its roofs at least: polyml's points depend on the vectors of the machine that code is made for, and labels evade them."""
    monkeypatch.chdir(ROOT)
    [command] = [block for block in SHELL if "--svg" in block]
    words = command.split("   #")[0].replace("FOLDER", str(tmp_path)).split()
    run(*words[1:])
    both = ((path).read_text().splitlines() for path in (tmp_path / "roofline.svg", PICTURE))
    made, kept = ([line for line in text if not line.startswith("<style>")] for text in both)  # colours of other pictures are in it
    if cpu.host().vector_bytes != 64:
        made, kept = ([line for line in text if '"roof"' in line] for text in (made, kept))
        assert made
    assert made == kept


def test_the_picture_shows_the_rates_that_the_text_says():
    [said] = re.findall(r"source's order may reach (\d+ GFLOP/s)", TEXT)
    picture = PICTURE.read_text()
    assert f"source: {said} bound" in picture
    assert re.findall(r"peak ([\d.]+ GFLOP/s)</text>", picture) == re.findall(r"polyml: ([\d.]+ GFLOP/s) bound", picture)


@pytest.mark.parametrize(
    "page, lines", [("README.md", 150), ("ARCHITECTURE.md", 256), ("docs/polyml_from_scratch.md", 400), ("AGENTS.md", 25)]
)
def test_what_is_read_first_is_short(page, lines):
    assert len((ROOT / page).read_text().splitlines()) <= lines


def test_the_commands_that_are_listed_are_all_there_are():
    from polyml.cli import main

    shown = next(block.text for block in blocks("docs/commands.md") if block.kind == "sh")
    assert set(re.findall(r"^polyml (\w+)", shown, re.MULTILINE)) == set(main.commands)


def test_the_settings_that_are_listed_are_all_there_are():
    from polyml.config import Options

    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(Options.__dataclass_fields__)


def test_the_headline_figures_of_the_benchmarks_are_those_of_its_sections():
    head, *sections = (ROOT / "BENCHMARKS.md").read_text().split("\n## ")
    rows = [line.split("|")[2] for line in head.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) > 8
    for row in rows:
        figures = re.findall(r"\d[\d,.]*\d(?: ms| ns| million)?", row)
        assert figures and all(figure in "".join(sections) for figure in figures), row
