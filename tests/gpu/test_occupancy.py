"""Rows as the CUDA Occupancy Calculator has them for compute capability 9.0: each by its limits, worked out by hand."""

import dataclasses

import pytest

from polyml.gpu.occupancy import occupancy, registers_of_warp
from tests.gpu.mapping import H100

KIB = 1024


@pytest.mark.parametrize("threads, registers, shared, blocks, warps, limiters", [
    (256, 32, 0, 8, 64, ("threads", "registers")),  # 64 warps / 8; 16384 / 1024 = 16 per scheduler, 64 / 8
    (256, 33, 0, 6, 48, ("registers",)),  # 33 * 32 = 1056 -> 1280; 16384 / 1280 = 12; 48 / 8
    (256, 64, 0, 4, 32, ("registers",)),  # 2048: 8 per scheduler, 32 / 8
    (128, 255, 0, 2, 8, ("registers",)),  # 8160 -> 8192: 2 per scheduler, 8 / 4
    (1024, 65, 0, 0, 0, ("registers",)),  # 2304 * 32 warps are more than 65536
    (1024, 64, 0, 1, 32, ("registers",)),
    (1024, 32, 0, 2, 64, ("threads", "registers")),
    (32, 16, 0, 32, 32, ("blocks",)),  # 32 blocks of one warp
    (64, 16, 0, 32, 64, ("threads", "blocks")),
    (96, 32, 0, 21, 63, ("threads", "registers")),  # 64 / 3
    (1, 16, 0, 32, 32, ("blocks",)),  # a warp for one thread
    (256, 16, 48 * KIB, 4, 32, ("shared memory",)),  # 228 / 49 = 4.65
    (256, 16, 227 * KIB, 1, 8, ("shared memory",)),  # 228 with what is reserved
    (256, 16, 227 * KIB + 1, 0, 0, ("shared memory",)),
    (256, 16, 113 * KIB, 2, 16, ("shared memory",)),  # 228 / 114
    (256, 16, 113 * KIB + 1, 1, 8, ("shared memory",)),  # a unit of 128 bytes more
    (128, 16, 100, 16, 64, ("threads",)),
    (2048, 16, 0, 0, 0, ("threads",)),  # more than a block may have
    (256, 256, 0, 0, 0, ("registers",)),  # more than a thread may have
])  # fmt: skip
def test_a_multiprocessor_holds(threads, registers, shared, blocks, warps, limiters):
    found = occupancy(H100, threads, registers, shared)
    assert (found.blocks, found.warps, found.limiters) == (blocks, warps, limiters)
    assert found.share == warps / 64


def test_warps_get_registers_in_units():
    assert [registers_of_warp(H100, count) for count in (1, 8, 9, 255)] == [256, 256, 512, 8192]


def test_limits_are_the_machine_s():
    """Compute capability 8.6: 48 warps, 16 blocks, 100 KiB of shared memory."""
    small = dataclasses.replace(
        H100, warps_per_multiprocessor=48, blocks_per_multiprocessor=16,
        shared_bytes_per_multiprocessor=100 * KIB, shared_bytes_per_block=99 * KIB,
    )  # fmt: skip
    assert occupancy(small, 64, 16).limits == {"threads": 24, "blocks": 16, "registers": 64, "shared memory": 100}
    assert occupancy(small, 256, 40, 24 * KIB).limits == {"threads": 6, "blocks": 16, "registers": 6, "shared memory": 4}
