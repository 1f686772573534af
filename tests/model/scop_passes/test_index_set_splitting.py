"""Index-set splitting: pieces are the domain, nothing is ordered inside one, and only what is freed by it is cut."""

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.model.core.dependence import dependences
from polyml.model.scop_passes.index_set_splitting import freeing_partitions, piece_names, split
from polyml.polyhedra import equal_first, extract_map, points
from tests.codegen.samples import scop_of
from tests.model import polybench


def paths(A):
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] = min(A[i, j], A[i, k] + A[k, j])


def pivots_from_below(A):
    for k in range(A.shape[0] - 1, -1, -1):
        for j in range(A.shape[1]):
            for i in range(A.shape[0]):
                A[i, j] += A[i, k] * A[k, j]


def first_row(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + 2 * A[0, j]


def mirrored(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + 2 * A[A.shape[0] - 1 - i, j]


def running_sum(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + A[i - 1, j]


def apart(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 2 * A[i, j]


# into how many pieces, below how many loops
CUT = {paths: (9, 1), pivots_from_below: (9, 1), first_row: (2, 0), mirrored: (3, 0)}


def cut(kernel):
    scop = scop_of(kernel, {"A": np.zeros((6, 7), np.int64)})
    return scop, freeing_partitions(scop, dependences(scop))


def extents(scop):
    return {p.name: 6 for p in scop.parameters}


@pytest.mark.parametrize("kernel", CUT, ids=lambda k: k.__name__)
def test_pieces_are_the_domain_and_free_inside_the_outer_loops(kernel):
    scop, found = cut(kernel)
    pieces, depth = found["S0"].pieces, found["S0"].depth
    assert (len(pieces), depth) == CUT[kernel]
    seen = [point for piece in pieces for point in points(piece, **extents(scop))]
    assert len(seen) == len(set(seen)) and set(seen) == points(scop.statements["S0"].domain, **extents(scop))
    order = dependences(scop).validity
    for piece in pieces:
        inside = extract_map(order, piece, piece).intersect_domain(piece).intersect_range(piece)
        assert inside.intersect(equal_first(inside, depth)).is_empty()


@pytest.mark.parametrize("kernel", CUT, ids=lambda k: k.__name__)
def test_instances_stay_in_their_order(kernel):
    scop, found = cut(kernel)
    made = split(scop, {name: c.pieces for name, c in found.items()})
    assert set(made.statements) == set(piece_names("S0", found["S0"].pieces))
    before, after = (sequence(build(s, s.schedule), extents(scop)) for s in (scop, made))
    assert [point for _, point in before] == [point for _, point in after]


@pytest.mark.parametrize("kernel", [running_sum, apart], ids=lambda k: k.__name__)
def test_what_every_instance_waits_for_or_none_is_not_cut(kernel):
    assert cut(kernel)[1] == {}


@pytest.mark.parametrize("name", [n for n in polybench.NAMES if n != "floyd_warshall"])
def test_other_kernels_are_not_cut(name):
    case = polybench.case(name)
    scop = scop_of(case.function, dict(zip(case.function.__code__.co_varnames, case.args)))
    assert freeing_partitions(scop, dependences(scop)) == {}
