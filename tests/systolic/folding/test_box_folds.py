"""Formulas of boxes, against what isl counts of the same folds, and against instances one by one."""

from itertools import product
from math import prod

import pytest

from polyml.systolic.folding import box_folds
from polyml.systolic.folding.box_folds import BoxFolds, block_runs
from polyml.systolic.folding.folded_domain import FoldedDomain
from polyml.systolic.folding.stalls import RepeatedSteps
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import SpaceTime
from tests.systolic.designs import CALLS, matmul, nests_of, picture, subsequence, syrk, triangular, zeros

BOXES = [function for function in CALLS if function not in (triangular, syrk)]


def flat(steps):
    return [one for step in steps for one in (flat(step.steps) * step.number if isinstance(step, RepeatedSteps) else [step])]


def same(recurrence, mapping, shape):
    assert box_folds.applies(recurrence, mapping)
    found, counted = BoxFolds(recurrence, mapping, shape), FoldedDomain(recurrence, mapping, shape)
    for padded in (False, True):
        assert list(found.classes(padded)) == list(counted.classes(padded))
        assert flat(found.steps(padded)) == flat(counted.steps(padded))
    assert list(found.traffic()) == list(counted.traffic())


@pytest.mark.parametrize("shape", [(3, 2), (5,)], ids=str)
@pytest.mark.parametrize("function", BOXES, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=10)
def test_formulas_are_what_isl_counts(function, shape):
    (nest,), sizes = nests_of(function)
    for plan in plans(nest, sizes, shape):
        if box_folds.applies(plan.recurrence, plan.mapping):
            same(plan.recurrence, plan.mapping, plan.folds.shape)


@pytest.mark.parametrize(
    "space", [((1, 0, 0), (0, -1, 0)), ((0, 0, -1), (0, 1, 0)), ((0, 0, -1), (-1, 0, 0)), ((0, 0, 0), (0, 1, 0))], ids=str
)
def test_backwards_and_slowly_too(space):
    """Also mappings that are slow, or that run several instances in one cycle: the formulas do not ask."""
    (nest,), sizes = nests_of(matmul)
    recurrence = next(r for r in layouts(nest, sizes, 2) if len(r.axes) == 3)
    for time in product((1, -2), (1, -1), (3, -1)):
        same(recurrence, SpaceTime(time, space), (3, 2))


def test_what_is_no_box_or_no_axis_is_left_to_isl():
    (nest,), sizes = nests_of(triangular)
    assert all(r.box is None for r in layouts(nest, sizes, 2))
    (nest,), sizes = nests_of(subsequence)
    assert not any(box_folds.applies(p.recurrence, p.mapping) for p in plans(nest, sizes, (3, 2)))  # values are made in the nest
    (nest,), sizes = nests_of(picture)
    recurrence = next(r for r in layouts(nest, sizes, 1) if len(r.axes) == 2)
    assert box_folds.applies(recurrence, SpaceTime((1, 1), ((1, 0),))) and not box_folds.applies(
        recurrence, SpaceTime((1, 1), ((1, -1),))
    )


def test_a_loop_with_gaps_is_no_box():
    def even(A, x, y):
        for i in range(0, A.shape[0], 2):
            for j in range(A.shape[1]):
                y[i] += A[i, j] * x[j]

    (nest,), sizes = nests_of(even, (zeros(9, 4), zeros(4), zeros(9)))
    for recurrence in layouts(nest, sizes, 1):
        repeats, lengths = recurrence.box or (1, (recurrence.instances,))
        assert recurrence.instances == repeats * prod(lengths) == 5 * 4


@pytest.mark.parametrize("length, size", list(product(range(1, 12), range(1, 6))))
def test_blocks_are_cut_from_the_first_on(length, size):
    lengths = [min(size, length - start) for start in range(0, length, size)]
    assert [n for n, number in block_runs(length, size) for _ in range(number)] == lengths
