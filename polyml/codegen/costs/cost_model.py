"""The cost model of register tilings: an estimate of the cycles that each iteration takes, by which `vectorize` chooses.

The counts (operations, loads, stores per iteration of the innermost loop) are exact for the code that is made. The throughputs
are those of a current x86 core with two 256-bit or one 512-bit multiply-add unit per cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from polyml.codegen.analysis.loop_nest import LoopNest, NestAccess
from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.costs.access_strides import AccessStrides, StrideKind
from polyml.codegen.costs.cycle_terms import LATENCY_CYCLES, LOOP_CYCLES, CycleTerms, stalls
from polyml.codegen.costs.expression_costs import PricedOperation, index_names, operations
from polyml.codegen.costs.step_accesses import AccessCounts, InnermostAccess
from polyml.codegen.costs.trip_estimates import middle_values, trips
from polyml.codegen.ir.program import Instance, Loop
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property

LINE_JUMP_CYCLES = 1.0  # for a cache line that does not follow the last one, inside of tiles
FAR_JUMP_CYCLES = 3.0  # the same outside of tiles, where the data may be in no near cache
REMAINDER_VECTOR_COST = 1.3  # the cost of a vector left over, relative to one of several that run together
REMAINDER_COST = 0.5  # the cost of an iteration left over, relative to that of all that run together
LONG_CHAIN = 20.0  # instructions from which an operation counts as a chain, each of which waits for the one before
SCAN_CARRY_OPERATIONS = 4  # instructions that combine a vector's scan with the carry, besides two for each of its steps
JOIN_CYCLES = 4.0  # from halves of a vector to their sum, which is done as often as the lanes can be halved
CHAIN_WAITS = 0.5  # the share of its instructions that a long chain waits for, where no other one runs beside it


@dataclass(frozen=True)
class CostContext:
    """The data besides the nest of loops that the costs of its register tilings depend on.

    unit_dims: { array -> the dimension along which its elements are neighbours in memory, None if there is none }.
    vector_bytes: the width of a vector register.
    registers: the number of vector registers.
    sizes: values of parameters to judge by; empty if they are not known.
    phases: { array -> the parameter that says how many elements behind the start of a cache line the array begins }.
    """

    unit_dims: Mapping[str, int | None]
    vector_bytes: int
    registers: int
    sizes: Mapping[str, int]
    phases: Mapping[str, str]


@dataclass(frozen=True)
class Innermost:
    """The properties of a nest that the choice of its innermost loop decides.

    accesses: the nest's accesses in the order of the nest.
    waits: cycles per iteration of the perfect nest that are spent waiting for earlier ones' results, as a lower bound.
    """

    accesses: Sequence[InnermostAccess]
    waits: float


class CostModel:
    """A model that estimates the cycles of each register tiling of one nest.

    accesses: the accesses of the nest with their strides.
    trips: the number of iterations of each loop of the perfect nest, known or assumed.
    interleaved: numbers of vectors that are worth running as one long vector, operation by operation; empty if none is.
    """

    def __init__(self, nest: LoopNest, context: CostContext):
        self.nest, self._context = nest, context
        around = (node for node in nest.shared if isinstance(node, Loop))
        self._known = middle_values((*around, *nest.chain), context.sizes)
        self.accesses = [AccessStrides.of(t, nest, context.unit_dims) for t in nest.accesses()]
        self.trips = [trips(loop, self._known) for loop in nest.chain]
        self.knows_sizes = bool(context.sizes)
        tiled = sum(isinstance(node, Loop) and node.role == "tile" for node in nest.shared) > 1
        jump = LINE_JUMP_CYCLES if tiled else FAR_JUMP_CYCLES
        self._counts = AccessCounts(nest, self.accesses, context.unit_dims, context.phases, jump)
        self._arithmetic: list[tuple[PricedOperation, frozenset[int], float]] = []
        again = _loaded_before(self.accesses)
        self._weights = [0.0 if k in again else self.weight(access.access.inner) for k, access in enumerate(self.accesses)]
        self._depth = max([1.0, *(self.weight(inner) for _, _, inner in nest.statements())])
        self._innermost: dict[int | None, Innermost] = {}
        wide = context.vector_bytes > 32
        self._op, self._load, self._store = (0.5, 1.0, 1.0) if wide else (0.5, 0.5, 1.0)  # half of the widest loads cross a line
        self._slow = 2.0 if wide else 1.0
        self.interleaved: tuple[int, ...] = ()
        self._scalar_only: list[frozenset[int] | None] = []  # loops that scalar-only operations change with; None: all
        written = {access.array for access in self.accesses if access.access.writes}
        for statement, instance, inner in nest.statements():
            for operation in operations(statement.value):
                moved = self._depends(operation, instance)
                self._arithmetic.append((operation, moved, self.weight(inner)))
                if not operation.in_lanes:
                    reads_written = any(statement.reads[k].array in written for k in operation.loads)
                    self._scalar_only.append(None if reads_written else moved)
        if any(operation.quick >= LONG_CHAIN for operation, _, _ in self._arithmetic):
            self.interleaved = (1, 2, 4) if context.registers >= 32 else (1, 2)

    def _depends(self, operation: PricedOperation, instance: Instance) -> frozenset[int]:
        """Returns the loops of the perfect nest, by their positions, on which an operation's value depends in an instance."""
        moved: set[int] = set()
        mine = [r for r in self.accesses if r.access.instance is instance and not r.access.writes]
        for index in operation.loads:
            moved |= {v for v, move in enumerate(mine[index].strides) if not move.is_invariant}
        names = {name for index in operation.indices for name in index_names(index, instance)}
        return frozenset(moved | {v for v, loop in enumerate(self.nest.chain) if loop.var in names})

    def is_vectorizable(self, loop: int) -> bool:
        """Returns whether the iterations of a loop, given by its position in the perfect nest, can be lanes: its step is 1, every
        subscript is linear in its variable, and every operation that changes with it exists for vectors.

        An element that all iterations write rules lanes out, unless they add to it or pass it on in a scan.
        """
        if self.nest.chain[loop].step != 1 or any(r.strides[loop].kind is StrideKind.NOT_LINEAR for r in self.accesses):
            return False
        fixed = (r.access for r in self.accesses if r.strides[loop].is_invariant and r.access.writes and not r.access.accumulates)
        if any(access.instance.statement not in self.nest.program.scans for access in fixed):
            return False
        return all(changes is not None and loop not in changes for changes in self._scalar_only)

    def shares(self, loop: int) -> bool:
        """Returns whether running several iterations of a loop together saves accesses, as they may be to the same elements."""
        return self._touches_arrays_twice or any(r.strides[loop].is_invariant for r in self.accesses)

    @cached_property
    def _touches_arrays_twice(self) -> bool:
        """Whether two accesses with different subscripts refer to one array."""
        places = {(r.array, r.access.subscripts) for r in self.accesses}
        return len({array for array, _ in places}) < len(places)

    def weight(self, inner: tuple[Loop, ...]) -> float:
        """Returns how often the body of the loops `inner` runs per iteration of the perfect nest around them, known or assumed."""
        return prod((trips(loop, self._known) for loop in inner), start=1.0)

    def instances(self) -> float:
        """Returns the number of statement instances per iteration of the perfect nest, known or assumed."""
        return sum(self.weight(inner) for _, _, inner in self.nest.statements())

    def per_iteration(self, tiling: RegisterTiling) -> float | None:
        """Returns the cycles per iteration of the perfect nest, loops in its body included, or None if registers do not suffice."""
        terms = self.terms(tiling)
        return None if terms is None else terms.per_iteration

    def terms(self, tiling: RegisterTiling) -> CycleTerms | None:
        """Returns the cycles of a tiling, by what they are spent on, or None if the registers do not suffice."""
        inside = self._with_innermost(tiling.innermost)
        traffic = self._counts.of(tiling, inside.accesses)
        if traffic.accumulators + tiling.biases + tiling.vectors + 2 > self._context.registers:
            return None
        arithmetic, slow, divisions = self._computed(tiling)
        op, load, store = (self._op, self._load, self._store) if tiling.lanes > 1 else (0.5, 0.5, 1.0)
        slowness = self._slow if tiling.lanes > 1 else 0.6
        loads, quick_loads, stores = traffic.loads, traffic.lined + traffic.broadcasts, traffic.stores
        return CycleTerms(
            arithmetic=arithmetic * op,
            loads=loads * load + quick_loads * 0.5,
            stores=stores * store,
            slow=slow * slowness,
            divisions=divisions * slowness,
            jumps=traffic.jumps,
            issue=0.25 * (arithmetic + loads + traffic.lined + traffic.broadcasts + stores),
            waits=self._step_waits(tiling, inside.waits) + self._joins(tiling),
            loop=LOOP_CYCLES * self._depth,
            instances=tiling.iterations,
            used=self._used(tiling),
        )

    def _step_waits(self, tiling: RegisterTiling, waits: float) -> float:
        """Returns the cycles in which one step of the innermost loop waits for what steps before it computed.

        waits: those of each iteration, one by one.
        """
        if not tiling.in_order:
            return waits * (tiling.vectors if tiling.scans else 1)
        return waits * tiling.block + stalls(tiling.block, tiling.vectors, self.nest.lane_reach.flows)

    def _joins(self, tiling: RegisterTiling) -> float:
        """Returns the cycles for each step in which the lanes of sums are joined behind the loop over vectors, where it is known to be short."""
        if tiling.vector is None or tiling.vector != tiling.innermost or not self.knows_sizes:
            return 0.0
        sums = sum(r.access.writes and r.access.accumulates and r.strides[tiling.vector].is_invariant for r in self.accesses)
        steps = -(-max(1, self.trips[tiling.vector]) // (tiling.lanes * tiling.vectors))
        return sums * JOIN_CYCLES * (tiling.lanes.bit_length() - 1) / steps

    def _computed(self, tiling: RegisterTiling) -> tuple[float, float, float]:
        """Returns the number of simple instructions in one step of the innermost loop, and the cycles of slow ones in it: of others
        than divisions, and of divisions.
        """
        if tiling.word is not None:
            return tiling.word.operations(tiling.vectors, prod(count for _, count in tiling.jams)), 0.0, 0.0
        arithmetic, slow = 0.0, [0.0, 0.0]
        for operation, moved, weight in self._arithmetic:
            copies = 1
            for loop, count in tiling.jams:
                if loop in moved:
                    copies *= count
            if tiling.vector in moved:
                copies *= tiling.vectors
            waits = CHAIN_WAITS / tiling.vectors if operation.quick >= LONG_CHAIN and tiling.lanes > 1 else 0.0
            arithmetic += operation.quick * (1 + waits) * copies * weight
            slow[operation.is_division] += operation.slow * copies * weight
        if tiling.scans:
            arithmetic += self._scans() * tiling.vectors * (2 * (tiling.lanes.bit_length() - 1) + SCAN_CARRY_OPERATIONS)
        return arithmetic, slow[False], slow[True]

    def _scans(self) -> int:
        """Returns how many of the nest's statements are scans (prefix sums) or reductions, which lanes can compute."""
        program = self.nest.program
        return sum(s.name in program.scans or s.name in program.reductions for s, _, _ in self.nest.statements())

    def lines(self, tiling: RegisterTiling) -> list[Affine]:
        """Returns the choices for `RegisterTiling.line`, as `AccessCounts.lines`."""
        return self._counts.lines(tiling)

    def remainder(self, loop: int, count: int) -> int:
        """Returns how many iterations of loop number `loop` are left over when `count` run together: the larger of its number of
        iterations modulo `count` and, if its last value is known, (that value + 1) modulo `count`.
        """
        ends = [e for e in self.nest.chain[loop].upper if e.names and e.names <= self._known.keys()]
        last = max((e.evaluate(self._known) for e in ends), default=None)
        return max(self.trips[loop] % count, 0 if last is None else (last + 1) % count)

    def _used(self, tiling: RegisterTiling) -> float:
        """Returns the useful part, 0 to 1, of a tiling's work; masked lanes and iterations left over at a loop's end lower it."""
        share = 1.0
        if tiling.vector is not None:
            length, block = max(1, self.trips[tiling.vector]), tiling.lanes * tiling.vectors
            rest = -(-(length % block) // tiling.lanes) * tiling.lanes
            rest += 0 if tiling.line is None else tiling.lanes
            share = length / (length // block * block + rest * (REMAINDER_VECTOR_COST if tiling.vectors > 1 else 1.0))
        for loop, count in tiling.jams:
            length = max(1, self.trips[loop])
            rest = length % count
            alone = max(1.0, count * REMAINDER_COST) if rest == 1 or not self.knows_sizes else REMAINDER_VECTOR_COST
            share *= length / (length // count * count + rest * alone)
        return share

    def _with_innermost(self, innermost: int | None) -> Innermost:
        """Returns the nest's properties if loop number `innermost` is the innermost one; for None, if loops in its body are."""
        if innermost not in self._innermost:
            pairs = zip(self.accesses, self._weights)
            accesses = [self._innermost_access(access, weight, innermost) for access, weight in pairs]
            self._innermost[innermost] = Innermost(accesses, self._waits(innermost, accesses))
        return self._innermost[innermost]

    def _innermost_access(self, access: AccessStrides, weight: float, innermost: int | None) -> InnermostAccess:
        """Returns an access's cost in the innermost loop; an element that stays the same there counts once per run of the loop."""
        is_invariant = self._is_invariant(access, innermost)
        if is_invariant:
            weight /= max(1, self._innermost_trips(access.access, innermost))
        return InnermostAccess(weight, is_invariant, self._jumps(access, innermost))

    def _innermost_trips(self, access: NestAccess, innermost: int | None) -> int:
        """Returns the number of iterations of the innermost loop around the access."""
        if access.inner:
            return trips(access.inner[-1], self._known)
        return 1 if innermost is None else self.trips[innermost]

    def _is_invariant(self, access: AccessStrides, innermost: int | None) -> bool:
        """Returns whether the access refers to the same element in all iterations of the innermost loop around it."""
        if access.access.inner:
            name = access.access.inner[-1].var
            return not any(name in e.names for e in access.access.subscripts)
        return innermost is not None and access.strides[innermost].is_invariant

    def _jumps(self, access: AccessStrides, innermost: int | None) -> bool:
        """Returns whether each iteration of the innermost loop starts a new cache line that does not follow the last one."""
        if access.access.inner:
            unit, name = self._context.unit_dims.get(access.array), access.access.inner[-1].var
            steps = [e.coefficient(name) for e in access.access.subscripts]
            return any(s and (d != unit or abs(s) != 1) for d, s in enumerate(steps) if s is not None)
        return innermost is not None and not (access.strides[innermost].is_invariant or access.strides[innermost].is_unit)

    def _waits(self, innermost: int | None, accesses: Sequence[InnermostAccess]) -> float:
        """Returns a lower bound on the cycles, per iteration of the perfect nest, that are spent waiting for earlier iterations'
        results if loop number `innermost` is the innermost one, or, for None, if the loops in the nest's body are.
        """
        if innermost is None:
            return self._inner_waits
        others = tuple(v for v in range(len(self.nest.chain)) if v != innermost)
        if not self.nest.is_independent(innermost, others, reorder=True):
            total = sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o, _, _ in self._arithmetic)
            if innermost < len(self.nest.chain) - 1 or any(r.access.accumulates for r in self.accesses):
                return total
            flows = self.nest.lane_reach.flows
            return total / flows[0] if flows else 0.0
        # each iteration waits for the one before if an element is updated in place
        return LATENCY_CYCLES if any(r.access.writes and inside.is_invariant for r, inside in zip(self.accesses, accesses)) else 0.0

    @cached_property
    def _inner_waits(self) -> float:
        """The lower bound of `_waits` for a body of loops: the sum of the bounds of these loops, which run one after the other."""
        total = 0.0
        seen: list[Loop] = []
        for _, _, inner in self.nest.statements():
            if not inner or any(inner[-1] is loop for loop in seen):
                continue
            seen.append(inner[-1])
            around = (*self.nest.shared, *self.nest.chain, *inner[:-1])
            nest = LoopNest(self.nest.program, self.nest.tests, around, (inner[-1],), inner[-1].body)
            latency = LATENCY_CYCLES if not nest.is_independent(0, ()) else 0.0
            if not nest.is_independent(0, (), reorder=True):
                costs = [o for statement, _, _ in nest.statements() for o in operations(statement.value)]
                latency = sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o in costs)
            total += latency * self.weight(inner)
        return total


def _loaded_before(accesses: Sequence[AccessStrides]) -> frozenset[int]:
    """Returns which accesses, by position, are reads of an element that a statement before has loaded in the same iteration, where all
    statements of a nest add up single numbers, so that nothing is stored in between.
    """
    if not all(a.access.accumulates and all(move.is_invariant for move in a.strides) for a in accesses if a.access.writes):
        return frozenset()
    first: dict[object, int] = {}
    for position, each in enumerate(accesses):
        first.setdefault((each.array, each.access.subscripts, each.access.inner), position)
    return frozenset(range(len(accesses))) - frozenset(first.values())
