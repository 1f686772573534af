"""Integers near 2**62: loops, subscripts and sizes are Python's, or Python runs them."""

import re
import warnings

import numpy as np
import pytest

import polyml
from polyml.errors import NotAffineError
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.model.lowering.size_limits import LIMITS
from polyml.pipeline.stages import extract

GREAT = (2**40 - 1, 2**40, 2**41, 2**60, 2**61 + 1, 2**62 - 1, 2**62, 2**63 - 4)


def up(A):
    for i in range(0, 9223372036854775807, 4611686018427387904):
        A[i % 3] = 8.0


def across(A):
    for i in range(-9223372036854775807, 9223372036854775807, 9223372036854775807):
        A[i % 3] = 8.0


def down(A):
    for i in range(9223372036854775807, 0, -4611686018427387904):
        A[i % 3] += i % 7


def once(A):
    for i in range(3, 5, 9223372036854775807):
        A[i] = i


def multiplied(A):
    for i in range(3):
        A[i * 4611686018427387904 % 3] = i


def shifted(A):
    for i in range(3):
        A[(i + 4611686018427387904) % 3] = i


def doubly(A):
    for i in range(0, 4000000000000, 1000000000000):
        A[(i * 1000000 + 1) % 3 - (i * 999999) // 2000000] += 1


def quotients(A):
    for i in range(2147483647, 2147483650):
        if i // 4294967297 + 8 >= -2147483650:
            A[i % 3] = i


@pytest.mark.parametrize("function", [up, across, down, once, shifted, quotients])
def test_constants_near_the_end_of_64_bits(function):
    found, wanted = np.zeros(6), np.zeros(6)
    function(wanted)
    with warnings.catch_warnings(action="ignore"):
        polyml.kernel(cache=False)(function)(found)
    assert np.array_equal(found, wanted)


def test_a_product_that_leaves_64_bits_is_an_error_where_python_computes_it():
    """It is no affine subscript, so its loop is a region."""
    found = np.full(6, -1.0)
    with pytest.raises(polyml.errors.PolymlOverflowError, match="its arrays may be partly written"):
        polyml.kernel(cache=False, fallback="error")(multiplied)(found)
    assert found.tolist() == [0.0, 1.0, -1.0, -1.0, -1.0, -1.0]


@pytest.mark.parametrize("function", [up, across, down, doubly])
def test_loops_that_leave_no_room_are_not_compiled(function):
    with pytest.raises(NotAffineError, match="may leave 64 bits"):
        polyml.kernel(cache=False, fallback="error")(function)(np.zeros(6))


def from_there(A, n):
    for i in range(n, n + 3):
        A[i % 3] += i % 7 + 4 * n // 3


def halves(A, n):
    for i in range(3):
        if 4 * n - 3 * i > n + 5:
            A[(n + i) * 1000003 % 3] = 1 + (i * 1103515245 + n) % 2147483648


def difference(A, n, m):
    for i in range(3):
        A[i] = 1.0 if n > m else 2.0


def a_quotient(A, n):
    for i in range(n, n + 3):
        if i // 4294967297 + 8 >= -2147483650:
            A[i % 3] = i % 5


def of_a_size(A, E):
    for i in range(3):
        A[(E.shape[0] * 4 + i) % 3] += E.shape[0] % (i + 2)


def of_its_end(A, E):
    for i in range(E.shape[0] - 3, E.shape[0]):
        A[(i * 3 + 1) % 5] += i % 11


@pytest.mark.parametrize("number", [*GREAT, *(-number for number in GREAT), 0, 3])
@pytest.mark.parametrize("function", [from_there, halves, difference, a_quotient, of_a_size, of_its_end])
def test_numbers_and_sizes_beyond_what_loops_compute_with_run_as_python(function, number):
    kernel = _kernels.setdefault(function, polyml.kernel(cache=False)(function))
    if function in (of_a_size, of_its_end):
        more = (np.empty((abs(number), 0), "i1"),)
    else:
        more = (number, -number)[: function.__code__.co_argcount - 1]
    found, wanted = np.zeros(6), np.zeros(6)
    function(wanted, *more)
    with warnings.catch_warnings(action="ignore"):
        kernel(found, *more)
    assert np.array_equal(found, wanted)
    assert (
        function is a_quotient
        or kernel.compiled == (abs(number) < 2**40 or abs(number) == 2**40 and len(more) > 0 and np.isscalar(more[0]))
        or function is difference
    )


_kernels = {}


def test_great_factors_leave_less_to_the_sizes():
    def scaled(A, n):
        for i in range(n * 1000):
            A[i % 4] += (i * 1000000 + 7) % 1000003

    def plain(A, n):
        for i in range(n):
            A[i] += 1

    assert _model(plain).limits["n"] == LIMITS[0]
    scaled_limit = _model(scaled).limits["n"]
    assert scaled_limit < LIMITS[0] and scaled_limit * 1000 * 1000000 < 2**62


def test_a_loop_with_a_long_step_counts_its_iterations():
    def steps(A):
        for i in range(0, 1000000000, 500000000):
            A[i % 3] += 1.0

    kernel = polyml.kernel(cache=False)(steps)
    A = np.zeros(3)
    kernel(A)
    assert A.tolist() == [1.0, 0.0, 1.0]
    ends = map(int, re.findall(r"range\(\d+, (\d+)\)", kernel.inspect_ast()))
    assert max(ends, default=0) <= 2


@pytest.mark.parametrize("step", [-1000, -12, 9, 100, 4096])
@pytest.mark.parametrize("size", [0, 1, 9, 100, 101, 5000])
def test_long_steps_from_moving_starts(step, size):
    def swept(A, n):
        for k in range(3):
            for i in range(k, n, 100):
                A[i] += i - k
        for k in range(2):
            for i in range(n - 1 - k, 0, -12):
                A[i] = A[i - 1] * 2.0 + k
        for i in range(7, n, 4096):
            for j in range(i, i + 40, 9):
                if j < n:
                    A[j] += j

    found, wanted = np.arange(size + step % 7.0), np.arange(size + step % 7.0)
    swept(wanted, size)
    kernel = _kernels.setdefault("swept", polyml.kernel(cache=False, fallback="error")(swept))
    kernel(found, size)
    assert np.array_equal(found, wanted)


def _model(function):
    return extract(infer(parse(function), (arg_type(np.zeros(3), "A"), arg_type(3, "n"))))
