"""The programs that a kernel of `loop_nests` becomes before its loops run together, and what they must keep."""

from dataclasses import replace
from functools import cache

import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.passes.full_tiles import separate_full_tiles
from polyml.machines import catalogue
from polyml.machines import cpu as machine
from polyml.machines.cpu import CacheLevel
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.runtime.storage import size_classes as sizes
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.tiling import blocked_factorization, contraction, cpu_mapping
from polyml.schedule.tiling import panel as short
from polyml.schedule.tiling.blocking import Blocks
from polyml.schedule.tree import bands
from tests.codegen.histories import History
from tests.codegen.loop_nests import arguments_for
from tests.codegen.samples import scop_of

SMALL_TILES = (4, 7, 3, 2)
SMALL_CACHES = (CacheLevel(1, 1024, 8, 64, 1), CacheLevel(2, 4096, 8, 64, 1), CacheLevel(3, 32768, 16, 64, 2))


def small_machine(patch):
    """The host with caches so small that few elements need every level of blocks, and no call too small for its threads."""
    host = machine.host()
    patch.setattr(machine, "host", lambda: replace(host, caches=SMALL_CACHES, cores=3))
    patch.setattr(sizes, "_LITTLE", {rank: 0 for rank in range(5)})
    patch.setattr(sizes, "_LITTLE_OF_MANY", 0)
    patch.setattr("polyml.codegen.llvm.emit.PARALLEL_WORK", 0)


def small_tiles(patch):
    """Tiles of a few iterations, so that small sizes have several of them."""
    floor, scaled = bands.floor, bands.scaled_floor
    patch.setattr(cpu_mapping, "floor", lambda band, sizes: floor(band, SMALL_TILES[: len(sizes)]))
    for module in (cpu_mapping, short):
        patch.setattr(module, "scaled_floor", lambda band, sizes: scaled(band, SMALL_TILES[: len(sizes)]))
    patch.setattr(blocked_factorization, "WIDTH", 6)
    patch.setattr(blocked_factorization, "FEW_WIDTH", 6)
    patch.setattr(contraction, "blocks", blocks_of(14, 7, 3, 4))


def blocks_of(columns, panel, depth, rows):
    """Blocks of these sizes for every contraction."""

    def blocks(axes, setting):
        names = {role: [a.name for a in axes if a.role is role] for role in LoopRole}
        (wide,), (first, *others) = names[LoopRole.PANEL], names[LoopRole.ROWS]
        single = [(n, 1) for n in (*names[LoopRole.COLUMNS], *others)]
        outer = [*((n, 1) for n in names[LoopRole.BATCH]), (wide, columns), *((n, depth) for n in names[LoopRole.DEPTH][:1])]
        return Blocks(tuple(outer), (first, rows), (*single, (wide, panel)), (first, wide, *names[LoopRole.DEPTH]))

    return blocks


@cache
def programs(kernel):
    """The kernel's loops in source order, tiled, and tiled with full tiles apart from partial ones."""
    scop = expand(scop_of(kernel, arguments_for(kernel, (3, 3, 3))))
    free = reductions(scop, "reassociate")
    with pytest.MonkeyPatch.context() as patch:
        small_tiles(patch)
        found = compute(scop, dependences(scop), ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True))
    tiled = build(scop, found.tree, free)
    source = build(scop, scop.schedule, free)
    return {"source": source, "tiled": tiled, "apart": separate_full_tiles(tiled)}


@cache
def history(kernel, sizes):
    program = programs(kernel)["source"]
    return History.of(kernel, program.scop, list(arguments_for(kernel, sizes).values()), program.reductions)


def check(kernel, program, sizes, orders=("source", "reversed", "shuffled")):
    for order in orders:
        history(kernel, sizes).check(program, order=order, seed=1)


def layouts(scop):
    return ("C",) * len(scop.params)
