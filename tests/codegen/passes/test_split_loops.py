"""Innermost loops are split at the breakpoints of their subscripts: compared with Python, interpreted and compiled; most of the
parts run in lanes.
"""

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import Instance, Loop, loops
from polyml.codegen.passes.split_loops import split_loops
from polyml.codegen.passes.vectorize import vectorize
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.pipeline.stages import extract
from polyml.schedule.compute import ScheduleRequest, compute


def wrapped(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[i - 1, j] + 2 * A[i, j - 1] + A[i, j]


def far(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j - 3] - A[i - 2, j - 1]


def reflected(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[abs(i - 1), min(abs(j - 2), m - 1)] + A[i, min(j + 1, m - 1)]


def backwards(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, A.shape[1] - 1 - j] = A[i, j - 1] * 3


def in_place(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j - 1] + B[i, j]


def written(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j - 1] += A[i, j - 2]


def halves(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j // 2] + A[i, (j + 1) % 2 * 0]


FUNCTIONS = [wrapped, far, reflected, backwards, in_place, written, halves]
LANES = [wrapped, far, reflected]  # where most of each row is
SIZES = [(3, 4), (5, 5), (4, 17), (9, 40), (3, 100)]


def arguments(shape):
    random = np.random.default_rng(7)
    return [random.integers(-4, 5, shape).astype(float) for _ in range(2)]


def program_of(function):
    types = tuple(arg_type(np.zeros((1, 1))) for _ in range(2))
    scop = extract(infer(parse(function), types))
    tree = compute(
        scop, dependences(scop), ScheduleRequest(catalogue.processor("avx512"), tile=False, parallel=False, cut=False)
    ).tree
    return build(scop, tree)


def expected(function, shape):
    given = arguments(shape)
    function(*given)
    return given


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("lanes", [False, True], ids=["cut", "in lanes"])
def test_cut_loops_mean_the_same(function, lanes):
    program = split_loops(program_of(function))
    if lanes:
        program = vectorize(program, catalogue.processor("avx512"), ("C", "C"))
    for shape in SIZES:
        given = arguments(shape)
        run(program, dict(zip("AB", given)))
        for got, wanted in zip(given, expected(function, shape), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", LANES)
def test_subscripts_are_affine_in_the_longest_part(function):
    program = split_loops(program_of(function))
    innermost = [loop for loop in loops(program.body) if all(isinstance(n, Instance) for n in loop.body)]
    statements = [program.scop.statements[loop.body[0].statement] for loop in innermost]
    assert any(len(innermost) > 1 and last_subscripts_are_affine(s) for s in statements)
    lanes = vectorize(program, catalogue.processor("avx512"), ("C", "C"))
    assert any(getattr(n, "lanes", 1) > 1 for n in every(lanes.body))


def last_subscripts_are_affine(statement):
    return all(a.subscripts[-1].n_piece() == 1 for a in (*statement.reads, statement.write))


def every(nodes):
    for node in nodes:
        yield node
        yield from every(getattr(node, "body", ()))


def test_programs_without_bends_stay_as_they_are():
    def plain(A, B):
        for i in range(A.shape[0]):
            for j in range(1, A.shape[1]):
                B[i, j] = A[i, j - 1]

    program = program_of(plain)
    assert split_loops(program) is program


def test_parts_follow_one_another_whatever_the_order_of_the_bends():
    """The second bend is behind the first one for some sizes, before it for others."""

    def two(A, B):
        n, m = A.shape
        for i in range(n):
            for j in range(m):
                B[i, j] = A[i, max(j - 5, 0)] + A[i, min(j + n, m - 1)]

    program = split_loops(program_of(two))
    (outer,) = [loop for loop in loops(program.body) if any(isinstance(n, Loop) for n in loop.body)]
    assert len(outer.body) == 3
    for shape in [(1, 1), (1, 5), (4, 6), (2, 30), (30, 31), (40, 20), (7, 12)]:
        given = arguments(shape)
        run(program, dict(zip("AB", given)))
        for got, wanted in zip(given, expected(two, shape), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled(function, threads):
    kernel = polyml.kernel(cache=False, threads=threads)(function)
    for shape in [*SIZES, (40, 700), (300, 401)]:
        given = arguments(shape)
        kernel(*given)
        assert kernel.compiled
        for got, wanted in zip(given, expected(function, shape), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_remainders_of_sizes_that_are_numbers():
    def around(A, B, n):
        for i in range(n):
            B[i] = A[(i - 1) % n] + 10 * A[(i + 1) % n] + 100 * A[(i + 3) % n]

    kernel = polyml.kernel(cache=False, fallback="error")(around)
    for n in (1, 2, 3, 4, 7, 100, 1001):
        A, B, C = np.arange(n, dtype=float), np.zeros(n), np.zeros(n)
        kernel(A, B, n)
        around(A, C, n)
        np.testing.assert_array_equal(B, C)


def test_steps_of_a_field_with_periodic_boundaries():
    def steps(T, A, B):
        n, m = A.shape
        for t in range(T):
            for i in range(n):
                for j in range(m):
                    B[i, j] = A[i - 1, j] + A[(i + 1) % n, j] + A[i, j - 1] + A[i, (j + 1) % m]
            for i in range(n):
                for j in range(m):
                    A[i, j] = 0.25 * B[i, j]

    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(steps)
    for shape in [(3, 3), (40, 50), (130, 257)]:
        given, wanted = arguments(shape), arguments(shape)
        kernel(9, *given)
        steps(9, *wanted)
        for a, b in zip(given, wanted):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
