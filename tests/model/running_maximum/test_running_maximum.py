"""Sums that depend on a row's maximum run in blocks of columns with the maximum so far: what is recognised, and every value."""

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.codegen.passes.privatize import privatize
from polyml.model.running_maximum import running_maximum, statement_writer
from polyml.pipeline.passes import without
from polyml.schedule.strips import row_strips

N, M, D, BLOCK = 70, 57, 5, 16
INF = np.float32(np.inf)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(statement_writer, "BLOCK", BLOCK)
    monkeypatch.setattr(running_maximum, "ROWS", 2**40)  # no row stays in the second cache
    monkeypatch.setattr(row_strips, "LEAST_SHARE", 0)


def attention(Q, K, V):
    S = Q @ K.transpose(0, 2, 1) * np.float32(Q.shape[2] ** -0.5)
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return W / W.sum(axis=2, keepdims=True) @ V


def divided_behind(Q, K, V):
    S = Q @ K.transpose(0, 2, 1)
    W = np.exp2(S - S.max(axis=2, keepdims=True))
    return (W @ V) / W.sum(axis=2, keepdims=True)


def masked(Q, K, V, mask):
    S = Q @ K.transpose(0, 2, 1) + mask
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return W / W.sum(axis=2, keepdims=True) @ V


def causal(Q, K, V):
    places = np.arange(Q.shape[1])
    S = Q @ K.transpose(0, 2, 1)
    S = np.where(places[None, :] <= places[:, None], S, np.float32(-np.inf))
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return W / W.sum(axis=2, keepdims=True) @ V


def large_negative(Q, K, V):
    places = np.arange(Q.shape[1])
    S = Q @ K.transpose(0, 2, 1)
    S = np.where(places[None, :] <= places[:, None], S, np.float32(-1e30))
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return W / W.sum(axis=2, keepdims=True) @ V


def grouped(Q, K, V):
    heads, n, d = Q.shape
    S = Q.reshape(K.shape[0], heads // K.shape[0] * n, d) @ K.transpose(0, 2, 1)
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return (W / W.sum(axis=2, keepdims=True) @ V).reshape(heads, n, d)


def log_sum_exp(Q, K):
    S = Q @ K.transpose(0, 2, 1)
    m = S.max(axis=2)
    return m + np.log(np.exp(S - m[:, :, None]).sum(axis=2))


def with_statistics(Q, K, V, mask):
    S = Q @ K.transpose(0, 2, 1) + mask
    m = S.max(axis=2)
    W = np.exp(S - m[:, :, None])
    total = W.sum(axis=2)
    return W @ V, total, m


def of_rows(A, B, V):
    n, keys = A.shape[0], B.shape[0]
    R = np.zeros(A.shape, A.dtype)
    S = np.empty((n, keys), A.dtype)
    for i in range(n):
        top = -np.inf
        for j in range(keys):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[j, k]
            S[i, j] = s
            top = max(top, S[i, j])
        total = 0.0
        for j in range(keys):
            S[i, j] = np.exp(S[i, j] - top)
            total += S[i, j]
        for j in range(keys):
            for k in range(A.shape[1]):
                R[i, k] += S[i, j] * V[j, k]
        for k in range(A.shape[1]):
            R[i, k] /= total
    return R


def weights_returned(Q, K, V):  # the terms are needed as a whole
    S = Q @ K.transpose(0, 2, 1)
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return W @ V, W


def of_another_maximum(Q, K, V):  # terms of other numbers may overflow before their sums are corrected
    S = Q @ K.transpose(0, 2, 1)
    W = np.exp(2 * S - S.max(axis=2, keepdims=True))
    return (W @ V) / W.sum(axis=2, keepdims=True)


def squares(Q, K, V):  # not linear in the terms
    S = Q @ K.transpose(0, 2, 1)
    W = np.exp(S - S.max(axis=2, keepdims=True))
    return ((W * W) @ V) / W.sum(axis=2, keepdims=True)


def given(seed=0, heads=2):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((h, n, D)).astype(np.float32) for h, n in ((heads, N), (2, M), (2, M))]


def a_mask(seed=1):
    """Of single keys, of the first blocks, of the last ones, of all but the last key, and of whole rows."""
    mask = np.where(np.random.default_rng(seed).random((N, M)) < 0.3, -INF, np.float32(0)).astype(np.float32)
    mask[5, :], mask[6, :30], mask[7, 30:], mask[9, :-1] = -INF, -INF, -INF, -INF
    mask[8, :] = np.finfo(np.float32).min
    return mask


def same_rows():
    Q, K, V = given()
    return [Q, np.concatenate([K, K[:, :13]], axis=1), np.concatenate([V, V[:, :13]], axis=1)]


CASES = {
    attention: given, divided_behind: given, causal: same_rows, large_negative: same_rows,
    masked: lambda: [*given(), a_mask()], with_statistics: lambda: [*given(), a_mask()],
    grouped: lambda: given(heads=4), log_sum_exp: lambda: given()[:2],
}  # fmt: skip


def blocked(kernel):
    return "running maximum, since exp" in str(kernel.explain())


