"""docs/accepted.md says what kernels accept."""

from pathlib import Path

import pytest

from tests.arrays.accepted import TYPES, is_typed, outcome, probes, row, with_word

LINES = (Path(__file__).parents[2] / "docs/accepted.md").read_text().splitlines()


CELLS = {
    line.rsplit("` |", 1)[0][3:].replace("\\|", "|"): [c.strip() for c in line.rsplit("` |", 1)[1].strip(" |").split("|")]
    for line in LINES
    if line.startswith("| `")
}


def test_the_table_has_every_entry_and_no_other():
    rows = [probe.text for probe in probes()]
    assert list(CELLS) == rows, "`python -m tests.arrays.accepted NAME` prints the rows of NAME, which go where `probes` has them"


def test_the_rows_of_one_function_are_those_of_the_table():
    assert [row(probe) for probe in with_word("deg2rad")] == [line for line in LINES if "np.deg2rad(" in line]


@pytest.mark.parametrize("probe", probes(), ids=lambda p: p.text)
@pytest.mark.sweep(keep=100)
def test_types_decide_what_the_table_says(probe):
    for dtype, cell in zip(TYPES, CELLS[probe.text]):
        is_yes = cell == "yes"
        assert is_typed(probe, dtype) == is_yes or is_yes and is_typed(probe, dtype, late=True), dtype


@pytest.mark.parametrize("probe", probes()[::7], ids=lambda p: p.text)
def test_a_sample_happens_as_the_table_says(probe):
    assert [outcome(probe, dtype) for dtype in ("float32", "int16")] == [
        CELLS[probe.text][TYPES.index(dtype)] for dtype in ("float32", "int16")
    ]
