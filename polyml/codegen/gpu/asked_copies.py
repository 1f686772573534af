"""Copies to shared memory that a schedule asks for, and those that a program makes.

for k: S  # shared(A, B)   ->   the block copies parts of A and B for 16 iterations of k, or the schedule is refused
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polyml.codegen.gpu.program import GpuProgram, Launch, gpu_program
from polyml.codegen.gpu.shared_tiles import CHUNK, MOST_BYTES, Staged
from polyml.errors import ScheduleError
from polyml.schedule.gpu.mapping import BlockCopies, Mapped


def with_copies(mapped: Sequence[Mapped], program: GpuProgram) -> tuple[Mapped, ...]:
    """Returns the launches of a program with the copies to shared memory that their code makes."""
    pairs = zip(mapped, program.plain)
    return tuple(replace(each, copies=tuple(_copies(launch))) for each, launch in pairs)


def _copies(launch: Launch) -> Iterator[BlockCopies]:
    """Yields the copies to shared memory that a launch makes, for loads of threads and for matrix instructions, as what a schedule
    would ask for.
    """
    once = tuple(dict.fromkeys(tile.array for version in launch.versions for tile in version.filled))
    yield from [BlockCopies("", once)] if once else []
    ahead = {each.loop.name: each.source for version in launch.versions for each in version.pipelined}
    for staged in (*_staged(launch), *ahead.values()):
        arrays = tuple(dict.fromkeys(tile.array for tile in staged.tiles))
        yield BlockCopies(staged.loop.name, arrays, 0 if staged.length == CHUNK else staged.length)
    for merged in filter(None, (version.merged for version in launch.versions)):
        yield BlockCopies(merged.loop.name, tuple(dict.fromkeys(each.array for each in merged.operands)))
    for each in {each.loop.name: each for version in launch.versions for each in version.fragments}.values():
        yield BlockCopies(each.loop.name, tuple(dict.fromkeys((each.left.tile.array, each.right.tile.array))))


def check_copies(mapped: Sequence[Mapped], program: GpuProgram) -> None:
    """Raises ScheduleError where a launch does not make a copy that the schedule asks for, or its copies are too large for a block.

    mapped: the launches of the program, in order.
    """
    for number, (each, launch) in enumerate(zip(mapped, program.plain)):
        made = {(copies.loop, array) for copies in _copies(launch) for array in copies.arrays}
        missing = [(asked, name) for asked in each.copies or () for name in asked.arrays if (asked.loop, name) not in made]
        if missing:
            asked, name = missing[0]
            possible = list(_possible(replace(each, copies=None), number, mapped, program))
            what = f"loop `{asked.loop}`" if asked.loop else "a block's threads"
            why = "the loop keeps sums of several items in registers, and no thread writes what is copied"
            raise ScheduleError(
                f"{what} cannot read `{name}` from shared memory",
                notes=[
                    f"with these blocks, it is possible for {'; '.join(possible) or 'none'}",
                    why if asked.loop else "threads have several items, which read an array along its rows, or with neighbours",
                ],
            )
        _check_size(launch, program)


def _possible(mapped: Mapped, number: int, every: Sequence[Mapped], program: GpuProgram) -> Iterator[str]:
    """Yields the copies that the launch may make, such as "A, B at k". number: which one of `every` it is."""
    others = [mapped if k == number else each for k, each in enumerate(every)]
    made = gpu_program(program.scop, others)
    for asked in _copies(made.plain[number]):
        yield f"{', '.join(asked.arrays)} at {asked.loop or 'a loop of the grid'}"


def _check_size(launch: Launch, program: GpuProgram) -> None:
    """Raises ScheduleError where the tiles of a loop take more shared memory than a block has."""
    for staged in _staged(launch):
        size = staged.size_bytes(program.scop)
        if size > MOST_BYTES:
            names = ", ".join(f"`{tile.array}`" for tile in staged.tiles)
            raise ScheduleError(
                f"the copies of {names} at loop `{staged.loop.name}` take {size:,} bytes of shared memory, and a block has {MOST_BYTES:,}",
                notes=[f"they hold {staged.length} iterations of the loop and all iterations of a block's threads"],
            )


def _staged(launch: Launch) -> tuple[Staged, ...]:
    """Returns the loops of a launch whose loads come from shared memory, each once."""
    found = {each.loop.name: each for version in launch.versions for each in version.staged}
    return tuple(found.values())
