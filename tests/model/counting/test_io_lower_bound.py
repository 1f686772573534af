"""Bounds against what the best replacement loads, for many orders of the instances; it shares no code with the bounds."""

from functools import partial
from itertools import permutations
from random import Random

import numpy as np
import pytest

from polyml import polyhedra
from polyml.caches.simulator.simulate import simulate
from polyml.model.core.scop import Role
from polyml.model.counting.io_lower_bound import lower_bound
from tests.caches.analytic.test_footprints import mttkrp, syrk
from tests.caches.random_nests import random_nest
from tests.caches.simulator import test_simulate
from tests.caches.simulator.test_simulate import gemm_ijk, gemm_tiled_16, levels_of, program_of


def gemm_from_zero(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def gemm_in_a_scalar(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[k, j]
            C[i, j] = s


def two_products(A, B, C, D, E):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            D[i, j] = 0.0
            for k in range(A.shape[1]):
                D[i, j] += A[i, k] * B[k, j]
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            E[i, j] = 0.0
            for k in range(B.shape[1]):
                E[i, j] += D[i, k] * C[k, j]


def lu(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] = A[i, k] / A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]


def seidel(A, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def jacobi1d(A, B, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]


def matvec(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


KERNELS = {
    "gemm": (gemm_ijk, {"A": (14, 12), "B": (12, 16), "C": (14, 16)}),
    "gemm from zero": (gemm_from_zero, {"A": (14, 12), "B": (12, 16), "C": (14, 16)}),
    "gemm in a scalar": (gemm_in_a_scalar, {"A": (14, 12), "B": (12, 16), "C": (14, 16)}),
    "gemm tiled": (gemm_tiled_16, {"A": (20, 18), "B": (18, 20), "C": (20, 20)}),
    "two products": (two_products, {"A": (12, 11), "B": (11, 10), "C": (10, 13), "D": (12, 10), "E": (12, 13)}),
    "syrk": (syrk, {"A": (16, 12), "C": (16, 16)}),
    "mttkrp": (mttkrp, {"A": (8, 9), "B": (8, 7, 6), "C": (7, 9), "D": (6, 9)}),
    "trmm": (test_simulate.trmm, {"A": (15, 15), "B": (15, 14)}),
    "conv2d": (test_simulate.conv2d, {"image": (3, 8, 9), "filters": (5, 3, 3, 3), "out": (5, 6, 7)}),
    "lu": (lu, {"A": (15, 15)}),
    "seidel": (seidel, {"A": (14, 13), "T": 16}),
    "jacobi1d": (jacobi1d, {"A": (40,), "B": (40,), "T": 60}),
    "jacobi": (test_simulate.jacobi2d, {"A": (12, 12), "B": (12, 12), "T": 20}),
    "heat3d": (test_simulate.heat3d, {"A": (7, 7, 7), "B": (7, 7, 7)}),
    "trsv": (test_simulate.trsv, {"A": (20, 20), "B": (20, 20)}),
    "transpose": (test_simulate.transpose, {"A": (14, 13), "B": (13, 14)}),
    "matvec": (matvec, {"A": (14, 13), "x": (13,), "y": (14,)}),
}


def uses(scop, sizes, order=lambda name, point: 0):
    """(location, whether it is written), one after the other, of all instances: by `order`, then as in the source. Scalars of the
    kernel are registers.
    """
    times = {polyhedra.domain_name(m): m for m in polyhedra.pieces(scop.schedule.get_map())}
    found = []
    for name, statement in scop.statements.items():
        at = dict(polyhedra.points(times[name].intersect_domain(statement.domain), **sizes))
        steps_of = [
            (dict(polyhedra.points(access.relation.intersect_domain(statement.domain), **sizes)), access is statement.write)
            for access in (*statement.reads, statement.write)
            if scop.arrays[access.array].role is not Role.LOCAL or scop.arrays[access.array].shape
        ]
        for instance, when in at.items():
            steps = [(where[instance], is_write) for where, is_write in steps_of]
            found.append((order(name, instance[1]), when[1], steps))
    return [step for _, _, steps in sorted(found, key=lambda each: each[:2]) for step in steps]


def best_loads(trace, capacity):
    """How many locations are loaded at least for this order: what is read next last goes first; a write loads nothing, and what
    is written before it is read again need not be kept (Belady 1966).
    """
    never = len(trace)
    following, wanted = {}, [never] * len(trace)
    for number in range(len(trace) - 1, -1, -1):
        location, write = trace[number]
        wanted[number] = following.get(location, never)
        following[location] = never if write else number
    held, loads = {}, 0
    for number, (location, write) in enumerate(trace):
        if location not in held:
            loads += not write
            if len(held) == capacity:
                del held[max(held, key=held.get)]
        held[location] = wanted[number]
    return loads


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.sweep(keep=6, long=("conv2d",))
def test_no_order_loads_less(name):
    function, arguments = KERNELS[name]
    program, sizes = program_of(function, arguments)
    scop = program.scop
    bound = lower_bound(scop)
    trace = uses(scop, sizes)
    read = set()
    written = set()
    for location, write in trace:
        (written if write else read).add(location) if write or location not in written else None
    assert bound.compulsory(sizes) == len(read)
    assert bound.stores(sizes) == len({location for location, write in trace if write})
    for order in orders(name):
        trace = uses(scop, sizes, order)
        for elements in (4, 7, 16, 30, 64, 120):
            # the bound's memory has the registers besides
            assert bound.loads(sizes, elements) <= best_loads(trace, elements + bound.registers), elements


def orders(name):
    """Orders that give the right result where sums may be taken in any order."""
    yield lambda name, point: 0
    if name in ("gemm", "mttkrp", "conv2d", "matvec", "transpose"):
        every = list(permutations(range(2 if name in ("matvec", "transpose") else 3)))
        for dims in every if name == "gemm" else every[::3]:
            for size in (2, 4, 7) if name == "gemm" else (2, 4):
                yield partial(tiled, dims=dims, size=size)
    if name == "syrk":
        for size in (3, 4, 6):
            yield partial(tiled, dims=(0, 1, 2), size=size)
            yield partial(tiled, dims=(2, 0, 1), size=size)
    if name == "seidel":
        for size in (3, 5, 8):
            yield lambda name, p, size=size: (p[0] // size, (p[0] + p[1]) // size, (p[0] + p[2]) // size, *p)
    if name == "jacobi1d":
        for size in (4, 8, 16):
            yield lambda name, p, size=size: ((2 * p[0] + p[1] + 2 * (name != "S0")) // size, p[0], name)


def tiled(name, point, dims, size):
    return tuple(point[dim] // size for dim in dims) + tuple(point[dim] for dim in dims)


def instances(scop, sizes):
    """(reads, write) of each instance, in the source's order; locations in memory alone."""
    found, reads = [], []
    for location, is_write in uses(scop, sizes):
        if is_write:
            found.append((reads, location))
            reads = []
        else:
            reads.append(location)
    return found


def sparing(steps, capacity, rng):
    """The instances in an order that keeps their dependences, the next one that for which least has to be loaded."""
    waits, after = [0] * len(steps), [[] for _ in steps]
    writer, readers = {}, {}
    for number, (reads, write) in enumerate(steps):
        before = {writer[x] for x in (*reads, write) if x in writer} | {*readers.get(write, ())}
        for other in before:
            after[other].append(number)
        waits[number] = len(before)
        writer[write] = number
        readers[write] = []
        for x in reads:
            readers.setdefault(x, []).append(number)
    ready, held, order = [n for n, count in enumerate(waits) if not count], {}, []
    while ready:
        chosen = min(ready, key=lambda n: (sum(x not in held for x in steps[n][0]), rng.random()))
        ready.remove(chosen)
        order.append(chosen)
        for x in (*steps[chosen][0], steps[chosen][1]):
            held.pop(x, None)
            held[x] = True
        while len(held) > capacity:
            del held[next(iter(held))]
        for n in after[chosen]:
            waits[n] -= 1
            if not waits[n]:
                ready.append(n)
    return [steps[n] for n in order]


def check_orders_that_spare(scop, sizes, capacities, rng):
    bound = lower_bound(scop)
    steps = instances(scop, sizes)
    for elements in capacities:
        memory = elements + bound.registers
        for order in (steps, sparing(steps, memory, rng), sparing(steps, memory // 2, rng)):
            trace = [use for reads, write in order for use in (*((x, False) for x in reads), (write, True))]
            assert bound.loads(sizes, elements) <= best_loads(trace, memory)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "gemm in a scalar"])
@pytest.mark.sweep(keep=6, long=("conv2d",))
def test_no_sparing_order_loads_less(name):
    function, arguments = KERNELS[name]
    if name != "conv2d":
        arguments = {k: tuple(-(-n * 2 // 3) for n in v) if isinstance(v, tuple) else v // 2 for k, v in arguments.items()}
    program, sizes = program_of(function, arguments)
    check_orders_that_spare(program.scop, sizes, (1, 4, 12), Random(1))


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.sweep(keep=25)
def test_no_order_of_random_nests_loads_less(seed, tmp_path):
    program, sizes = program_of(*random_nest(seed, tmp_path))
    check_orders_that_spare(program.scop, sizes, (1, 2, 4, 8), Random(seed))


@pytest.mark.parametrize("name", KERNELS)
def test_the_simulation_moves_no_less(name):
    program, sizes = program_of(*KERNELS[name])
    bound = lower_bound(program.scop)
    for capacity in (8, 16, 64, 512):
        found = simulate(program, sizes, levels_of([(capacity * 8, min(capacity, 64), "lru", "back", "independent")], 8))
        assert bound.loads(sizes, capacity) <= sum(counts.fully_associative[0] for counts in found.counts.values())
        assert bound.loads(sizes, capacity) <= sum(counts.misses[0] for counts in found.counts.values())
        written = sum(row[0] for row in found.written.values())
        assert bound.stores(sizes) <= written + capacity  # what stays in the cache at the end


def test_a_matrix_product_s_bound_is_the_known_one():
    program, _ = program_of(*KERNELS["gemm"])
    bound = lower_bound(program.scop)
    assert bound.text() == ("loads >= max(A_1*C_0 + A_1*C_1 + C_0*C_1, 2*A_1*C_0*C_1/sqrt(S) - 2*S)\nstores >= C_0*C_1")
    sizes, memory = dict.fromkeys(("A_0", "A_1", "B_0", "B_1", "C_0", "C_1"), 1000), 900
    found = bound.loads(sizes, memory - bound.registers)
    assert 2 * 1000**3 / 30 - 2 * memory <= found <= 2 * 1000**3 / 30 * 1.001
    expression = bound.sympy()
    values = {symbol: sizes.get(symbol.name, memory) for symbol in expression.free_symbols}
    assert float(expression.subs(values)) == pytest.approx(2 * 1000**3 / 30 - 2 * memory)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemm from zero", "loads >= max(A_1*(C_0 + C_1), 2*A_1*C_0*C_1/sqrt(S) - 2*S - C_0*C_1)\nstores >= C_0*C_1"),
        ("matvec", "loads >= A_0*A_1 + A_0 + A_1\nstores >= A_0"),
        (
            "conv2d",
            "loads >= max(image_0*out_1*out_2 + out_0*out_1*out_2 + 9*image_0*out_0 + 2*image_0*out_1 + 2*image_0*out_2"
            " + 4*image_0, 9*image_0*out_0*out_1*out_2/S - S, 6*image_0*out_0*out_1*out_2/sqrt(S) - 2*S)\n"
            "stores >= out_0*out_1*out_2",
        ),
        (
            "syrk",
            "loads >= max(C_0*(2*A_1 + C_0 + 1)/2, 0.5*(A_1*C_0*(C_0 + 1))/sqrt(S) - 2*S)\nstores >= C_0*(C_0 + 1)/2",
        ),
    ],
)
def test_texts(name, text):
    program, _ = program_of(*KERNELS[name])
    assert lower_bound(program.scop).text() == text


def test_an_elimination_s_bound_is_two_thirds_of_the_cube_over_the_root():
    program, _ = program_of(*KERNELS["lu"])
    bound = lower_bound(program.scop)
    found = bound.loads({"A_0": 3000}, 400 - bound.registers)
    assert found == pytest.approx(2 / 3 * 3000**3 / 20, rel=0.02)


def seidel1d(A, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]


def seidel1d_in_tiles_of_8(A, T: int):
    for tt in range(0, T, 8):
        for xx in range(tt, tt + 8 + A.shape[0], 8):
            for t in range(tt, min(tt + 8, T)):
                for x in range(max(xx, t + 1), min(xx + 8, t + A.shape[0] - 1)):
                    A[x - t] = A[x - t - 1] + A[x - t] + A[x - t + 1]


def test_time_tiles_move_no_less_than_time_steps_may():
    arguments = {"A": (400,), "T": 400}
    plain, sizes = program_of(seidel1d, arguments)
    bound = lower_bound(plain.scop)
    tiles, known = program_of(seidel1d_in_tiles_of_8, arguments)
    for capacity in (8, 12, 16, 24):
        found = simulate(tiles, known, levels_of([(capacity * 8, capacity, "lru", "back", "independent")], 8))
        misses = sum(counts.misses[0] for counts in found.counts.values())
        assert bound.compulsory(sizes) < bound.loads(sizes, capacity) <= misses


def test_time_steps_cost_loads_where_the_grid_is_larger_than_the_memory():
    program, _ = program_of(*KERNELS["jacobi1d"])
    sizes, memory = {"A_0": 10_000, "B_0": 10_000, "T": 10_000}, 100
    found = lower_bound(program.scop).loads(sizes, memory)
    assert found > 0.2 * 10_000**2 / (memory + 10)


def test_tiles_in_the_source_change_nothing():
    tiled_, _ = program_of(*KERNELS["gemm tiled"])
    plain, _ = program_of(*KERNELS["gemm"])
    assert lower_bound(tiled_.scop).text() == lower_bound(plain.scop).text()


def test_products_one_after_the_other_cost_both():
    program, _ = program_of(*KERNELS["two products"])
    sizes = {p.name: 200 for p in program.scop.parameters}
    bound = lower_bound(program.scop)
    single = max(each.loads(sizes, 64 + bound.registers) for each in bound.reuse)
    assert bound.loads(sizes, 64) > 1.8 * single


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_elements(dtype):
    program, sizes = program_of(*KERNELS["gemm"], dtype)
    bound = lower_bound(program.scop)
    assert bound.compulsory(sizes) == (14 * 12 + 12 * 16 + 14 * 16) * (2 if dtype is np.complex128 else 1)
