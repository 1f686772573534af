"""The loads and stores of launches whose teams run rows: what is moved between memory and registers, and what is combined for all threads.

x_held[turn] = x[i, 256*turn + rank]   ->   x[i, j]     at (blocks, threads, the thread's turns)
y_held[turn] = exp(x_held[turn] - m)   ->   nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polyml.codegen.gpu.program import Version
from polyml.codegen.gpu.rows.row_teams import Move, RowCode, RowPhase
from polyml.codegen.gpu.teams import TeamPhase
from polyml.codegen.gpu.text.teams import WARP
from polyml.codegen.ir.program import Guard, Loop, Node
from polyml.gpu.places import Place, Touch, instances_in, looped
from polyml.gpu.teams.team_code import TeamWalk
from polyml.gpu.thread_code import VersionWalk
from polyml.quasi_affine.affine import TRUE, Condition, zero


@dataclass(frozen=True)
class RowWalk(TeamWalk):
    """A walk over what the threads of a block run together that have rows."""

    code: RowCode

    def runs(self) -> Iterator[tuple[str, str, Place]]:
        for phase, condition, place in self._all():
            here = place.where(condition)
            yield from instances_in(phase.body, here.where(zero(self.code.lane)) if phase.alone else here, {})

    def touches(self) -> Iterator[Touch]:
        for phase, condition, place in self._all():
            yield from self._of_phase(phase, condition, place)

    def _all(self) -> Iterator[tuple[TeamPhase, Condition, Place]]:
        start = self._start
        values = {**start.values, **{name: start.index(value) for name, value in self.code.limits.items()}}
        yield from self._phases(self.code.order, replace(start, values=values))

    def _of_phase(self, phase: TeamPhase, condition: Condition, place: Place) -> Iterator[Touch]:
        assert isinstance(phase, RowPhase)
        here = place.where(condition)
        first = here.where(zero(self.code.lane))
        if phase.move is not None:
            yield from self._moved(phase.move, phase.move.body, first if phase.alone else here)
            return
        updates = {name: each.array for each in phase.partial for name in each.statements}
        held = frozenset(name for name, turns in self.code.held.items() if phase.is_divided or not turns)
        walk = VersionWalk(self.launch, Version(TRUE, phase.body), self.scop, self.sizes, updates, held)
        yield from walk.nodes(phase.body, first if phase.alone else here)
        for partial in phase.partial:
            yield from self._combined(partial, place)
        for partial in phase.partial:
            if partial.array not in self.code.held:
                yield from (touch for touch in self._final(partial, first) if not touch.shared)

    def _moved(self, move: Move, nodes: Sequence[Node], place: Place) -> Iterator[Touch]:
        """Yields the loads or stores of a move."""
        for node in nodes:
            if isinstance(node, Guard):
                yield from self._moved(move, node.body, place.where(node.condition))
            elif isinstance(node, Loop):
                yield from self._moved(move, node.body, looped(node, place))
            else:
                at = tuple(place.index(each) for each in move.at(node.point))  # type: ignore[union-attr]  # there is nothing else
                text = f"{move.array} {'to' if move.is_fill else 'from'} registers"
                yield Touch(text, move.array, not move.is_fill, None, place, at)

    def _after(self, count: int) -> list[tuple[int, ...]]:
        """Returns the requests by which all threads read what was combined, behind those of the tree. count: the threads of a block."""
        if not self._is_shuffled:
            return self._requests([k - k % self.code.size for k in range(count)])
        warps = self.code.size // WARP
        return [] if warps == 1 else self._requests([k % WARP if k % WARP < warps else -1 for k in range(count)])
