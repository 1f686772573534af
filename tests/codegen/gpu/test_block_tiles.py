"""Boxes of arrays that a block copies to shared memory before its threads run."""

from itertools import product

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.interpreter import launches
from polyml.codegen.interpreter.order import walk
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Program
from polyml.schedule.gpu.launch_plan import planned
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem


def turned(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[j, i] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]


def mirrored(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, A.shape[0] - 1 - i] = A[i, j]


def windows(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(3):
                B[i, j] += A[2 * j + k, i]


def in_place(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = A[j, i]


def of_a_cube(A, B):
    for h in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(A.shape[2]):
                B[h, j, i] = A[h, i, j]


def by_one_element(A, B, D):
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] = B[i, j] * A[-1]


def program_of(function, arrays, block=(4, 2), items=(1, 2), adjacent=True):
    found, values = problem(function, *arrays)
    nests = every_nest(loop_tree.read(found.scop.schedule, found.scop.statements), found.scop, found.dependences)
    return gpu_program(found.scop, [mapped(n, range(len(n.grid)), block, items, adjacent) for n in nests]), values


def filled(program):
    return [tile for launch in program.launches.values() for version in launch.versions for tile in version.filled]


@pytest.mark.parametrize("function, shapes, expected", [
    (kernels.transpose, [(64, 64), (64, 64)], ["A[i_block..i_block + 31, j_block..j_block + 31]"]),
    (turned, [(64, 64), (64, 64)], ["A[i_block - 1..i_block + 32, j_block - 1..j_block + 32]"]),
    (of_a_cube, [(9, 64, 64), (9, 64, 64)], ["A[h_block..h_block + 1, i_block..i_block + 31, j_block..j_block + 15]"]),
    (kernels.five_point, [(64, 64), (64, 64)], []),  # a warp's loads of it go to neighbours, so that the cache serves them
    (in_place, [(64, 64)], []),  # which is written
    (kernels.gemm, [(9, 9), (9, 5), (5, 9)], []),  # whose loads are in a loop of unknown length
])  # fmt: skip
def test_a_block_copies_what_warps_load_from_many_rows(function, shapes, expected):
    found, _ = problem(function, *map(np.zeros, shapes))
    program = gpu_program(found.scop, planned(found.scop, found.dependences, found.reductions))
    assert [tile.region() for tile in filled(program)] == expected


def test_an_element_that_all_threads_load_is_no_box(monkeypatch):
    monkeypatch.setattr("polyml.codegen.gpu.block_tiles.lines", lambda *given: (2, 1))
    program, _ = program_of(by_one_element, [np.zeros(3), np.zeros((19, 22)), np.zeros((19, 22))])
    assert [tile.array for tile in filled(program)] == ["B"]


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("function, shapes", [
    (kernels.transpose, [(19, 22), (22, 19)]),
    (turned, [(19, 22), (22, 19)]),
    (mirrored, [(19, 22), (22, 19)]),
    (windows, [(40, 19), (19, 18)]),
    (of_a_cube, [(6, 11, 9), (6, 9, 11)]),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
def test_a_tile_is_the_box_around_what_a_block_loads(function, shapes, adjacent, monkeypatch):
    """The elements are those of the instances of its threads, run one by one."""
    monkeypatch.setattr("polyml.codegen.gpu.block_tiles.lines", lambda *given: (2, 1))
    program, values = program_of(function, [np.zeros(shape) for shape in shapes], adjacent=adjacent)
    (launch,), (tile,) = program.launches.values(), filled(program)
    table, blocks = AccessTable(program.scop.context), {}
    for start in launches.threads(launch, values):
        here = {**values, **start}
        if not launch.versions[0].condition.evaluate(here):
            continue
        block = tuple(value for name, value in start.items() if name not in [axis.start for axis in launch.axes])
        loaded = blocks.setdefault(block, (here, set()))[1]

        def visit(name, point, loaded=loaded, here=here):
            at = {**here, **dict(zip(program.scop.statements[name].iterators, point))}
            for access in program.scop.statements[name].reads:
                if access.array == tile.array:
                    loaded.add(tuple(each.evaluate(at) for each in table.subscripts(access)))

        walk(Program(program.scop, launch.versions[0].body), here, visit)
    assert len(blocks) > 1
    for here, loaded in blocks.values():
        ends = [(min(each), max(each)) for each in zip(*loaded)]
        first = [each.first.evaluate(here) for each in tile.dimensions]
        assert [(low, low + each.extent - 1) for low, each in zip(first, tile.dimensions)] == ends
        assert all(0 <= low and high < extent for (low, high), extent in zip(ends, shapes[0]))


@pytest.mark.parametrize("function, shapes", [(turned, [(19, 22), (22, 19)]), (windows, [(40, 19), (19, 18)])])
def test_each_thread_finds_its_elements_in_the_tile(function, shapes, monkeypatch):
    """The subscripts in the tile are those in the array, from the box's first element on."""
    monkeypatch.setattr("polyml.codegen.gpu.block_tiles.lines", lambda *given: (2, 1))
    program, values = program_of(function, [np.zeros(shape) for shape in shapes])
    (launch,), (tile,) = program.launches.values(), filled(program)
    own = {name for each in tile.dimensions for name in each.index.names} - {axis.thread for axis in launch.blocks}
    for start in launches.threads(launch, values):
        threads = {axis.thread: (start[axis.start] - start[axis.block]) // axis.thread_step for axis in launch.blocks}
        for numbers in product(range(2), repeat=len(own)):
            at = {**values, **start, **threads, **dict(zip(sorted(own), numbers))}
            for offset in tile.offsets:
                there = [value.evaluate(at) + more for value, more in zip(tile.subscripts, offset)]
                found = [each.evaluate(at) for each in tile.indices(offset)]
                assert found == [place - each.first.evaluate(at) for place, each in zip(there, tile.dimensions)]
                assert all(0 <= place < each.extent for place, each in zip(found, tile.dimensions))
