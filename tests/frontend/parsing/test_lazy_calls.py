"""Calls of inlined functions that Python makes only where `and`, `or` and chains of comparisons need them."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal


def element(A, i):
    value = A[i]
    return value * 2


def element_where_it_is_inside(A, n):
    count = 0
    for i in range(n):
        if i < A.shape[0] and element(A, i) > 0 and element(A, i) < 9:
            count += 1
    return count


def either(A, n):
    count = 0
    for i in range(n):
        if i >= A.shape[0] or element(A, i) > 0 or element(A, i) < -4:
            count += 1
    return count


def as_values(A, n):
    total = 0.0
    for i in range(n):
        total += 1.0 if not (i < A.shape[0] and element(A, i) > 0) else 2.0
    return total


@pytest.mark.parametrize("function", [element_where_it_is_inside, either, as_values], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["f8", "f4", "i4"])
def test_a_call_is_made_only_where_it_is_needed(function, kind):
    for size in (0, 1, 5):
        assert_python(function, np.arange(-1, size - 1).astype(kind), 7)


def chained(A, n):
    return 0 < n < element(A, n)


def test_a_chain_of_comparisons_with_such_a_call_is_refused():
    assert "a call in a chain of comparisons, which may end before it" in refusal(chained, np.zeros(2), 1)
    assert_python(chained, np.zeros(2), -1, compiles=False)


LIMIT = 2.0


def any_above(A):
    return any(a > LIMIT for a in A)


def test_a_global_that_a_generator_alone_reads_is_looked_at_in_each_call(monkeypatch):
    kernel = polyml.kernel(cache=False, fallback="error")(any_above)
    assert kernel(np.ones(3)) is False
    monkeypatch.setitem(any_above.__globals__, "LIMIT", 0.5)
    assert kernel(np.ones(3)) is True
