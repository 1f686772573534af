"""What one way of running a nest together costs, in cycles per instance: an estimate to choose by.

The counts (operations, loads, stores per iteration of the innermost loop) are exact for the code that is made; the
throughputs are those of a current x86 core with two 256-bit or one 512-bit multiply-add unit per cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from polyml.codegen.analysis.access_moves import STAYS, AccessMoves, Move, MoveKind
from polyml.codegen.analysis.expression_costs import Operation, index_names, operations
from polyml.codegen.analysis.loop_nest import Nest, TouchIn
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.analysis.trip_estimates import middle_values, trips
from polyml.codegen.ir.linexpr import Lin, var
from polyml.codegen.ir.program import Instance, Loop

LATENCY_CYCLES = 4  # of a multiply-add
LOOP_CYCLES = 0.4  # of counting and branching, which mostly hides behind the body
SHARED_CYCLES = 0.05  # of what other units do at the same time, that yet gets in the way
LINE_JUMP_CYCLES = 1.0  # a cache line that is not the next one of a stream, in a tile
FAR_JUMP_CYCLES = 3.0  # the same where nothing keeps the data near
REST_VECTOR_COST = 1.3  # of a vector that is left over alone, in those of one of several
REST_COST = 0.5  # of an iteration that is left over, alone, in those of all that run together
LONG_CHAIN = 20.0  # instructions of an elementary function, each waiting for the one before
SCAN_CARRY_OPERATIONS = 4  # that join a vector's scan to what came before; each of its steps is a shuffle and an operation
CHAIN_WAITS = 0.5  # the share of its time that a long chain adds where no other one runs beside it


@dataclass(frozen=True)
class Terms:
    """Cycles of one step of the innermost loop: arithmetic, loads, stores of units that work side by side; slow, jumps after
    them; issue, waits at least; loop of counting. instances run in a step, of which the share `used` is wanted.
    """

    arithmetic: float
    loads: float
    stores: float
    slow: float
    jumps: float
    issue: float
    waits: float
    loop: float
    instances: int
    used: float

    @property
    def per_iteration(self) -> float:
        units = (self.arithmetic, self.loads, self.stores)
        busy = max(units) + SHARED_CYCLES * (sum(units) - max(units)) + self.slow + self.jumps
        return (max(busy, self.issue, self.waits) + self.loop) / self.instances / self.used

    def __str__(self) -> str:
        named = ("arithmetic", "loads", "stores", "slow", "jumps", "issue", "waits", "loop")
        parts = ", ".join(f"{name} {getattr(self, name):.3g}" for name in named if getattr(self, name))
        return f"{self.per_iteration:.3g} cycles each ({parts}; {self.instances} at a time, {self.used:.0%} of them used)"


@dataclass(frozen=True)
class CostContext:
    """What costs depend on besides the nest.

    unit_dims: { array -> the dimension along which its elements are neighbours in memory, None where there is none }.
    vector_bytes, registers: of the machine's vector registers.
    sizes: values of parameters to judge by; empty where they are not known.
    phases: { array -> the name of how many elements behind the start of a cache line it begins }.
    """

    unit_dims: Mapping[str, int | None]
    vector_bytes: int
    registers: int
    sizes: Mapping[str, int]
    phases: Mapping[str, str]


@dataclass(frozen=True)
class Innermost:
    """What the loop inside all others decides. By touch: how often it happens in an iteration of the chain, whether its place
    stays, whether each iteration starts a new cache line away from the last one's. waits: as in Terms.
    """

    weights: Sequence[float]
    stays: Sequence[bool]
    jumps: Sequence[bool]
    waits: float


@dataclass
class _Traffic:
    """Accesses of one step of the innermost loop, by how they are made, in instructions.

    lined: loads of vectors that begin on cache lines. broadcasts: loads of one element for all lanes. held: registers that
    accumulators stay in. jumps: cycles of cache lines that are not the next ones.
    """

    loads: float = 0.0
    lined: float = 0.0
    broadcasts: float = 0.0
    stores: float = 0.0
    jumps: float = 0.0
    held: float = 0


class CostModel:
    """The cost of each register tiling of one nest."""

    def __init__(self, nest: Nest, context: CostContext):
        self.nest, self._context = nest, context
        around = (node for node in nest.shared if isinstance(node, Loop))
        self._known = middle_values((*around, *nest.chain), context.sizes)
        self.accesses = [AccessMoves.of(t, nest, context.unit_dims) for t in nest.touches()]
        self.trips = [trips(loop, self._known) for loop in nest.chain]
        self.knows_sizes = bool(context.sizes)
        tiled = sum(isinstance(node, Loop) and node.role == "tile" for node in nest.shared) > 1
        self._jump = LINE_JUMP_CYCLES if tiled else FAR_JUMP_CYCLES
        self._arithmetic: list[tuple[Operation, frozenset[int], float]] = []
        self._weights = [self.weight(access.touch.inner) for access in self.accesses]
        self._depth = max([1.0, *(self.weight(inner) for _, _, inner in nest.statements())])
        self._innermost: dict[int | None, Innermost] = {}
        wide = context.vector_bytes > 32
        # half of the widest loads cross a cache line
        self._op, self._load, self._store = (0.5, 1.0, 1.0) if wide else (0.5, 0.5, 1.0)
        self._slow = 2.0 if wide else 1.0
        self.interleaved: tuple[int, ...] = ()  # how many vectors may run instruction by instruction
        self._alone: list[frozenset[int] | None] = []  # what operations that lanes cannot do change with, None: with all
        written = {access.touch.access.array for access in self.accesses if access.touch.writes}
        for statement, instance, inner in nest.statements():
            for operation in operations(statement.value):
                moved = self._depends(operation, instance)
                self._arithmetic.append((operation, moved, self.weight(inner)))
                if not operation.in_lanes:
                    reads_written = any(statement.reads[k].array in written for k in operation.loads)
                    self._alone.append(None if reads_written else moved)
        if any(operation.quick >= LONG_CHAIN for operation, _, _ in self._arithmetic):
            self.interleaved = (1, 2, 4) if context.registers >= 32 else (1, 2)

    def _depends(self, operation: Operation, instance: Instance) -> frozenset[int]:
        """The chain loops an operation's value changes with."""
        moved: set[int] = set()
        mine = [r for r in self.accesses if r.touch.instance is instance and not r.touch.writes]
        for index in operation.loads:
            moved |= {v for v, move in enumerate(mine[index].moves) if not move.stays}
        names = {name for index in operation.indices for name in index_names(index, instance)}
        return frozenset(moved | {v for v, loop in enumerate(self.nest.chain) if loop.var in names})

    def is_vectorizable(self, loop: int) -> bool:
        """Whether the loop's iterations can be lanes: unit step, every subscript linear in it, every operation that changes with it
        done on several lanes at once. An element that all of them write is none of these, unless it adds them up: such iterations
        are free only where no code ever comes by.
        """
        if self.nest.chain[loop].step != 1 or any(r.moves[loop].kind is MoveKind.NOT_LINEAR for r in self.accesses):
            return False
        if any(r.moves[loop].stays and r.touch.writes and not r.touch.accumulates for r in self.accesses):
            return False
        return all(changes is not None and loop not in changes for changes in self._alone)

    def shares(self, loop: int) -> bool:
        """Whether iterations of the loop may touch the same elements, so that running them together saves some."""
        return self._touches_arrays_twice or any(r.moves[loop].stays for r in self.accesses)

    @cached_property
    def _touches_arrays_twice(self) -> bool:
        places = {(r.touch.access.array, r.touch.subscripts) for r in self.accesses}
        return len({array for array, _ in places}) < len(places)

    def weight(self, inner: tuple[Loop, ...]) -> float:
        total = 1.0
        for loop in inner:
            total *= trips(loop, self._known)
        return total

    def instances(self) -> float:
        """Instances per iteration of the chain."""
        return sum(self.weight(inner) for _, _, inner in self.nest.statements())

    def per_iteration(self, tiling: RegisterTiling) -> float | None:
        """Cycles per iteration of the chain (all inner loops included), None where registers do not suffice."""
        terms = self.terms(tiling)
        return None if terms is None else terms.per_iteration

    def terms(self, tiling: RegisterTiling) -> Terms | None:
        """What the cycles are made of, None where registers do not suffice."""
        inside = self._with_innermost(tiling.innermost)
        traffic = self._traffic(tiling, inside)
        if traffic.held + tiling.vectors + 2 > self._context.registers:
            return None
        arithmetic, slow = self._computed(tiling)
        op, load, store = (self._op, self._load, self._store) if tiling.lanes > 1 else (0.5, 0.5, 1.0)
        slow *= self._slow if tiling.lanes > 1 else 0.6
        loads, quick_loads, stores = traffic.loads, traffic.lined + traffic.broadcasts, traffic.stores
        return Terms(
            arithmetic=arithmetic * op,
            loads=loads * load + quick_loads * 0.5,
            stores=stores * store,
            slow=slow,
            jumps=traffic.jumps,
            issue=0.25 * (arithmetic + loads + traffic.lined + traffic.broadcasts + stores),
            waits=inside.waits * (tiling.vectors if tiling.scans else 1),
            loop=LOOP_CYCLES * self._depth,
            instances=tiling.copies,
            used=self._used(tiling),
        )

    def _traffic(self, tiling: RegisterTiling, inside: Innermost) -> _Traffic:
        """The accesses of one step of the innermost loop."""
        found = _Traffic()
        for access, weight, stays, jumps in zip(self.accesses, inside.weights, inside.stays, inside.jumps):
            self._count(found, tiling, access, weight, stays, jumps)
        return found

    def _count(self, found: _Traffic, tiling: RegisterTiling, access: AccessMoves, weight: float, stays: bool, jumps: bool) -> None:
        """Add one access. stays: its element is in a register around the innermost loop; jumps: it begins new cache lines."""
        touch, lane = access.touch, STAYS if tiling.vector is None else access.moves[tiling.vector]
        number = lines = 1.0
        for loop, count in tiling.jams:
            move = access.moves[loop]
            if not move.stays:
                number *= count
                lines *= -(-count // tiling.lanes) if move.is_next else count
        if not lane.stays:
            number *= tiling.vectors
            lines *= tiling.vectors * (tiling.lanes if self._leaves_rows(access, tiling) else 1)
        if stays and touch.writes:
            found.held += number * (tiling.vectors if tiling.vector is not None and lane.stays and touch.accumulates else 1)
        elif not stays and jumps:
            found.jumps += lines * weight * self._jump
        each = _instructions(lane, tiling.lanes, touch.writes)
        if touch.writes:
            found.stores += number * each * weight
        elif lane.stays:
            found.broadcasts += number * weight
        elif self._is_on_lines(access, tiling):
            found.lined += number * weight
        else:
            found.loads += number * each * weight

    def _computed(self, tiling: RegisterTiling) -> tuple[float, float]:
        """Simple instructions, and cycles of others, of one step of the innermost loop."""
        arithmetic = slow = 0.0
        for operation, moved, weight in self._arithmetic:
            copies = 1
            for loop, count in tiling.jams:
                if loop in moved:
                    copies *= count
            if tiling.vector in moved:
                copies *= tiling.vectors
            waits = CHAIN_WAITS / tiling.vectors if operation.quick >= LONG_CHAIN and tiling.lanes > 1 else 0.0
            arithmetic += operation.quick * (1 + waits) * copies * weight
            slow += operation.slow * copies * weight
        if tiling.scans:
            arithmetic += self._scans() * tiling.vectors * (2 * (tiling.lanes.bit_length() - 1) + SCAN_CARRY_OPERATIONS)
        return arithmetic, slow

    def _leaves_rows(self, access: AccessMoves, tiling: RegisterTiling) -> bool:
        """Whether each lane is in a row of its own, of which another loop inside would go along the elements."""
        if tiling.vector is None or tiling.vector != tiling.innermost or access.moves[tiling.vector].kind is not MoveKind.FAR:
            return False
        along = (v for v, move in enumerate(access.moves) if move.is_next)
        return any(self.nest.free(v, tuple(range(v))) for v in along)

    def _scans(self) -> int:
        """How many statements may be scans."""
        program = self.nest.program
        return sum(s.name in program.scans or s.name in program.reductions for s, _, _ in self.nest.statements())

    def lines(self, tiling: RegisterTiling) -> list[Lin]:
        """What `RegisterTiling.line` may be."""
        if tiling.vector is None:
            return []
        found = (self._in_line(access, tiling.vector) for access in self.accesses)
        return [*dict.fromkeys(e for e in found if e is not None)]

    def _in_line(self, access: AccessMoves, vector: int) -> Lin | None:
        """What makes the vector loop's variable an element's position in its cache line, where that is the same in all rows."""
        touch, array = access.touch, access.touch.access.array
        unit = self._context.unit_dims[array]
        if access.moves[vector] != Move(MoveKind.NEXT, 1) or array not in self._context.phases or unit is None:
            return None
        position = touch.subscripts[unit] - var(self.nest.chain[vector].var)
        inside = {loop.var for loop in (*self.nest.chain, *touch.inner)}
        return position + var(self._context.phases[array]) if position.names.isdisjoint(inside) else None

    def _is_on_lines(self, access: AccessMoves, tiling: RegisterTiling) -> bool:
        if tiling.line is None or tiling.vector is None:
            return False
        position = self._in_line(access, tiling.vector)
        if position is None:
            return False
        apart = position - tiling.line
        return apart.is_const and apart.const % tiling.lanes == 0

    def left_over(self, loop: int, count: int) -> int:
        """How many iterations of a loop are left over at its end, `count` at a time: of all its tiles or of one."""
        ends = [e for e in self.nest.chain[loop].upper if e.names and e.names <= self._known.keys()]
        last = max((e.evaluate(self._known) for e in ends), default=None)
        return max(self.trips[loop] % count, 0 if last is None else (last + 1) % count)

    def _used(self, tiling: RegisterTiling) -> float:
        """The share of lanes and copies that do work, where the loops are short."""
        share = 1.0
        if tiling.vector is not None:
            length, block = max(1, self.trips[tiling.vector]), tiling.lanes * tiling.vectors
            rest = -(-(length % block) // tiling.lanes) * tiling.lanes
            rest += 0 if tiling.line is None else tiling.lanes
            share = length / (length // block * block + rest * (REST_VECTOR_COST if tiling.vectors > 1 else 1.0))
        for loop, count in tiling.jams:
            length = max(1, self.trips[loop])
            rest = length % count
            alone = max(1.0, count * REST_COST) if rest == 1 or not self.knows_sizes else REST_VECTOR_COST
            share *= length / (length // count * count + rest * alone)
        return share

    def _with_innermost(self, innermost: int | None) -> Innermost:
        """What the loop inside all others decides."""
        if innermost not in self._innermost:
            stays = [self._stays(access, innermost) for access in self.accesses]
            weights = [
                weight / max(1, self._innermost_trips(access.touch, innermost)) if still else weight
                for access, weight, still in zip(self.accesses, self._weights, stays)
            ]
            jumps = [self._jumps(access, innermost) for access in self.accesses]
            self._innermost[innermost] = Innermost(weights, stays, jumps, self._waits(innermost, stays))
        return self._innermost[innermost]

    def _innermost_trips(self, touch: TouchIn, innermost: int | None) -> int:
        if touch.inner:
            return trips(touch.inner[-1], self._known)
        return 1 if innermost is None else self.trips[innermost]

    def _stays(self, access: AccessMoves, innermost: int | None) -> bool:
        """Whether the innermost loop around the touch leaves its place unchanged."""
        if access.touch.inner:
            name = access.touch.inner[-1].var
            return not any(name in e.names for e in access.touch.subscripts)
        return innermost is not None and access.moves[innermost].stays

    def _jumps(self, access: AccessMoves, innermost: int | None) -> bool:
        """Whether each innermost iteration starts a new cache line away from the last one's."""
        if access.touch.inner:
            unit, name = self._context.unit_dims.get(access.touch.access.array), access.touch.inner[-1].var
            steps = [e.coefficient(name) for e in access.touch.subscripts]
            return any(s and (d != unit or abs(s) != 1) for d, s in enumerate(steps) if s is not None)
        return innermost is not None and not (access.moves[innermost].stays or access.moves[innermost].is_next)

    def _waits(self, innermost: int | None, stays: Sequence[bool]) -> float:
        """Cycles that one iteration of the chain takes at least, since its steps need what the ones before computed."""
        if innermost is None:
            return self._inner_waits
        others = tuple(v for v in range(len(self.nest.chain)) if v != innermost)
        if not self.nest.free(innermost, others, reorder=True):
            return sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o, _, _ in self._arithmetic)
        # an innermost iteration waits for the one before where an element is updated in place
        return LATENCY_CYCLES if any(r.touch.writes and still for r, still in zip(self.accesses, stays)) else 0.0

    @cached_property
    def _inner_waits(self) -> float:
        """The same for the loops of the body, one after the other."""
        total = 0.0
        seen: list[Loop] = []
        for _, _, inner in self.nest.statements():
            if not inner or any(inner[-1] is loop for loop in seen):
                continue
            seen.append(inner[-1])
            around = (*self.nest.shared, *self.nest.chain, *inner[:-1])
            nest = Nest(self.nest.program, self.nest.tests, around, (inner[-1],), inner[-1].body)
            latency = LATENCY_CYCLES if not nest.free(0, ()) else 0.0
            if not nest.free(0, (), reorder=True):
                costs = [o for statement, _, _ in nest.statements() for o in operations(statement.value)]
                latency = sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o in costs)
            total += latency * self.weight(inner)
        return total


def _instructions(lane: Move, lanes: int, writes: bool) -> float:
    """Instructions that bring lanes which move so from or to memory."""
    if lane.kind is MoveKind.APART and not writes:
        return lane.elements + 0.5  # loads, and a shuffle beside them
    if lane.stays or lane.is_next:
        return 1.0
    return lanes * (2.5 if writes else 1.5)
