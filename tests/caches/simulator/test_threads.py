"""Threads that share caches, against caches in plain Python that all accesses go through one by one."""

from collections import Counter
from functools import cache
from importlib import import_module
from random import Random

import numpy as np
import pytest

import polyml
from polyml.caches.simulator.simulate import ThreadModel, simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.program import loops
from polyml.errors import PolymlValueError
from polyml.machines.cpu import CacheLevel
from polyml.model.core.call_interface import value
from tests.caches import brute, team
from tests.caches.random_nests import random_nest
from tests.codegen.forms import small_machine, small_tiles


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def jacobi(A, B, T: int):
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


def triangle(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] = A[j, i] + A[i, j]


def columns(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * x[i]


def sums(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] += A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] += A[i, j] * r[i]


def normalised(A):
    e = np.exp(A - A.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def updates(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(1, A.shape[0] - 1):
        for j in range(A.shape[1]):
            C[i, j] = B[i - 1, j] + B[i, j] + B[i + 1, j]


def striped(A, x):
    """Each thread has some columns: parts of the same lines."""
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            for k in range(3):
                A[i, j] = A[i, j] + x[k]


def swept(A, B, T: int):
    """Each thread gets a part of the rows, the same one in every sweep."""
    for t in range(T):
        for i in range(1, A.shape[0] - 1):
            for j in range(A.shape[1]):
                B[i, j] = A[i - 1, j] + A[i + 1, j]
        for k in range(1, A.shape[0] - 1):
            for l in range(A.shape[1]):
                A[k, l] = B[k, l] * 0.5


SCRIPTS = {striped: "j", swept: "ik"}  # loops of the source that are for threads
CASES = {
    striped: {"A": (40, 12), "x": (3,)},
    swept: {"A": (14, 21), "B": (14, 21), "T": 3},
    product: {"A": (18, 12), "B": (12, 17), "C": (18, 17)},
    jacobi: {"A": (15, 26), "B": (15, 26), "T": 3},
    triangle: {"A": (41, 41), "B": (41, 41)},
    columns: {"A": (40, 33), "x": (40,), "y": (33,)},
    sums: {"A": (40, 33), "r": (40,), "c": (33,)},
    updates: {"A": (30, 33), "B": (30, 33), "C": (30, 33)},
    normalised: {"A": (30, 33)},
}

LRU, OWN = ("lru", "back"), "independent"
# size, ways, replacement, writes, contents, how many threads share it (0: all)
HIERARCHIES = {
    "own": [(512, 2, *LRU, OWN), (1024, 4, *LRU, OWN)],
    "the last": [(512, 4, *LRU, OWN), (1024, 4, *LRU, "inclusive"), (4096, 8, *LRU, OWN, 0)],
    "larger": [(4096, 4, *LRU, OWN), (8192, 4, *LRU, OWN), (16384, 8, *LRU, OWN, 0)],
    "pairs": [(512, 4, *LRU, OWN), (1024, 4, "plru", "back", OWN, 2), (4096, 8, *LRU, OWN, 0)],
    "all": [(1024, 4, *LRU, OWN, 0), (2048, 4, *LRU, OWN, 0)],
    "full": [(512, 8, *LRU, OWN), (2048, 32, *LRU, OWN, 0)],
    "full, own": [(1280, 20, *LRU, OWN), (2048, 4, *LRU, OWN, 0)],
    "through": [(512, 4, "lru", "through", OWN), (2048, 4, *LRU, OWN, 0)],
    "exclusive": [(512, 4, *LRU, OWN), (1024, 4, *LRU, OWN), (2048, 4, *LRU, "exclusive", 0)],
    "exclusive twice": [(512, 4, *LRU, OWN), (1024, 4, *LRU, "exclusive"), (2048, 4, "plru", "back", "exclusive", 2)],
    "full, exclusive": [(512, 4, *LRU, OWN), (2048, 32, *LRU, "exclusive", 0), (8192, 8, *LRU, OWN, 0)],
    "inclusive": [(512, 4, *LRU, OWN), (1024, 4, *LRU, OWN), (1536, 4, *LRU, "inclusive", 0)],
    "inclusive pairs": [(512, 4, "plru", "back", OWN), (1024, 16, *LRU, "inclusive", 2), (2048, 32, *LRU, "inclusive", 0)],
}


def levels_of(rows):
    return [CacheLevel(k + 1, row[0], row[1], 64, (*row[5:], 1)[0], *row[2:5]) for k, row in enumerate(rows)]


@pytest.fixture(scope="module", autouse=True)
def small():
    """Tiles of a few iterations, and threads share loops however short."""
    with pytest.MonkeyPatch.context() as patch:
        small_machine(patch)
        small_tiles(patch)
        yield


@cache
def compiled(function):
    return made(function, CASES[function])


def made(function, arguments):
    values = [np.zeros(v) if isinstance(v, tuple) else v for v in arguments.values()]
    kernel = polyml.kernel(cache=False, threads=4)(function)
    program = scripted(kernel, values, SCRIPTS[function]) if function in SCRIPTS else kernel.lower(*values).program
    sizes = {p.name: arguments[p.array][p.dim] if p.array else arguments[p.argument or p.name] for p in program.scop.parameters}
    return program, sizes


def scripted(kernel, values, loops):
    schedule = kernel.schedule("source", *values)
    for loop in loops:
        schedule = schedule.parallel(loop)
    return build(schedule.problem.scop, schedule.tree, schedule.problem.reductions)


@cache
def regions_of(function, threads):
    program, sizes = compiled(function)
    return team.uses(program, sizes, placed(program, sizes, threads=threads), threads)


def counted(simulation, what):
    """By thread, level, array and whether written."""
    found = Counter()
    for thread, counts in enumerate(simulation.threads):
        for reference, each in counts.items():
            for level, count in enumerate(getattr(each, what)):
                found[thread, level, reference.array, reference.is_write] += count
    return +found


def check(program, sizes, rows, threads, regions, coherent=False):
    found = simulate(program, sizes, levels_of(rows), threads=ThreadModel(threads, coherent))
    wanted = brute.Hierarchy(rows, 64, brute.array_of(found.places), threads, coherent)
    accesses, logs = Counter(), [[] for _ in range(threads)]
    for thread, (name, position, array, address, write) in team.in_turn(regions):
        accesses[thread, name, position] += 1
        logs[thread].append((array, address, write))
        wanted.access(array, address, write, thread)
    each = {(t, r.statement, r.position): c.accesses for t, counts in enumerate(found.threads) for r, c in counts.items()}
    assert +Counter(each) == accesses
    assert counted(found, "misses") == +wanted.misses
    assert counted(found, "first") == +wanted.cold
    assert counted(found, "invalidated") == +wanted.taken
    assert {(k, a): n for a, row in found.written.items() for k, n in enumerate(row) if n} == dict(+wanted.written)
    assert {a: n for a, n in found.dirty.items() if n} == dict(wanted.dirty())
    far = counted(found, "fully_associative")
    for level, sharing in enumerate(wanted.sharing):
        got = {key: n for key, n in far.items() if key[1] == level}
        if sharing > 1:
            assert got == {key: n for key, n in wanted.far.items() if key[1] == level}
            continue
        own = {}
        for thread, log in enumerate(logs):
            own |= {(thread, level, *use): n for use, n in brute.far(log, 64, rows[level][0] // 64).items()}
        assert got == own
    for reference, counts in found.counts.items():
        parts = [own[reference] for own in found.threads]
        assert counts.accesses == sum(part.accesses for part in parts)
        assert counts.misses == tuple(map(sum, zip(*(part.misses for part in parts))))


@pytest.mark.parametrize("function", CASES)
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
@pytest.mark.sweep(keep=18)
def test_equals_caches_in_python(function, hierarchy):
    threads = 5 if any(row[5:] == (2,) for row in HIERARCHIES[hierarchy]) else 3
    program, sizes = compiled(function)
    regions = regions_of(function, threads)
    assert any(sum(map(bool, region)) > 1 for region in regions)
    check(program, sizes, HIERARCHIES[hierarchy], threads, regions)


@pytest.mark.parametrize("function", CASES)
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
@pytest.mark.sweep(keep=18)
def test_coherent_caches_equal_caches_in_python(function, hierarchy):
    threads = 5 if any(row[5:] == (2,) for row in HIERARCHIES[hierarchy]) else 3
    check(*compiled(function), HIERARCHIES[hierarchy], threads, regions_of(function, threads), coherent=True)


@pytest.mark.parametrize("function", CASES)
def test_one_thread_runs_parallel_loops_one_iteration_after_the_other(function):
    program, sizes = compiled(function)
    check(program, sizes, HIERARCHIES["the last"], 1, regions_of(function, 1))


@pytest.mark.parametrize("seed", range(16))
def test_random_nests_equal_caches_in_python(seed, tmp_path):
    function, arguments = random_nest(seed, tmp_path)
    rng = Random(seed)
    rows = HIERARCHIES[rng.choice(sorted(HIERARCHIES))]
    threads = rng.randint(2, 4)
    program, sizes = made(function, arguments)
    regions = team.uses(program, sizes, placed(program, sizes, threads=threads), threads)
    check(program, sizes, rows, threads, regions)
    check(program, sizes, rows, threads, regions, coherent=True)


@pytest.mark.parametrize("name", ["atax", "deriche", "gramschmidt", "lu", "seidel_2d", "trmm"])
@pytest.mark.sweep(keep=2)
def test_kernels_equal_caches_in_python(name):
    module = import_module(f"polyml.kernels.{name}")
    arguments = module.inputs({key: max(5, size // 2) for key, size in module.SIZES["MINI"].items()}, np.random.default_rng(0))
    program = polyml.kernel(cache=False, threads=4)(getattr(module, name).py_func).lower(*arguments.values()).program
    sizes = {p.name: value(p, arguments) for p in program.scop.parameters}
    regions = team.uses(program, sizes, placed(program, sizes, threads=3), 3)
    assert any(sum(map(bool, region)) > 1 for region in regions)
    for coherent in (False, True):
        check(program, sizes, HIERARCHIES["pairs"], 3, regions, coherent)


def test_loops_too_short_for_several_threads_run_on_the_first(monkeypatch):
    program, sizes = compiled(product)
    monkeypatch.setattr("polyml.codegen.llvm.emit.PARALLEL_WORK", 10**9)
    first, second = simulate(program, sizes, levels_of(HIERARCHIES["the last"]), threads=ThreadModel(2)).threads
    alone = simulate(program, sizes, levels_of(HIERARCHIES["the last"])).counts
    assert {r: c.misses for r, c in first.items()} == {r: c.misses for r, c in alone.items()}
    assert not any(c.accesses for c in second.values())


def test_as_many_threads_as_are_simulated():
    program, sizes = compiled(updates)
    with pytest.raises(PolymlValueError, match="0 threads are not simulated, but 1 to 1024"):
        simulate(program, sizes, levels_of(HIERARCHIES["own"]), threads=ThreadModel(0))
    found = simulate(program, sizes, levels_of(HIERARCHIES["the last"]), threads=ThreadModel(64))
    assert len(found.threads) == 64
    assert sum(c.accesses for c in found.counts.values()) == sum(len(own) for region in regions_of(updates, 64) for own in region)


def test_threads_take_lines_from_each_other():
    program, sizes = compiled(striped)
    found = simulate(program, sizes, levels_of(HIERARCHIES["larger"]), threads=ThreadModel(3, True))
    apart = simulate(program, sizes, levels_of(HIERARCHIES["larger"]), threads=ThreadModel(3))
    for level in (0, 1):
        assert sum(c.invalidated[level] for c in found.counts.values()) > sum(c.misses[level] for c in apart.counts.values())
    assert not any(c.invalidated[2] for c in found.counts.values())


def test_threads_have_arrays_of_their_own():
    assert compiled(sums)[0].threads
    assert any(loop.private for loop in loops(compiled(normalised)[0].body))
