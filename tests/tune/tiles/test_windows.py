"""Programs cut down to some tiles: their instances against those of the domain, their misses against isl's program of these."""

import numpy as np
import pytest

import polyml
from polyml.caches.simulator.simulate import simulate
from polyml.codegen.astgen.build import build
from polyml.codegen.ir.array_layout import placed
from polyml.machines.cache_spec import parse
from polyml.tune.tiles.choose import nests_of
from polyml.tune.tiles.windows import tiled, within


def gemm(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def triangle(A, C):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] = C[i, j] + A[i, k] * A[j, k]


def twice(A, B):
    for t in range(2):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i, j - 1] + A[i, j + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i - 1, j] + B[i + 1, j]


CASES = [
    (gemm, ((40, 40),) * 3, (8, 12, 16)),
    (triangle, ((40, 30), (40, 40)), (8, 8, 30)),
    (twice, ((60, 60),) * 2, (9, 16)),
]
MOST = 5000
CACHES = parse("1K:2:64,8K:4:64")


def made(function, shapes, sizes):
    arrays = [np.zeros(shape) for shape in shapes]
    source = polyml.kernel(function, cache=False, threads=1).schedule("source", *arrays)
    scop = source.problem.scop
    named = dict(zip(scop.params, arrays))
    values = {p.name: named[p.array].shape[p.dim] for p in scop.parameters}
    return source, values, tiled(source, [names for names in nests_of(source.loops)], sizes)


def writes(program, values):
    found = simulate(program, values, CACHES)
    return sum(c.accesses for r, c in found.counts.items() if r.is_write and r.statement.startswith("S"))


@pytest.mark.parametrize("function, shapes, sizes", CASES)
def test_a_window_is_some_tiles_in_the_middle(function, shapes, sizes):
    source, values, found = made(function, shapes, sizes)
    whole = build(source.problem.scop, found.tree)
    total = writes(whole, values)
    window = found.window(values, total, MOST)
    named = {name: size for names in found.names for name, size in zip(names, sizes)}
    assert window and all(first % named[name] == 0 for name, (first, _) in window.items())
    part = within(whole, window)
    assert MOST / 20 < writes(part, values) < total / 2
    assert found.window(values, MOST, MOST) == {} and within(whole, {}) == whole


@pytest.mark.parametrize("function, shapes, sizes", CASES)
def test_a_window_misses_as_its_instances_alone_do(function, shapes, sizes):
    """isl's program of the instances in the window."""
    source, values, found = made(function, shapes, sizes)
    program = build(source.problem.scop, found.tree)
    total = writes(program, values)
    window = found.window(values, total, MOST)
    domain = source.problem.scop.domain
    for statement in list(source.problem.scop.statements.values()):
        own = statement.domain
        for names, loops_ in zip(found.names, found.nests):
            for name, loop in zip(names, loops_):
                iterator = loop.rpartition(".")[2]
                if name in window and loop.partition(".")[0] == statement.name:
                    first, last = window[name]
                    own = own.intersect(own.read_from_str(own.get_ctx(), _between(own, iterator, first, last)))
        domain = domain.subtract(statement.domain.to_union_set()).union(own.to_union_set())
    alone = build(source.problem.scop, found.tree.intersect_domain(domain))
    places = placed(program, values)
    parts = [simulate(each, values, CACHES, places=places).counts for each in (within(program, window), alone)]
    assert parts[0] == parts[1]


def _between(own, iterator, first, last):
    names = [own.get_dim_name(3, k) for k in range(own.dim(3))]
    return f"{{ {own.get_tuple_name()}[{', '.join(names)}] : {first} <= {iterator} <= {last} }}"
