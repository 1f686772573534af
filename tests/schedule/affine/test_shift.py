"""Loops of one iteration fused with loops of the next."""

import numpy as np

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.order import sequence
from polyml.model.core.dependence import dependences
from polyml.polyhedra import points
from polyml.schedule.affine.scheduler import affine_schedule
from polyml.schedule.affine.shift import shift
from polyml.schedule.legality.check import check_legal
from tests.codegen.samples import scop_of
from tests.schedule.scheduling import path_to


def dots_and_updates(A, Q, R):
    for j in range(A.shape[1]):
        for k in range(R.shape[0]):
            for i in range(A.shape[0]):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(A.shape[0]):
                A[i, j] -= Q[i, k] * R[k, j]


def sweeps(A, B):
    for t in range(9):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] + B[i + 1]


def strangers(A, B, s, t):
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            s[k] += A[k, i] * t[k]
        for i in range(A.shape[1]):
            B[k, i] = s[k]


def modelled(function, **shapes):
    scop = scop_of(function, {name: np.zeros(shape) for name, shape in shapes.items()})
    return scop, dependences(scop)


def test_an_update_is_fused_with_the_next_dot_product():
    scop, found = modelled(dots_and_updates, A=(5, 4), Q=(5, 3), R=(3, 4))
    tree, _ = affine_schedule(scop, found)
    (outer, inner), (same, inside) = path_to(tree, "S0"), path_to(tree, "S1")
    assert outer.members == ("j", "k") and same.members == ("j", "(1 + k)"[1:-1])
    assert inner.members == inside.members == ("i",)
    check_legal(tree, scop, found)
    sizes = {p.name: 4 + k for k, p in enumerate(scop.parameters)}
    ran = sequence(build(scop, tree), sizes)
    assert len(ran) == len(set(ran)) and set(ran) == points(scop.domain, **sizes)
    first, last = ran.index(("S1", (0, 0, 0))), ran.index(("S1", (0, 0, 1)))
    assert ("S0", (0, 1, 0)) in ran[first:last]  # of the next k, between two updates


def recursion(r, y, z, total, alpha):
    for k in range(1, r.shape[0]):
        for i in range(k):
            total[k] += r[k - i - 1] * y[i]
        alpha[k] = total[k] - r[k]
        for i in range(k):
            z[i] = y[i] + alpha[k] * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha[k]


def test_a_loop_among_others_is_fused_with_the_first_one_of_the_next_iteration():
    scop, found = modelled(recursion, r=(7,), y=(7,), z=(7,), total=(7,), alpha=(7,))
    tree, _ = affine_schedule(scop, found)
    check_legal(tree, scop, found)
    assert path_to(tree, "S3")[0].members == ("1 + k",)
    assert path_to(tree, "S3")[1].members == path_to(tree, "S0")[1].members == ("i",)
    sizes = {p.name: 7 for p in scop.parameters}
    ran = sequence(build(scop, tree), sizes)
    assert len(ran) == len(set(ran)) and set(ran) == points(scop.domain, **sizes)
    assert ran.index(("S3", (4, 2))) + 1 == ran.index(("S0", (5, 2)))
    assert ran.index(("S1", (5,))) < ran.index(("S2", (5, 0))) < ran.index(("S4", (5,))) < ran.index(("S3", (5, 0)))


def test_what_is_not_legal_stays_as_it_is():
    scop, found = modelled(sweeps, A=(9,), B=(9,))
    assert shift(scop.schedule, scop, found) is scop.schedule


def test_loops_that_share_nothing_stay_as_they_are():
    scop, found = modelled(strangers, A=(4, 5), B=(4, 5), s=(4,), t=(4,))
    assert shift(scop.schedule, scop, found) is scop.schedule
