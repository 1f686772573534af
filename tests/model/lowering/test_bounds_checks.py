"""Bounds, ranges and shapes: the violated sizes equal those for which a run of the source fails."""

import itertools

import numpy as np
import pytest

from polyml.dtypes import BOOL, F64, I8, U8, U64
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType
from polyml.polyhedra import fix, points
from tests.model.modelling import INT, MATRIX, VECTOR, model, sizes_of


def matrix_product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def both_ends(A, B):
    for i in range(1, A.shape[0] - 1):
        B[i + 1] = A[i - 1] + A[i + 1]
    for i in range(B.shape[0]):
        B[-i - 1] = A[i - 3]


def unused(A, B):
    n = B.shape[0]
    for i in range(n):
        t = A[i + 1]
        B[i] = 1
    if n > 2:
        u = A[n // 2 + 2]
        B[0] = u if n > 3 else 0


def folded(A, B):
    for i in range(0, A.shape[0], 2):
        B[i % 3] = A[min(i + 1, B.shape[0])]


def nowhere(A, B):
    for i in range(A.shape[0] + 1, B.shape[0]):
        if i < 2:
            A[i] = B[i]


@pytest.mark.parametrize("function", [both_ends, unused, folded, nowhere])
def test_violated_sizes_are_those_for_which_the_source_fails(function):
    scop = model(function, VECTOR, VECTOR)
    for n, m in itertools.product(range(7), repeat=2):
        _compare(scop, function, [np.ones(n), np.ones(m)])


def test_violated_sizes_of_a_matrix_product():
    scop = model(matrix_product, MATRIX, MATRIX, MATRIX)
    assert not any(c.may for c in scop.checks)
    rng = np.random.default_rng(1)
    for _ in range(60):
        _compare(scop, matrix_product, [np.ones(shape) for shape in rng.integers(0, 4, (3, 2))])


def _compare(scop, function, args):
    sizes = sizes_of(scop, args)
    violated = [c for c in scop.checks if not fix(c.violated, sizes).is_empty()]
    try:
        interpret(parse(function), args)
    except IndexError:
        assert violated, sizes
        assert any(points(c.instances, **sizes) for c in violated)
    else:
        assert not violated, sizes


def test_the_instances_of_a_violated_check_name_the_loop_points_that_fail():
    def shifted(A):
        for i in range(A.shape[0]):
            for j in range(2):
                A[i + j] = 0

    (check,) = model(shifted, VECTOR).checks
    assert (check.kind, check.what, check.iterators) == ("bounds", "A[i + j]", ("i", "j"))
    assert (check.dim, check.may) == (0, False)
    assert points(check.instances, A_0=3) == {("S", (2, 1))}
    assert check.loc.text == "A[i + j]"
    values = check.subscript.as_map().intersect_domain(fix(check.instances, {"A_0": 3}))
    assert points(values.range(), A_0=3) == {("", (3,))}


def test_a_check_that_an_earlier_one_implies_is_left_out():
    def repeated(A, B):
        for i in range(A.shape[0]):
            B[i] = A[i]
            B[i] += B[i] * 2
        for i in range(1, A.shape[0]):
            B[i] = 0

    assert len(model(repeated, VECTOR, VECTOR).checks) == 1


def test_accesses_under_a_condition_on_data_are_may_checks():
    def shifted(A, B):
        for i in range(A.shape[0]):
            if A[i] > 0:
                B[i] = A[i + 1]
            A[i] = B[2] if A[i] < -1 else 0.0

    found = {c.what: c.may for c in model(shifted, VECTOR, VECTOR).checks}
    assert found == {"B[i]": True, "A[i + 1]": True, "B[2]": True}


def test_a_python_int_that_may_not_fit_its_element_is_a_range_check():
    def counted(A, B, C):
        for i in range(A.shape[0]):
            A[i] = i
            B[i] = i - 1
            C[i] = i - 1

    scop = model(counted, ArrayType(I8, 1), ArrayType(U8, 1), ArrayType(U64, 1))
    ranges = [c for c in scop.checks if c.kind == "range"]
    assert [c.what for c in ranges] == ["i as int8", "i - 1 as uint8", "i - 1 as uint64"]
    first, second, third = (
        [n for n in (0, 1, 128, 129, 256, 257, 258) if not fix(c.violated, {"A_0": n}).is_empty()] for c in ranges
    )
    assert first == [129, 256, 257, 258]
    assert second == third == [1, 128, 129, 256, 257, 258]


def test_an_integer_argument_stored_in_a_narrow_element_is_checked_by_its_value():
    def fill(A, n):
        for i in range(A.shape[0]):
            A[i] = n

    scop = model(fill, ArrayType(I8, 1), INT)
    (check,) = [c for c in scop.checks if not c.may]
    assert {p.name for p in scop.parameters} == {"A_0", "n"}
    assert [n for n in (-129, -128, 127, 128) if not fix(check.violated, {"A_0": 1, "n": n}).is_empty()] == [-129, 128]
    assert fix(check.violated, {"A_0": 0, "n": 128}).is_empty()


def test_integer_arguments_beyond_64_bit_arithmetic_run_as_python():
    def part(A, n):
        for i in range(n):
            A[i] = 0

    first, *_ = model(part, VECTOR, INT).checks
    assert (first.kind, first.what, first.may) == ("limit", "n", True)
    assert [n for n in (-(2**41), -5, 5, 2**41) if not fix(first.violated, {"n": n}).is_empty()] == [-(2**41), 2**41]


def test_a_shape_that_can_be_negative_is_checked():
    def short(A):
        t = np.zeros(A.shape[0] - 2)
        for i in range(A.shape[0] - 2):
            t[i] = A[i]
        return t

    scop = model(short, VECTOR)
    (check,) = scop.checks
    assert (check.kind, check.what, check.may) == ("shape", "t", False)
    assert [n for n in range(5) if not fix(check.violated, {"A_0": n}).is_empty()] == [0, 1]
    assert scop.arrays["t"].element == F64


@pytest.mark.parametrize("op", ["and", "or"])
def test_an_element_that_python_evaluates_before_an_affine_condition_is_checked(op):
    def ahead_and(B):
        for i in range(B.shape[0]):
            B[i] = B[i + 1] and i == 0

    def ahead_or(B):
        for i in range(B.shape[0]):
            B[i] = B[i + 1] or i == 0

    def behind(B):
        for i in range(B.shape[0]):
            B[i] = i < B.shape[0] - 1 and B[i + 1]

    checks = model(ahead_and if op == "and" else ahead_or, ArrayType(BOOL, 1)).checks
    violated = [n for n in range(4) if any(not fix(c.violated, {"B_0": n}).is_empty() for c in checks)]
    assert violated == [1, 2, 3]
    assert model(behind, ArrayType(BOOL, 1)).checks == ()
