"""Iterations at a distance that is an argument have lanes where it is long enough or not positive, and every bit is that of Python."""

import numpy as np
import pytest

import polyml
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import Guard, Jam, every
from polyml.codegen.register_tiles.distance_versions import distances
from polyml.codegen.register_tiles.nest_prices import NestPrices
from polyml.machines import catalogue
from tests.codegen.native import program_of


def back(A, B, d):
    for i in range(max(d, 0), A.shape[0] + min(d, 0)):
        A[i] = A[i - d] * 0.5 + B[i]


def ahead(A, B, d):
    for i in range(max(-d, 0), A.shape[0] - max(d, 0)):
        A[i] = A[i + d] * B[i] + 1.0


def downwards(A, B, d):
    for i in range(A.shape[0] - 1 - max(d, 0), max(-d, 0) - 1, -1):
        A[i] = A[i + d] * B[i] + 1.0


def two_distances(A, B, d):
    for i in range(max(3 * d, 0), A.shape[0] + min(3 * d, 0)):
        A[i] = A[i - d] * 0.5 + A[i - 3 * d] * B[i]


def two_statements(A, B, d):
    for i in range(max(d, 0), A.shape[0] + min(d, 0)):
        B[i] = A[i - d] + B[i]
        A[i] = B[i] * 0.5


def of_the_row(A, B, d):
    for k in range(3):
        for i in range(d + k + 3, A.shape[0]):
            A[i] = A[i - d - k] * 0.5 + B[k]


FUNCTIONS = [back, ahead, downwards, two_distances, two_statements, of_the_row]


def arguments(n, d, dtype=float):
    rng = np.random.default_rng([n, d + 9])
    return rng.uniform(-1.0, 1.0, n).astype(dtype), rng.uniform(-1.0, 1.0, n).astype(dtype), d


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_bit_is_that_of_python_at_every_distance(function, dtype):
    made = polyml.kernel(function, cache=False, threads=1, fp="strict", fallback="error")
    for d in range(0 if function is of_the_row else -3, 71):
        for n in (230, 257):
            wanted, got = arguments(n, d, dtype), arguments(n, d, dtype)
            function(*wanted)
            made(*got)
            for a, b in zip(wanted[:2], got[:2]):
                np.testing.assert_array_equal(a, b, err_msg=f"d = {d}")


@pytest.mark.parametrize("function", [back, ahead, downwards, two_distances, two_statements])
def test_there_are_versions_with_lanes_for_long_distances_and_for_none(function):
    program = program_of(function, dict(zip(("A", "B", "d"), arguments(99, 5))), "avx512", fp="strict", form="source")
    guards = [node for node in every(program.body) if isinstance(node, Guard)]
    lanes = [any(isinstance(node, Jam) for node in every(guard.body)) for guard in guards]
    assert lanes == [True, True, False]
    for d in (-4, 0, 1, 7, 23, 24, 30, 72):
        assert [guard.condition.evaluate({"d": d}) for guard in guards].count(True) == 1


@pytest.mark.parametrize("order", ["source", "reversed", "shuffled"])
@pytest.mark.parametrize("function", [back, two_distances, two_statements])
def test_vectors_of_a_version_read_before_they_write(function, order):
    program = program_of(function, dict(zip(("A", "B", "d"), arguments(99, 5))), "avx512", fp="strict", form="source")
    for d in (-2, 1, 23, 24, 25, 31, 40):
        wanted, got = arguments(230, d), arguments(230, d)
        function(*wanted)
        run(program, dict(zip(("A", "B", "d"), got)), order=order)
        for a, b in zip(wanted[:2], got[:2]):
            np.testing.assert_array_equal(a, b)


def test_distances_are_those_from_writes_that_no_constant_gives():
    def mixed(A, B, d):
        for i in range(max(d, -2 * d, 4), A.shape[0] + min(d, -2 * d, 0)):
            A[i] = A[i - d] + A[i - 4] + A[i + 2 * d] + A[0] + B[i - d]

    program = program_of(mixed, dict(zip(("A", "B", "d"), arguments(99, 5))), "avx512", fp="strict", form="plain")
    (loop,) = program.body
    nest = NestPrices(program, catalogue.processor("avx512"), ("C", "C"), None).nest(loop, ())
    assert [str(distance) for distance in distances(nest)] == ["d", "-2*d"]


def test_why_says_that_the_distance_decides():
    made = polyml.kernel(back, cache=False, threads=1)
    made(*arguments(230, 30))
    assert "if d >= 24" in str(made.explain())
