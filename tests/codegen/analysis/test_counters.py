"""Python ints that move by small steps alone are counters, and the others are not."""

import numpy as np
import pytest

import polyml
from polyml.codegen.analysis.counters import counters
from tests.frontend.define import define
from tests.model.modelling import INT, VECTOR, model


def counters_of(body):
    """The counters of a function of A and n, by their names in the source."""
    scop = model(define("def f(A, n):\n" + "".join(f"    {line}\n" for line in body.splitlines())), VECTOR, INT)
    return {scop.arrays[name].source_name or name for name in counters(scop)}


@pytest.mark.parametrize(
    "body, found",
    [
        ("c = 0\nfor i in range(A.shape[0]):\n    if A[i] > 0.0:\n        c += 1\nreturn c", True),
        ("c = 100\nfor i in range(A.shape[0]):\n    c = c - 3 if A[i] > 0.0 else c\nreturn c", True),
        ("c = 0\nfor i in range(A.shape[0]):\n    c += 1 if A[i] > 0.0 else 2\nreturn c", True),
        ("c = 0\nfor i in range(A.shape[0]):\n    if A[i] > 0.0:\n        c += 17\nreturn c", False),
        ("c = 0\nfor i in range(A.shape[0]):\n    if A[i] > 0.0:\n        c += i\nreturn c", False),
        ("c = 0\nfor i in range(A.shape[0]):\n    c = 2 * c + 1\nreturn c", False),
        ("c = n\nfor i in range(A.shape[0]):\n    if A[i] > 0.0:\n        c += 1\nreturn c", False),
    ],
)
def test_which_numbers_are_counters(body, found):
    assert any(name.startswith("c") for name in counters_of(body)) == found


def grown(A, first, more):
    c = first
    for i in range(A.shape[0]):
        if A[i] > 0.0:
            c += more
    return c


@pytest.mark.parametrize("first", [0, 2**62, 2**63 - 2, -(2**63) + 1])
@pytest.mark.parametrize("more", [1, -1, 2**61])
def test_sums_that_leave_64_bits_raise(first, more):
    values, kernel = np.array([1.0, 0.0, 1.0, 1.0]), polyml.kernel(grown, cache=False)
    if -(2**63) <= grown(values, first, more) < 2**63:
        assert kernel(values, first, more) == grown(values, first, more)
    else:
        with pytest.raises(polyml.PolymlOverflowError):
            kernel(values, first, more)
