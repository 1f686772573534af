"""What one way of running a nest together costs, in cycles per instance: an estimate to choose by.

The counts (operations, loads, stores per iteration of the innermost loop) are exact for the code that is made; the
throughputs are those of a current x86 core with two 256-bit or one 512-bit multiply-add unit per cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from polyml import polyhedra
from polyml.codegen.analysis.instruction_costs import (
    CONVERSION,
    EASY_POWER,
    EASY_POWERS,
    FUNCTIONS,
    MOST_APART,
    OPERATORS,
    SIMPLE,
    SQUARE,
    Price,
    price_of_function,
)
from polyml.codegen.analysis.loop_nest import Nest, TouchIn
from polyml.codegen.ir.linexpr import Lin, var
from polyml.codegen.ir.program import Instance, Loop
from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import children
from polyml.model.core.scop import Gather, Index, Load, ScalarArg

DEFAULT_TRIPS = 500  # of a loop whose length is known only at run time
LATENCY_CYCLES = 4  # of a multiply-add
LOOP_CYCLES = 0.4  # of counting and branching, which mostly hides behind the body
SHARED_CYCLES = 0.05  # of what other units do at the same time, that yet gets in the way
LINE_JUMP_CYCLES = 1.0  # a cache line that is not the next one of a stream, in a tile
FAR_JUMP_CYCLES = 3.0  # the same where nothing keeps the data near
REST_VECTOR_COST = 1.3  # of a vector that is left over alone, in those of one of several
REST_COST = 0.5  # of an iteration that is left over, alone, in those of all that run together
GATHERED = Price(cycles=4.0)  # the elements that one register gathers
LONG_CHAIN = 20.0  # instructions of an elementary function, each waiting for the one before
SCAN_CARRY_OPERATIONS = 4  # that join a vector's scan to what came before; each of its steps is a shuffle and an operation
FAR = 2  # how a touch moves whose next lane is anywhere in memory
CHAIN_WAITS = 0.5  # the share of its time that a long chain adds where no other one runs beside it


@dataclass(frozen=True)
class Shape:
    """One way to run a nest. innermost: index of the loop inside all others of the chain (None: the body has loops).

    vector: index of the loop whose iterations are lanes, None: plain numbers. vectors: registers of them side by side,
    interleaved: instruction by instruction, as one long vector. line: where the vector loop's variable and this make a multiple
    of the lanes, a cache line begins that vectors should begin on too; None: they begin where the loop does.
    jams: how many iterations of other loops run together; unrolled: those of them that keep their order. rests: of some of
    these loops, how many of the iterations that are left over at the end run together. keeps_order: the loops stay where they
    are, each for its own. plain_rest: what is left over of a reduction over lanes runs one by one, not under a mask.
    scans: lanes share scans.
    """

    start: int
    innermost: int | None
    vector: int | None
    vectors: int
    lanes: int
    jams: tuple[tuple[int, int], ...] = ()
    unrolled: frozenset[int] = frozenset()
    interleaved: bool = False
    rests: tuple[tuple[int, int], ...] = ()
    line: Lin | None = None
    keeps_order: bool = False
    plain_rest: bool = False
    scans: bool = False

    @property
    def copies(self) -> int:
        """Instances that run together."""
        total = self.vectors * self.lanes
        for _, count in self.jams:
            total *= count
        return total


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
class Operation:
    """One operation of an expression. quick: how many simple instructions; slow: cycles of others.

    loads: the reads of the statement it depends on; indices: the affine integers. in_lanes: whether lanes may run it.
    """

    quick: float
    slow: float
    loads: frozenset[int]
    indices: tuple[Index, ...]
    in_lanes: bool


def operations(value) -> list[Operation]:
    """The operations of an expression, equal ones once. A product that is added at once costs nothing, nor does the
    comparison of a minimum or maximum.
    """
    return _Collector().collected(value)


@dataclass(frozen=True)
class _Part:
    """A value below: a number that equal ones share, and what it depends on."""

    number: int
    loads: frozenset[int] = frozenset()
    indices: tuple[Index, ...] = ()


class _Collector:
    def __init__(self):
        self._found: list[Operation] = []
        self._known: dict[tuple, _Part] = {}

    def collected(self, value) -> list[Operation]:
        self._part(value)
        return self._found

    def _part(self, value) -> _Part:
        if isinstance(value, Load):
            return self._leaf(("load", value.access), frozenset({value.access}))
        if isinstance(value, Index):
            return self._leaf(("index", id(value)), indices=(value,))
        if isinstance(value, (ScalarArg, syntax.Const)):
            return self._leaf(("value", id(value)))
        if _is_extreme(value):
            return self._operation(value, [self._part(value.then), self._part(value.orelse)])
        return self._operation(value, [self._part(v) for v in children(value)])

    def _leaf(self, key: tuple, loads: frozenset[int] = frozenset(), indices: tuple[Index, ...] = ()) -> _Part:
        return self._known.setdefault(key, _Part(len(self._known), loads, indices))

    def _operation(self, value, below: list[_Part]) -> _Part:
        kind = (getattr(value, name, None) for name in ("op", "function", "to", "dtype"))
        key = (type(value), *kind, *(part.number for part in below))
        if isinstance(value, Gather) or key not in self._known:
            loads = frozenset().union(*(part.loads for part in below))
            indices = tuple(index for part in below for index in part.indices)
            self._known[key] = _Part(len(self._known), loads, indices)
            price = _price(value)
            quick = price.instructions
            if isinstance(value, syntax.Binary) and value.op in "+-" and value.dtype.is_float:
                if any(isinstance(v, syntax.Binary) and v.op == "*" for v in (value.left, value.right)):
                    quick = 0.0  # one multiply-add does both
            self._found.append(Operation(quick, price.cycles, loads, indices, _lanes_may(value)))
        return self._known[key]


def _is_extreme(value) -> bool:
    """Whether a select is the smaller or the larger one of two values."""
    test = value.condition if isinstance(value, syntax.IfExp) else None
    if not isinstance(test, syntax.Compare) or test.op in ("==", "!="):
        return False
    return (test.left, test.right) in ((value.then, value.orelse), (value.orelse, value.then))


def _price(value) -> Price:
    if isinstance(value, syntax.Cast):
        return CONVERSION
    if isinstance(value, Gather):
        return GATHERED
    if isinstance(value, syntax.Call):
        return price_of_function(value.function)
    if isinstance(value, syntax.Binary) and value.op == "**":
        return _price_of_power(value)
    if isinstance(value, syntax.Binary):
        return OPERATORS.get(value.op, SIMPLE)
    return SIMPLE


def _price_of_power(value: syntax.Binary) -> Price:
    if _is_easy_power(value.right):
        return SQUARE if value.right.value == 2 else EASY_POWER
    return FUNCTIONS["pow"] if value.dtype.is_float else OPERATORS["**"]


def _is_easy_power(exponent) -> bool:
    return isinstance(exponent, syntax.Const) and exponent.value in EASY_POWERS


def _lanes_may(value) -> bool:
    """Whether several lanes may do the operation at once: Python ints are checked one by one."""
    if isinstance(value, syntax.Cast):
        narrows = value.operand.dtype == PYINT and value.to.is_integer
        return value.to != PYINT and not (narrows and not isinstance(value.operand, (Index, syntax.Const)))
    return not (isinstance(value, (syntax.Unary, syntax.Binary)) and value.dtype == PYINT)


def trips(loop: Loop, known: Mapping[str, int]) -> int:
    """How often the loop runs: exact where two bounds differ by a constant, or by values that are known, else a guess."""
    best = None
    for low in loop.lower:
        for high in loop.upper:
            difference = high - low
            if difference.names <= known.keys():
                count = max(0, difference.evaluate(known) // loop.step + 1)
                best = count if best is None else min(best, count)
    return DEFAULT_TRIPS if best is None else min(best, 4 * DEFAULT_TRIPS)


def middle_values(loops: Iterable[Loop], sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes expected, values in the middle of what the variables of nested loops take, and where shares end; none without
    sizes.
    """
    known = dict(sizes)
    for loop in loops if sizes else ():
        lows, highs = ([e.evaluate(known) for e in side if e.names <= known.keys()] for side in (loop.lower, loop.upper))
        if lows:
            known[loop.var] = max(lows)
        if lows and highs:
            known[loop.var] += max(0, min(highs) - max(lows)) // 2 // loop.step * loop.step
        if highs and loop.last:
            known[loop.last] = min(highs)
    return known


