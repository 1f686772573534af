"""Array expressions in their cheapest form: chains against all orders, what may be rewritten, what a call computes."""

import functools
import itertools
import random

import numpy as np
import pytest

import polyml
from polyml.dtypes import F16, F32, F64, I32, I64
from polyml.frontend.algebra.rewrite import rewritten
from polyml.frontend.arrays.lower import lowered
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType, ScalarType
from polyml.pipeline.passes import without
from tests.frontend.define import define


def of(source, types, extents=None, fp="reassociate"):
    kernel = parse(define(source))
    return kernel, rewritten(kernel, types, fp=fp, extents=extents)


def after(source, types, extents=None, fp="reassociate"):
    return [each.after for each in of(source, types, extents, fp)[1].rewrites]


def matrices(kind, *ranks):
    return [ArrayType(kind, rank) for rank in ranks]


def cost(chain, extents):
    """The multiplications of a chain that is written with parentheses, and the shape of its value."""
    if isinstance(chain, str):
        return 0, extents[chain]
    (left, rows), (right, columns) = (cost(part, extents) for part in chain)
    size = functools.reduce(lambda a, b: a * b, (*rows, *columns[1:]), 1)
    return left + right + size, (*rows[:-1], *columns[1:])


def orders(names):
    if len(names) == 1:
        yield names[0]
    for k in range(1, len(names)):
        yield from itertools.product(orders(names[:k]), orders(names[k:]))


def nested(text):
    """The order that a chain's text has: A @ (B @ C) -> ("A", ("B", "C"))."""

    class Name(str):
        def __matmul__(self, other):
            return Pair((self, other))

    class Pair(tuple):
        def __matmul__(self, other):
            return Pair((self, other))

    return eval(text, {name: Name(name) for name in "ABCDEFG"})


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_a_chain_is_the_cheapest_of_all(seed):
    rng = random.Random(seed)
    names = "ABCDEFG"[: rng.randint(3, 6)]
    ranks = [1 if k in (0, len(names) - 1) and rng.random() < 0.3 else 2 for k in range(len(names))]
    sizes = [rng.choice((200, 400, 1000, 3000)) for _ in range(len(names) + 1)]
    extents = {name: tuple(sizes[k + (k == 0 and ranks[k] == 1) :][:rank]) for k, (name, rank) in enumerate(zip(names, ranks))}
    chains = list(orders(names))
    written = rng.choice(chains)
    text = str(written).replace("'", "").replace(",", " @")
    found = after(f"def f({', '.join(names)}): return {text}", matrices(F64, *ranks), {
        (name, dim): size for name, shape in extents.items() for dim, size in enumerate(shape)
    })  # fmt: skip
    best = min(cost(chain, extents)[0] for chain in chains)
    mine = cost(nested(found[0]) if found else written, extents)[0]
    assert mine <= best * 1.2  # what moves through memory has a price too


CASES = [
    ("A @ B @ x", "A @ (B @ x)"),
    ("x @ A @ B", "x @ A @ B"),
    ("(A @ B).T", "B.T @ A.T"),
    ("(2.0 * A) @ x", "2.0 * (A @ x)"),
    ("x @ (B / s)", "x @ B / s"),
    ("A @ B - B @ B", "(A - B) @ B"),
    ("np.trace(A @ B)", "np.sum(A * B.T)"),
    ("np.diagonal(A @ B)", "np.sum(A * B.T, axis=1)"),
    ("(A @ B).sum(0)", "np.sum(A, axis=0) @ B"),
    ("(A @ B).sum(-1)", "A @ np.sum(B, axis=1)"),
    ("np.outer(x, y) @ z", "x * (y @ z)"),
    ("np.sum(x * s)", "s * np.sum(x)"),
    ("np.exp(A @ B @ x) + 1.0", "A @ (B @ x)"),
]  # fmt: skip
TYPES = [*matrices(F64, 2, 2, 1, 1, 1), ScalarType(F64)]


@pytest.mark.parametrize(("before", "wanted"), CASES)
def test_an_expression_gets_its_cheapest_form(before, wanted):
    found = after(f"def f(A, B, x, y, z, s): return {before}", TYPES)
    assert found == ([wanted] if wanted != before else [])


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize(("before", "wanted"), CASES)
def test_under_strict_only_what_keeps_bits_is_rewritten(before, wanted, fp):
    rng = np.random.default_rng(1)
    given = [rng.random((7, 7)), rng.random((7, 7)), rng.random(7), rng.random(7), rng.random(7), np.float64(3.0)]
    kernel, made = of(f"def f(A, B, x, y, z, s): return {before}", TYPES, fp=fp)
    old, new = (interpret(lowered(each, TYPES), given) for each in (kernel, made.kernel))
    if fp == "strict":
        assert np.asarray(old).tobytes() == np.asarray(new).tobytes()
        assert bool(made.rewrites) == (before == "(A @ B).T")
    np.testing.assert_allclose(new, old, rtol=1e-13)


