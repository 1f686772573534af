import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyml.codegen.ir.array_layout import placed_whole
from polyml.gpu import bank_conflicts, shared_memory
from polyml.gpu.thread_accesses import uses
from polyml.gpu.thread_blocks import Threads
from polyml.schedule.gpu.mapping import mapped
from tests.gpu import brute, kernels
from tests.gpu.mapping import H100, problem, source_nests

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


def staged(function, shapes, dtype, order, block, tile):
    found, sizes = problem(function, *(np.zeros(shape, dtype) for shape in shapes))
    (nest,) = source_nests(found)
    on, threads = mapped(nest, order, block), Threads(tuple(block), 32)
    places = placed_whole(found.scop, sizes, 256)
    all_uses = uses(nest, found.scop, sizes, places).uses
    return {b.uses[0].text: b for b in shared_memory.buffers(on, all_uses, tile)}, on, threads, places


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [(32, 8), (16, 16), (8, 4)])
@pytest.mark.parametrize("padding", [0, 1, 3])
def test_loads_of_a_transposed_operand(block, padding, dtype):
    """B[j, k] of dots: threads j of a warp are a row of the box apart."""
    size, tile = np.dtype(dtype).itemsize, 32
    found, on, threads, _ = staged(kernels.dots, [(64, 64)] * 3, dtype, [1, 0], block, tile)
    buffer = dataclasses.replace(found["B[j, k] of S1"], padding=padding)
    assert buffer.shape == (block[0], tile)
    for use, row in (("B[j, k] of S1", lambda x, y: x), ("A[i, k] of S1", lambda x, y: y)):
        buffer = dataclasses.replace(found[use], padding=padding)
        expected = []
        for warp in range(block[0] * block[1] // 32):
            lanes = [divmod(number, block[0])[::-1] for number in range(32 * warp, 32 * warp + 32)]
            expected.append(brute.wavefronts([row(x, y) * (tile + padding) * size for x, y in lanes], size))
        assert shared_memory.loads(buffer, buffer.uses[0], on, threads, H100) == np.mean(expected)


def test_padding_takes_conflicts_away():
    found, on, threads, _ = staged(kernels.dots, [(64, 64)] * 3, np.float32, [1, 0], (32, 8), 32)
    buffer = found["B[j, k] of S1"]
    assert shared_memory.loads(buffer, buffer.uses[0], on, threads, H100) == 32
    better = shared_memory.padded(buffer, on, threads, H100)
    assert better.padding == 1 and shared_memory.loads(better, buffer.uses[0], on, threads, H100) == 1
    same = shared_memory.padded(found["A[i, k] of S1"], on, threads, H100)  # all threads of a warp read one element
    assert same.padding == 0 and same.size_bytes == 8 * 32 * 4 and better.size_bytes == 32 * 33 * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ni, nj, nk", [(64, 96, 64), (64, 64, 32)])
@pytest.mark.parametrize("block", [(32, 8), (16, 16)])
def test_copies_of_whole_tiles(block, ni, nj, nk, dtype):
    """Element after element of the box, warp by warp."""
    tile, size = 16, np.dtype(dtype).itemsize
    found, on, threads, places = staged(kernels.gemm, [(ni, nj), (ni, nk), (nk, nj)], dtype, [1, 0], block, tile)
    for text, shape, corner in (("A[i, k] of S0", (block[1], tile), lambda bx, by, t: (by * block[1], t * tile)),
                                ("B[k, j] of S0", (tile, block[0]), lambda bx, by, t: (t * tile, bx * block[0]))):  # fmt: skip
        buffer = found[text]
        assert buffer.shape == shape
        place = places[buffer.array]
        made = []
        tiles = [(bx, by, t) for bx in range(nj // block[0]) for by in range(ni // block[1]) for t in range(nk // tile)]
        for time in tiles:
            first = corner(*time)
            for number in range(shape[0] * shape[1]):
                row, column = divmod(number, shape[1])
                address = place.address + (first[0] + row) * place.strides[0] + (first[1] + column) * place.strides[1]
                made.append(((time, number // 32), (number % 32,), address))
        expected = brute.counted(made, (32,))
        got = shared_memory.copied(buffer, on, threads, place, len(tiles), H100)
        for name in ("requests", "sectors", "lines", "most"):
            assert getattr(got, name) == getattr(expected, name), name
        assert got.elements * size == expected.lanes * size


def test_references_that_move_differently_have_boxes_of_their_own():
    """A[i, k] and A[j, k] of syrk."""
    found, *_ = staged(kernels.syrk, [(64, 64), (64, 32)], np.float32, [1, 0], (32, 8), 16)
    assert {text: buffer.shape for text, buffer in found.items()} == {"A[i, k] of S0": (8, 16), "A[j, k] of S0": (32, 16)}


def test_neighbours_share_a_box():
    def smoothed(A, W, B):
        for i in range(B.shape[0]):
            for k in range(W.shape[0]):
                B[i] += W[k] * (A[i + k] + A[i + k + 1])

    found, *_ = staged(smoothed, [140, 30, 100], np.float32, [0], (32,), 8)
    boxes = {text: (buffer.shape, len(buffer.uses)) for text, buffer in found.items()}
    assert boxes == {"W[k] of S0": ((8,), 1), "A[i + k] of S0": ((40,), 2)}
