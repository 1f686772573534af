"""Which dependences are among free updates, and which arrays a loop adds to, beside pairs of iterations counted by hand."""

from itertools import product

import numpy as np
import pytest

from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.schedule.analysis.free_updates import FreeUpdates
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.tree.bands import members_of
from polyml.schedule.tree.text import parse_tree
from tests.codegen.samples import scop_of


def sums(A, rows, columns):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            rows[i] += A[i, j]
            columns[j] += A[i, j]


def running(A, rows, columns):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            rows[i] += A[i, j]
            columns[j] += rows[i]


def given(function):
    return scop_of(function, {"A": np.zeros((3, 4)), "rows": np.zeros(3), "columns": np.zeros(4)})


def updates(function, fp="reassociate"):
    scop = given(function)
    return scop, FreeUpdates(scop, dependences(scop), reductions(scop, fp))


def loops(scop):
    """{ S[i, j] -> [(e)] } of each loop around all statements, by the iterator."""
    node, found = parse_tree(str(scop.schedule)), {}
    while "child" in node:
        node = node["child"]
        for member in members_of(node) if "schedule" in node else ():
            statement = next(iter(scop.statements.values()))
            found[statement.iterators[iterators_of(member, statement.name)[0]]] = member
    return found


def carried(subscript, loop):
    """Whether two iterations of the loop "i" or "j" update one element, at sizes of 3 and 4."""
    points = list(product(range(3), range(4)))
    moved = {"i": 0, "j": 1}[loop]
    return any(p[subscript] == q[subscript] and p[moved] < q[moved] for p in points for q in points)


@pytest.mark.parametrize("loop", ["i", "j"])
def test_a_loop_carries_updates_of_what_it_does_not_move(loop):
    scop, found = updates(sums)
    wanted = tuple(name for name, subscript in (("columns", 1), ("rows", 0)) if carried(subscript, loop))
    assert found.carried(list(scop.statements), loops(scop)[loop]) == wanted
    assert found.kept.is_empty() and not found.every.is_empty()


def test_an_order_that_is_kept_has_no_free_updates():
    scop, found = updates(sums, "strict")
    assert found.kept.is_equal(found.every) and not found.updates(list(scop.statements))
    assert found.carried(list(scop.statements), loops(scop)["i"]) == ()


def test_what_is_read_in_between_keeps_its_order():
    scop, found = updates(running)
    assert not found.kept.is_empty()
    assert found.only_in(list(scop.statements), ["columns"]) and not found.only_in(list(scop.statements), ["rows"])
