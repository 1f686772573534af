"""Arrays that nobody can change, and what is kept of them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from polyml.frontend.library import frozen_arrays, index_arrays
from polyml.frontend.library.frozen_arrays import holds, immutable, is_immutable

ARRAYS = [
    np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.zeros((0, 3)), np.array(2.5), np.arange(9)[::-2],
    np.arange(3, dtype=">i4"), np.array([1, 2], np.float16), np.array([True, False]), np.array([1 + 2j]),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_a_copy_has_the_same_elements_and_cannot_be_written(array):
    made = immutable(array)
    assert made.dtype == array.dtype and made.shape == array.shape and np.array_equal(made, array)
    assert made.flags.c_contiguous == np.empty_like(array).flags.c_contiguous
    assert is_immutable(made) and is_immutable(made[...]) and not np.shares_memory(made, array)
    with pytest.raises(ValueError, match="WRITEABLE"):
        made.flags.writeable = True


def test_other_arrays_may_change():
    array = np.ones(3)
    array.flags.writeable = False
    assert not is_immutable(array) and not is_immutable(np.frombuffer(bytearray(8))) and not is_immutable([1])


VECTORS = ([], [0], [-1, 2], [2, 0, 1], [2, 0, 2], [0, 0, 3], [0, 10**9], [10**9, 10**9], [3, 2, -5])


@pytest.mark.parametrize("numbers", VECTORS, ids=str)
@pytest.mark.parametrize("element", ["int64", "int32", "uint8"])
def test_what_holds_is_what_the_conditions_say(numbers, element):
    array = immutable(np.array(numbers, dtype=np.int64).astype(element))
    for _ in range(2):
        assert holds("injective", array) == index_arrays.injective(array)
        assert holds("monotonic", array) == index_arrays.monotonic(array)
        for low, high in ((0, 3), (-1, 4), (0, 10**9 + 1)):
            assert holds("within", array, low, high) == index_arrays.within(array, low, high)


def test_what_is_kept_goes_with_the_array_and_with_what_it_is():
    gc.collect()
    before = len(frozen_arrays._inspected)
    array = immutable(np.array([1, 0], np.int64))
    assert holds("injective", array) and len(frozen_arrays._inspected) == before + 1
    other = array.view(np.int32)
    assert not holds("injective", other)  # 1, 0, 0, 0
    array.shape = (2, 1)
    array.shape = (2,)
    assert holds("injective", array) and not holds("monotonic", array)
    place = id(array)
    del array, other
    gc.collect()
    assert place not in frozen_arrays._inspected and len(frozen_arrays._inspected) <= before
