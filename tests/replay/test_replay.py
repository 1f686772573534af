"""Replays: what is captured of a program is the same each time, and a difference is shown where it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.replay.compare import differences, sections

ROOT = Path(__file__).parent.parent.parent
NAME = "array-kernel-softmax"


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    return captured(NAME, tmp_path_factory)


def captured(name, tmp_path_factory):
    """The texts of two captures of one program, each by a process of its own."""
    made = []
    for _ in range(2):
        folder = tmp_path_factory.mktemp("capture")
        words = [sys.executable, "-W", "ignore", "-m", "tests.replay.capture", str(folder), "--only", name, "--random", "0"]
        subprocess.run(words, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)
        (path,) = folder.iterdir()
        assert path.stem == name
        made.append(path.read_text())
    return made


def test_code_does_not_depend_on_where_objects_lie(tmp_path_factory):
    """Places of elements are hashed with None among them, whose hash is its address: what loops hold in registers keeps its order."""
    one, other = captured("array-program-tensor_products", tmp_path_factory)
    assert one == other


def test_two_captures_of_one_compiler_are_equal(captures):
    assert captures[0] == captures[1]


def test_a_capture_has_stages_messages_and_reports(captures):
    found = sections(captures[0])
    stages = {name.rpartition(".")[2] for name in found if name[0].isdigit()}
    assert stages == {"kernel", "domain", "deps", "schedule", "ast", "llvm"}
    assert {"call", "explain", "report cpu", "report cuda", "report systolic", "warnings"} < set(found)
    assert any(line.startswith("define ") for line in found[next(name for name in found if name.endswith(".llvm"))])


def test_a_difference_is_shown_in_its_section(captures):
    changed = captures[0].replace("compiled", "translated", 1)
    lines = differences(NAME, captures[0], changed)
    assert lines[0] == f"{NAME}: explain"
    assert [line.strip()[0] for line in lines[1:] if line.strip()[0] in "+-"] == ["-", "+"]


def test_a_program_that_is_missing_differs_in_all_sections(captures):
    shown = [line for line in differences(NAME, "", captures[0]) if not line.startswith(" ")]
    assert len(shown) == sum(bool(lines) for lines in sections(captures[0]).values())
