"""Bandwidth is measured over the bytes that are said to be moved; least traffic is that of the kernels' own arrays."""

import json

import numpy as np
import pytest

from benchmarks import bandwidth, memory
from polyml import kernels
from polyml.machines import cpu


def test_reading_reads_every_element():
    stream = bandwidth.Stream("read", 3_000 * 8, 2)
    (numbers,) = stream.arrays
    numbers[:] = np.arange(len(numbers))
    stream.passes = 1
    stream.turn()
    assert sum(room.sum() for room in stream._room) == numbers.sum() and stream.size_bytes == numbers.nbytes


def test_the_triad_writes_every_element():
    stream = bandwidth.Stream("triad", 9_000 * 8, 2)
    result, first, second = stream.arrays
    result[:], first[:], second[:] = -1.0, np.arange(len(first)), 2.0 * np.arange(len(first))
    stream.turn()
    assert (result == 7.0 * np.arange(len(first))).all()
    assert stream.size_bytes == result.nbytes + first.nbytes + second.nbytes <= 9_000 * 8


@pytest.mark.parametrize("name", list(memory.STENCILS))
def test_a_step_moves_the_arrays_that_it_reads_of_the_step_before_and_those_it_changes(name):
    """What a step reads of the step before is found by numbers that are none, put into each array's inside in turn."""
    benchmark, stencil = kernels.load(name), memory.STENCILS[name]
    size = dict(benchmark.sizes["MINI"]) | {stencil.steps: 1}
    before = benchmark.inputs(size, np.random.default_rng(0))
    names = [n for n, value in before.items() if isinstance(value, np.ndarray) and value.ndim == max(map(np.ndim, before.values()))]

    def after(values):
        return benchmark.reference(*values.values())

    moved = 0
    for changed in names:
        unknown = before[changed].copy()
        unknown[(slice(1, -1),) * unknown.ndim] = np.nan
        moved += 8 * any(np.isnan(result[1:-1]).any() for result in after(before | {changed: unknown}).values())
        moved += 8 * bool((after(before)[changed] != before[changed]).any())
    assert moved == stencil.bytes_per_point


@pytest.mark.parametrize("name", list(memory.STENCILS))
def test_stencils_are_made_larger_until_they_exceed_twice_the_last_cache(name):
    benchmark = kernels.load(name)
    least = 2 * cpu.host().caches[-1].size_bytes
    size = memory.beyond_caches(benchmark, "SMALL")
    assert memory._footprint(benchmark, size) > least
    assert size[memory.STENCILS[name].steps] == 1
    sides = [size[p] / s for p, s in benchmark.sizes["SMALL"].items() if p != memory.STENCILS[name].steps]
    assert max(sides) / min(sides) < 1.1


def test_large_enough_stencils_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(memory, "_TIMES_LAST_CACHE", 0.0)
    benchmark = kernels.load("fdtd_2d")
    assert memory.beyond_caches(benchmark, "MINI") == dict(benchmark.sizes["MINI"]) | {"TMAX": 1}


def test_durbin_s_passes_are_those_of_its_loops():
    size = {"N": 50}
    moved = sum(4 * k for k in range(1, 50))  # r and y in, y in and out
    assert memory.VECTORS["durbin"](size) == pytest.approx(8 * moved, rel=0.03)


def test_gemver_s_matrix_comes_once_more_unless_the_last_cache_keeps_it():
    last = cpu.host().caches[-1].size_bytes
    n = 2 * int((last / 8) ** 0.5)  # four times the cache
    assert memory.VECTORS["gemver"]({"N": n}) == pytest.approx(8 * 3 * n * n - last, rel=0.01)
    assert memory.VECTORS["gemver"]({"N": n // 4}) == pytest.approx(8 * 2 * (n // 4) ** 2, rel=0.05)


def test_vectors_and_stencils_write_their_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(memory, "_TIMES_LAST_CACHE", 0.0)
    file = tmp_path / "rows.json"
    common = ["--preset", "MINI", "--threads", "1", "--repeat", "2", "--json", str(file)]
    assert memory.main(["vectors", "--kernels", "gesummv", *common]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["bytes"] == 8 * (2 * 30 * 30 + 3 * 30) and row["footprint_bytes"] == 8 * (2 * 30 * 30 + 3 * 30)
    assert row["share"] > 0.0 and row["rate"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9, rel=0.5)
    assert memory.main(["stencils", "--kernels", "jacobi_2d", "--steps", "3", "--peer", "numpy", *common]) == 0
    (row,) = json.loads(file.read_text())["rows"]
    assert row["size"] == {"TSTEPS": 3, "N": 30} and row["bytes_per_point"] == 24
    assert row["sweep_s"] == pytest.approx(3 * 30 * 30 * 24 / row["bandwidth"] / 1e9)
    assert row["ratio"] > 0.0 and row["peer_ratio"] > 0.0
    printed = capsys.readouterr().out
    assert "geometric mean of numpy / polyml" in printed and "gesummv" in printed
