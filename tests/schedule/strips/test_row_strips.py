"""Products and the nests beside them share strips of rows, in which what they hand on stays in the second cache."""

import numpy as np
import pytest

import polyml
from polyml import pass_manager
from polyml.codegen.passes.privatize import privatize
from polyml.machines import catalogue
from polyml.model.core.scop import Role
from polyml.pipeline.passes import without
from polyml.schedule.strips.row_strips import LARGEST


def attention(Q, K, V):
    S = Q @ K.T
    E = np.exp(S - np.max(S, axis=1, keepdims=True))
    return (E @ V) / np.sum(E, axis=1, keepdims=True)


def heads(Q, K, V):
    S = Q @ np.swapaxes(K, 1, 2)
    E = np.exp(S - np.max(S, axis=2, keepdims=True))
    return (E @ V) / np.sum(E, axis=2, keepdims=True)


def layers(X, W, b, V):
    return np.maximum(X @ W + b, 0) @ V


def normalised(X, W, g):
    Y = X @ W
    m = np.mean(Y, axis=1, keepdims=True)
    v = np.mean((Y - m) ** 2, axis=1, keepdims=True)
    return (Y - m) / np.sqrt(v + 1e-5) * g


def nearest(X, Y):
    x, y = np.sum(X * X, axis=1), np.sum(Y * Y, axis=1)
    return np.min(x[:, None] + y[None, :] - 2 * (X @ Y.T), axis=1)


def in_loops(X, W, V, H, R):
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            H[i, j] = 0.0
            for k in range(X.shape[1]):
                H[i, j] += X[i, k] * W[k, j]
    for i in range(X.shape[0]):
        for j in range(V.shape[1]):
            R[i, j] = 1.0
            for k in range(V.shape[0]):
                R[i, j] += H[i, k] * V[k, j]


def squared(X, W):  # each row of the second product needs all rows of the first one
    Y = X @ W
    return Y @ Y


def separable(X, W, V):  # the outermost loop of the first nest goes along the sum of the second one
    middle = np.zeros((X.shape[0], X.shape[1], X.shape[2] - 2), X.dtype)
    out = np.zeros((V.shape[0], X.shape[1], X.shape[2] - 2), X.dtype)
    for c in range(X.shape[0]):
        for i in range(X.shape[1]):
            for j in range(X.shape[2] - 2):
                for q in range(3):
                    middle[c, i, j] += X[c, i, j + q] * W[c, q]
    for o in range(V.shape[0]):
        for i in range(X.shape[1]):
            for j in range(X.shape[2] - 2):
                for c in range(X.shape[0]):
                    out[o, i, j] += middle[c, i, j] * V[o, c]
    return out


SHAPES = {
    attention: ((531, 32), (1029, 32), (1029, 40)),
    heads: ((3, 211, 32), (3, 1029, 32), (3, 1029, 24)),
    layers: ((517, 40), (40, 1100), (1100,), (1100, 36)),
    normalised: ((519, 33), (33, 1031), (1031,)),
    nearest: ((531, 32), (1029, 32)),
    separable: ((20, 53, 102), (20, 3), (24, 20)),
    in_loops: ((531, 32), (32, 1029), (1029, 40), (531, 1029), (531, 40)),
}


def arguments(function, dtype=np.float32, shapes=()):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) * 0.25 for shape in shapes or SHAPES[function]]


def noted(kernel):
    return [line.strip() for line in str(kernel.explain()).splitlines() if "strips of" in line and "second cache" in line]


