"""Which block, warp and thread of each launch runs which instance, and what blocks copy to shared memory, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from math import prod

import islpy as isl

from polyml.codegen.gpu.axes import LaunchAxis
from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.gpu.shared_tiles import SharedTile
from polyml.model.core.scop import Scop
from polyml.pictures.sizes_text import source_sizes
from polyml.polyhedra.points import Instance, points
from polyml.schedule.gpu.loop_roles import SurroundingLoop
from polyml.schedule.gpu.mapping import Mapped

WARP = 32  # threads

Position = tuple[int, ...]


@dataclass(frozen=True)
class ThreadPlace:
    """Where an instance runs. All tuples have the position along x first.

    position: along each axis, the iteration of its loop, or of loops that are merged the number of their combination.
    block: the number of the block along each axis, of the positions from 0 on.
    thread: the thread's number in its block along each axis.
    warp: the number of the warp in the block.
    """

    position: Position
    block: Position
    thread: Position
    warp: int


@dataclass(frozen=True)
class SharedBox:
    """A part of an array that a block keeps in shared memory.

    lengths: how many elements it has along each stored dimension, those that only keep rows apart included.
    size_bytes: of all copies of it.
    slots: how many copies there are, where the next ones are made ahead.
    loop: of whose iterations, so many at a time, it has what they read; "": what all of a thread's iterations read.
    chunk: how many of them.
    """

    array: str
    lengths: Position
    size_bytes: int
    slots: int
    loop: str
    chunk: int


@dataclass(frozen=True)
class LaunchBlocks:
    """The blocks of one launch.

    host: the values of the host's loops for which it is shown.
    launches: how many launches the host's loops make with it; 1 where there are none.
    axes: by axis, x first: the loop's name, the threads of a block along it, and the iterations of each thread.
    places: where each instance runs.
    note: what runs in its place for these sizes; "": nothing.
    serial: why there is one thread alone; "" where there are several.
    """

    name: str
    host: Mapping[str, int]
    launches: int
    axes: tuple[tuple[str, int, int], ...]
    places: Mapping[Instance, ThreadPlace]
    shared: tuple[SharedBox, ...]
    note: str = ""
    serial: str = ""


@dataclass(frozen=True)
class GpuBlocks:
    """The blocks of all launches of a kernel for some sizes."""

    kernel: str
    sizes: Mapping[str, int]
    launches: tuple[LaunchBlocks, ...]


def gpu_blocks(program: GpuProgram, sizes: Mapping[str, int]) -> GpuBlocks:
    """Returns the blocks of a program's launches."""
    found = (_launch(program, f"{program.scop.name}_{number}", each, sizes) for number, each in enumerate(program.mapped))
    return GpuBlocks(program.scop.name, source_sizes(program.scop, sizes), tuple(each for each in found if each is not None))


def _launch(program: GpuProgram, name: str, mapped: Mapped, sizes: Mapping[str, int]) -> LaunchBlocks | None:
    """Returns the blocks of a launch; None where it has no instances for these sizes."""
    launch, nest = program.launches[name], mapped.nest
    loops = [*nest.host, *(loop for axis in mapped.axes for loop in axis.loops)]
    values = dict(_values(nest.instances, loops, sizes))
    if not values:
        return None
    hosts = sorted({found[: len(nest.host)] for found in values.values()})
    host = dict(zip(launch.host, hosts[len(hosts) // 2]))
    known = {**sizes, **host}
    chosen, note = _chosen(program, name, known)
    axes = (mapped.with_smaller_blocks if chosen.name != name else mapped).axes
    drawn = {
        instance: found[len(nest.host) :] for instance, found in values.items() if found[: len(nest.host)] == hosts[len(hosts) // 2]
    }
    counts = [len(axis.loops) for axis in axes]
    place_at = {found: _place(chosen.axes, _along(found, counts), known) for found in {*drawn.values()}}
    places = {instance: place_at[found] for instance, found in drawn.items()}
    told = tuple((axis.loop, axis.threads, axis.items) for axis in chosen.axes)
    shared = tuple(dict.fromkeys(_shared(chosen, program.scop)))
    return LaunchBlocks(chosen.name, host, len(hosts), told, places, shared, note, nest.serial)


def _chosen(program: GpuProgram, name: str, values: Mapping[str, int]) -> tuple[Launch, str]:
    """Returns the launch that is drawn, with its axes as the host runs it, and what the host runs in its place that is not drawn."""
    running = [each for each, _ in program.runs(name, values)]
    if len(running) == 1 and running[0].team is None and running[0].name in (name, f"{name}_small"):
        return running[0], ""
    others = ", ".join(each.name for each in running) or "another launch"
    return program.launches[name], f"for these sizes the host runs {others}, whose threads share loops inside these, in its place"


def _values(instances: isl.UnionSet, loops: list[SurroundingLoop], sizes: Mapping[str, int]) -> Iterator[tuple[Instance, Position]]:
    """Yields the values of loops in each instance."""
    maps = [isl.UnionMap.from_union_pw_aff(loop.values).intersect_domain(instances) for loop in loops]
    if not maps:
        yield from ((instance, ()) for instance in points(instances, **sizes))
        return
    for instance, (_, values) in points(reduce(isl.UnionMap.flat_range_product, maps), **sizes):
        yield instance, values


def _along(values: Position, counts: list[int]) -> list[Position]:
    """Returns the values of loops by axis. counts: how many loops each axis has."""
    rest = iter(values)
    return [tuple(islice(rest, count)) for count in counts]


def _place(axes: tuple[LaunchAxis, ...], along: list[Position], values: Mapping[str, int]) -> ThreadPlace:
    """Returns where an instance runs. along: by axis, the values of its loops."""
    positions = tuple(_position(axis, found, values) for axis, found in zip(axes, along))
    block, thread = [], []
    for axis, position in zip(axes, positions):
        number, inside = divmod(position, axis.threads * axis.items)
        block.append(number)
        thread.append(inside // axis.thread_step if axis.thread_step > 1 else inside % axis.threads)
    sizes = [axis.threads for axis in axes]
    number = sum(each * prod(sizes[:k]) for k, each in enumerate(thread))
    return ThreadPlace(positions, tuple(block), tuple(thread), number // WARP)


def _position(axis: LaunchAxis, found: Position, values: Mapping[str, int]) -> int:
    """Returns the iteration of an axis's loop, or of merged loops the number of the combination of their iterations."""
    if not axis.merged:
        return found[0]
    number = 0
    for loop, value in zip(axis.merged, found):
        number = number * loop.count.evaluate(values) + value - loop.first.evaluate(values)
    return number


def _shared(launch: Launch, scop: Scop) -> Iterator[SharedBox]:
    """Yields what the blocks of a launch keep in shared memory."""

    def box(tile: SharedTile, lengths: Position, slots: int, loop: str, chunk: int) -> SharedBox:
        size = prod(lengths) * scop.arrays[tile.array].element.size_bytes
        return SharedBox(tile.array, lengths, slots * size, slots, loop, chunk)

    for version in launch.versions:
        for tile in version.filled:
            yield box(tile, tile.lengths, 1, "", 0)
        ahead = {id(each.loop) for each in version.pipelined}
        for pipelined in version.pipelined:
            for part in pipelined.tiles:
                yield box(part.tile, part.lengths, pipelined.slots, pipelined.loop.var, pipelined.length)
        for staged in version.staged:
            if id(staged.loop) not in ahead:
                for tile in staged.tiles:
                    yield box(tile, tile.lengths, 1, staged.loop.var, staged.length)
