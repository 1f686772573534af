"""The order of an einsum's operands is the cheapest of all orders, and what it computes is the same."""

import itertools
import random

import numpy as np
import pytest

import polyml
from polyml.dtypes import F16, F64, I64
from polyml.frontend.algebra.einsum_order import Contraction, left_to_right
from polyml.frontend.algebra.rewrite import rewritten
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType
from tests.frontend.define import define


def orders(operands):
    """All ways to multiply some operands two at a time."""
    if len(operands) == 1:
        yield operands[0]
    for count in range(1, len(operands)):
        for part in itertools.combinations(operands[1:], count - 1):
            rest = [each for each in operands[1:] if each not in part]
            yield from itertools.product(orders([operands[0], *part]), orders(rest))


def subscripts(rng):
    count = rng.randint(3, 5)
    labels = ["".join(rng.sample("ijklm", rng.randint(1, 3))) for _ in range(count)]
    every = sorted(set("".join(labels)))
    return labels, "".join(rng.sample(every, rng.randint(0, min(2, len(every)))))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_order_is_cheaper(seed):
    rng = random.Random(seed)
    labels, result = subscripts(rng)
    extents = {c: rng.choice((3, 20, 100, 500)) for c in "ijklm"}
    work = Contraction(tuple(labels), result, {}, 8)
    best = work.cost(work.cheapest(extents), extents)[0]
    assert best == pytest.approx(min(work.cost(order, extents)[0] for order in orders(list(range(len(labels))))))


@pytest.mark.parametrize("seed", range(10))
def test_an_einsum_in_another_order_computes_the_same(seed):
    rng, values = random.Random(100 + seed), np.random.default_rng(seed)
    labels, result = subscripts(rng)
    extents = {c: rng.choice((2, 3, 9, 20)) for c in "ijklm"}
    names = "ABCDE"[: len(labels)]
    given = [values.integers(-3, 4, tuple(extents[c] for c in own)).astype(float) for own in labels]
    source = f'def f({", ".join(names)}): return np.einsum("{",".join(labels)}->{result}", {", ".join(names)})'
    wanted = define(source)(*given)
    np.testing.assert_array_equal(polyml.kernel(define(source), fallback="error", cache=False)(*given), wanted)


def after(types, fp="reassociate", subscripts="ij,jk,k->i"):
    names = "ABCDE"[: len(types)]
    kernel = parse(define(f'def f({", ".join(names)}): return np.einsum("{subscripts}", {", ".join(names)})'))
    return [each.after for each in rewritten(kernel, types, fp=fp).rewrites]


def test_a_chain_that_ends_in_a_vector_begins_there():
    wanted = ['np.einsum("ij,j->i", A, np.einsum("jk,k->j", B, C))']
    types = [ArrayType(F64, rank) for rank in (2, 2, 1)]
    assert after(types) == wanted
    assert after([ArrayType(I64, rank) for rank in (2, 2, 1)], "strict") == wanted


def test_what_rounds_otherwise_or_is_not_understood_is_left_alone():
    types = [ArrayType(F64, rank) for rank in (2, 2, 1)]
    assert after(types, "strict") == []
    assert after([ArrayType(F16, rank) for rank in (2, 2, 1)]) == []
    assert after([ArrayType(F64, 2), ArrayType(F64, 2), ArrayType(I64, 1)]) == []
    assert after(types, subscripts="...j,jk,k->...") == []


def test_operands_in_their_own_order():
    assert left_to_right(4) == (((0, 1), 2), 3)
