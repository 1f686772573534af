"""CONTRIBUTING.md's first change does what the page says."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT, blocks

PROGRAM = """
import numpy as np, polyml
@polyml.kernel(fallback="error")
def in_radians(A):
    return np.radians(A)
A = np.random.rand(7)
assert (in_radians(A) == np.radians(A)).all() and in_radians.compiled
"""


def changes(text):
    """(path, the lines before, the lines after) of each file of a diff."""
    for part in re.split(r"^--- a/.*\n\+\+\+ b/", text, flags=re.MULTILINE)[1:]:
        path, *lines = part.splitlines()
        yield path, *("\n".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")


def run(folder):
    (folder / "program.py").write_text(PROGRAM)
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "POLYML_CACHE_DIR": str(folder / "cache")}
    return subprocess.run([sys.executable, "program.py"], cwd=folder, env=variables, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "polyml", tmp_path / "polyml", ignore=shutil.ignore_patterns("__pycache__", "kernels"))
    return tmp_path


def test_the_first_change_is_all_that_its_function_needs(copy):
    refused = "is not a function that polyml compiles" in run(copy).stderr
    assert refused, "np.radians is compiled: CONTRIBUTING's first change is an exercise, which `git restore .` undoes"
    [diff] = [block.text for block in blocks("CONTRIBUTING.md") if block.kind == "diff"]
    for path, before, after in changes(diff):
        text = (copy / path).read_text()
        assert text.count(before) == 1, (
            f"a line of {path} that the diff in CONTRIBUTING.md takes out has changed: change it there too"
        )
        (copy / path).write_text(text.replace(before, after))
    done = run(copy)
    assert done.returncode == 0, done.stderr


def test_agents_are_told_of_files_that_exist():
    text = (ROOT / "AGENTS.md").read_text()
    named = set(re.findall(r"`([\w/]+(?:\.md|\.py|/))`", text))
    assert named and all((ROOT / name).exists() for name in named)
