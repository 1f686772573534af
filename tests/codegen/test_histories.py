"""The oracle of the tests of transformations itself: it sees what is out of order, and nothing else."""

import numpy as np
import pytest

from polyml.codegen.ir.program import Instance, Loop, Program
from polyml.model.core.reductions import reductions
from polyml.quasi_affine.affine import Affine, variable
from tests.codegen.histories import History
from tests.codegen.samples import scop_of

I, J = variable("i"), variable("j")


def chained(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] + 1


def row_sums(x, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[i] += A[i, j]


def history(function, **arguments):
    scop = scop_of(function, arguments)
    return scop, History.of(function, scop, list(arguments.values()), reductions(scop, "strict"))


def loop(name, low, high, *body):
    return Loop(name, (Affine(low),), (Affine(high),), 1, body)


def test_the_source_s_order_passes_and_the_reverse_of_a_chain_does_not():
    scop, wanted = history(chained, A=np.arange(5))
    wanted.check(Program(scop, (loop("i", 1, 4, Instance("S0", (I,))),)))
    with pytest.raises(AssertionError):
        wanted.check(Program(scop, (loop("i", 1, 4, Instance("S0", (I * -1 + 5,))),)))


@pytest.mark.parametrize("last", [3, 5])
def test_other_instances_do_not_pass(last):
    scop, wanted = history(chained, A=np.arange(5))
    with pytest.raises(AssertionError):
        wanted.check(Program(scop, (loop("i", 1, last, Instance("S0", (I,))),)))


def test_an_instance_that_runs_twice_does_not_pass():
    scop, wanted = history(row_sums, x=np.zeros(2, int), A=np.ones((2, 3), int))
    rows = loop("i", 0, 1, loop("j", 0, 2, Instance("S0", (I, J))))
    wanted.check(Program(scop, (rows,)))
    with pytest.raises(AssertionError):
        wanted.check(Program(scop, (rows, Instance("S0", (Affine(0), Affine(0))))))


def test_only_updates_of_a_reduction_may_change_places():
    columns_first = loop("j", 0, 2, loop("i", 0, 1, Instance("S0", (I, J * -1 + 2))))
    scop, wanted = history(row_sums, x=np.zeros(2, int), A=np.ones((2, 3), int))
    wanted.check(Program(scop, (columns_first,)))
    scop, wanted = history(row_sums, x=np.zeros(2), A=np.ones((2, 3)))
    with pytest.raises(AssertionError):
        wanted.check(Program(scop, (columns_first,)))
