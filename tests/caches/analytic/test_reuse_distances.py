"""Distances against the simulation's stack, and against published numbers."""

import numpy as np
import pytest

from polyml.caches.analytic.reuse_distances import distances
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses, SizeFacts
from polyml.caches.simulator.simulate import simulate
from polyml.caches.simulator.trace import references
from polyml.codegen.ir.array_layout import placed
from polyml.model.counting.cardinality import CannotCount
from tests.caches.nests import events, kernel_of, nest, reuses
from tests.caches.simulator.test_simulate import (
    CASES,
    gemm_ijk,
    gemm_ikj,
    jacobi2d,
    levels_of,
    program_of,
    stencil5,
    transpose,
    transpose_tiled_8,
    trmm,
    trsv,
)


def symbolic(program):
    """The references of a program for all sizes."""
    return ScheduledAccesses(program.scop, program.scop.schedule, references(program), {}, None)


def distances_of(function, arguments, dtype=np.float64, seconds=120.0):
    program, sizes = program_of(function, arguments, dtype)
    places = placed(program, sizes)
    return (
        program,
        sizes,
        distances(ScheduledAccesses(program.scop, program.scop.schedule, references(program), sizes, places), 64, seconds),
    )


TOO_MANY = {"jacobi", "conv2d", "trmm", "transpose"}  # rows begin anywhere in a line


@pytest.mark.parametrize("case", [name for name in CASES if name not in TOO_MANY])
@pytest.mark.sweep(keep=8, long=("gemm]",))
def test_equals_the_simulation(case):
    program, sizes, found = distances_of(*CASES[case])
    rows = [(size, 8, "lru", "back", "independent") for size in (1024, 2048, 4096)]
    simulated = simulate(program, sizes, levels_of(rows))
    for reference, counts in simulated.counts.items():
        assert found[reference].accesses.evaluate({}) == counts.accesses
        assert found[reference].cold.evaluate({}) == counts.cold
        assert [found[reference].misses(size // 64) for size, *_ in rows] == list(counts.fully_associative), reference


SYMBOLIC = {
    gemm_ijk: lambda n, m: {"A": (n, m), "B": (m, n + 8), "C": (n, n + 8)},
    gemm_ikj: lambda n, m: {"A": (n, m), "B": (m, n + 8), "C": (n, n + 8)},
    transpose: lambda n, m: {"A": (n, m), "B": (m, n)},
    transpose_tiled_8: lambda n, m: {"A": (n, m), "B": (m, n)},
    stencil5: lambda n, m: {"A": (n, m), "B": (n, m)},
    trsv: lambda n, m: {"A": (n, n), "B": (8, n)},
    trmm: lambda n, m: {"A": (n, n), "B": (n, m)},
    jacobi2d: lambda n, m: {"A": (n, m), "B": (n, m), "T": 3},
}


# without a unit, jacobi2d takes a minute
BY_UNIT = [(function, unit) for function in SYMBOLIC for unit in (1, 8) if function is not jacobi2d or unit > 1]


@pytest.mark.parametrize("function, unit", BY_UNIT, ids=lambda value: getattr(value, "__name__", str(value)))
@pytest.mark.sweep(keep=5, long=("jacobi2d",))
def test_symbolic_sizes_equal_the_simulation(function, unit):
    """Found once, for every size that makes rows whole lines; also as a formula where there is one."""
    program, sizes = program_of(function, SYMBOLIC[function](8, 8))
    units = {name: unit for name in sizes if name != "T"}
    found = distances(symbolic(program), 64, 120.0, SizeFacts(program.scop.checked, units))
    lines = (3, 16, 40, 100)
    for n, m in [(8, 8), (8, 16), (16, 8), (24, 8), (16, 32), (32, 24)]:
        program, sizes = program_of(function, SYMBOLIC[function](n, m))
        simulated = simulate(program, sizes, levels_of([(64 * n, 1) for n in lines]))
        for reference, counts in simulated.counts.items():
            assert found[reference].accesses.evaluate(found[reference].counted(sizes)) == counts.accesses
            assert [found[reference].misses(n, sizes) for n in lines] == list(counts.fully_associative), (reference, n, m)
    for reference, each in found.items():
        try:
            formula = each.formula(40)
        except CannotCount as why:
            assert "no linear function" in str(why)
            continue
        assert formula.evaluate(sizes) == simulated.counts[reference].fully_associative[2]


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 7, 8, 9, 13, 14, 15, 16, 17, 19])  # the others take some seconds
@pytest.mark.sweep(keep=8)
def test_random_nests_of_all_sizes(seed, tmp_path):
    """Misses at sizes, and as formulas where there are any, against stacks in plain Python."""
    drawn = nest(seed)
    arguments = {"A": (40, 40), "B": (40, 48), "x": (40,), "n": 9, "m": 8}
    program, sizes = program_of(kernel_of(drawn.source, tmp_path), arguments)
    found = distances(symbolic(program), 32, 120.0, SizeFacts(program.scop.checked))
    for n, m in ((1, 5), (3, 3), (9, 4), (7, 14)):
        here = sizes | {"n": n, "m": m}
        first, wanted = reuses(events(drawn.traced, n, m, 4))
        for reference, each in found.items():
            me = reference.statement, reference.position
            for lines in (3, 6, 11):
                far = sum(distance >= lines for key, known in wanted.items() if key[0] == me for distance in known)
                assert each.misses(lines, here) == first[me] + far
                try:
                    formula = each.formula(lines)
                except CannotCount:
                    continue
                assert formula.evaluate(here) == first[me] + far


def test_misses_of_a_product_as_a_formula():
    program, sizes = program_of(gemm_ijk, dict.fromkeys("ABC", (256, 256)))
    units = dict.fromkeys(sizes, 8)
    found = distances(symbolic(program), 64, 60.0, SizeFacts(program.scop.checked, units))
    formulas = [each.formula(512) for each in found.values()]
    assert sum(f.evaluate(sizes) for f in formulas) == 2113536
    with pytest.raises(ValueError, match="A_1 = 250 is no multiple of 8"):
        formulas[1].evaluate(sizes | {"A_1": 250})


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


def syrk(A, C):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            for j in range(i + 1):
                C[i, j] = C[i, j] + A[i, k] * A[j, k]


@pytest.mark.parametrize("n", [80, 104, 128])
def test_distances_that_grow_in_steps_of_many(n):
    program, sizes, found = distances_of(syrk, {"A": (n, n), "C": (n, n)})
    lines = (37, 150, n * n // 16, n * n // 9)
    simulated = simulate(program, sizes, levels_of([(64 * count, 1) for count in lines]))
    for reference, counts in simulated.counts.items():
        assert [found[reference].misses(count) for count in lines] == list(counts.fully_associative), reference
