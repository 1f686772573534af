"""A fixed share of random programs through every part of the compiler; `python -m tests.fuzz` runs as many as wanted."""

import pytest

from polyml.machines.cpu import usable_cores
from tests.fuzz.campaign import campaign
from tests.fuzz.engines import NAMES

PROGRAMS = 60
SEED = 1_000_000
# Each program meets the interpreter, its own loops, and one engine in turn: a full round of all takes minutes.
ALWAYS = ("interpret", "tree")
IN_TURN = tuple(name for name in NAMES if name not in ALWAYS)


def engines_of(seed):
    return (*ALWAYS, IN_TURN[seed % len(IN_TURN)])


@pytest.fixture(scope="module")
def report():
    return campaign(range(SEED, SEED + PROGRAMS), engines_of, min(2, usable_cores()), shrunk=3)


def test_random_programs_give_what_python_gives(report, capsys):
    with capsys.disabled():
        print("\n" + report.text())
    assert report.programs == PROGRAMS
    assert [f"seed {seed}: {o['engine']}: {o['reason']}" for seed, _, o in report.failures] == []


def test_most_programs_are_compiled_and_not_refused(report):
    assert report.outcomes["ok"] > 0.85 * PROGRAMS


def test_the_programs_cover_the_language(report):
    missing = {
        "depth 1", "depth 2", "depth 3", "depth 4", "1 nests", "2 nests", "imperfect nest", "triangular bound",
        "negative step", "strided loop", "min/max bound", "// or % in a bound", "// or % in a subscript",
        "min/max/if in a subscript", "negative constant subscript", "A[i][j]", "A[()]", "if", "if/else",
        "condition on data", "conditional expression", "chained assignment", "scalar carried by a loop", "update +=",
        "update *=", "min()", "max()", "local array np.zeros", "several results", "f64 array", "f32 array", "i8 array",
        "i64 array", "u8 array", "bool array", "rank 0", "rank 3", "layout strided", "data wide", "data special",
    } - set(report.covered)  # fmt: skip
    assert missing == set()
