"""Every kernel, run as plain Python, against its reference; and the references' own promises."""

import copy
import warnings

import numpy as np
import pytest

from polyml import kernels
from polyml.kernels._accuracy import compare

# What Python itself does with no rows at all: durbin and correlation name an element, adi divides by the sizes.
REFUSES_EMPTY = {"durbin": IndexError, "correlation": IndexError, "adi": ZeroDivisionError}


def size_of(benchmark, numbers):
    return dict(zip(benchmark.sizes["MINI"], numbers, strict=False))


def arguments(benchmark, size, seed=0, dtype=None):
    return benchmark.inputs(size, np.random.default_rng(seed), np.dtype(dtype or benchmark.dtype))


def run_as_python(benchmark, before):
    after = copy.deepcopy(before)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        benchmark.kernel.py_func(*after.values())
    return after


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("numbers", ["MINI", (7, 5, 9, 11, 3), (4, 9, 6, 1, 8), (2,) * 5, (1,) * 5, (0,) * 5], ids=str)
@pytest.mark.parametrize("name", kernels.NAMES)
def test_the_loops_compute_what_the_reference_does(name, numbers):
    benchmark = kernels.load(name)
    size = benchmark.sizes[numbers] if isinstance(numbers, str) else size_of(benchmark, numbers)
    before = arguments(benchmark, size)
    if not any(size.values()) and name in REFUSES_EMPTY:
        with pytest.raises(REFUSES_EMPTY[name]):
            run_as_python(benchmark, before)
        return
    accuracy = compare(benchmark, size, before, run_as_python(benchmark, before))
    assert accuracy.ok, accuracy


@pytest.mark.parametrize("name", [n for n in kernels.NAMES if kernels.load(n).terms is not None])
def test_the_loops_keep_the_type_they_are_given(name):
    benchmark = kernels.load(name)
    other = "float64" if benchmark.dtype == "float32" else "float32"
    size = size_of(benchmark, (7, 9, 6, 5, 8))
    before = arguments(benchmark, size, dtype=other)
    after = run_as_python(benchmark, before)
    expected = benchmark.reference(*before.values())
    assert {after[o].dtype for o in benchmark.outputs} == {expected[o].dtype for o in benchmark.outputs} == {np.dtype(other)}
    accuracy = compare(benchmark, size, before, after, expected)
    assert accuracy.ok, accuracy


@pytest.mark.parametrize("name", kernels.NAMES)
def test_one_wrong_element_is_noticed(name):
    benchmark = kernels.load(name)
    size = benchmark.sizes["MINI"]
    before = arguments(benchmark, size)
    expected = benchmark.reference(*before.values())
    parts = benchmark.determined(size) if benchmark.determined else {}
    small = {"float64": 1e-7, "float32": 1e-2}.get(benchmark.dtype, 1)
    for output in benchmark.outputs:
        wrong = copy.deepcopy(expected)
        part = wrong[output][parts.get(output, ...)]
        part[tuple(n // 2 for n in part.shape)] += small
        assert compare(benchmark, size, before, expected, expected).ok
        accuracy = compare(benchmark, size, before, wrong, expected)
        assert not accuracy.ok and accuracy.output == output


def test_a_result_that_is_not_a_number_is_wrong_and_two_that_are_not_agree():
    benchmark = kernels.load("gemm")
    size = size_of(benchmark, (2, 2, 2))
    before = arguments(benchmark, size)
    nan = {"C": np.full((2, 2), np.nan)}
    assert compare(benchmark, size, before, nan).ratio == np.inf
    assert compare(benchmark, size, before, nan, nan).ok


@pytest.mark.parametrize("name", kernels.NAMES)
def test_inputs_repeat_with_the_seed_and_the_reference_leaves_them_alone(name):
    benchmark = kernels.load(name)
    size = size_of(benchmark, (6, 5, 7, 8, 9))
    first, second, other = (arguments(benchmark, size, seed) for seed in (3, 3, 4))
    benchmark.reference(*first.values())
    assert all(np.array_equal(first[a], second[a]) for a in first)
    assert not all(np.array_equal(first[a], other[a]) for a in first)
    assert set(benchmark.outputs) <= set(first)


def test_durbin_solves_the_toeplitz_system():
    benchmark = kernels.load("durbin")
    arguments_ = arguments(benchmark, {"N": 40})
    r, y = arguments_["r"], run_as_python(benchmark, arguments_)["y"]
    lag = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    toeplitz = np.where(lag == 0, 1.0, r[lag - 1])
    np.testing.assert_allclose(toeplitz @ y, -r, atol=1e-13)


def test_nussinov_folds_a_sequence_counted_by_hand():
    """0 pairs with 3 and 1 with 2, unless they are neighbours: in 0 1 1 2 2 3 the innermost 1 2 cannot pair."""
    for seq, most in (([0, 1, 1, 2, 2, 3], 2), ([0, 1, 0, 2, 3], 2), ([0, 3], 0), ([0, 1, 3], 1)):
        table = np.zeros((len(seq), len(seq)), np.int32)
        kernels.load("nussinov").kernel.py_func(np.array(seq, np.int8), table)
        assert table[0, -1] == most


def test_gramschmidt_gives_orthonormal_columns_that_rebuild_the_matrix():
    benchmark = kernels.load("gramschmidt")
    before = arguments(benchmark, {"M": 20, "N": 15})
    after = run_as_python(benchmark, before)
    np.testing.assert_allclose(after["Q"].T @ after["Q"], np.eye(15), atol=1e-12)
    np.testing.assert_allclose(after["Q"] @ after["R"], before["A"], atol=1e-12)
