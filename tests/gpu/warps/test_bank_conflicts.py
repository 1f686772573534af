import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyml.gpu.warps import bank_conflicts
from tests.gpu import brute, kernels
from tests.gpu.mapping import H100, launches_of

ALL = np.ones((1, 32), bool)


@given(st.lists(st.integers(0, 300), min_size=32, max_size=32), st.sampled_from([1, 2, 4, 8, 16]))
def test_wavefronts_of_any_request(places, size):
    addresses = np.array(places) * size
    assert bank_conflicts.wavefronts(addresses[None], ALL, size, H100).tolist() == [brute.wavefronts(list(addresses), size)]


@pytest.mark.parametrize("step, size, expected", [
    (1, 4, 1), (2, 4, 2), (32, 4, 32), (33, 4, 1), (0, 4, 1), (1, 8, 2), (16, 8, 32), (17, 8, 2), (1, 2, 1), (0, 8, 2),
])  # fmt: skip
def test_wavefronts_of_strides(step, size, expected):
    assert bank_conflicts.wavefronts(np.arange(32)[None] * step * size, ALL, size, H100).tolist() == [expected]


def test_lanes_that_take_no_part_have_no_conflicts():
    lanes = np.arange(32)[None]
    assert bank_conflicts.wavefronts(lanes * 128, lanes < 3, 4, H100).tolist() == [3]
    assert bank_conflicts.wavefronts(lanes * 128, lanes < 3, 8, H100).tolist() == [3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_that_are_copied_ahead_are_stored_and_read_without_conflicts(dtype):
    """Threads copy rows of A one by one, whose elements are columns of the tile: without padding they would all store to one bank.
    Rows of B are copied in vectors, of which a thread reads every second or fourth.
    """
    (found,) = launches_of(kernels.gemm, [(128, 128), (128, 16), (16, 128)], dtype)
    stores = {access.touch.array: (access.touch, made) for access, made in found.of_shared() if access.touch.is_write}
    size = np.dtype(dtype).itemsize
    length, width = 66 if size == 8 else 68, 16 // size
    lanes = [(number % 8, number // 8) for number in range(32)]  # eight elements of four rows
    assert stores["A"][1].per_request == brute.wavefronts([(k * length + row) * size for k, row in lanes], size) == size // 4
    assert stores["A"][0].tile.lengths[1] == length and (stores["A"][0].width, stores["B"][0].width) == (1, width)
    assert stores["B"][1].per_request == stores["B"][1].most == 4