def check(kernel, function, arguments):
    with np.errstate(all="ignore"):
        found, wanted = kernel(*(a.copy() for a in arguments)), function(*(a.astype(np.float64) for a in arguments))
    for mine, right in zip(*(made if isinstance(made, tuple) else (made,) for made in (found, wanted)), strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-5, atol=2e-6)


def compared(function, arguments, **options):
    kernel = polyml.kernel(fallback="error", cache=False, **options)(function)
    check(kernel, function, arguments)
    return kernel


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_values_are_numpys(function):
    kernel = compared(function, CASES[function]())
    assert blocked(kernel)
    with without("running_maximum"):
        assert not blocked(compared(function, CASES[function]()))


def test_loops_are_recognised_too():
    rng = np.random.default_rng(2)
    A, B, V = (rng.standard_normal((n, D)) for n in (N, M, M))
    assert blocked(compared(of_rows, [A, B, V]))


@pytest.mark.parametrize("function", [weights_returned, of_another_maximum, squares], ids=lambda f: f.__name__)
def test_what_blocks_would_change_stays(function):
    assert not blocked(compared(function, given()))


def test_the_order_of_floats_is_kept_where_it_is_asked_for():
    assert not blocked(compared(attention, given(), fp="strict"))
    assert not blocked(compared(attention, given(), schedule="source"))
    assert blocked(compared(attention, given(), fp="fast"))


def test_short_rows_stay_whole(monkeypatch):
    monkeypatch.setattr(running_maximum, "ROWS", 1)
    kernel = compared(attention, given())
    assert not blocked(kernel)
    assert "no running maximum: 1 rows of 57 columns fit" in str(kernel.explain())


def places(mask, infinite):
    mask = mask.copy()
    for row, column, value in infinite:
        mask[row, column] = value
    return mask


def test_infinities_and_nan_among_what_is_compared():
    kernel = polyml.kernel(with_statistics, fallback="error", cache=False)
    for row in range(5, 9):  # with masks of each kind
        for column in (0, 20, M - 1):
            for value in (np.inf, np.nan, -np.inf):
                check(kernel, with_statistics, [*given(), places(a_mask(), [(row, column, value)])])
    assert blocked(kernel)


def test_infinities_and_nan_among_what_is_added_up():
    kernel = polyml.kernel(masked, fallback="error", cache=False)
    for column in (0, 20, M - 1):
        for value in (np.inf, np.nan, -np.inf):
            Q, K, V = given()
            V[0, column, 2] = value
            check(kernel, masked, [Q, K, V, a_mask()])
    assert blocked(kernel)


def test_an_infinity_whose_term_is_zero_only_for_the_last_maximum_may_stay_infinite():
    Q, K, V = given()
    V[0, 0, 2], Q[0, 0], K[0, :, :] = np.inf, 1, 0
    K[0, :, 0] = np.linspace(0, 300, M)  # 2**-300 is 0 in float32, and 0 * inf is NaN
    kernel = polyml.kernel(divided_behind, fallback="error", cache=False)
    with np.errstate(all="ignore"):
        assert np.isnan(divided_behind(Q, K, V)[0, 0, 2])
        assert not np.isfinite(kernel(Q, K, V)[0, 0, 2])
    assert blocked(kernel)


@pytest.mark.parametrize("keys", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_any_number_of_columns(keys):
    rng = np.random.default_rng(keys)
    shapes = ((1, N, D), (1, keys, D), (1, keys, D))
    compared(attention, [rng.standard_normal(shape).astype(np.float32) for shape in shapes])


def test_the_error_is_within_the_documented_bound():
    """n + 6 b roundings, where n columns are in b blocks, and the error of x: docs/design/running_maximum.md."""
    rng = np.random.default_rng(3)
    eps, Q = np.finfo(np.float32).eps, rng.standard_normal((1, N, D)).astype(np.float32) * 3
    K, V = (rng.standard_normal((1, M, D)).astype(np.float32) for _ in range(2))
    kernel = polyml.kernel(divided_behind, fallback="error", cache=False)
    found = kernel(Q, K, V)
    assert blocked(kernel)
    Q, K, V = (a.astype(np.float64) for a in (Q, K, V))
    S = Q @ K.transpose(0, 2, 1)
    W = np.exp2(S - S.max(axis=2, keepdims=True))
    of_x = (D + 2) * eps * (np.abs(Q) @ np.abs(K).transpose(0, 2, 1)).max(axis=2, keepdims=True)
    blocks = -(-M // BLOCK)
    relative = 4 * of_x + 2 * (M + 6 * blocks) * eps
    bound = relative * (W @ np.abs(V)) / W.sum(axis=2, keepdims=True)
    assert (np.abs(found - divided_behind(Q, K, V)) <= bound).all()


def test_memory_is_for_a_strip_and_a_block(monkeypatch):
    monkeypatch.setattr(row_strips, "LARGEST", 32)
    captured = []

    def kept(program, *args, **named):
        captured.append(privatize(program, *args, **named))
        return captured[-1]

    with pass_manager.replaced({"privatize": kept}):
        compared(attention, given())
    (program,) = captured
    lengths = [window.lengths for name, window in program.windows.items() if program.scop.arrays[name].source_name == "_value"]
    assert [each[1:] for each in lengths] == [(32, BLOCK)]