@dataclass(frozen=True)
class Reach:
    """How one touch moves with each chain variable: lane step 0 (stays), 1 or -1 (neighbours), 2 (further), 2 + k (k apart in
    a row of memory, at most MOST_APART).
    """

    touch: TouchIn
    moves: tuple[int | None, ...]  # None: not linear

    @staticmethod
    def of(touch: TouchIn, nest: Nest, unit_dims: dict[str, int | None]) -> Reach:
        unit = unit_dims.get(touch.access.array)
        moves = []
        for loop in nest.chain:
            steps = [e.coefficient(loop.var) for e in touch.subscripts]
            if any(s is None for s in steps):
                moves.append(None)
                continue
            moving = [d for d, s in enumerate(steps) if s]
            if not moving:
                moves.append(0)
            elif moving == [unit] and abs(steps[unit]) == 1:
                moves.append(steps[unit])
            elif moving == [unit] and 2 <= steps[unit] <= MOST_APART:
                moves.append(FAR + steps[unit])
            else:
                moves.append(FAR)
        return Reach(touch, tuple(moves))


@dataclass(frozen=True)
class Innermost:
    """What the loop inside all others decides. By touch: how often it happens in an iteration of the chain, whether its place
    stays, whether each iteration starts a new cache line away from the last one's. waits: as in Terms.
    """

    weights: Sequence[float]
    stays: Sequence[bool]
    jumps: Sequence[bool]
    waits: float


