"""A few random programs of linear algebra; `python -m tests.arrays.chains` runs many."""

from collections import Counter

import pytest

from polyml.frontend.algebra.rules import RULES, Rule
from tests.arrays import chains
from tests.transformations import ALGEBRA


@pytest.mark.parametrize("fp", ["strict", "reassociate", "fast"])
def test_random_programs_compute_what_numpy_computes(fp):
    failed, tally = chains.campaign(6, 40, fp)
    assert failed == [] and tally.programs == 6
    assert sum(tally.fired[name] for name in ALGEBRA) > 0 or fp == "strict"


def test_a_wrong_rule_is_found(monkeypatch):
    wrong = Rule("", "a.T.T", "a.T", {"a": (2,)}, bits=True)
    monkeypatch.setattr("polyml.frontend.algebra.rewrite.RULES", (wrong, *RULES))
    assert any(chains.campaign(1, seed, "reassociate")[0] for seed in range(50, 60))


def test_notes_are_counted_by_what_was_done():
    notes = ["algebra: line 2: `A @ B` is computed once, for 2 uses (1 -> 1)", "algebra: line 2: `np.einsum(...` is computed as"]
    assert Counter(map(chains.kind_of, notes)) == {"shared value": 1, "ordered einsum": 1}
