"""Chosen tiles against every tile of a grid, each simulated as a whole; predicted times against those of the whole code."""

from itertools import product

import numpy as np
import pytest

import polyml
from polyml.caches.simulator.simulate import simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.machines.cache_spec import parse
from polyml.measure import lookup
from polyml.report.report import rates
from polyml.tune.tiles.choose import nests_of, tiles


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def convolution(image, filters, out):
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(image.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            out[o, y, x] = out[o, y, x] + image[c, y + p, x + q] * filters[o, c, p, q]


def sweep(A, B):
    for t in range(3):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


CACHES = parse("4K:4:64")
CASES = [
    (gemm, ((96, 96),) * 3, (8, 16, 32, 96)),
    (gemm, ((64, 64),) * 3, (8, 16, 32, 64)),  # of rows that meet in the same sets
    (convolution, ((12, 18, 18), (10, 12, 3, 3), (10, 16, 16)), (4, 8, 16)),
    (sweep, ((80, 80),) * 2, (8, 16, 32, 78)),
]
LONG = 600.0  # seconds: the search ends by itself


def case(function, shapes):
    arrays = [np.zeros(shape) for shape in shapes]
    source = polyml.kernel(function, cache=False, threads=1).schedule("source", *arrays)
    named = dict(zip(source.problem.scop.params, arrays))
    return source, {p.name: named[p.array].shape[p.dim] for p in source.problem.scop.parameters}


def tiled(source, nests, sizes):
    for names in nests:
        source = source.tile(dict(zip(names, sizes)))
    return source


def misses(source, values, nests, sizes):
    program = build(source.problem.scop, tiled(source, nests, sizes).tree)
    found = simulate(program, values, CACHES, classify=False, places=placed(program, values))
    return sum(counts.misses[0] for counts in found.counts.values())


@pytest.mark.parametrize("function, shapes, grid", CASES)
@pytest.mark.sweep(keep=2)
def test_no_tile_of_a_grid_misses_much_less(function, shapes, grid):
    source, values = case(function, shapes)
    found = tiles(source, values, CACHES, seconds=LONG)
    tried = product(*([g for g in {*grid, extent} if g <= extent] if extent > 8 else [extent] for extent in found.extents))
    least = min(misses(source, values, found.nests, sizes) for sizes in tried)
    assert misses(source, values, found.nests, found.best.sizes) <= 1.05 * least
    assert len(found.simulated) < len(found.candidates) / 4


def test_times_are_those_of_the_code_that_tiles_become():
    """The whole product is simulated: its prediction is the report's of the same tiles."""
    machine, (source, values) = lookup.find("zen4"), case(gemm, ((64, 64),) * 3)
    levels = parse("32K:8:64,1M:16:64")
    found = tiles(source, values, levels, rates(levels, machine, 1), seconds=LONG)
    assert found.predicted == tuple(sorted(found.predicted, key=lambda each: each.seconds)) and found.chosen == found.fastest
    assert list(nests_of(source.loops)) == list(found.nests)
    arrays = np.zeros((3, 64, 64))
    for each in (found.predicted[0], found.predicted[-1]):
        kernel = polyml.kernel(gemm, cache=False, threads=1).with_schedule(tiled(source, found.nests, each.sizes))
        given = kernel.report(*arrays, machine=machine, caches=levels, threads=1).forms[-1]
        total = [given.misses.total(level).misses for level in (0, 1)]
        wanted = given.prediction.instructions + sum(w * m for w, m in zip(rates(levels, machine, 1).misses, total))
        assert each.seconds == pytest.approx(wanted, rel=0.05)
