"""A fixed part of `python -m tests.mixed`, and that the check sees what it is for."""

import numpy as np
import pytest

from tests.mixed.check import _Pairs, _prints_alike, check
from tests.mixed.generate import mixed


@pytest.mark.parametrize("first", range(1, 161, 20))
@pytest.mark.sweep(keep=3)
def test_mixed_programs_do_what_python_does(first):
    found = {seed: check(mixed(seed)).difference for seed in range(first, first + 20)}
    assert not any(found.values()), {seed: text for seed, text in found.items() if text}


def test_most_programs_run_compiled_parts_and_some_raise():
    outcomes = [check(mixed(seed)) for seed in range(1, 31)]
    assert sum(outcome.parts > 0 for outcome in outcomes) > 10


def test_what_is_one_object_on_one_side_alone_is_seen():
    A, B = np.ones(3), np.ones(3)
    pairs = _Pairs()
    assert not pairs.difference("result", (A, A), (A, B))
    assert pairs.identities() == "result[1] is not result[0]"
    pairs = _Pairs()
    assert not pairs.difference("result", (A, A[1:]), (A, B[1:]))
    assert "share memory on one side alone" in pairs.identities()
    assert "is a list" in _Pairs().difference("result", (1,), [1])
    assert "is a float" in _Pairs().difference("result", np.float64(1), 1.0)


def test_printed_sums_of_another_order_are_alike_and_other_texts_are_not():
    assert _prints_alike("1.2362309\nx np.float32(1.5)", "1.2362156\nx np.float32(1.50001)")
    for other in (
        "1.24\nx np.float32(1.5)",
        "1.2362309 x np.float32(1.5)",
        "1.2362309\nx np.float64(1.5)",
        "1.2362309\ny np.float32(1.5)",
    ):
        assert not _prints_alike("1.2362309\nx np.float32(1.5)", other)
    assert not _prints_alike("100000", "100001")
