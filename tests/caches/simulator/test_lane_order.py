"""The trace of vectorised programs: instances in the order in which they run, uses counted loop by loop."""

from collections import Counter

import numpy as np
import pytest

import polyml
from polyml.caches.simulator.simulate import simulate
from polyml.codegen.interpreter.order import sequence
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Jam, every
from polyml.errors import PolymlValueError
from polyml.machines.cache_spec import parse
from tests.caches import brute

ROWS = [(1024, 4, "lru", "back", "independent"), (4096, 8, "lru", "back", "independent")]
CACHES = parse("1K:4:64,4K:8:64")


def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def smoothed(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]


def triangle(A, x, y):
    for i in range(A.shape[0]):
        for j in range(i):
            y[i] += A[i, j] * x[j]


def running(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        y[i] = s


CASES = {
    product: {"A": (51, 19), "B": (19, 37), "C": (51, 37)},
    smoothed: {"A": (23, 41), "B": (23, 41)},
    triangle: {"A": (37, 37), "x": (37,), "y": (37,)},
    running: {"x": (101,), "y": (101,)},
}


def compiled(function):
    arrays = {name: np.zeros(shape) for name, shape in CASES[function].items()}
    program = polyml.kernel(cache=False, threads=1)(function).lower(*arrays.values()).program
    return program, {p.name: CASES[function][p.array][p.dim] for p in program.scop.parameters}


def log_of(program, sizes, places):
    """Every use of memory, as plain Python finds it."""
    table, log = AccessTable(program.scop.context), []
    for name, point in sequence(program, sizes):
        statement = program.scop.statements[name]
        values = {**sizes, **dict(zip(statement.iterators, point))}
        for number, access in enumerate(reads_and_write(statement)):
            if access.array in places:
                index = [e.evaluate(values) for e in table.subscripts(access)]
                place = places[access.array]
                address = place.address + sum(i * step for i, step in zip(index, place.strides))
                log.append((access.array, address, number == len(statement.reads)))
    return log


@pytest.mark.parametrize("function", CASES)
def test_vectorised_programs_miss_as_their_instances_do(function):
    program, sizes = compiled(function)
    assert any(isinstance(node, Jam) for node in every(program.body))
    found = simulate(program, sizes, CACHES)
    assert not program.windows
    log = log_of(program, sizes, found.places)
    wanted = brute.Hierarchy(ROWS, 64, brute.array_of(found.places))
    for use in log:
        wanted.access(*use)
    uses, misses = Counter(), Counter()
    for reference, counts in found.counts.items():
        uses[reference.array, reference.is_write] += counts.accesses
        for level in range(len(ROWS)):
            misses[level, reference.array, reference.is_write] += counts.misses[level]
    assert +uses == Counter((array, write) for array, _, write in log)
    assert +misses == Counter({(k, array, write): n for (_, k, array, write), n in wanted.misses.items()})


def test_copies_are_counted_as_often_as_they_are_made():
    arrays = [np.zeros((256, 256)) for _ in range(3)]
    program = polyml.kernel(cache=False, threads=1)(product).lower(*arrays).program
    assert program.windows
    found = simulate(program, {p.name: 256 for p in program.scop.parameters}, parse("48K:12:64"), classify=False)
    copied = {r.array: c.accesses for r, c in found.counts.items() if r.statement.startswith("fill_") and not r.is_write}
    assert copied and all(count % (256 * 256) == 0 for count in copied.values())
    assert {c.accesses for r, c in found.counts.items() if not r.statement.startswith("fill_")} == {256**3}


def test_what_data_decide_is_not_simulated():
    def gathered(x, columns, y):
        for i in range(y.shape[0]):
            y[i] = x[columns[i]]

    arrays = np.zeros(10), np.zeros(10, int), np.zeros(10)
    program = polyml.kernel(cache=False)(gathered).lower(*arrays).program
    with pytest.raises(PolymlValueError, match="data decide which elements of x"):
        simulate(program, dict.fromkeys((p.name for p in program.scop.parameters), 10), CACHES)
