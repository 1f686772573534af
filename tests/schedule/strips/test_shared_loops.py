"""A product shares no loop in which another nest has many times its iterations: one strip would have all of the product."""

import numpy as np
import pytest

import polyml
from polyml.schedule.strips import shared_loops


def heads_beside_rows(Q, K, V, W):
    S = np.zeros((Q.shape[0], Q.shape[1], K.shape[2]), Q.dtype)
    R = np.zeros_like(Q)
    Y = np.zeros((Q.shape[1], W.shape[1]), Q.dtype)
    for h in range(Q.shape[0]):
        for i in range(Q.shape[1]):
            for j in range(K.shape[2]):
                for k in range(Q.shape[2]):
                    S[h, i, j] += Q[h, i, k] * K[h, k, j]
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = W[i, j] * 3
    for h in range(Q.shape[0]):
        for i in range(Q.shape[1]):
            for j in range(Q.shape[2]):
                for k in range(K.shape[2]):
                    R[h, i, j] += S[h, i, k] * V[h, k, j]
    return R, Y


@pytest.mark.parametrize(("uneven", "shared"), [(shared_loops.UNEVEN, False), (10**9, True)])
def test_four_heads_and_512_rows_share_no_strips(uneven, shared, monkeypatch):
    monkeypatch.setattr(shared_loops, "UNEVEN", uneven)
    rng = np.random.default_rng(0)
    Q, K, V, W = (rng.standard_normal(s).astype(np.float32) for s in ((4, 512, 32), (4, 32, 512), (4, 512, 32), (512, 32)))
    kernel = polyml.kernel(heads_beside_rows, cache=False, threads=2)
    R, Y = kernel(Q, K, V, W)
    np.testing.assert_allclose(R, Q @ K @ V, rtol=1e-3, atol=1e-2)
    np.testing.assert_array_equal(Y, W * 3)
    (note,) = [line for line in str(kernel.explain()).splitlines() if ": strips of " in line and "bytes" in line]
    names = {name.strip() for name in note.split(":")[0].split(",")}
    assert {"S2", "S4"} <= names and ("S3" in names) == shared
