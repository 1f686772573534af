"""The short part, with a fixed seed, of `python -m tests.faults`."""

import pytest

from tests.faults.faults import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_wrong_comes_of(fault, tmp_path):
    tally = fault.run(fault.few, 1, tmp_path)
    assert tally.trials > 0
    assert tally.wrong == []