def index_names(index: Index, instance: Instance) -> frozenset[str]:
    """The loop variables that an affine integer changes with."""
    used = polyhedra.used_iterators(index.value)
    return frozenset().union(*(instance.point[k].names for k in used))


class CostModel:
    """The cost of each Shape of one nest."""

    def __init__(
        self,
        nest: Nest,
        unit_dims: dict[str, int | None],
        vector_bytes: int,
        registers: int,
        sizes: Mapping[str, int] = MappingProxyType({}),
        phases: Mapping[str, str] = MappingProxyType({}),
    ):
        self.nest = nest
        around = (node for node in nest.shared if isinstance(node, Loop))
        self._known = middle_values((*around, *nest.chain), sizes)
        self.reaches = [Reach.of(t, nest, unit_dims) for t in nest.touches()]
        self.trips = [trips(loop, self._known) for loop in nest.chain]
        self.knows_sizes = bool(sizes)
        self._registers, self._unit_dims, self._phases = registers, unit_dims, phases
        tiled = sum(isinstance(node, Loop) and node.role == "tile" for node in nest.shared) > 1
        self._jump = LINE_JUMP_CYCLES if tiled else FAR_JUMP_CYCLES
        self._arithmetic: list[tuple[Operation, frozenset[int], float]] = []
        self._weights = [self.weight(reach.touch.inner) for reach in self.reaches]
        self._depth = max([1.0, *(self.weight(inner) for _, _, inner in nest.statements())])
        self._innermost: dict[int | None, Innermost] = {}
        self._inner_latency: float | None = None
        wide = vector_bytes > 32
        # half of the widest loads cross a cache line
        self._op, self._load, self._store = (0.5, 1.0, 1.0) if wide else (0.5, 0.5, 1.0)
        self._slow = 2.0 if wide else 1.0
        self.interleaved: tuple[int, ...] = ()  # how many vectors may run instruction by instruction
        self._alone: list[frozenset[int] | None] = []  # what operations that lanes cannot do change with, None: with all
        written = {reach.touch.access.array for reach in self.reaches if reach.touch.writes}
        for statement, instance, inner in nest.statements():
            for operation in operations(statement.value):
                moved = self._depends(operation, instance)
                self._arithmetic.append((operation, moved, self.weight(inner)))
                if not operation.in_lanes:
                    reads_written = any(statement.reads[k].array in written for k in operation.loads)
                    self._alone.append(None if reads_written else moved)
        if any(operation.quick >= LONG_CHAIN for operation, _, _ in self._arithmetic):
            self.interleaved = (1, 2, 4) if registers >= 32 else (1, 2)

    def _depends(self, operation: Operation, instance: Instance) -> frozenset[int]:
        """The chain loops an operation's value changes with."""
        moved: set[int] = set()
        mine = [r for r in self.reaches if r.touch.instance is instance and not r.touch.writes]
        for index in operation.loads:
            moved |= {v for v, move in enumerate(mine[index].moves) if move != 0}
        names = {name for index in operation.indices for name in index_names(index, instance)}
        return frozenset(moved | {v for v, loop in enumerate(self.nest.chain) if loop.var in names})

    def may_be_lanes(self, loop: int) -> bool:
        """Whether every operation that changes with the loop can be done on several lanes at once."""
        return all(changes is not None and loop not in changes for changes in self._alone)

    def shares(self, loop: int) -> bool:
        """Whether iterations of the loop may touch the same elements, so that running them together saves some."""
        return self._touches_arrays_twice or any(r.moves[loop] == 0 for r in self.reaches)

    @cached_property
    def _touches_arrays_twice(self) -> bool:
        places = {(r.touch.access.array, r.touch.subscripts) for r in self.reaches}
        return len({array for array, _ in places}) < len(places)

    def weight(self, inner: tuple[Loop, ...]) -> float:
        total = 1.0
        for loop in inner:
            total *= trips(loop, self._known)
        return total

    def instances(self) -> float:
        """Instances per iteration of the chain."""
        return sum(self.weight(inner) for _, _, inner in self.nest.statements())

    def per_iteration(self, shape: Shape) -> float | None:
        """Cycles per iteration of the chain (all inner loops included), None where registers do not suffice."""
        terms = self.terms(shape)
        return None if terms is None else terms.per_iteration

    def terms(self, shape: Shape) -> Terms | None:
        """What the cycles are made of."""
        counts = dict(shape.jams)
        held = 0
        loads = lined = broadcasts = stores = jumps = 0.0
        inside = self._with_innermost(shape.innermost)
        for reach, weight, stays, jumps_here in zip(self.reaches, inside.weights, inside.stays, inside.jumps):
            touch = reach.touch
            number = lines = 1.0
            for loop, count in counts.items():
                if reach.moves[loop] != 0:
                    number *= count
                    lines *= count if reach.moves[loop] not in (1, -1) else -(-count // shape.lanes)
            lane_move = 0 if shape.vector is None else reach.moves[shape.vector]
            if shape.vector is not None and lane_move != 0:
                number *= shape.vectors
                lines *= shape.vectors * (shape.lanes if self._leaves_rows(reach, shape) else 1)
            each = 1.0
            if lane_move is not None and lane_move > 2 and not touch.writes:
                each = lane_move - 1.5  # loads, and a shuffle beside them
            elif lane_move is None or abs(lane_move) >= 2:
                each = shape.lanes * (1.5 if not touch.writes else 2.5)
            if stays:
                if touch.writes:
                    accumulators = number
                    if shape.vector is not None and lane_move == 0 and touch.accumulates:
                        accumulators *= shape.vectors
                    held += accumulators
            elif jumps_here:
                jumps += lines * weight * self._jump
            if touch.writes:
                stores += number * each * weight
            elif lane_move == 0:
                broadcasts += number * weight
            elif shape.line is not None and self._is_on_lines(reach, shape):
                lined += number * weight
            else:
                loads += number * each * weight
        if held + shape.vectors + 2 > self._registers:
            return None
        arithmetic = slow = 0.0
        for operation, moved, weight in self._arithmetic:
            copies = 1
            for loop, count in counts.items():
                if loop in moved:
                    copies *= count
            if shape.vector in moved:
                copies *= shape.vectors
            waits = CHAIN_WAITS / shape.vectors if operation.quick >= LONG_CHAIN and shape.lanes > 1 else 0.0
            arithmetic += operation.quick * (1 + waits) * copies * weight
            slow += operation.slow * copies * weight
        if shape.scans:
            arithmetic += self._scans() * shape.vectors * (2 * (shape.lanes.bit_length() - 1) + SCAN_CARRY_OPERATIONS)
        op, load, store = (self._op, self._load, self._store) if shape.lanes > 1 else (0.5, 0.5, 1.0)
        slow *= self._slow if shape.lanes > 1 else 0.6
        return Terms(
            arithmetic=arithmetic * op,
            loads=loads * load + (lined + broadcasts) * 0.5,
            stores=stores * store,
            slow=slow,
            jumps=jumps,
            issue=0.25 * (arithmetic + loads + lined + broadcasts + stores),
            waits=inside.waits * (shape.vectors if shape.scans else 1),
            loop=LOOP_CYCLES * self._depth,
            instances=shape.copies,
            used=self._used(shape),
        )

    def _leaves_rows(self, reach: Reach, shape: Shape) -> bool:
        """Whether each lane is in a row of its own, of which another loop inside would go along the elements."""
        if shape.vector != shape.innermost or reach.moves[shape.vector] != FAR:
            return False
        along = (v for v, move in enumerate(reach.moves) if move in (1, -1))
        return any(self.nest.free(v, tuple(range(v))) for v in along)

    def _scans(self) -> int:
        """How many statements may be scans."""
        program = self.nest.program
        return sum(s.name in program.scans or s.name in program.reductions for s, _, _ in self.nest.statements())

    def lines(self, shape: Shape) -> list[Lin]:
        """What `Shape.line` may be."""
        if shape.vector is None:
            return []
        places = (self._place(reach, shape.vector) for reach in self.reaches)
        return [*dict.fromkeys(place for place in places if place is not None)]

    def _place(self, reach: Reach, vector: int) -> Lin | None:
        """What makes the vector loop's variable an element's place in its cache line, where that is the same in all rows."""
        touch = reach.touch
        if reach.moves[vector] != 1 or touch.access.array not in self._phases:
            return None
        place = touch.subscripts[self._unit_dims[touch.access.array]] - var(self.nest.chain[vector].var)
        inside = {loop.var for loop in (*self.nest.chain, *touch.inner)}
        return place + var(self._phases[touch.access.array]) if place.names.isdisjoint(inside) else None

    def _is_on_lines(self, reach: Reach, shape: Shape) -> bool:
        place = self._place(reach, shape.vector)
        return place is not None and (place - shape.line).is_const and (place - shape.line).const % shape.lanes == 0

    def left_over(self, loop: int, count: int) -> int:
        """How many iterations of a loop are left over at its end, `count` at a time: of all its tiles or of one."""
        ends = [e for e in self.nest.chain[loop].upper if e.names and e.names <= self._known.keys()]
        last = max((e.evaluate(self._known) for e in ends), default=None)
        return max(self.trips[loop] % count, 0 if last is None else (last + 1) % count)

    def _used(self, shape: Shape) -> float:
        """The share of lanes and copies that do work, where the loops are short."""
        share = 1.0
        if shape.vector is not None:
            length, block = max(1, self.trips[shape.vector]), shape.lanes * shape.vectors
            rest = -(-(length % block) // shape.lanes) * shape.lanes
            rest += 0 if shape.line is None else shape.lanes
            share = length / (length // block * block + rest * (REST_VECTOR_COST if shape.vectors > 1 else 1.0))
        for loop, count in shape.jams:
            length = max(1, self.trips[loop])
            rest = length % count
            alone = max(1.0, count * REST_COST) if rest == 1 or not self.knows_sizes else REST_VECTOR_COST
            share *= length / (length // count * count + rest * alone)
        return share

    def _with_innermost(self, innermost: int | None) -> Innermost:
        """What the loop inside all others decides."""
        if innermost not in self._innermost:
            stays = [self._stays(reach, innermost) for reach in self.reaches]
            weights = [
                weight / max(1, self._innermost_trips(reach.touch, innermost)) if still else weight
                for reach, weight, still in zip(self.reaches, self._weights, stays)
            ]
            jumps = [self._jumps(reach, innermost) for reach in self.reaches]
            self._innermost[innermost] = Innermost(weights, stays, jumps, self._waits(innermost, stays))
        return self._innermost[innermost]

    def _innermost_trips(self, touch: TouchIn, innermost: int | None) -> int:
        if touch.inner:
            return trips(touch.inner[-1], self._known)
        return 1 if innermost is None else self.trips[innermost]

    def _stays(self, reach: Reach, innermost: int | None) -> bool:
        """Whether the innermost loop around the touch leaves its place unchanged."""
        if reach.touch.inner:
            name = reach.touch.inner[-1].var
            return not any(name in e.names for e in reach.touch.subscripts)
        return innermost is not None and reach.moves[innermost] == 0

    def _jumps(self, reach: Reach, innermost: int | None) -> bool:
        """Whether each innermost iteration starts a new cache line away from the last one's."""
        if reach.touch.inner:
            unit, name = self._unit_dims.get(reach.touch.access.array), reach.touch.inner[-1].var
            steps = [e.coefficient(name) for e in reach.touch.subscripts]
            return any(s and (d != unit or abs(s) != 1) for d, s in enumerate(steps) if s is not None)
        return innermost is not None and reach.moves[innermost] not in (1, -1, 0)

    def _waits(self, innermost: int | None, stays: Sequence[bool]) -> float:
        """Cycles that one iteration of the chain takes at least, since its steps need what the ones before computed."""
        if innermost is None:
            return self._inner_waits()
        others = tuple(v for v in range(len(self.nest.chain)) if v != innermost)
        if not self.nest.free(innermost, others, reorder=True):
            return sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o, _, _ in self._arithmetic)
        # an innermost iteration waits for the one before where an element is updated in place
        return LATENCY_CYCLES if any(r.touch.writes and still for r, still in zip(self.reaches, stays)) else 0.0

    def _inner_waits(self) -> float:
        """The same for the loops of the body, one after the other."""
        if self._inner_latency is None:
            self._inner_latency = 0.0
            seen = []
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
                self._inner_latency += latency * self.weight(inner)
        return self._inner_latency
