"""What a refusal says of loops that data end and that no region has."""

import numpy as np
import pytest

import polyml


def until(A, out):
    n = A.shape[0]
    for k in range(n):
        if A[k, 0] < 0:
            n = k
            break
    out[:] = np.ones(n) @ A[0]


def test_the_note_names_what_no_region_has():
    with pytest.raises(polyml.NotAffineError) as raised:
        polyml.kernel(until, cache=False, fallback="error")(np.ones((3, 3)), np.zeros(1))
    assert raised.value.message == "break is not static control"
    assert raised.value.notes[-1].startswith(
        "and no region has it, since line 15: whether there is a product of arrays whose sizes differ depends on data"
    )
