"""Sums that wait between folds, against the instances in the order of their folds."""

from itertools import permutations

import pytest

from polyml.systolic.folding.folds import fold
from polyml.systolic.folding.partial_sums import _most_counted, most_waiting, partial_sums
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import SpaceTime
from tests.systolic.designs import (
    CALLS,
    NestRun,
    batched,
    fir,
    layer,
    matmul,
    matvec,
    nests_of,
    subsequence,
    syrk,
    triangular,
    zeros,
)

SUMS = (matmul, batched, matvec, triangular, syrk, fir, layer)


def waiting_by_definition(run, order):
    """Elements that are written by this fold or before, and again after it."""
    outer = len(run.plan.recurrence.outer)

    def number(fold):
        return (*fold[:outer], *(fold[outer + k] for k in order))

    written = {f: {run.trace[n][2] for _, _, n in instances} for f, instances in run.folds.items()}
    folds = sorted(written, key=number)
    most = 0
    for position in range(len(folds)):
        before, after = (set().union(*(written[f] for f in part)) for part in (folds[: position + 1], folds[position + 1 :]))
        most = max(most, len(before & after))
    return most


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (5,)], ids=str)
@pytest.mark.parametrize("function", SUMS, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=7)
def test_as_many_wait_as_are_written_again(function, shape):
    (nest,), sizes = nests_of(function)
    for plan in plans(nest, sizes, shape):
        run = NestRun(function, CALLS[function], plan)
        orders = list(permutations(range(len(plan.folds.shape))))
        waiting = {order: waiting_by_definition(run, order) for order in orders}
        assert {order: most_waiting(plan.folds, order) for order in orders} == waiting
        assert {order: _most_counted(plan.folds, order) for order in orders} == waiting
        found = partial_sums(plan.folds)
        assert found.waiting == min(waiting.values()) == waiting[found.order]

        per_fold = sum(len({run.trace[n][2] for _, _, n in f}) for f in run.folds.values())
        assert found.returns == per_fold - len({write for _, _, write in run.trace})


def test_columns_before_rows_need_the_accumulators_of_one_block():
    """Of 10 x 6 sums of 9 terms on 4 x 2 units with stationary weights: all 60 wait, or 10 x 2."""
    (nest,), sizes = nests_of(matmul, (zeros(10, 9), zeros(9, 6), zeros(10, 6)))
    recurrence = next(r for r in layouts(nest, sizes, 2) if len(r.axes) == 3)
    folds = fold(recurrence, SpaceTime((1, 1, 1), ((0, 0, 1), (0, 1, 0))), (4, 2))
    assert (most_waiting(folds, (0, 1)), most_waiting(folds, (1, 0))) == (60, 20)
    found = partial_sums(folds)
    assert (found.waiting, found.order, found.returns) == (20, (1, 0), 10 * 6 * 2)


def test_results_that_stay_never_wait():
    (nest,), sizes = nests_of(matmul)
    found = partial_sums(plans(nest, sizes, (3, 2), dataflow="os")[0].folds)
    assert (found.waiting, found.returns) == (0, 0)


def test_values_have_an_order():
    (nest,), sizes = nests_of(subsequence)
    assert partial_sums(plans(nest, sizes, (3, 2))[0].folds) is None
