"""Dependences against those of a traced run."""

from functools import reduce

import islpy as isl
import numpy as np
import pytest

from polyml.model.core.dependence import dependences, pairs_to_compare, sources_of
from polyml.polyhedra import fix, points
from tests.model.modelling import VECTOR, events, model, model_for, pairs, sizes_of, traced_dependences
from tests.model.polybench import NAMES, case


def prefix_sum(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] + A[i]


def backwards(A, B):
    n = A.shape[0]
    for i in range(n - 1, -1, -2):
        A[i] = B[n - 1 - i]
        for j in range(i, n, 3):
            B[j] = A[i] + B[j - i]
    for i in range(n):
        A[i // 2] += B[i % 3]


def wrapped(A, B):
    n = A.shape[0]
    for i in range(n):
        A[-1 - i] = B[i - 2]
        B[i + 1 if i + 1 < n else 0] = A[i - n // 2]


def guarded(A, B):
    for i in range(A.shape[0]):
        for j in range(2):
            if i % 2 == j:
                A[i] = B[j] + (A[i - 1] if i > 0 else 1.0)
            elif j < i and not i == 3:
                B[j] = A[i - j]


def imperfect(A, B):
    n = A.shape[0]
    for t in range(3):
        A[0] = B[t]
        for i in range(t, n):
            B[i] = A[i] + A[0]
        for i in range(1, n - 1):
            A[i] = B[i - 1] + B[i + 1]


@pytest.mark.parametrize("size", [3, 6])
@pytest.mark.parametrize("function", [prefix_sum, backwards, wrapped, guarded, imperfect])
def test_dependences_equal_those_of_a_traced_run(function, size):
    args = [np.ones(size) for _ in range(function.__code__.co_argcount)]
    _compare(function, model_for(function, args), args)


def _has_only_arrays(name):
    kernel = case(name)
    return all(element or len(case(name).args) == 0 for _, _, (_, element) in events(kernel.function, kernel.args))


@pytest.mark.parametrize("name", [n for n in NAMES if _has_only_arrays(n)])
def test_dependences_of_polybench_equal_those_of_a_traced_run(name):
    kernel = case(name)
    _compare(kernel.function, model_for(kernel.function, kernel.args), kernel.args)


def _compare(function, scop, args):
    sizes = sizes_of(scop, args)
    found, expected = dependences(scop), traced_dependences(function, args)
    for kind in ("flow", "anti", "output", "input", "value_flow"):
        assert pairs(fix(getattr(found, kind), sizes), scop, sizes) == expected[kind], kind
    into = [m for s in scop.statements.values() for a in s.reads for m in sources_of(scop, s, a)[0].values()]
    assert set().union(*(pairs(fix(m, sizes), scop, sizes) for m in into)) == expected["value_flow"]


def test_validity_is_flow_anti_and_output_together():
    found = dependences(model(prefix_sum, VECTOR))
    assert found.validity.is_equal(found.flow.union(found.anti).union(found.output))
    assert points(found.validity, A_0=3) == {(("S0", (1,)), ("S0", (2,)))}


def test_live_in_is_what_is_read_before_it_is_written():
    found = dependences(model(prefix_sum, VECTOR))
    expected = {((1,), (0,)), ((1,), (1,)), ((2,), (2,))}
    assert points(found.live_in, A_0=3) == {(("S0", i), ("A", j)) for i, j in expected}


def test_a_scalar_in_memory_orders_the_iterations_that_use_it():
    def carried(A):
        s = 0.0
        for i in range(A.shape[0]):
            s += A[i]
            A[i] = s

    found = dependences(model(carried, VECTOR))
    assert (("S1", (0,)), ("S1", (1,))) in points(found.flow, A_0=2)
    assert (("S2", (0,)), ("S1", (1,))) in points(found.anti, A_0=2)
    assert (("S0", ()), ("S1", (0,))) in points(found.output, A_0=2)


def test_a_kernel_without_accesses_in_common_has_no_dependences():
    def copy(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i]

    assert dependences(model(copy, VECTOR, VECTOR)).validity.is_empty()


def several_nests(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] + 1.0
    for i in range(1, A.shape[0]):
        B[i] = A[i] + B[i - 1]
        A[i] = B[i]
    for i in range(B.shape[0]):
        B[i] = B[i] * A[0]


def test_the_dependences_within_some_statements_are_those_of_all_cut_to_them():
    scop = model(several_nests, VECTOR, VECTOR)
    found = dependences(scop)
    for names in (["S0"], ["S1", "S2"], ["S0", "S3"]):
        own = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(scop.statements[name].domain) for name in names))
        part = found.within(own, scop)
        for kind in ("flow", "anti", "output"):
            cut = getattr(found, kind).intersect_domain(own).intersect_range(own)
            assert getattr(part, kind).is_equal(cut)


def test_pairs_of_statements_are_counted_nest_by_nest():
    assert pairs_to_compare(model(several_nests, VECTOR, VECTOR)) == 1 + (2 + 2) + 1
    assert pairs_to_compare(model(prefix_sum, VECTOR)) == 1
