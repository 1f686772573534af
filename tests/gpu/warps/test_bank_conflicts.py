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
def test_rows_of_a_tile_are_padded_against_conflicts(dtype):
    """Threads copy rows of A, whose elements are columns of the tile: without padding they would all store to one bank."""
    (found,) = launches_of(kernels.gemm, [(128, 128), (128, 16), (16, 128)], dtype)
    stores = {access.touch.array: (access.touch.tile, made) for access, made in found.of_shared() if access.touch.is_write}
    size = np.dtype(dtype).itemsize
    for tile, made in stores.values():
        length, *_ = tile.lengths[1:]
        lanes = [divmod(number, 16 if tile.array == "A" else 128) for number in range(32)]
        offsets = [(k * length + row if tile.array == "A" else row * length + k) * size for row, k in lanes]
        assert made.per_request == made.most == brute.wavefronts(offsets, size)
    assert stores["A"][0].lengths == (16, 132) and stores["A"][1].most < 16
