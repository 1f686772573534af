"""What a loop writes and its next iterations read is carried from one to the next in registers."""

import random

import numpy as np
import pytest

import polyml
from tests.frontend.define import define


def program(seed):
    """A loop of random recurrences over one or two arrays, perhaps inside loops over lines and rows."""
    rng = random.Random(seed)
    lines = rng.choice(("", "l, ", "l, "))
    step = rng.choice((1, 1, 1, 2))
    body = []
    for _ in range(rng.randint(1, 3)):
        target = rng.choice("AB")
        back = rng.choice((0, 0, 0, 1))
        terms = [f"{rng.randint(-2, 3)}*{rng.choice('AB')}[{lines}i - {rng.randint(0, 3)}]" for _ in range(rng.randint(1, 3))]
        body.append(f"{target}[{lines}i - {back}] = {' + '.join(terms)} + {rng.randint(-3, 3)}")
    indent = "    " * (2 if lines else 1)
    head = "    for l in range(A.shape[0]):\n" if lines else ""
    loop = f"{indent}for i in range(3, A.shape[{1 if lines else 0}], {step}):\n"
    text = f"def f(A, B):\n{head}{loop}" + "".join(f"{indent}    {line}\n" for line in body)
    shape = (rng.choice((1, 5, 16, 19)), rng.choice((3, 4, 5, 30))) if lines else (rng.choice((3, 4, 5, 6, 40)),)
    return text, shape


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sweep(keep=25)
def test_random_recurrences(seed):
    text, shape = program(seed)
    function = define(text)
    rng = np.random.default_rng(seed)
    given = [rng.integers(-9, 9, shape) for _ in range(2)]
    expected, found = [a.copy() for a in given], [a.copy() for a in given]
    with np.errstate(over="ignore"):
        function(*expected)
    polyml.kernel(cache=False, threads=1, fallback="error")(function)(*found)
    for x, y in zip(expected, found):
        np.testing.assert_array_equal(x, y)


def loads_of(kernel):
    """How many numbers the code loads from arrays."""
    return kernel.inspect_llvm().count("load double")


def test_an_element_that_the_iteration_before_wrote_is_loaded_once_before_the_loop():
    def filter_(x, y):
        for i in range(2, x.shape[0]):
            y[i] = x[i] + 0.5 * y[i - 1] - 0.25 * y[i - 2]

    def other(x, y):
        for i in range(2, x.shape[0]):
            y[i] = x[i] + 0.5 * x[i - 1] - 0.25 * x[i - 2]

    made = [polyml.kernel(cache=False, threads=1, vectorize=False)(f) for f in (filter_, other)]
    x = np.arange(9.0)
    for kernel in made:
        kernel(x, np.zeros(9))
    assert loads_of(made[0]) == loads_of(made[1]) == 3


def test_what_another_statement_may_write_between_is_loaded_again():
    def two(y, z):
        for i in range(1, y.shape[0]):
            y[i] = y[i - 1] + z[i]
            y[i - 1] = z[i]

    y, z = np.arange(9), np.arange(9) * 7
    expected = y.copy()
    two(expected, z)
    polyml.kernel(cache=False, threads=1)(two)(y, z)
    np.testing.assert_array_equal(y, expected)


def neighbours(seed):
    """B[...] = a sum of elements of A around, in one or two dimensions, of several types."""
    rng = random.Random(seed)
    rank, reach = rng.choice((1, 2)), rng.choice((1, 2, 5, 9))
    iterators = "ij"[:rank]
    offsets = [rng.randint(-reach, reach) for _ in range(rng.randint(2, 5))]
    rows = [rng.randint(-1, 1) for _ in offsets]
    step = [f"A[{f'i + {r}, ' if rank == 2 else ''}{iterators[-1]} + {o}]" for r, o in zip(rows, offsets)]
    text = "def f(A, B):\n"
    for d, name in enumerate(iterators):
        text += "    " * (d + 1) + f"for {name} in range({reach}, A.shape[{d}] - {reach}):\n"
    text += "    " * (rank + 1) + f"B[{', '.join(iterators)}] = {' + '.join(step)}\n"
    shape = tuple(rng.randint(2 * reach, 70) for _ in iterators)
    return text, shape, rng.choice(("int64", "int32", "float64", "int8", "float32"))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sweep(keep=25)
def test_random_neighbours(seed):
    text, shape, dtype = neighbours(seed)
    function = define(text)
    rng = np.random.default_rng(seed)
    A = rng.integers(-9, 9, shape).astype(dtype)
    expected, found = np.zeros(shape, dtype), np.zeros(shape, dtype)
    function(A, expected)
    polyml.kernel(cache=False, threads=1, fallback="error")(function)(A, found)
    np.testing.assert_array_equal(found, expected)


def test_rows_that_are_read_at_several_offsets_are_loaded_once_and_shifted():
    def smooth(A, B):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]

    def apart(A, B, C, D):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i] + C[i] + D[i]

    x = np.arange(90.0)
    kernels = [polyml.kernel(cache=False, threads=1)(f) for f in (smooth, apart)]
    kernels[0](x, np.zeros(90))
    kernels[1](x, np.zeros(90), x.copy(), x.copy())
    shifts = [k.inspect_llvm().count("shufflevector <") for k in kernels]
    assert shifts[0] > shifts[1]


def test_a_row_that_the_loop_writes_is_loaded_as_it_stands():
    def down(A):
        for i in range(A.shape[0] - 2):
            A[i] = A[i + 1] + A[i + 2]

    A = np.arange(100)
    expected = A.copy()
    down(expected)
    polyml.kernel(cache=False, threads=1)(down)(A)
    np.testing.assert_array_equal(A, expected)


def ring(size, terms):
    """Iterations that write one of a few elements, which they come back to, and read others of them."""
    read = " + ".join(f"{factor}*C[(i + {back}) % {size}]" for factor, back in terms)
    return define(f"def f(A, C):\n    for i in range(A.shape[0]):\n        C[i % {size}] = {read} + A[i]\n")


@pytest.mark.parametrize("size, terms", [(2, [(0.5, 1), (0.25, 0)]), (2, [(0.5, 1)]), (3, [(1.5, 2), (0.5, 1), (0.25, 0)]),
                                         (4, [(0.5, 3), (0.25, 2), (0.125, 0)])])  # fmt: skip
def test_elements_that_a_loop_comes_back_to(size, terms):
    function = ring(size, terms)
    kernel = polyml.kernel(cache=False, threads=1, fallback="error")(function)
    for n in (0, 1, 2, 3, 7, 20):
        given, expected, found = np.arange(float(n)), np.arange(1.0, size + 1), np.arange(1.0, size + 1)
        function(given, expected)
        kernel(given, found)
        np.testing.assert_array_equal(found, expected)