def test_integers_are_rewritten_under_strict_too_if_they_wrap_alike():
    source = "def f(A, B, x): return A @ B @ x"
    assert after(source, matrices(I64, 2, 2, 1), fp="strict") == ["A @ (B @ x)"]
    assert after(source, [*matrices(I32, 2, 2), ArrayType(I64, 1)], fp="strict") == []  # products of 32 bits wrap before the last
    assert after("def f(A, B): return np.sum(A @ B)", matrices(I32, 2, 2)) == []  # the sum is of 64 bits


@pytest.mark.parametrize("kinds", [(F16, F16, F16), (F32, F32, F64), (F32, F64, F32)])
def test_types_that_round_otherwise_are_left_alone(kinds):
    assert after("def f(A, B, x): return A @ B @ x", [ArrayType(k, r) for k, r in zip(kinds, (2, 2, 1))]) == []


def test_the_sizes_of_the_call_decide():
    source = "def f(A, B, C): return A @ B @ C"
    thin = {("A", 0): 1000, ("A", 1): 4, ("B", 0): 4, ("B", 1): 1000, ("C", 0): 1000, ("C", 1): 4}
    flat = {("A", 0): 4, ("A", 1): 1000, ("B", 0): 1000, ("B", 1): 4, ("C", 0): 4, ("C", 1): 1000}
    assert after(source, matrices(F64, 2, 2, 2), thin) == ["A @ (B @ C)"]
    assert after(source, matrices(F64, 2, 2, 2), flat) == []
    assert of(source, matrices(F64, 2, 2, 2), flat)[1].depends_on_sizes
    assert not of("def f(A, B, x): return (A @ B).T", matrices(F64, 2, 2, 1))[1].depends_on_sizes


def test_a_size_that_broadcasts_is_no_diagonal():
    kinds = [ArrayType(F64, 2, frozenset({(0, 1)})), ArrayType(F64, 2)]
    assert after("def f(A, B): return np.trace(A @ B)", kinds) == []

    @polyml.kernel(cache=False)
    def traced(A, B):
        return np.trace(A @ B)

    A, B = np.arange(6.0).reshape(1, 6), np.arange(12.0).reshape(6, 2)
    for b in (B, B[:, :1]):
        assert traced(A, b) == np.trace(A @ b)


def test_calls_of_other_sizes_get_another_order():
    @polyml.kernel(fallback="error", cache=False)
    def chain(A, B, C):
        return A @ B @ C

    rng = np.random.default_rng(2)
    for n, m in ((300, 6), (6, 300), (300, 6)):
        A, B, C = (rng.random(shape) for shape in ((n, m), (m, n), (n, m)))
        np.testing.assert_allclose(chain(A, B, C), A @ B @ C, rtol=1e-12)
    notes = {note for form in chain._specialisations.values() for note in form.artifact.notes if note.startswith("algebra")}
    assert len(notes) == 1 and len(chain._specialisations) == 2


def test_explain_says_what_was_rewritten():
    @polyml.kernel(cache=False)
    def chain(A, B, x):
        return A @ B @ x

    chain(np.ones((50, 60)), np.ones((60, 70)), np.ones(70))
    assert "`A @ B @ x` is computed as `A @ (B @ x)` (" in chain.explain()


def test_sizes_that_do_not_fit_raise_what_numpy_raises():
    @polyml.kernel(cache=False)
    def chain(A, B, x):
        return A @ B @ x

    given = np.ones((5, 6)), np.ones((6, 7)), np.ones(6)
    with pytest.raises(ValueError) as wanted:
        chain.py_func(*given)
    with pytest.raises(ValueError) as found:
        chain(*given)
    assert str(found.value) == str(wanted.value)


def test_a_loop_and_a_branch_are_rewritten_by_what_is_known_there():
    @polyml.kernel(cache=False, fallback="error")
    def steps(A, B, x, n):
        y = x.copy()
        for i in range(n):
            y[:] = A @ B @ y / 100.0
            if y[0] > 1e3:
                y[:] = A.T @ B.T @ x
        return y

    rng = np.random.default_rng(3)
    given = rng.random((40, 40)), rng.random((40, 40)), rng.random(40)
    np.testing.assert_allclose(steps(*given, 5), steps.py_func(*given, 5), rtol=1e-11)
    assert steps.explain().count("algebra: ") == 2


def test_the_pass_can_be_left_out():
    rng = np.random.default_rng(4)
    given = rng.random((40, 30)), rng.random((30, 20)), rng.random(20)
    with without("algebra"):
        plain = polyml.kernel(define("def f(A, B, x): return A @ B @ x"), cache=False, fallback="error")
        np.testing.assert_allclose(plain(*given), given[0] @ given[1] @ given[2], rtol=1e-12)
        assert "algebra" not in plain.explain()
