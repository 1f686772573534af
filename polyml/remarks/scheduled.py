"""What a schedule does to the loops of the source: which of its own loops run which of theirs, in tiles of which sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop
from polyml.remarks.source_loops import SourceLoop
from polyml.schedule.tree import loop_tree


@dataclass(frozen=True)
class ScheduledLoop:
    """A loop of the schedule.

    path: the way to it in the schedule's tree.
    loop: with its member { S[i] -> [(e)] } and directives.
    iterators: {statement: the positions of the iterators that its member depends on}.
    sizes: {statement: the divisors in its member, so the sizes of its tiles}.
    """

    path: loop_tree.Path
    loop: loop_tree.Loop
    iterators: dict[str, tuple[int, ...]]
    sizes: dict[str, tuple[int, ...]]

    def runs(self, source: SourceLoop) -> tuple[str, ...]:
        """Returns the statements whose iterator of a loop of the source this loop depends on."""
        return tuple(name for name, position in source.positions.items() if position in self.iterators.get(name, ()))

    def only(self, source: SourceLoop) -> bool:
        """Returns whether it depends on no other iterator of the statements of that loop of the source."""
        return all(self.iterators[name] == (source.positions[name],) for name in self.runs(source))

    @property
    def is_tile(self) -> bool:
        """Returns whether its iterations are tiles."""
        return any(self.sizes.values())

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """Returns the sizes of its tiles, those of all statements."""
        return tuple(sorted({size for each in self.sizes.values() for size in each}))


def scheduled_loops(tree: isl.Schedule, scop: Scop) -> tuple[ScheduledLoop, ...]:
    """Returns the loops of a schedule, outer loops first."""
    return tuple(_scheduled(path, loop) for path, loop in loop_tree.loops(loop_tree.read(tree, scop.statements)))


def _scheduled(path: loop_tree.Path, loop: loop_tree.Loop) -> ScheduledLoop:
    values = polyhedra.expressions(loop.member)
    return ScheduledLoop(
        path,
        loop,
        {name: polyhedra.used_iterators(value.gist(value.domain())) for name, value in values.items()},
        {name: polyhedra.divisors_of(value) for name, value in values.items()},
    )


def running(source: SourceLoop, loops: Sequence[ScheduledLoop]) -> Iterator[ScheduledLoop]:
    """Yields the loops of the schedule that run a loop of the source, outer loops first."""
    return (each for each in loops if each.runs(source))


def carried(tree: isl.Schedule, source: SourceLoop, loop: ScheduledLoop, scop: Scop, pairs: isl.UnionMap) -> isl.UnionMap:
    """Returns those of the pairs { S[i] -> T[j] } that a loop of the schedule carries, within one iteration of the loops around it."""
    known = dict(loop_tree.loops(loop_tree.read(tree, scop.statements)))
    names = loop_tree.statements(loop.loop)
    above = [loop_tree.on(known[loop.path[:k]].member, names) for k in range(len(loop.path)) if loop.path[:k] in known]
    scheduled = SourceLoop(source.name, source.iterator, None, loop.path, {}, loop.loop.member, tuple(above))
    return scheduled.carried(pairs)
