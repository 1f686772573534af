"""Footprints against the accesses that the Python function makes, iteration by iteration."""

import csv
import sys
from collections import defaultdict
from random import Random
from types import FunctionType

import islpy as isl
import numpy as np
import pytest

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.caches.analytic.footprint_measure import BOX, MIDDLE
from polyml.caches.analytic.footprints import compulsory, footprints
from polyml.caches.analytic.tile_footprints import tile, tile_at
from polyml.caches.simulator.simulate import simulate
from polyml.codegen.ir.array_layout import Placed, placed
from polyml.errors import ScheduleError
from polyml.machines.cpu import CacheLevel
from tests.caches import brute
from tests.caches.random_nests import random_nest
from tests.caches.simulator import test_simulate
from tests.caches.simulator.test_simulate import CASES, REFERENCE, gemm_ijk, levels_of, program_of


def syrk(A, C):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def mttkrp(A, B, C, D):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(B.shape[1]):
                for m in range(B.shape[2]):
                    A[i, j] += B[i, k, m] * D[m, j] * C[k, j]


def strided(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[2 * i + 3 * j, j] + A[2 * i, B.shape[1] - 1 - j]


KERNELS = CASES | {
    "stencil5": (test_simulate.stencil5, {"A": (18, 21), "B": (18, 21)}),
    "syrk": (syrk, {"A": (17, 12), "C": (17, 17)}),
    "mttkrp": (mttkrp, {"A": (5, 9), "B": (5, 6, 7), "C": (6, 9), "D": (7, 9)}),
    "strided": (strided, {"A": (60, 11), "B": (9, 11)}),
}


def used(function, arguments, element_bytes=8):
    """By nest of loops, then by their values, then by array: the addresses that are used there. Nests in the order of entry."""
    stack, order, found = [], [()], defaultdict(lambda: defaultdict(lambda: defaultdict(set)))

    def counted(*bounds):
        line = sys._getframe(1).f_lineno
        nest = (*(at for at, _ in stack), line)
        if nest not in order:
            order.append(nest)
        for value in range(*bounds):
            stack.append((line, value))
            yield value
            stack.pop()

    class Log:
        def append(self, use):
            for depth in range(len(stack) + 1):
                nest, values = tuple(at for at, _ in stack[:depth]), tuple(value for _, value in stack[:depth])
                found[nest][values][use[0]].add(use[1])

    values, end, log = [], 0, Log()
    for name, value in arguments.items():
        if isinstance(value, tuple):
            start = -(-end // 64) * 64
            end = start + element_bytes * int(np.prod(value))
            value = brute.Recorded(name, value, start, element_bytes, log)
        values.append(value)
    FunctionType(function.__code__, {"range": counted, "min": min, "max": max})(*values)
    return [found[nest] for nest in order]


def lines(addresses):
    return len({address // 64 for address in addresses})


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.sweep(keep=6)
def test_every_iteration_uses_what_the_formulas_say(name):
    function, arguments = KERNELS[name]
    program, sizes = program_of(function, arguments)
    found = footprints(program.scop, None, sizes, seconds=1)
    wanted = used(function, arguments)
    assert len(found) == len(wanted)
    for level, by_values in zip(found, wanted):
        assert {f.array for f in level.footprints} == {array for arrays in by_values.values() for array in arrays}
        for footprint in level.footprints:
            assert footprint.elements.accuracy == "exact"
            each = {values: arrays[footprint.array] for values, arrays in by_values.items()}
            assert footprint.elements.value == max(map(len, each.values()))
            for values, addresses in each.items():
                around = sizes | dict(zip(level.loops, values))
                assert footprint.elements.count.evaluate(around) == len(addresses), (level.loops, values)
                if name in ("gemm, one set", "jacobi, whole lines"):  # their rows begin on lines
                    assert footprint.lines.count.evaluate(around) == lines(addresses)
            most = max(map(len, each.values()))
            exact = footprint.lines.accuracy == "exact"
            assert footprint.lines.value in {lines(a) for a in each.values() if len(a) == most or exact}


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sweep(keep=10)
def test_random_nests(seed, tmp_path):
    function, arguments = random_nest(seed, tmp_path)
    program, sizes = program_of(function, arguments)
    found = footprints(program.scop, None, sizes, seconds=0.2)
    wanted = used(function, arguments)
    for level, by_values in zip(found, wanted):
        for footprint in level.footprints:
            each = {values: arrays[footprint.array] for values, arrays in by_values.items()}
            for amount, of in ((footprint.elements, len), (footprint.lines, lines)):  # rows are of whole lines
                if amount.count is None:  # not in time
                    assert amount.value == of(each[tuple(amount.at.values())])
                    continue
                assert amount.value == max(map(of, each.values()))
                for values, addresses in each.items():
                    assert amount.count.evaluate(sizes | dict(zip(level.loops, values))) == of(addresses)
    assert {a: n.value for a, n in compulsory(program.scop, sizes).lines.items()} == {
        array: lines(addresses) for array, addresses in wanted[0][()].items()
    }


@pytest.mark.parametrize("name", KERNELS)
def test_compulsory_misses_are_the_simulation_s(name):
    program, sizes = program_of(*KERNELS[name])
    simulated = simulate(program, sizes, levels_of([(1024, 8, "lru", "back", "independent")]))
    cold = defaultdict(int)
    for reference, counts in simulated.counts.items():
        cold[reference.array] += counts.cold
    found = compulsory(program.scop, sizes)
    assert {array: amount.value for array, amount in found.lines.items()} == cold
    assert found.total == sum(cold.values())


@pytest.mark.parametrize("row", list(csv.DictReader(REFERENCE.open())), ids=lambda row: f"{row['kernel']} {row['N']}")
def test_compulsory_misses_of_the_reference(row):
    kernel, n = row["kernel"], int(row["N"])
    option = int(row["options"].partition("=")[2] or 0)
    function = getattr(test_simulate, f"{kernel}_{option}" if "tiled" in kernel else kernel)
    arguments = dict.fromkeys("ABC" if "gemm" in kernel else "AB", (n, n)) | ({"T": option} if kernel == "jacobi2d" else {})
    program, sizes = program_of(function, arguments)
    found = compulsory(program.scop, sizes, places=placed(program, sizes, alignment=8))
    assert found.total == int(row["compulsory_lines"])


TILES = {
    "gemm": "ijk",
    "conv2d": "oyxc",
    "syrk": "ijk",
    "stencil5": "ij",
    "heat3d": "ijk",
    "mttkrp": "ijkm",
    "trmm": "ik",
    "strided": "ij",
}


@pytest.mark.parametrize("name", TILES)
@pytest.mark.sweep(keep=3)
def test_a_tile_that_iterations_fill(name):
    function, arguments = KERNELS[name]
    program, parameters = program_of(function, arguments)
    nest = footprints(program.scop)[-1].loops
    tiled = [loop for loop in nest if loop in TILES[name]]
    found = tile(program.scop, {loop: f"T{loop}" for loop in tiled}, seconds=0.2)
    points = used(function, arguments)[-1]
    rng, tried = Random(1), 0
    while tried < 12:
        sizes = {loop: rng.randint(1, 5) for loop in tiled}
        first = {loop: rng.randint(0, 6) for loop in tiled}
        inside = {
            values: arrays
            for values, arrays in points.items()
            if all(first[loop] <= v < first[loop] + sizes[loop] for loop, v in zip(nest, values) if loop in sizes)
        }
        if len({tuple(v for loop, v in zip(nest, values) if loop in sizes) for values in inside}) < np.prod(list(sizes.values())):
            continue
        tried += 1
        at = tile_at(program.scop, sizes, first, parameters)
        for footprint in found.interior:
            wanted = set().union(*(arrays[footprint.array] for arrays in inside.values()))
            known = parameters | {f"T{loop}": size for loop, size in sizes.items()} | first
            assert footprint.elements.count.evaluate(known) == len(wanted), (sizes, first)
            assert at[footprint.array] == (len(wanted), lines(wanted))


ALIGNED = {
    "gemm": (gemm_ijk, {"A": (24, 32), "B": (32, 40), "C": (24, 40)}, "ijk"),
    "conv2d": (test_simulate.conv2d, {"image": (9, 12, 24), "filters": (9, 9, 3, 8), "out": (9, 10, 16)}, "oyxc"),
    "stencil5": (test_simulate.stencil5, {"A": (20, 32), "B": (20, 32)}, "ij"),
    "syrk": (syrk, {"A": (32, 24), "C": (32, 32)}, "ijk"),
}


@pytest.mark.parametrize("name", ALIGNED)
@pytest.mark.sweep(long=("conv2d",))
def test_lines_of_a_tile_that_begins_on_lines(name):
    function, arguments, tiled = ALIGNED[name]
    program, parameters = program_of(function, arguments)
    nest = footprints(program.scop)[-1].loops
    found = tile(program.scop, {loop: f"T{loop}" for loop in tiled}, seconds=0.2)
    points = used(function, arguments)[-1]
    rng, tried = Random(2), 0
    while tried < 8:
        sizes = {loop: rng.randint(1, 9) for loop in tiled}
        first = {loop: rng.choice([0, 8, 16]) if name != "conv2d" else rng.choice([0, 8]) * (loop == "x") for loop in tiled}
        inside = {
            values: arrays
            for values, arrays in points.items()
            if all(first[loop] <= v < first[loop] + sizes[loop] for loop, v in zip(nest, values) if loop in sizes)
        }
        if len({tuple(v for loop, v in zip(nest, values) if loop in sizes) for values in inside}) < np.prod(list(sizes.values())):
            continue
        tried += 1
        known = parameters | {f"T{loop}": size for loop, size in sizes.items()} | {f"{k}_8": v // 8 for k, v in first.items()}
        for footprint in found.interior:
            wanted = set().union(*(arrays[footprint.array] for arrays in inside.values()))
            assert footprint.lines.count.evaluate(known) == lines(wanted), (sizes, first)


def test_tiles_cut_off_by_the_ends_of_loops():
    function, arguments = KERNELS["gemm"]
    program, parameters = program_of(function, arguments)
    points = used(function, arguments)[-1]
    sizes, first = {"i": 10, "j": 16, "k": 7}, {"i": 20, "j": 16, "k": 14}
    at = tile_at(program.scop, sizes, first, parameters)
    inside = [a for v, a in points.items() if all(f <= x < f + s for x, f, s in zip(v, first.values(), sizes.values()))]
    for array in "ABC":
        wanted = set().union(*(arrays[array] for arrays in inside))
        assert at[array] == (len(wanted), lines(wanted))


def test_formulas_of_a_convolution_s_tile():
    program, _ = program_of(*KERNELS["conv2d"])
    found = tile(program.scop, {"o": "Toc", "y": "Th", "x": "Tw", "c": "Tic"}).interior
    assert {f.array: f.elements.text() for f in found} == {
        "out": "Th*Toc*Tw",
        "image": "Tic*(Th + 2)*(Tw + 2)",
        "filters": "9*Tic*Toc",
    }
    assert {f.array: f.lines.text() for f in found}["image"] == "Tic*(Th + 2)*(floor((Tw + 1)/8) + 1)"


def test_lines_of_tiles_by_their_sizes():
    program, _ = program_of(*KERNELS["gemm"])
    found = tile(program.scop, {"i": "Ti", "j": 24, "k": "Tk"})
    values = {p.name: 1000 for p in program.scop.parameters} | {"i": 0, "j_8": 0, "k_8": 0, "i_8": 0, "Ti": 10, "Tk": 12}
    assert found.lines(values) == 10 * 3 + 10 * 2 + 12 * 3


def test_arrays_of_too_many_rows_are_not_counted(monkeypatch):
    monkeypatch.setattr(line_runs, "MOST_RUNS", 10)
    program, sizes = program_of(*KERNELS["stencil5"])
    whole, *_ = footprints(program.scop, None, sizes)
    assert {(f.array, f.lines.value, f.lines.accuracy) for f in whole.footprints} == {
        ("A", None, "not counted"),
        ("B", None, "not counted"),
    }
    assert whole.lines is None and whole.footprints[0].share(CacheLevel(1, 32768, 8, 64, 1)) is None


def test_formulas_of_a_matrix_product():
    program, sizes = program_of(gemm_ijk, {"A": (64, 32), "B": (32, 48), "C": (64, 48)}, np.float32)
    whole, *_, inner = footprints(program.scop, None, sizes)
    assert {f.array: (f.elements.text(), f.bytes.text(), f.lines.text()) for f in whole.footprints} == {
        "C": ("C_0*C_1", "4*C_0*C_1", "C_0*floor((C_1 + 15)/16)"),
        "A": ("A_1*C_0", "4*A_1*C_0", "C_0*floor((A_1 + 15)/16)"),
        "B": ("A_1*C_1", "4*A_1*C_1", "A_1*floor((C_1 + 15)/16)"),
    }
    assert whole.lines == (64 * 32 + 32 * 48 + 64 * 48) // 16
    assert whole.share(CacheLevel(1, 32768, 8, 64, 1)) == whole.lines * 64 / 32768
    assert [f.elements.text() for f in inner.footprints] == ["1", "1", "1"]


def test_a_box_bounds_what_cannot_be_counted_in_time():
    program, sizes = program_of(*KERNELS["syrk"])
    whole, *_ = footprints(program.scop, seconds=-1)
    found = {f.array: (f.elements.count.evaluate(sizes), f.elements.accuracy) for f in whole.footprints}
    assert found == {"C": (17 * 17, BOX), "A": (17 * 12, BOX)}


def test_numbers_of_a_middle_iteration_where_there_is_no_formula_in_time():
    function, arguments = KERNELS["syrk"]
    program, sizes = program_of(function, arguments)
    for level, by_values in zip(footprints(program.scop, None, sizes, seconds=-1), used(function, arguments)):
        for footprint in level.footprints:
            at = tuple(footprint.elements.at[loop] for loop in level.loops)
            wanted = by_values[at][footprint.array]
            assert (footprint.elements.value, footprint.lines.value) == (len(wanted), lines(wanted))
            assert footprint.elements.accuracy == (MIDDLE if level.loops else "exact")
            assert footprint.elements.text(sizes) == str(len(wanted))


def test_a_loop_that_is_not_there():
    program, _ = program_of(*KERNELS["syrk"])
    with pytest.raises(ScheduleError, match="there is no loop `x` to tile"):
        tile(program.scop, {"i": 4, "x": "T"})


@pytest.mark.parametrize("seed", range(60))
def test_lines_of_random_sets(seed):
    rng = Random(seed)
    dims = rng.randint(1, 3)
    names = ["i", "j", "k"][:dims]
    shape = [rng.randint(1, 9) for _ in names[1:]] + [rng.randint(1, 40)]
    rows = [f"0 <= {name} < {extent}" for name, extent in zip(names, shape)]
    for _ in range(rng.randint(0, 2)):
        rows.append(f"{' + '.join(f'{rng.randint(-2, 2)} {name}' for name in names)} + {rng.randint(-3, 9)} >= 0")
    if rng.random() < 0.5:
        rows.append(f"({rng.choice(names)} + {rng.randint(0, 3)}) mod {rng.randint(2, 5)} = {rng.randint(0, 1)}")
    other = f" or ({' and '.join([*rows[:dims], f'{names[-1]} >= 3'])})" if rng.random() < 0.3 else ""
    domain = isl.Set(f"{{ A[{', '.join(names)}] : ({' and '.join(rows)}){other} }}")
    strides = tuple(8 * int(np.prod(shape[d + 1 :])) for d in range(dims))
    place = Placed(8 * rng.randint(0, 20), tuple(shape), strides, 8 * int(np.prod(shape)))
    addresses = {place.address + sum(s * c for s, c in zip(strides, point)) for _, point in polyhedra.points(domain)}
    assert line_runs.lines([(domain, place)], 64) == lines(addresses)
