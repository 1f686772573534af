"""Elements at subscripts that are elements: what the program means, and which calls it is not for."""

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.call import UncertainBounds
from polyml.codegen.interpreter.run import run
from polyml.codegen.passes.index_bounds import index_bounds
from polyml.errors import PolymlPerformanceWarning
from tests.codegen.samples import scop_of


def picked(y, table, index):
    for i in range(y.shape[0]):
        for k in range(index.shape[1]):
            y[i] += table[index[i, k], k]


def arguments(index, rows=9):
    random = np.random.default_rng(3)
    return {"y": random.random(5), "table": random.random((rows, 4)), "index": np.asarray(index)}


INDEX = np.random.default_rng(4).integers(-9, 9, (5, 4))


def program(given):
    scop = scop_of(picked, given)
    return index_bounds(build(scop, scop.schedule))


@pytest.mark.parametrize("dtype", ["i8", "i4", "i1"])
def test_the_program_means_what_the_loops_mean(dtype):
    given, wanted = arguments(INDEX.astype(dtype)), arguments(INDEX)
    run(program(given), given)
    picked(*wanted.values())
    np.testing.assert_allclose(given["y"], wanted["y"])


OUTSIDE = [
    (dtype, bad)
    for dtype in ("i8", "i4", "u8", "u2")
    for bad in (-10, 9, 2**63 - 1, -(2**63), 2**63 + 3)
    if np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max
]


@pytest.mark.parametrize(("dtype", "bad"), OUTSIDE)
def test_an_element_outside_is_found_before_anything_is_written(dtype, bad):
    index = np.abs(INDEX).clip(max=8).astype(dtype)
    index[4, 3] = bad
    given = arguments(index)
    before = given["y"].copy()
    with pytest.raises(UncertainBounds):
        run(program(given), given)
    kernel = polyml.kernel(cache=False)(picked)
    with pytest.warns(PolymlPerformanceWarning, match="an element of `index` that is no index of `table`"):
        with pytest.raises((IndexError, OverflowError)):
            kernel(*given.values())
    wanted = before.copy()
    with pytest.raises((IndexError, OverflowError)):
        picked(wanted, given["table"], index)
    np.testing.assert_array_equal(given["y"], wanted)  # plain Python ran, and went as far


@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (0, 0)])
def test_index_arrays_may_be_empty(shape):
    kernel = polyml.kernel(cache=False, fallback="error")(picked)
    y, index = np.ones(shape[0]), np.zeros(shape, int)
    kernel(y, np.ones((0, 4)), index)
    assert kernel.compiled and (y == 1).all()


def test_index_arrays_that_overlap_what_is_written_are_read_in_order():
    def through_itself(out, index):
        for i in range(index.shape[0]):
            out[i] = index[index[i]]

    index = np.array([2, 0, 1, 3])
    kernel = polyml.kernel(cache=False)(through_itself)
    out = np.zeros(4, int)
    kernel(out, index)
    assert kernel.compiled and out.tolist() == [1, 2, 0, 3]
    kernel(index, index)
    wanted = np.array([2, 0, 1, 3])
    through_itself(wanted, wanted)
    assert kernel.compiled and index.tolist() == wanted.tolist()


def test_sizes_may_have_any_name():
    """The loops that find the extremes have names of their own."""

    def rows(y, table, index):
        find0_0 = index.shape[0]
        index_min_0 = index.shape[1]
        for i in range(find0_0):
            for k in range(index_min_0):
                y[i] += table[index[i, k], k]

    index = np.arange(12).reshape(2, 6) % 9
    given, wanted = arguments(index), arguments(index)
    table = np.random.default_rng(5).random((9, 6))
    polyml.kernel(cache=False, fallback="error")(rows)(given["y"], table, index)
    rows(wanted["y"], table, index)
    np.testing.assert_allclose(given["y"], wanted["y"])
    index[1, 5] = 9  # the last one that is looked at
    with pytest.warns(PolymlPerformanceWarning), pytest.raises(IndexError):
        polyml.kernel(cache=False)(rows)(given["y"], table, index)


def test_lanes_gather_and_a_masked_rest_too():
    given = arguments(INDEX)
    text = polyml.kernel(cache=False)(picked).lower(*given.values()).llvm
    assert "llvm.masked.gather" in text


@pytest.mark.parametrize("bad", [2**64 - 1, 2**63, 2**64 - 9])
def test_an_index_beyond_63_bits_is_no_index_from_the_end(bad):
    def gathered(y, x, index):
        for i in range(y.shape[0]):
            y[i] = x[index[i]]

    x, y = np.arange(9.0), np.zeros(4)
    kernel = polyml.kernel(cache=False)(gathered)
    kernel(y, x, np.array([8, 0, 3, 3], np.uint64))
    assert kernel.compiled and y.tolist() == [8.0, 0.0, 3.0, 3.0]
    with pytest.warns(PolymlPerformanceWarning), pytest.raises((IndexError, OverflowError)):
        kernel(y, x, np.array([2, 0, bad, 3], np.uint64))
