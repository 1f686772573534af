"""Array programs give what NumPy gives: values, types, shapes, changed arguments."""

import copy

import numpy as np
import pytest

import polyml
from polyml.errors import SizesNeeded
from polyml.frontend.argument_types import arg_type, with_ones, with_sizes
from polyml.frontend.arrays.lower import lowered
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from tests.arrays.corpus import corpus
from tests.arrays.differential import check
from tests.arrays.generate import generate

named = pytest.mark.parametrize("program", corpus(), ids=lambda p: p.name)


def compare(program, run, arguments):
    """run(*arguments) against NumPy on equal arguments."""
    wanted_arguments, got_arguments = copy.deepcopy(arguments), copy.deepcopy(arguments)
    wanted, got = program.function(*wanted_arguments), run(*got_arguments)
    for one, other in zip(wanted_arguments, got_arguments):
        same(one, other)
    assert isinstance(wanted, tuple) == isinstance(got, tuple)
    results = (wanted, got) if isinstance(wanted, tuple) else ((wanted,), (got,))
    assert len(results[0]) == len(results[1])
    for one, other in zip(*results):
        same(one, other)


def same(wanted, got):
    assert type(wanted) is type(got)
    if wanted is None:
        return
    if isinstance(wanted, (np.ndarray, np.generic)):
        assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape)
    bounds = {"complex64": (1e-5, 1e-6), "float32": (1e-5, 1e-6), "float16": (2e-3, 2e-3), "bfloat16": (8e-3, 1e-6)}
    relative, absolute = bounds.get(str(getattr(wanted, "dtype", "")), (1e-12, 1e-12))
    np.testing.assert_allclose(got, wanted, rtol=relative, atol=absolute)


def other_layout(value):
    """The same array with other strides."""
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    room = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
    view = room[tuple(slice(n + n // 2, None if n // 2 == 0 else n // 2, -1) for n in value.shape)]
    view = view[tuple(slice(0, n) for n in value.shape)]
    view[...] = value
    return view


@named
def test_the_loops_mean_what_the_arrays_mean(program):
    try:
        kernel = lowered(parse(program.function), [with_ones(arg_type(a), a) for a in program.arguments])
    except SizesNeeded:
        kernel = lowered(parse(program.function), [with_sizes(arg_type(a), a) for a in program.arguments])
    compare(program, lambda *arguments: interpret(kernel, arguments), program.arguments)


@named
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.sweep("program")
def test_compiled_programs_give_what_numpy_gives(program, fp):
    compare(program, polyml.kernel(fp=fp, fallback="error", cache=False)(program.function), program.arguments)


@named
@pytest.mark.sweep(keep=22)
def test_arguments_may_have_any_strides(program):
    arguments = tuple(map(other_layout, program.arguments))
    compare(program, polyml.kernel(fallback="error", cache=False)(program.function), arguments)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("count", [-1, 0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "name",
    "two_buffers which_one_comes_back both_come_back three_in_a_ring through_a_third_name downwards_in_steps "
    "under_a_condition the_number_changes_inside a_new_array_each_time".split(),
)
def test_names_that_a_loop_exchanges_are_followed_however_often_it_runs(name, count):
    from tests.arrays import exchanges  # after `corpus`, which keeps the order of what is drawn

    function = getattr(exchanges, name)
    arrays = [np.arange(1.0, 9.0) ** (k + 1) for k in range(function.__code__.co_argcount - 1)]
    wanted, got = copy.deepcopy(arrays), copy.deepcopy(arrays)
    expected, found = function(*wanted, count), polyml.kernel(cache=False)(function)(*got, count)
    for one, other in zip((*wanted, expected), (*got, found)):
        np.testing.assert_allclose(other if other is not None else 0, one if one is not None else 0, rtol=1e-12)
    if isinstance(expected, np.ndarray):
        assert [expected is a for a in wanted] == [found is a for a in got]


REBOUND = (
    "smoothed power_iteration changed_beside two_names_of_one under_conditions the_old_one_is_read the_type_changes "
    "the_shape_changes the_argument_changes_first an_older_view another_name_changes_it "
    "a_view_made_inside_changes_it its_copy_changes_by_another_name"
).split()


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("count", [-1, 0, 1, 2, 5])
@pytest.mark.parametrize("name", REBOUND)
@pytest.mark.parametrize("dtype", ["f8", "i8"])
@pytest.mark.sweep(keep=60)
def test_names_that_a_loop_binds_anew_stand_for_what_they_do_in_numpy(name, count, dtype):
    from tests.arrays import rebound

    function = getattr(rebound, name)
    arrays = [np.arange(1, 7).astype(dtype) for k in range(function.__code__.co_argcount - 1)]
    arrays = [np.outer(a, a) / 9 for a in arrays[1:]] + arrays[:1]
    wanted, got = copy.deepcopy(arrays), copy.deepcopy(arrays)
    expected, found = function(*wanted, count), polyml.kernel(cache=False)(function)(*got, count)
    assert (expected is wanted[-1]) == (found is got[-1])
    results = ((expected,), (found,)) if not isinstance(expected, tuple) else (expected, found)
    for one, other in zip((*wanted, *results[0]), (*got, *results[1]), strict=True):
        same(one, other)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sweep(keep=7)
def test_random_programs_give_what_numpy_gives(seed):
    outcome, what = check(generate(seed))
    assert outcome in ("ok", "python"), what


@pytest.mark.parametrize("seed", [4693, 14344])
def test_products_whose_terms_cancel_count_as_inexact(seed):
    """4693 multiplies complex128 numbers by a product in float32: NumPy's order of its terms is one of many. 14344 converts to bool the
    real part of the square of -1.2 + 1.2j, which is 0 where both products are rounded, and not where NumPy fuses one.
    """
    outcome, what = check(generate(seed))
    assert outcome in ("ok", "python"), what


def one_element_after_a_reshape(A):
    B = A.reshape(2, -1)
    A[0] = 7
    return B.sum()


def one_element_of_a_conjugate(A):
    B = A.conj()
    B[0] = 7
    return A.sum(), B.sum()


def chosen_elements_of_a_conjugate(A):
    C = A * 2
    B = C.conj()
    C[C == 2] = 7
    return B.sum()


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("function", [one_element_after_a_reshape, one_element_of_a_conjugate, chosen_elements_of_a_conjugate])
@pytest.mark.parametrize("argument", [np.ones(6), np.ones(12)[::2], np.ones(6) * (1 + 1j)], ids=["whole", "strided", "complex"])
def test_what_may_be_a_view_changes_with_its_array(function, argument):
    wanted, got = argument.copy(), argument[:]
    if not argument.flags.c_contiguous:
        wanted, got = np.ones(12)[::2], np.ones(12)[::2]
    same(function(wanted), polyml.kernel(cache=False)(function)(got))
    np.testing.assert_array_equal(wanted, got)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
def test_a_mask_beside_overlapping_arguments():
    def chosen(A, B):
        A[A > 2] = B[0] + 1

    wanted, got = (np.array([5.0, 4, 3, 2, 1]) for _ in range(2))
    chosen(wanted, wanted)
    polyml.kernel(cache=False)(chosen)(got, got)
    np.testing.assert_array_equal(wanted, got)


def test_an_allocation_that_is_not_reached_is_not_made():
    def guarded(A, n):
        if n > 0 and np.ones(n).sum() > 0:
            A[0] = 5

    A = np.zeros(2)
    with pytest.warns(polyml.errors.PolymlPerformanceWarning):
        polyml.kernel(cache=False)(guarded)(A, -1)
    assert A.tolist() == [0, 0]