@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_strips_compute_what_plain_python_does(function, fp):
    kernel, given, wanted = polyml.kernel(function, cache=False, fp=fp), arguments(function), arguments(function)
    result, expected = kernel(*given), function(*wanted)
    assert noted(kernel)
    for got, right in zip((*given, result), (*wanted, expected)):
        if right is not None:
            np.testing.assert_allclose(got, right, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("rows", [1, 7, 15, 16, 17, 63, 64, 65, 130])
def test_for_any_number_of_rows(rows):
    kernel = polyml.kernel(attention, cache=False)
    given = arguments(attention, shapes=((rows, 32), (1029, 32), (1029, 40)))
    np.testing.assert_allclose(kernel(*given), attention(*given), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("function", [attention, heads, layers], ids=lambda f: f.__name__)
def test_what_is_handed_on_has_memory_for_a_strip_of_each_thread(function):
    captured = []

    def kept(program, *given, **named):
        captured.append(privatize(program, *given, **named))
        return captured[-1]

    with pass_manager.replaced({"privatize": kept}):
        polyml.kernel(function, cache=False)(*arguments(function))
    (program,) = captured
    own = [n for n, a in program.scop.arrays.items() if a.role is Role.LOCAL and "_tile" not in n and len(a.shape) > 1]
    results = {r.array for r in program.scop.results}
    rows = {n: program.windows[n].lengths[0] for n in own if n not in results and "total" not in n}
    assert rows and all(length is not None and length <= LARGEST for length in rows.values())


@pytest.mark.parametrize("change", ["fusion", "tile", "pass"])
def test_there_are_none_where_that_is_not_wanted(change):
    options = {"fusion": {"fusion": "no"}, "tile": {"tile": False}, "pass": {}}[change]
    kernel, given = polyml.kernel(attention, cache=False, **options), arguments(attention)
    with without(*(["row_strips"] if change == "pass" else [])):
        np.testing.assert_allclose(kernel(*given), attention(*given), rtol=2e-4, atol=2e-5)
        assert not noted(kernel)


def test_rows_that_depend_on_other_rows_have_none():
    kernel, given = polyml.kernel(squared, cache=False), arguments(squared, shapes=((700, 300), (300, 700)))
    np.testing.assert_allclose(kernel(*given), squared(*given), rtol=2e-3, atol=2e-3)
    assert not noted(kernel)


def test_nor_have_arrays_that_the_second_cache_holds():
    kernel, given = polyml.kernel(attention, cache=False), arguments(attention, shapes=((60, 32), (70, 32), (70, 8)))
    np.testing.assert_allclose(kernel(*given), attention(*given), rtol=2e-4, atol=2e-5)
    assert not noted(kernel)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_batch_of_one_has_strips_too(batch):
    kernel, given = (
        polyml.kernel(heads, cache=False),
        arguments(heads, shapes=((batch, 400, 16), (batch, 500, 16), (batch, 500, 8))),
    )
    np.testing.assert_allclose(kernel(*given), heads(*given), rtol=2e-4, atol=2e-5)
    assert len(noted(kernel)) == 1


def test_what_no_row_needs_alone_runs_before_the_strips():
    kernel, given = polyml.kernel(nearest, cache=False), arguments(nearest)
    kernel(*given)
    loops = [line for line in str(kernel.inspect_ast()).splitlines() if line.startswith("    for ") and "parallel" in line]
    assert "X_0" in loops.pop() and loops and all("Y_0" in loop for loop in loops) and len(noted(kernel)) == 1


@pytest.mark.parametrize(("percent", "rows"), [(1, 16), (4, 16), (8, 16), (100, 32)])  # 4,096 bytes a row, beside 1 MB of operands
def test_the_memory_of_a_strip_is_little_beside_what_moves(percent, rows, monkeypatch):
    def sum_of_squares(X, W):
        P = X @ W
        return np.sum(P * P)

    monkeypatch.setattr("polyml.machines.cpu.host", lambda: catalogue.processor("zen4"))
    monkeypatch.setattr("polyml.schedule.strips.row_strips.FRESH_SHARE", percent)
    kernel, given = polyml.kernel(sum_of_squares, cache=False, threads=1), arguments(None, shapes=((1024, 128), (128, 1024)))
    np.testing.assert_allclose(kernel(*given), sum_of_squares(*given), rtol=2e-3)
    (note,) = noted(kernel)
    assert f"strips of {rows} rows" in note
