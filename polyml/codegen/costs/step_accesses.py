"""How many accesses one step of a register tiling has, counted in instructions, from the strides of a nest's accesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from polyml.codegen.analysis.loop_nest import LoopNest
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.costs.access_strides import NO_STRIDE, AccessStrides, Stride, StrideKind
from polyml.codegen.costs.cycle_terms import StepAccesses
from polyml.quasi_affine.affine import Affine, variable

NEXT_LINES = (
    0.5  # the share of a jump's cycles for cache lines that follow on the last, of which a register tile reads whole rows of a copy
)
SPLIT_STORE = 2.5  # the cost of a store across two cache lines, relative to others, where vectors in order may begin on lines
_STAYS, _NEAR, _FAR = range(3)  # how an access moves along a loop: not at all, within a row of memory, or elsewhere


@dataclass(frozen=True)
class InnermostAccess:
    """The cost of one access of a nest in the innermost loop.

    weight: how often it is made per iteration of the perfect nest.
    is_invariant: whether its element is the same in all iterations of the innermost loop.
    jumps: whether each iteration accesses another cache line than the one before, and not the line next to it.
    """

    weight: float
    is_invariant: bool
    jumps: bool


class _Moves(NamedTuple):
    """What one access costs in all tilings with the same loops for the lanes and the innermost iterations.

    access, weight, is_invariant, jumps: the access, and its cost in the innermost loop.
    along: how it moves along each loop of the perfect nest.
    in_lanes: whether each lane accesses an element of its own.
    rows: how many rows of memory the lanes of a vector access.
    instructions: how many load or store one vector.
    """

    access: AccessStrides
    weight: float
    is_invariant: bool
    jumps: bool
    along: tuple[int, ...]
    in_lanes: bool
    rows: int
    instructions: float


class AccessCounts:
    """The counts of the accesses of one nest, by tiling.

    accesses: those of the nest, with their strides.
    unit_dims, phases: where arrays lie in memory, as in `CostContext`.
    jump: the cycles of waiting for a cache line that does not follow the last one.
    """

    def __init__(
        self,
        nest: LoopNest,
        accesses: Sequence[AccessStrides],
        unit_dims: Mapping[str, int | None],
        phases: Mapping[str, str],
        jump: float,
    ):
        self._nest, self._accesses, self._unit_dims, self._phases, self._jump = nest, accesses, unit_dims, phases, jump
        self._known: dict[tuple[int | None, int | None, int, bool], list[_Moves]] = {}

    def of(self, tiling: RegisterTiling, innermost: Sequence[InnermostAccess]) -> StepAccesses:
        """Returns the counts of the accesses that a tiling makes in one step of the innermost loop.

        innermost: the cost of each access in the innermost loop of the tiling.
        """
        key = (tiling.innermost, tiling.vector, tiling.lanes, tiling.word is None)
        if key not in self._known:
            self._known[key] = [self._moves(tiling, *pair) for pair in zip(self._accesses, innermost)]
        found = StepAccesses()
        for moves in self._known[key]:
            self._count(found, tiling, moves)
        return found

    def _count(self, found: StepAccesses, tiling: RegisterTiling, moves: _Moves) -> None:
        """Adds the loads, stores, accumulators and cache-line waits of one access in one step of a tiling to the counts `found`."""
        access, weight, is_invariant, jumps, along, in_lanes, rows, instructions = moves
        number = lines = 1.0
        for loop, count in tiling.jams:
            move = along[loop]
            if move:
                number *= count
                lines *= count if move == _FAR else -(-count // tiling.lanes)
        if in_lanes:
            number *= tiling.vectors
            lines *= tiling.vectors * rows
        writes = access.access.writes
        if is_invariant and writes:
            adds_lanes = tiling.vector is not None and not in_lanes and access.access.accumulates
            found.accumulators += number * (tiling.vectors if adds_lanes else 1)
        elif jumps:
            follows = access.reads_on(self._nest, tiling.innermost, tiling.vector, tiling.block)
            found.jumps += lines * weight * self._jump * (NEXT_LINES if follows else 1.0)
        if writes:
            splits = tiling.in_order and tiling.line is not None and not self._is_on_lines(access, tiling)
            found.stores += number * instructions * weight * (SPLIT_STORE if splits else 1.0)
        elif not in_lanes:
            found.broadcasts += number * weight
        elif tiling.line is not None and self._is_on_lines(access, tiling):
            found.lined += number * weight
        else:
            found.loads += number * instructions * weight

    def _moves(self, tiling: RegisterTiling, access: AccessStrides, innermost: InnermostAccess) -> _Moves:
        lane = NO_STRIDE if tiling.vector is None else access.strides[tiling.vector]
        has_words = access.in_words and tiling.word is not None
        along = (_STAYS if move.is_invariant else _NEAR if move.is_unit or has_words else _FAR for move in access.strides)
        rows = tiling.lanes if self._leaves_rows(access, tiling) else 1
        each = _instructions(lane, tiling.lanes, access.access.writes) if tiling.word is None else 1.0
        return _Moves(
            access, innermost.weight, innermost.is_invariant, innermost.jumps, tuple(along), not lane.is_invariant, rows, each
        )

    def _leaves_rows(self, access: AccessStrides, tiling: RegisterTiling) -> bool:
        """Returns whether the lanes load elements far apart, although another loop of the nest would give them neighbours."""
        if tiling.vector is None or tiling.vector != tiling.innermost or access.strides[tiling.vector].kind is not StrideKind.LONG:
            return False
        along = (v for v, move in enumerate(access.strides) if move.is_unit)
        return any(self._nest.is_independent(v, tuple(range(v))) for v in along)

    def lines(self, tiling: RegisterTiling) -> list[Affine]:
        """Returns the choices for `RegisterTiling.line`, which says where vectors begin: with each one, the vectors of some access
        begin on cache lines. There are none for scalar code.
        """
        if tiling.vector is None:
            return []
        found = (self._in_line(access, tiling.vector) for access in self._accesses)
        return [*dict.fromkeys(e for e in found if e is not None)]

    def _in_line(self, access: AccessStrides, vector: int) -> Affine | None:
        """Returns the expression which, plus the variable of loop number `vector`, counts elements from the start of a cache line
        to the accessed one. None if that is not known, or depends on other loops of the nest.
        """
        nest_access, array = access.access, access.array
        unit = self._unit_dims[array]
        if access.strides[vector] != Stride(StrideKind.UNIT, 1) or array not in self._phases or unit is None:
            return None
        position = nest_access.subscripts[unit] - variable(self._nest.chain[vector].var)
        inside = {loop.var for loop in (*self._nest.chain, *nest_access.inner)}
        return position + variable(self._phases[array]) if position.names.isdisjoint(inside) else None

    def _is_on_lines(self, access: AccessStrides, tiling: RegisterTiling) -> bool:
        """Returns whether the access's vectors begin on cache lines, or a multiple of a vector's length after one begins."""
        if tiling.line is None or tiling.vector is None:
            return False
        position = self._in_line(access, tiling.vector)
        if position is None:
            return False
        difference = position - tiling.line
        return difference.is_constant and difference.constant % tiling.lanes == 0


def _instructions(lane: Stride, lanes: int, writes: bool) -> float:
    """Returns the number of instructions that load or store one vector.

    lane: the stride between the elements of neighbouring lanes.
    writes: whether the vector is stored.
    """
    if lane.kind is StrideKind.SHORT and not writes:
        return lane.elements + 0.5  # loads, and a shuffle beside them
    if lane.is_invariant or lane.is_unit:
        return 1.0
    return lanes * (2.5 if writes else 1.5)
