"""Scalars that are placed in elements or expanded over loops: the same values, fewer false dependences."""

import islpy as isl
import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.model.core.dependence import dependences
from polyml.model.core.source_order import loop_paths
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.polyhedra import fix, points
from tests.model.modelling import MATRIX, VECTOR, model, model_for
from tests.model.polybench import NAMES, case


@pytest.mark.parametrize("name", NAMES)
def test_polybench_computes_the_same_with_expanded_scalars(name):
    kernel = case(name)
    expected, found = kernel.args, kernel.args
    interpret(parse(kernel.function), expected)
    scop = expand(model_for(kernel.function, found))
    run(build(scop, scop.schedule), dict(zip(scop.params, found)))
    for a, b in zip(expected, found):
        np.testing.assert_array_equal(a, b)


def rows(A, B):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(2, A.shape[1]):
            s += A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = s + B[i, j]


def test_a_scalar_defined_in_each_iteration_becomes_an_array_over_the_loop():
    scop = model(rows, MATRIX, MATRIX)
    expanded = expand(scop)
    assert scop.arrays["s"].shape == ()
    (extent,) = expanded.arrays["s"].shape
    assert extent.is_equal(isl.PwAff("[A_0] -> { [] -> [(A_0)] }"))
    update = expanded.statements["S1"]
    assert update.write.relation.is_equal(isl.Map("[A_0, A_1] -> { S1[i, j] -> s[i] }"))
    assert str(expanded.schedule) == str(scop.schedule)


def test_expansion_leaves_no_dependence_between_iterations_of_its_loop():
    def between_rows(scop):
        found = points(dependences(scop).validity, A_0=3, A_1=3)
        return {(s, t) for (s, i), (t, j) in found if i[0] != j[0]}

    scop = model(rows, MATRIX, MATRIX)
    assert ("S2", "S0") in between_rows(scop)
    assert between_rows(expand(scop)) == set()


def test_the_array_of_an_expanded_scalar_starts_at_the_first_iteration():
    def offset(A, B):
        n = A.shape[0]
        for i in range(n - 2, 2, -2):
            t = A[i]
            for j in range(B.shape[0]):
                t = t * B[j]
            A[i] = t + A[i]

    scop = expand(model(offset, VECTOR, VECTOR))
    extent = scop.arrays["t"].shape[0].as_map()
    update = scop.statements["S1"]
    cells = update.write.relation.intersect_domain(update.domain).range()
    for n in (0, 4, 5, 6, 9):
        ((_, (size,)),) = points(fix(extent, {"n": n}).range(), n=n)
        assert {i for _, (i,) in points(cells, n=n)} == set(range(0, size, 2))
    _same(offset, scop, [np.arange(9.0), np.array([2.0, 0.5, 3.0])])


def test_a_value_that_passes_from_one_iteration_to_the_next_is_not_expanded():
    def running(A):
        s = 0.0
        for i in range(A.shape[0]):
            A[i] = s
            s = A[i] * 2 + 1

    scop = model(running, VECTOR)
    assert expand(scop).arrays["s"].shape == ()


def test_a_scalar_defined_in_some_iterations_only_is_not_expanded():
    def sometimes(A, B):
        s = 0.0
        for i in range(A.shape[0]):
            if i % 2 == 0:
                s = A[i]
            for j in range(2):
                s = s + B[j]
            A[i] = s + A[i]

    assert expand(model(sometimes, VECTOR, VECTOR)).arrays["s"].shape == ()


def test_a_scalar_carried_by_an_inner_loop_is_expanded_over_the_outer_one():
    def recurrence(A):
        for i in range(A.shape[0]):
            y = 1.0
            for j in range(A.shape[1]):
                A[i, j] = A[i, j] + y
                y = A[i, j] * 0.5

    scop = expand(model(recurrence, MATRIX))
    assert len(scop.arrays["y"].shape) == 1
    _same(recurrence, scop, [np.arange(12.0).reshape(3, 4)])


def test_a_returned_scalar_is_not_expanded():
    def last(A):
        s = 0.0
        for i in range(A.shape[0]):
            s = A[i]
            for j in range(2):
                s = s * 2
        return s

    assert expand(model(last, VECTOR)).arrays["s"].shape == ()


def test_loops_are_numbered_by_their_bands():
    paths = loop_paths(model(rows, MATRIX, MATRIX).schedule)
    (first,), (also_first, inner), (third, other) = (paths[s] for s in ("S0", "S1", "S2"))
    assert first == also_first == third and inner != other


def solve(L, x, b):
    for i in range(x.shape[0]):
        w = b[i]
        for j in range(i):
            w -= L[i, j] * x[j]
        x[i] = w / L[i, i]


def test_a_scalar_that_ends_in_an_element_lives_there():
    scop = model(solve, MATRIX, VECTOR, VECTOR)
    assert "w" not in scop.arrays
    assert [s.write.array for s in scop.statements.values()] == ["x", "x", "x"]
    _same(solve, scop, [np.eye(4) + np.tri(4), np.zeros(4), np.arange(4.0)])


def test_with_aliased_arguments_a_scalar_keeps_its_own_place():
    assert "w" in model(solve, MATRIX, VECTOR, VECTOR, aliased=True).arrays


def old_value(A, B):
    for i in range(A.shape[0]):
        t = 0.0
        for j in range(B.shape[0]):
            t += B[j]
        A[i] = A[i] + t


def read_between(A, B):
    for i in range(1, A.shape[0]):
        t = 0.0
        for j in range(B.shape[0]):
            t += B[j] * A[i - j] if j < i + 1 else 0.0
        A[i] = t


def used_after(A, B):
    for i in range(A.shape[0]):
        t = 0.0
        for j in range(B.shape[0]):
            t += B[j]
        A[i] = t
        B[0] = t


def sometimes_stored(A, B):
    for i in range(A.shape[0]):
        t = 0.0
        for j in range(B.shape[0]):
            t += B[j]
        if i > 1:
            A[i] = t


def stored_at_the_end(A, B):
    for i in range(A.shape[0]):
        t = 0.0
        for j in range(B.shape[0]):
            t += A[j]
        A[-1 - i] = t


@pytest.mark.parametrize("function", [old_value, read_between, used_after, sometimes_stored, stored_at_the_end])
def test_a_scalar_is_not_placed_where_its_element_is_needed_or_it_is_needed_elsewhere(function):
    args = [np.arange(5.0), np.array([1.0, -2.0, 0.5])]
    scop = model_for(function, args)
    assert "t" in scop.arrays
    _same(function, scop, args)


def test_a_scalar_of_another_type_is_not_placed():
    def narrow(A, B):
        for i in range(A.shape[0]):
            t = 0.0
            for j in range(B.shape[0]):
                t += B[j] * 0.1
            A[i] = t

    args = [np.zeros(3, np.float32), np.arange(4.0)]
    assert "t" in model_for(narrow, args).arrays


def _same(function, scop, args):
    expected, found = [a.copy() for a in args], [a.copy() for a in args]
    interpret(parse(function), expected)
    run(build(scop, scop.schedule), dict(zip(scop.params, found)))
    for a, b in zip(expected, found):
        np.testing.assert_array_equal(a, b)
