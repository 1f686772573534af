"""The simulation against caches in plain Python, and against the reference of two other simulators."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from polyml.caches.simulator.simulate import simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines.cache_spec import parse as parse_levels
from polyml.machines.cpu import CacheLevel
from polyml.pipeline.stages import extract
from tests.caches import brute

REFERENCE = Path(__file__).parents[2] / "data" / "cache_reference.csv"


def gemm_ijk(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def gemm_ikj(A, B, C):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def gemm_tiled_16(A, B, C):
    for ii in range(0, C.shape[0], 16):
        for jj in range(0, C.shape[1], 16):
            for kk in range(0, A.shape[1], 16):
                for i in range(ii, min(ii + 16, C.shape[0])):
                    for j in range(jj, min(jj + 16, C.shape[1])):
                        for k in range(kk, min(kk + 16, A.shape[1])):
                            C[i, j] = C[i, j] + A[i, k] * B[k, j]


def gemm_tiled_32(A, B, C):
    for ii in range(0, C.shape[0], 32):
        for jj in range(0, C.shape[1], 32):
            for kk in range(0, A.shape[1], 32):
                for i in range(ii, min(ii + 32, C.shape[0])):
                    for j in range(jj, min(jj + 32, C.shape[1])):
                        for k in range(kk, min(kk + 32, A.shape[1])):
                            C[i, j] = C[i, j] + A[i, k] * B[k, j]


def transpose(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def transpose_tiled_8(A, B):
    for ii in range(0, A.shape[0], 8):
        for jj in range(0, A.shape[1], 8):
            for i in range(ii, min(ii + 8, A.shape[0])):
                for j in range(jj, min(jj + 8, A.shape[1])):
                    B[j, i] = A[i, j]


def jacobi2d(A, B, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def stencil5(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j])


def trsv(A, B):
    for i in range(A.shape[0]):
        for j in range(i):
            B[0, i] = B[0, i] - A[i, j] * B[0, j]
        B[0, i] = B[0, i] / A[i, i]


def conv2d(image, filters, out):
    for o in range(out.shape[0]):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(image.shape[0]):
                    for p in range(3):
                        for q in range(3):
                            out[o, y, x] = out[o, y, x] + image[c, y + p, x + q] * filters[o, c, p, q]


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] = B[i, j] + A[k, i] * B[k, j]


def heat3d(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            for k in range(1, A.shape[2] - 1):
                B[i, j, k] = A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k] + A[i, j, k + 1] + A[i, j, k - 1]


def backwards(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] = y[i] + A[A.shape[0] - 1 - i, A.shape[1] - 1 - j] * x[A.shape[1] - 1 - j]


def thirds(A, x):
    for i in range(A.shape[0]):
        for j in range(x.shape[0]):
            x[j] = x[j] + A[i, 3 * j] + A[i, 3 * j + 2] + A[0, j]


CASES = {
    "backwards": (backwards, {"A": (30, 50), "x": (50,), "y": (30,)}),
    "thirds": (thirds, {"A": (30, 60), "x": (20,)}),
    "gemm": (gemm_ijk, {"A": (24, 20), "B": (20, 28), "C": (24, 28)}),
    "gemm, one set": (gemm_ijk, {"A": (16, 32), "B": (32, 32), "C": (16, 32)}),
    "gemm tiled": (gemm_tiled_16, {"A": (40, 40), "B": (40, 40), "C": (40, 40)}),
    "transpose": (transpose, {"A": (33, 64), "B": (64, 33)}),
    "jacobi": (jacobi2d, {"A": (30, 30), "B": (30, 30), "T": 3}),
    "jacobi, whole lines": (jacobi2d, {"A": (24, 32), "B": (24, 32), "T": 3}),
    "trsv": (trsv, {"A": (50, 50), "B": (50, 50)}),
    "conv2d": (conv2d, {"image": (3, 12, 12), "filters": (4, 3, 3, 3), "out": (4, 10, 10)}),
    "trmm": (trmm, {"A": (28, 28), "B": (28, 20)}),
    "heat3d": (heat3d, {"A": (12, 12, 12), "B": (12, 12, 12)}),
}

# size, ways, replacement, writes, contents
HIERARCHIES = {
    "direct": [(1024, 1, "lru", "back", "independent")],
    "lru": [(2048, 8, "lru", "back", "independent")],
    "plru": [(2048, 4, "plru", "back", "independent")],
    "plru of 8": [(1024, 8, "plru", "back", "independent")],
    "odd": [(3 * 5 * 64, 3, "lru", "back", "independent"), (12 * 7 * 64, 12, "lru", "back", "independent")],
    "two": [(1024, 4, "lru", "back", "independent"), (4096, 8, "lru", "back", "independent")],
    "inclusive": [(1024, 8, "lru", "back", "independent"), (2048, 2, "lru", "back", "inclusive")],
    "exclusive": [(1024, 4, "lru", "back", "independent"), (2048, 8, "lru", "back", "exclusive")],
    "through": [(1024, 4, "lru", "through", "independent"), (4096, 8, "plru", "back", "independent")],
    "through twice": [(1024, 4, "plru", "through", "independent"), (2048, 2, "lru", "through", "independent")],
    "larger": [(4096, 4, "lru", "back", "independent"), (12288, 8, "plru", "back", "independent")],
    "full": [(2048, 32, "lru", "back", "independent")],
    "full twice": [(1280, 20, "lru", "back", "independent"), (4096, 64, "lru", "back", "inclusive")],
    "full and exclusive": [(1024, 4, "lru", "back", "independent"), (4096, 64, "lru", "back", "exclusive")],
    "full, through": [(2048, 32, "lru", "through", "independent"), (4096, 64, "lru", "through", "independent")],
    "three": [
        (512, 2, "plru", "back", "independent"),
        (1024, 4, "lru", "back", "inclusive"),
        (4096, 16, "plru", "back", "inclusive"),
    ],
    "three, the last exclusive": [
        (512, 4, "lru", "back", "independent"),
        (1024, 4, "plru", "back", "inclusive"),
        (2048, 8, "plru", "back", "exclusive"),
    ],
    "exclusive, then inclusive": [
        (512, 4, "lru", "back", "independent"),
        (1024, 4, "lru", "back", "exclusive"),
        (4096, 4, "lru", "back", "inclusive"),
    ],
}


def program_of(function, arguments, dtype=np.float64):
    values = [np.zeros(v, dtype) if isinstance(v, tuple) else v for v in arguments.values()]
    scop = extract(infer(parse(function), tuple(map(arg_type, values))), fp="strict")
    named = dict(arguments)
    sizes = {p.name: named[p.array][p.dim] if p.array else named[p.argument or p.name] for p in scop.parameters}
    return build(scop, scop.schedule), sizes


def levels_of(rows, line_bytes=64):
    return [CacheLevel(n + 1, size, ways, line_bytes, 1, *rest) for n, (size, ways, *rest) in enumerate(rows)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
@pytest.mark.sweep(keep=30)
def test_equals_caches_in_python(case, hierarchy):
    function, arguments = CASES[case]
    rows = HIERARCHIES[hierarchy]
    program, sizes = program_of(function, arguments)
    found = simulate(program, sizes, levels_of(rows))
    log = brute.accesses(function, arguments)
    wanted = brute.Hierarchy(rows, 64, brute.array_of(found.places))
    for use in log:
        wanted.access(*use)
    misses, cold, reads = Counter(), Counter(), Counter()
    for reference, counts in found.counts.items():
        cold[reference.array, reference.is_write] += counts.cold
        reads[reference.array, reference.is_write] += counts.accesses
        for level in range(len(rows)):
            misses[level, reference.array, reference.is_write] += counts.misses[level]
    assert reads == Counter((array, write) for array, _, write in log)
    assert +misses == Counter({(k, array, write): n for (_, k, array, write), n in wanted.misses.items()})
    assert +cold == Counter({(array, write): n for (_, k, array, write), n in wanted.cold.items() if k == 0})
    written = {(k, a): n for a, row in found.written.items() for k, n in enumerate(row) if n}
    assert written == dict(+wanted.written)
    assert {a: n for a, n in found.dirty.items() if n} == dict(wanted.dirty())
    for level, (size, *_) in enumerate(rows):
        far = Counter()
        for reference, counts in found.counts.items():
            far[reference.array, reference.is_write] += counts.fully_associative[level]
        assert +far == brute.far(log, 64, size // 64)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep(keep=6)
def test_capacities_are_told_to_the_line(case):
    function, arguments = CASES[case]
    lines = range(50, 170, 5)
    program, sizes = program_of(function, arguments)
    found = simulate(program, sizes, levels_of([(64 * count, 1) for count in lines])).counts
    log = brute.accesses(function, arguments)
    for level, count in enumerate(lines):
        assert sum(c.fully_associative[level] for c in found.values()) == brute.far(log, 64, count).total()


def test_full_associativity_leaves_no_conflicts():
    """Of hundreds of lines: the stack counts the same."""
    program, sizes = program_of(gemm_ikj, dict.fromkeys("ABC", (64, 64)))
    found = simulate(program, sizes, parse_levels("24K:full:64,64K:full:64"))
    for counts in found.counts.values():
        assert counts.misses[0] == counts.fully_associative[0]
    nearest = simulate(program, sizes, parse_levels("64K:full:64"))
    assert [c.misses for c in nearest.counts.values()] == [c.fully_associative[1:] for c in found.counts.values()]


@pytest.mark.parametrize("row", list(csv.DictReader(REFERENCE.open())), ids=lambda row: f"{row['kernel']} {row['N']}")
def test_reference(row):
    kernel, n = row["kernel"], int(row["N"])
    option = int(row["options"].partition("=")[2] or 0)
    function = globals()[f"{kernel}_{option}" if "tiled" in kernel else kernel]
    arguments = dict.fromkeys("ABC" if "gemm" in kernel else "AB", (n, n)) | ({"T": option} if kernel == "jacobi2d" else {})
    program, sizes = program_of(function, arguments)
    levels = levels_of([(32 * 1024, 8), (1024 * 1024, 16)])
    found = simulate(program, sizes, levels, places=placed(program, sizes, alignment=8))
    each = found.counts.items()
    total = {
        "accesses": sum(c.accesses for _, c in each),
        "reads": sum(c.accesses for r, c in each if not r.is_write),
        "writes": sum(c.accesses for r, c in each if r.is_write),
        "sim_L1_rd_miss": sum(c.misses[0] for r, c in each if not r.is_write),
        "sim_L1_wr_miss": sum(c.misses[0] for r, c in each if r.is_write),
        "sim_LL_rd_miss": sum(c.misses[1] for r, c in each if not r.is_write),
        "sim_LL_wr_miss": sum(c.misses[1] for r, c in each if r.is_write),
        "compulsory_lines": sum(c.cold for _, c in each),
        "fa_lru_32KiB_misses": sum(c.fully_associative[0] for _, c in each),
        "fa_lru_1MiB_misses": sum(c.fully_associative[1] for _, c in each),
    }
    assert total == {name: int(row[name]) for name in total}
    if "tiled" not in kernel:
        assert abs(total["sim_L1_rd_miss"] + total["sim_L1_wr_miss"] - int(row["cg_D1mr"]) - int(row["cg_D1mw"])) <= 3
    assert all(sum((c.cold, c.capacity(k), c.conflict(k))) == c.misses[k] for _, c in each for k in (0, 1))
