"""Distances against the simulation's stack, and against published numbers."""

import numpy as np
import pytest

from polyml.caches.distances import distances
from polyml.caches.placement import placed
from polyml.caches.simulate import simulate
from polyml.caches.trace import references
from polyml.model.counting import CannotCount
from tests.caches.test_simulate import CASES, gemm_ikj, levels_of, program_of


def distances_of(function, arguments, dtype=np.float64, seconds=120.0):
    program, sizes = program_of(function, arguments, dtype)
    places = placed(program, sizes)
    return program, sizes, distances(program.scop, program.scop.schedule, references(program), sizes, places, 64, seconds)


TOO_MANY = {"jacobi", "conv2d", "trmm", "transpose"}  # rows begin anywhere in a line


@pytest.mark.parametrize("case", [name for name in CASES if name not in TOO_MANY])
def test_equals_the_simulation(case):
    program, sizes, found = distances_of(*CASES[case])
    rows = [(size, 8, "lru", "back", "independent") for size in (1024, 2048, 4096)]
    simulated = simulate(program, sizes, levels_of(rows))
    for reference, counts in simulated.counts.items():
        assert found[reference].accesses.evaluate({}) == counts.accesses
        assert found[reference].cold.evaluate({}) == counts.cold
        assert [found[reference].misses(size // 64) for size, *_ in rows] == list(counts.far), reference


def test_gives_up_in_time():
    with pytest.raises(CannotCount, match="too long"):
        distances_of(*CASES["conv2d"], seconds=0.1)


def test_haystack_s_example():
    """gemm of 1024^3 float32, fully associative: 196,608 compulsory and 67,043,328 capacity misses (Gysi et al., PLDI 2019)."""
    _, _, by_reference = distances_of(gemm_ikj, dict.fromkeys("ABC", (1024, 1024)), np.float32)
    found = by_reference.values()
    cold = sum(each.cold.evaluate({}) for each in found)
    assert cold == 196_608
    assert sum(each.misses(32 * 1024 // 64) for each in found) - cold == 67_043_328
