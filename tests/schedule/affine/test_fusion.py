"""Which neighbouring nests share a loop, and that a long sequence of them does not take isl long to decide."""

import numpy as np
import pytest

import polyml
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.pipeline.stages import extract
from polyml.polyhedra import budget
from polyml.schedule.affine.fusion import fuse
from polyml.schedule.affine.scheduler import affine_schedule
from polyml.schedule.analysis.traffic import nests
from polyml.schedule.legality.check import check_legal


def rows(A, B):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j - 1] + 1.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            B[i, j] = B[i, j - 1] + A[i, j]


def columns(A, B):
    for j in range(A.shape[1]):
        for i in range(1, A.shape[0]):
            A[i, j] = A[i - 1, j] + 1.0
    for j in range(A.shape[1]):
        for i in range(1, A.shape[0]):
            B[i, j] = B[i - 1, j] + A[i, j]


def first_row(A, B):
    for j in range(A.shape[1]):
        A[0, j] = 0.0
    for j in range(A.shape[1]):
        for i in range(1, A.shape[0]):
            A[i, j] = A[i - 1, j] + B[i, j]


def start_of_sums(x, A, B):
    """What is between may be passed; of no columns the second nest has no rows either."""
    for i in range(A.shape[0]):
        x[i] = 0.0
    for i in range(B.shape[0]):
        B[i, 0] = 1.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[i] = x[i] * 0.5 + A[i, j]


def many(A, B):
    """Sweeps over two arrays by turns, each with scalars of its own."""
    for i in range(A.shape[0]):
        s = 0.0
        t = 0.0
        u = 0.0
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + s * 0.5 + t * 0.25 + u
            u = t
            t = s
            s = A[i, j]
    for j in range(A.shape[1]):
        s = 0.0
        t = 0.0
        u = 0.0
        for i in range(A.shape[0]):
            B[i, j] = A[i, j] + s * 0.5 + t * 0.25 + u
            u = t
            t = s
            s = B[i, j]
    for i in range(A.shape[0]):
        s = 0.0
        t = 0.0
        u = 0.0
        for j in range(A.shape[1]):
            A[i, j] = B[i, j] + s * 0.5 + t * 0.25 + u
            u = t
            t = s
            s = A[i, j]


def sums(x, y, z):
    """Sums of x and y, of which a number in between needs some, and sums of z, of which one needs that number."""
    xx = yy = xy = zz = 0.0
    for i in range(x.shape[0]):
        xx += x[i] * x[i]
    for i in range(x.shape[0]):
        yy += y[i] * y[i]
    scale = 1.0 / (xx * yy + 1.0)
    for i in range(x.shape[0]):
        xy += x[i] * y[i]
    for i in range(z.shape[0]):
        zz += z[i]
    rest = 0.0
    for i in range(z.shape[0]):
        rest += z[i] * scale
    return xx, yy, xy, zz, rest


def sum_beside_a_recurrence(x, y):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += x[i]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * y[i] + x[i]
    return total


MATRIX, VECTOR = np.zeros((5, 7)), np.zeros(5)


def modelled(function, *arguments):
    scop = expand(extract(infer(parse(function), tuple(map(arg_type, arguments)))))
    return scop, dependences(scop)


def names(tree):
    return [sorted(nest) for nest in nests(tree)]


@pytest.mark.parametrize(
    ("function", "arguments", "wanted"),
    [
        (rows, (MATRIX, MATRIX), [["S0", "S1"]]),
        (columns, (MATRIX, MATRIX), [["S0"], ["S1"]]),
        (first_row, (MATRIX, MATRIX), [["S0", "S1"]]),
        (start_of_sums, (VECTOR, MATRIX, MATRIX), [["S1"], ["S0", "S2"]]),
    ],
    ids=["rows", "columns", "first_row", "start_of_sums"],
)
def test_neighbours_share_a_loop_that_brings_the_same_rows(function, arguments, wanted):
    scop, found = modelled(function, *arguments)
    tree, _ = affine_schedule(scop, found)
    check_legal(tree, scop, found)
    assert sorted(names(tree)) == sorted(wanted)


def test_many_nests_are_decided_about_with_few_operations():
    scop, found = modelled(many, MATRIX, MATRIX)
    apart, _ = affine_schedule(scop, found, "no")
    with budget(150_000):
        tree = fuse(apart, scop, found)
    check_legal(tree, scop, found)
    assert len(nests(apart)) == 12 and len(nests(tree)) == 3


def shared(function, *arguments):
    """The statements in loops, by loop, where updates of reductions may share one."""
    scop, found = modelled(function, *arguments)
    tree = fuse(affine_schedule(scop, found, "no")[0], scop, found, reductions(scop, "reassociate"))
    check_legal(tree, scop, found)
    loops = {name for name, statement in scop.statements.items() if statement.iterators}
    return sorted(sorted(loops & set(nest)) for nest in nests(tree) if loops & set(nest))


def test_sums_over_the_same_vector_share_a_loop_past_what_is_between():
    nest = shared(sums, VECTOR, VECTOR, VECTOR)
    assert sorted(map(len, nest)) == [2, 3], nest  # those of z, of which one needs a number in between, and the others
    assert shared(sum_beside_a_recurrence, VECTOR, VECTOR) == [["S1"], ["S2"]]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_sums_in_one_loop_are_those_of_python(dtype, fp, threads):
    for function in (sums, sum_beside_a_recurrence):
        compiled = polyml.kernel(function, cache=False, fallback="error", fp=fp, threads=threads)
        for size in (2, 5, 3000):
            vectors = [
                np.random.default_rng(size).integers(-1, 2, size).astype(dtype) for _ in range(function.__code__.co_argcount)
            ]
            own = [vector.copy() for vector in vectors]
            with np.errstate(all="ignore"):
                found, wanted = compiled(*vectors), function(*own)
            np.testing.assert_allclose(
                np.asarray(found, float), np.asarray(wanted, float), rtol=1e-4 if dtype == np.float32 else 1e-12
            )
