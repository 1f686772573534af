"""Updates of the same elements are one update, where nothing between them could tell."""

import linecache

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def twice(A, B, C):
    C *= 3
    C += A * B


def of_a_product(A, B, C):
    for i in range(C.shape[0]):
        C[i, : i + 1] *= 3
        C[i, : i + 1] += 2 * (A[: i + 1] @ B[i])


def stored_over(A, B, C):
    C[:] = A * 2
    C[:] = B + 1


def past_another_array(A, B, C):
    C -= A
    A[0, 0] += 1
    B += 1
    C /= B + 7


def read_between(A, B, C):
    C *= 3
    B[:] = C[::-1]
    C += 1


def operands_change(A, B, C):
    C *= A
    A += 1
    C += 1


def of_a_part(A, B, C):
    C *= 3
    C[1:] += A[1:]


def of_neighbours(A, B, C):
    C *= 3
    C[1:] = C[1:] + C[:-1]


def in_one_block(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            B[i, j] += 1
            C[i, j] += A[i, j]


def operands_change_in_one_block(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= B[i, j]
            B[i, j] += 1
            C[i, j] += A[i, j]


def of_neighbours_in_one_block(A, B, C):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            C[i, j] += C[i - 1, j]


def used_twice(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] += A[i, j] * B[i, j]
            C[i, j] *= C[i, j]


def row_and_recurrence(A, B, C):
    for i in range(1, C.shape[0] - 1):
        C[i, 1:-1] += C[i - 1, 1:-1] + C[i, 2:] + C[i + 1, :-2] + A[i, 1:-1]
        for j in range(1, C.shape[1] - 1):
            C[i, j] += C[i, j - 1]
            C[i, j] /= 4.0


def triangle_and_recurrence(A, B, C):
    for i in range(1, C.shape[0]):
        C[i, i:-1] = C[i, i + 1 :] - A[i, i:-1]
        for j in range(i, C.shape[1] - 1):
            C[i, j] = (C[i, j] + C[i, j - 1]) / 2.0


def scan_of_products(A, B, C):
    C[1:] = A[1:] * B[1:]
    for i in range(1, C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] += C[i - 1, j]


def other_rows_come_first(A, B, C):
    for i in range(1, C.shape[0] - 1):
        for j in range(C.shape[1]):
            C[i, j] = C[i, j] + A[i, j]
    for j in range(C.shape[1]):
        for i in range(1, C.shape[0] - 1):
            C[i, j] = C[i, j] / 2.0 + C[i + 1, j]


def one_element_may_be_the_other(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            C[i, j] += C[j, i]


def one_element_may_count_from_the_end(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            C[i, j] += C[i, j - 1]


def root_and_recurrence(A, B, C):
    C[1:] = np.sqrt(abs(A[1:]))
    for i in range(1, C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = (C[i, j] + C[i - 1, j]) / 2.0


def scan_that_reads_ahead(A, B, C):
    C[0, 1:-1] += C[0, 2:] + A[0, 1:-1]
    for j in range(1, C.shape[1] - 1):
        C[0, j] += C[0, j - 1]


def under_a_condition(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            if i < j:
                C[i, j] += A[i, j]


def random(dtype=float):
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, (9, 9)).astype(dtype) for _ in range(3)]


WITH_NEIGHBOURS = [of_neighbours_in_one_block, triangle_and_recurrence, scan_of_products]
CHAINS = [twice, of_a_product, in_one_block, *WITH_NEIGHBOURS]
IN_ONE_BLOCK = [one_element_may_be_the_other, one_element_may_count_from_the_end]
APART = [operands_change_in_one_block, used_twice, under_a_condition, other_rows_come_first, root_and_recurrence, *IN_ONE_BLOCK]
OTHERS = [*APART, stored_over, past_another_array, read_between, operands_change, of_a_part, of_neighbours]


@pytest.mark.parametrize("function", [*CHAINS, row_and_recurrence, scan_that_reads_ahead, *OTHERS])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_results_are_those_of_numpy(function, dtype):
    wanted, got = random(dtype), random(dtype)
    function(*wanted)
    polyml.kernel(function, cache=False, fp="strict")(*got)
    for a, b in zip(wanted, got):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", CHAINS)
def test_two_updates_are_one(function):
    gone, come = before_and_after("update_chains", function, *random(), fp="strict")
    assert len([line for line in gone if line.startswith("C[")]) == 2
    assert len([line for line in come if line.startswith("C[")]) == 1


@pytest.mark.parametrize("function", [*APART, read_between, operands_change, of_a_part, of_neighbours])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_updates_stay_that_others_see_or_of_other_elements(function, fp):
    assert before_and_after("update_chains", function, *random(), fp=fp) == ([], [])


def test_an_update_that_is_stored_over_is_gone():
    gone, come = before_and_after("update_chains", stored_over, *random())
    assert (gone[-1], come) == ("C[_i1, _i2] = A[_i1, _i2]*2.0", [])


def test_an_update_moves_past_what_does_not_touch_it():
    gone, come = before_and_after("update_chains", past_another_array, *random())
    assert (gone, come) == ([], [])  # A changes between, which the first one reads


def test_a_row_its_recurrence_and_a_division_are_one():
    gone, come = before_and_after("update_chains", row_and_recurrence, *random(), fp="strict")
    assert len([line for line in gone if line.startswith("C[")]) == 3
    assert [line for line in come if line.startswith("C[")] == [
        "C[i, j] = (C[i, j] + (C[i - 1, j] + C[i, j + 1] + C[i + 1, j - 1] + A[i, j]) + C[i, j - 1])/4.0"
    ]


def again_and_again(A, B, C):
    for t in range(3):
        for i in range(1, C.shape[0] - 1):
            C[i, 1:-1] += C[i - 1, 1:-1] + C[i, 2:]
            for j in range(1, C.shape[1] - 1):
                C[i, j] = (C[i, j] + C[i, j - 1]) / 3


@pytest.mark.parametrize(
    ("function", "dtype", "fp", "is_one"),
    [
        (scan_that_reads_ahead, float, "strict", True),
        (scan_that_reads_ahead, float, "reassociate", False),
        (scan_that_reads_ahead, int, "strict", False),
        (again_and_again, float, "reassociate", True),
    ],
)
def test_a_scan_keeps_its_lanes_unless_time_steps_run_at_once(function, dtype, fp, is_one):
    _, come = before_and_after("update_chains", function, *random(dtype), fp=fp)
    assert bool(come) == is_one


def in_two_loops(first, second, up):
    """Updates of C from the neighbours that offsets name, with the offset of the first loop's iterator."""
    text = f"""
def kernel(A, C):
    for i in range(2 + {up}, C.shape[0] - 2 + {up}):
        C[i - {up}] = A[i - {up}] + C[i - {up} + {first}] * 3
    for j in range(2, C.shape[0] - 2):
        C[j] = (C[j] + C[j + {second}]) / 7
"""
    name, space = f"<loops {first} {second} {up}>", {}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)
    return space["kernel"]


@pytest.mark.parametrize("first", range(-2, 3))
@pytest.mark.parametrize("second", range(-2, 3))
def test_one_loop_is_made_exactly_where_none_needs_a_value_of_the_other_that_comes_too_soon(first, second):
    """The first reads what the second has not changed yet, the second what the first does not change any more."""
    rng = np.random.default_rng(5)
    for dtype in (float, np.float32):
        arguments = [rng.random(40).astype(dtype) for _ in range(2)]
        gone, come = before_and_after("update_chains", in_two_loops(first, second, 1), *arguments, fp="strict")
        assert bool(come) == (first >= 0 and second <= 0)


@pytest.mark.parametrize("first", range(-1, 3))
@pytest.mark.parametrize("second", range(-2, 2))
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_the_bits_are_those_of_two_loops(first, second, dtype):
    rng = np.random.default_rng(first + 9)
    wanted = [rng.random(60), rng.random(60).astype(dtype)]
    got = [array.copy() for array in wanted]
    function = in_two_loops(first, second, 2)
    function(*wanted)
    polyml.kernel(function, cache=False, fp="strict", fallback="error")(*got)
    np.testing.assert_array_equal(wanted[1], got[1])


@pytest.mark.parametrize("shift", range(-2, 3))
def test_arguments_that_overlap_keep_their_order(shift):
    memory = np.random.default_rng(1).random(64)
    again = memory.copy()
    function = in_two_loops(1, -1, 0)
    kernel = polyml.kernel(function, cache=False, fp="strict", fallback="error")
    kernel(memory[4:44].copy(), memory[4:44].copy())  # arguments apart come first
    for each, call in ((memory, function), (again, kernel)):
        call(each[4 + shift : 44 + shift], each[4:44])
    np.testing.assert_array_equal(memory, again)


def test_an_index_outside_is_an_error_although_its_value_is_stored_over():
    def function(A, C):
        for i in range(C.shape[0]):
            C[i] = A[i + 7]
        for i in range(C.shape[0]):
            C[i] = 1.0

    with pytest.raises(IndexError):
        polyml.kernel(function, cache=False)(np.zeros(9), np.zeros(9))
