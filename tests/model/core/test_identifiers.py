"""Names of the source are none of those that code is made with: loops, statements, and what passes add."""

import numpy as np
import pytest

import polyml
from polyml.model.core.identifiers import identifier
from tests.frontend.define import define

NAMES = ("c0", "c1", "c2", "c10", "c1_0m", "c2_01", "S0", "last0", "find0_0", "thread", "threads", "phase0", "b0")
TEXT = """
def f(A, FIRST):
    SECOND = A.shape[1]
    for i in range(FIRST):
        for j in range(SECOND):
            A[i, j] = i - 2 * j
    return SECOND
"""


@pytest.mark.parametrize(
    "wanted, made", [("c0", "c0_"), ("c2_03", "c2_03_"), ("S1", "S1_"), ("c", "c"), ("count", "count"), ("x.1", "x_1")]
)
def test_names_of_loops_and_statements_are_taken(wanted, made):
    assert identifier(wanted) == made


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["FIRST", "SECOND"])
def test_numbers_may_have_any_name(place, name, threads):
    """A number of this name was the loop's variable in the code: c0 in `for c0 in range(c0)`."""
    text = TEXT.replace(place, name).replace("FIRST", "rows").replace("SECOND", "columns")
    kernel, plain = polyml.kernel(define(text), cache=False, fallback="error", threads=threads), define(text)
    own, other = np.zeros((70, 40)), np.zeros((70, 40))
    assert kernel(own, 60) == plain(other, 60) == 40
    assert np.array_equal(own, other)
