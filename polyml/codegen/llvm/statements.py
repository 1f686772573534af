"""Instances of statements -> instructions, for all the iterations that run together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from polyml.codegen.analysis.scans import before_of, is_read_before
from polyml.codegen.ir.jams import Copy, copies
from polyml.codegen.ir.linexpr import Lin, var
from polyml.codegen.ir.program import CannotRunTogether, Instance, Jam, Loop, Node, Unroll
from polyml.codegen.llvm import elementary
from polyml.codegen.llvm.arithmetic import Val, literal, register_type
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Place, disjoint
from polyml.dtypes import BOOL, I64, PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.call_interface import Status
from polyml.model.core.nest import always_fits
from polyml.model.core.reductions import identity
from polyml.model.core.scop import Access, Gather, Index, Load, ScalarArg, Statement

# base ** exponent by squaring; a Python int (checked) that leaves 64 bits sets the flag
POWER = """define internal i64 @polyml_power(i64 %base, i64 %exponent, i1 %checked, ptr %flag) nounwind {
entry:
  %negative = icmp slt i64 %exponent, 0
  br i1 %negative, label %wrong, label %loop
wrong:
  store i8 -2, ptr %flag
  ret i64 0
loop:
  %e = phi i64 [ %exponent, %entry ], [ %e2, %next ]
  %b = phi i64 [ %base, %entry ], [ %b2, %next ]
  %r = phi i64 [ 1, %entry ], [ %r2, %next ]
  %lost = phi i1 [ false, %entry ], [ %lost2, %next ]
  %done = icmp eq i64 %e, 0
  br i1 %done, label %end, label %next
next:
  %odd = trunc i64 %e to i1
  %rm = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %r, i64 %b)
  %rv = extractvalue {i64, i1} %rm, 0
  %ro = extractvalue {i64, i1} %rm, 1
  %r2 = select i1 %odd, i64 %rv, i64 %r
  %used = and i1 %odd, %ro
  %e2 = lshr i64 %e, 1
  %bm = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %b, i64 %b)
  %b2 = extractvalue {i64, i1} %bm, 0
  %bo = extractvalue {i64, i1} %bm, 1
  %more = icmp ne i64 %e2, 0
  %needed = and i1 %more, %bo
  %l1 = or i1 %lost, %used
  %lost2 = or i1 %l1, %needed
  br label %loop
end:
  %report = and i1 %checked, %lost
  br i1 %report, label %mark, label %finish
mark:
  store i8 -2, ptr %flag
  br label %finish
finish:
  ret i64 %r
}
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)"""

_POINTWISE = "+-*/&|^"


@dataclass(frozen=True)
class _Touching:
    """One copy of an instance inside a loop. around: what runs together around the node."""

    statement: Statement
    iterators: dict[str, Lin]
    copy: Copy
    node: Instance
    around: tuple[Jam | Unroll, ...]


@dataclass(frozen=True)
class Row:
    """Vectors of one row that a loop reads a few elements apart, in places that it does not write.

    places: by offset, from the furthest back to the furthest ahead, those of each vector of an iteration, in order.
    """

    places: tuple[tuple[Place, ...], ...]
    offsets: tuple[int, ...]


class Evaluator:
    """Emits the instances of one function's statements."""

    def __init__(self, body: ElementAccess):
        self._body = body
        self._scop = body.scop
        self._reductions = body.module.program.reductions
        self._known: dict[tuple, tuple[Access, tuple[Lin, ...]]] = {}
        self._copies: dict[tuple[int, ...], tuple[tuple[Jam, ...], list[Copy]]] = {}
        self._touches: dict[tuple[int, ...], tuple[object, list[_Touching]]] = {}
        self._places: dict[tuple, tuple[Access, Copy, Place]] = {}
        self._prefix: dict[tuple[Place, int], Val] = {}  # what a scan in lanes makes of an element
        self._updated: dict[int, dict[tuple[Place, int], Val]] = {}  # by instance that has been emitted before its turn
        self._conditions: list[Val] = []  # under which what is being computed counts

    # -- places --------------------------------------------------------------------------------------------------

    def place(self, access: Access, iterators: dict[str, Lin], copy: Copy, op: str | None = None) -> Place:
        """What the access touches in one copy, found once. op: it is the accumulator of a reduction."""
        key = id(access), id(copy), op, *iterators.values()
        if key not in self._places:
            self._places[key] = access, copy, self._place(access, iterators, copy, op)
        return self._places[key][2]

    def _place(self, access: Access, iterators: dict[str, Lin], copy: Copy, op: str | None) -> Place:
        subscripts = self._subscripts(access, iterators)
        here = tuple(e.substitute(copy.values) for e in subscripts)
        if copy.lane_var is None:
            return Place(access.array, here)
        strides = tuple(e.coefficient(copy.lane_var) for e in subscripts)
        if any(s is None for s in strides):
            raise CannotRunTogether(f"{access.array}: a vector needs subscripts linear in {copy.lane_var}")
        if any(strides):
            return Place(access.array, here, copy.lanes, strides, None, copy.last)
        if op is not None:
            return Place(access.array, here, copy.lanes, strides, copy.part)
        return Place(access.array, here)

    def _subscripts(self, access: Access, iterators: dict[str, Lin]) -> tuple[Lin, ...]:
        """The access's subscripts where its statement has these iterators, remembered for all copies of an instance."""
        key = id(access), tuple(iterators.values())
        known = self._known.get(key)
        if known is None:
            made = tuple(e.substitute(iterators) for e in self._body.module.table.subscripts(access))
            known = self._known[key] = access, made
        return known[1]

    def _copies_of(self, jams: Sequence[Jam]) -> list[Copy]:
        """`copies`, of which places are remembered."""
        key = tuple(map(id, jams))
        if key not in self._copies:
            self._copies[key] = tuple(jams), [*copies(jams)]
        return self._copies[key][1]

    def _iterators(self, node: Instance) -> dict[str, Lin]:
        return dict(zip(self._scop.statements[node.statement].iterators, node.point))

    def _accumulated(self, statement: Statement) -> tuple[int | None, str | None]:
        """Which read is the accumulator that the statement updates, and by which operator."""
        reduction = self._reductions.get(statement.name)
        return (None, None) if reduction is None else (reduction.access, reduction.operator)

    def held(self, loop: Loop) -> dict[Place, str | None]:
        """Places an innermost loop can keep in registers: the same in every iteration, touched by nothing else.

        The value is the operator for a partial result of a reduction over lanes, None for an element itself.
        """
        moving, fixed = [], {}
        for touching in self._touched(loop):
            statement, copy = touching.statement, touching.copy
            accumulator, op = self._accumulated(statement)
            lane_reduces = op if copy.lane_var is not None and not copy.scans else None
            accesses = [(a, False, lane_reduces if i == accumulator else None) for i, a in enumerate(statement.reads)]
            accesses.append((statement.write, True, lane_reduces if accumulator is not None else None))
            for access, writes, reduces in accesses:
                place = self.place(access, touching.iterators, touching.copy, reduces)
                varies = any(loop.var in e.names for e in place.subscripts)
                if varies or (place.last is not None and loop.var in place.last.names and place.part is None):
                    moving.append((place, writes, access, touching))
                    continue
                written = place in fixed and fixed[place][1]
                fixed[place] = (reduces if place.part is not None else None, written or writes, access, touching)
        return self._without_conflicts(loop, moving, fixed)

    def updated(self, loop: Loop, around: set[str]) -> list[Place]:
        """Places that all iterations of an innermost loop and of the loops around it update, in arrays of which they touch
        nothing else.
        """
        found: dict[str, dict[Place, bool] | None] = {}
        names = {*around, loop.var}
        for touching in self._touched(loop):
            statement, copy = touching.statement, touching.copy
            accumulator, _ = self._accumulated(statement)
            for number, access in enumerate((*statement.reads, statement.write)):
                writes = number == len(statement.reads)
                place = self.place(access, touching.iterators, touching.copy)
                limits = () if place.last is None else (place.last,)
                places = found.setdefault(access.array, {})
                if copy.lane_var is not None and accumulator is not None and place.lanes == 1 and (writes or number == accumulator):
                    found[access.array] = None  # a sum over the lanes
                elif places is not None and any(e.names & names for e in (*place.subscripts, *limits)):
                    found[access.array] = None
                elif places is not None:
                    places[place] = places.get(place, False) or writes
        kept = [list(places) for places in found.values() if places and all(places.values())]
        return [p for places in kept if all(disjoint(a, b) for a in places for b in places if a is not b) for p in places]

    def carried(self, loop: Loop) -> list[tuple[Place, ...]]:
        """Places that an innermost loop writes and reads again in the next iterations: (written, read one iteration later, two
        later, ...). Nothing else in the loop writes to where they are.
        """
        touched = self._touched(loop)
        arrays = {touching.statement.write.array for touching in touched}
        reads = {self.place(a, t.iterators, t.copy) for t in touched for a in t.statement.reads if a.array in arrays}
        if not reads:
            return []
        writes: dict[str, dict[Place, None]] = {}
        for touching in touched:
            write = touching.statement.write
            writes.setdefault(write.array, {})[self.place(write, touching.iterators, touching.copy)] = None
        found = []
        for places in writes.values():
            for written in places:
                chain, before = [written], _earlier(written, loop)
                while before is not None and before in reads and before not in chain:  # which a remainder comes back to
                    chain.append(before)
                    before = _earlier(before, loop)
                if len(chain) > 1 and all(other == written or _apart(other, written, loop.var) for other in places):
                    found.append(tuple(chain))
        return found

    def rows(self, loop: Loop) -> list[Row]:
        """Rows that an innermost loop along lanes reads several times, less than a vector apart."""
        found: dict[tuple, dict[int, Place]] = {}
        written: set[str] = set()
        for touching in self._touched(loop):
            written.add(touching.statement.write.array)
            for access in touching.statement.reads:
                place = self.place(access, touching.iterators, touching.copy)
                dim = self._body.row_of(place)
                if dim is None or place.subscripts[dim].coefficient(loop.var) != 1:
                    continue
                others = tuple(e - e.const if d == dim else e for d, e in enumerate(place.subscripts))
                if not any(loop.var in e.names for d, e in enumerate(others) if d != dim):
                    found.setdefault((place.array, others, place.lanes), {})[place.subscripts[dim].const] = place
        rows = [_row(places, lanes, loop.step) for (array, _, lanes), places in found.items() if array not in written]
        return [row for row in rows if row is not None]

    def _touched(self, loop: Loop) -> list[_Touching]:
        """Every copy of every instance in an innermost loop, found once."""
        jams = list(self._body.jams)
        key = id(loop), *map(id, jams)
        if key not in self._touches:
            self._touches[key] = (loop, jams), [*self._touching(loop.body, jams)]  # kept, so that no others get their numbers
        return self._touches[key][1]

    def _touching(self, nodes: tuple[Node, ...], jams: list[Jam]) -> Iterator[_Touching]:
        """Every copy of every instance."""
        for node in nodes:
            if isinstance(node, Instance):
                statement, iterators = self._scop.statements[node.statement], self._iterators(node)
                for copy in self._copies_of(jams):
                    yield _Touching(statement, iterators, copy, node, tuple(jams))
            elif isinstance(node, Jam):
                yield from self._touching(node.body, [*jams, node])
            elif isinstance(node, Unroll):
                for touching in self._touching(node.body, jams):
                    for i in range(node.count):
                        values = {node.var: node.base + i}
                        iterators = {name: e.substitute(values) for name, e in touching.iterators.items()}
                        yield replace(touching, iterators=iterators, around=(node, *touching.around))
            else:
                yield from self._touching(node.body, jams)

    def _without_conflicts(self, loop: Loop, moving: list, fixed: dict) -> dict[Place, str | None]:
        kept: dict[Place, str | None] = {}
        written = {p.array for p, facts in fixed.items() if facts[1]} | {m[0].array for m in moving if m[1]}
        groups: dict[str, bool] = {}
        for place, (op, *_) in fixed.items():
            if place.array not in written:
                kept[place] = op
                continue
            if place.array not in groups:
                groups[place.array] = self._separate(loop, place.array, moving, fixed)
            if groups[place.array]:
                kept[place] = op
            elif place.part is not None:
                raise CannotRunTogether(f"a partial result of {place.array} has no register")
        return kept

    def _separate(self, loop: Loop, array: str, moving: list, fixed_touches: dict) -> bool:
        """Whether the array's fixed places share no element with each other or with its moving ones."""
        mine = [p for p in fixed_touches if p.array == array]
        for i, a in enumerate(mine):
            for b in mine[i + 1 :]:
                partial = a.part is not None and b.part is not None
                if not partial and not disjoint(a, b):
                    return False
        tested = set()
        for place, _, access, touching in moving:
            if place.array != array:
                continue
            for other in mine:
                _, _, fixed_access, fixed = fixed_touches[other]
                key = (id(access), touching.node, id(fixed_access), fixed.node)
                if key in tested:
                    continue
                tested.add(key)
                moving_touch, fixed_touch = (access, touching.node), (fixed_access, fixed.node)
                if self._body.module.conflicts.may_meet(
                    moving_touch, fixed_touch, self._body.path, loop, touching.around, fixed.around
                ):
                    return False
        return True

    # -- instances -----------------------------------------------------------------------------------------------

    def instance(self, node: Instance) -> None:
        if id(node) in self._updated:
            self._prefix |= self._updated.pop(id(node))
            return
        statement = self._scop.statements[node.statement]
        iterators = self._iterators(node)
        accumulator, op = self._accumulated(statement)
        for copy in self._copies_of(self._body.jams):
            if copy.scans and self._scanned(node, statement, iterators, copy):
                continue
            reduces = op if self._reduces_lanes(statement, iterators, copy, accumulator) else None
            loads: dict[int, Val] = {}
            context = _Context(statement, iterators, copy, accumulator, reduces, loads)
            value = self._value(statement.value, context)
            target = self.place(statement.write, iterators, copy, reduces)
            if reduces is not None and copy.last is not None:
                happens = Val(self._body.lanes_up_to(copy.last, copy.lanes), BOOL, copy.lanes)
                value = self._body.math.select(happens, value, self._load(accumulator, context))
            self._body.store(target, value)

    def _scanned(self, node: Instance, statement: Statement, iterators: dict[str, Lin], copy: Copy, early: bool = False) -> bool:
        """Emit the copy as a part of a scan, if it is one. early: others read next what there is before each lane."""
        access, op = self._accumulated(statement)
        before = self.before(statement, node, copy)
        if before is not None:
            access, op = before, self._body.module.program.scans[statement.name].operator
        elif access is None or any(copy.lane_var in e.names for e in self._subscripts(statement.write, iterators)):
            return False
        math, element = self._body.math, self._scop.arrays[statement.write.array].element
        nothing = math.splat(self.constant(identity(op, element), element), copy.lanes)
        context = _Context(statement, iterators, copy, access, None, {access: nothing})
        value = math.splat(self._value(statement.value, context), copy.lanes)
        if copy.last is not None:
            value = math.select(Val(self._body.lanes_up_to(copy.last, copy.lanes), BOOL, copy.lanes), value, nothing)
        own = self._prefixes(op, value, nothing)
        alone = replace(copy, lane_var=None)
        carry = self._body.load(self.place(statement.reads[access], iterators, alone))
        after = self.combine(op, carry, math.element(own, copy.lanes - 1))
        value = self.combine(op, math.splat(carry, copy.lanes), own)
        target = self.place(statement.write, iterators, copy)
        if before is None:
            self._body.store(target, after)
            self._prefix[(target, copy.part)] = value
            if early:
                self._updated.setdefault(id(node), {})[(target, copy.part)] = value
                shifted = self._shifted(own, nothing, 1)
                self._prefix[(target, copy.part)] = self.combine(op, math.splat(carry, copy.lanes), shifted)
            return True
        self._body.store(target, value)
        values = {**copy.values, copy.lane_var: copy.values[copy.lane_var] + copy.lanes}
        self._body.remember(self.place(statement.reads[access], iterators, replace(alone, values=values)), after)
        return True

    def before(self, statement: Statement, node: Instance, copy: Copy) -> int | None:
        """Which read is the element that the lane before writes, where the statement is a scan."""
        module = self._body.module
        return before_of(module.program, module.conflicts, statement, node, copy.lane_var)

    def begin_scans(self, body: tuple[Node, ...]) -> None:
        """Emit the scans of single elements that others read before the update; of all others nothing is known yet."""
        self._prefix.clear()
        module = self._body.module
        for node in reversed(body):  # as one of them may be among the readers of those behind it
            statement = self._scop.statements[node.statement]
            if statement.name in self._reductions and is_read_before(module.program, module.conflicts, body, node):
                for copy in self._copies_of(self._body.jams):
                    self._scanned(node, statement, self._iterators(node), copy, early=True)

    def carries(self, loop: Loop) -> list[Place]:
        """The elements that the scans of an innermost loop begin an iteration with."""
        found = []
        for touching in self._touched(loop):
            statement, copy = touching.statement, touching.copy
            if copy.scans and copy.part == 0 and (access := self.before(statement, touching.node, copy)) is not None:
                found.append(self.place(statement.reads[access], touching.iterators, replace(copy, lane_var=None)))
        return found

    def _prefixes(self, op: str, value: Val, nothing: Val) -> Val:
        """Each lane joined to all lanes before it."""
        step = 1
        while step < value.lanes:
            value = self.combine(op, self._shifted(value, nothing, step), value)
            step *= 2
        return value

    def _shifted(self, value: Val, nothing: Val, by: int) -> Val:
        """Each lane's value so many lanes later, the first ones of `nothing`."""
        order = ", ".join(f"i32 {lane - by if lane >= by else value.lanes}" for lane in range(value.lanes))
        picked = f"shufflevector {value.type} {value.ssa}, {value.type} {nothing.ssa}, <{value.lanes} x i32> <{order}>"
        return replace(value, ssa=self._body.math.once(picked))

    def _reduces_lanes(self, statement: Statement, iterators: dict, copy: Copy, accumulator: int | None) -> bool:
        if copy.lane_var is None or accumulator is None or copy.scans:
            return False
        subscripts = self._subscripts(statement.write, iterators)
        return not any(copy.lane_var in e.names for e in subscripts)

    def constant(self, value: object, dtype: DType) -> Val:
        return Val(literal(value, dtype), dtype)

    def combine(self, op: str, left: Val, right: Val) -> Val:
        """One step of a reduction's operator."""
        if op in ("min", "max"):
            return self._body.math.minimum(op, left, right)
        if op in ("minimum", "maximum", "fmin", "fmax"):
            return self._body.math.function(op, list(self._body.math.together(left, right)))
        return self._body.math.plain(op, left, right)

    def across_lanes(self, op: str, value: Val) -> Val:
        """All lanes combined into one number, by halves."""
        math = self._body.math
        while value.lanes > 2:
            half = value.lanes // 2
            parts = []
            for start in (0, half):
                order = ", ".join(f"i32 {start + i}" for i in range(half))
                ssa = math.once(f"shufflevector {value.type} {value.ssa}, {value.type} poison, <{half} x i32> <{order}>")
                parts.append(Val(ssa, value.dtype, half))
            value = self.combine(op, *parts)
        return value if value.lanes == 1 else self.combine(op, math.element(value, 0), math.element(value, 1))

    # -- expressions ---------------------------------------------------------------------------------------------

    def _value(self, e, context: _Context) -> Val:
        math = self._body.math
        if isinstance(e, Load):
            return self._load(e.access, context)
        if isinstance(e, Index):
            return self._index(e, context)
        if isinstance(e, ScalarArg):
            return self._number(e)
        if isinstance(e, Gather):
            return self._body.memory.gather(e, [self._value(i, context) for i in e.indices], context.copy)
        if isinstance(e, syntax.Const):
            return self.constant(e.value, e.dtype)
        if isinstance(e, syntax.Cast):
            return self._cast(e, context)
        if isinstance(e, syntax.Unary):
            return self._unary(e, self._value(e.operand, context))
        if isinstance(e, syntax.Binary):
            return self._binary(e.op, e.dtype, self._value(e.left, context), self._value(e.right, context))
        if isinstance(e, syntax.Compare):
            return math.compare(e.op, self._value(e.left, context), self._value(e.right, context))
        if isinstance(e, syntax.Logical):
            total = math.truth(self._value(e.operands[0], context))
            for operand in e.operands[1:]:
                with self._only_if(total if e.op == "and" else math.invert(total)):
                    total = math.logical(e.op, total, math.truth(self._value(operand, context)))
            return total
        if isinstance(e, syntax.IfExp):
            test = math.truth(self._value(e.condition, context))
            with self._only_if(test):
                then = self._value(e.then, context)
            with self._only_if(math.invert(test)):
                orelse = self._value(e.orelse, context)
            return math.select(test, then, orelse)
        if isinstance(e, syntax.Call):
            args = [self._value(a, context) for a in e.args]
            if e.function == "pow":
                return self._binary("**", e.dtype, *args)
            args = math.together(*args)
            if e.function in elementary.FUNCTIONS and args[0].dtype.is_float:
                return elementary.function(math, e.function, *args)
            return math.function(e.function, list(args))
        raise TypeError(f"not a value: {e!r}")

    def _load(self, index: int, context: _Context) -> Val:
        known = context.loads.get(index)
        if known is None:
            access = context.statement.reads[index]
            op = context.reduces if index == context.accumulator else None
            place = self.place(access, context.iterators, context.copy, op)
            scanned = self._prefix.get((place, context.copy.part)) if context.copy.scans else None
            known = self._body.load(place) if scanned is None else scanned
            self._fetch(context, index)
            context.loads[index] = known
        return known

    def _fetch(self, context: _Context, index: int) -> None:
        """Ask for what the read will name in a later iteration."""
        iterator, distance = self._body.module.program.ahead.get(context.statement.name, {}).get(index, ("", 0))
        if iterator:
            later = {**context.iterators, iterator: context.iterators[iterator] + distance}
            self._body.fetch(self.place(context.statement.reads[index], later, context.copy))

    def _index(self, e: Index, context: _Context) -> Val:
        """An affine integer: one number, or one per lane."""
        body, copy = self._body, context.copy
        value = body.module.table.affine(e.value).substitute(context.iterators)
        first = Val(body.integer(value.substitute(copy.values)), e.dtype)
        if copy.lane_var is None or copy.lane_var not in value.names:
            return first
        step = value.coefficient(copy.lane_var)
        if step is None:
            lanes = []
            for lane in range(copy.lanes):
                at = {**copy.values, copy.lane_var: copy.values[copy.lane_var] + lane}
                lanes.append(Val(body.integer(value.substitute(at)), e.dtype))
            return body.math.vector(lanes)
        ramp = ", ".join(f"i64 {step * lane}" for lane in range(copy.lanes))
        return body.math.plain("+", first, Val(f"<{ramp}>", e.dtype, copy.lanes))

    def _number(self, e: ScalarArg) -> Val:
        """A number argument, from its slot."""
        body, scope = self._body, self._body.scopes[0]
        key = ("number", e.name, e.dtype)
        if key not in scope.known:
            index = body.module.slots.number(e.name)
            if e.dtype.is_float:
                word = body.word(index, register_type(e.dtype))
            else:
                word = body.word(index)
                kind = register_type(e.dtype)
                if kind != "i64":
                    word = body.fn.emit(f"trunc i64 {word} to {kind}", scope.entry)
            scope.known[key] = word
        return Val(scope.known[key], e.dtype)

    def _cast(self, e: syntax.Cast, context: _Context) -> Val:
        value = self._value(e.operand, context)
        math = self._body.math
        if e.operand.dtype == PYINT and e.to.is_integer and e.to != PYINT:
            self._check_fits(e, value)
        if e.to == PYINT and value.dtype.is_float:
            bound = self.constant(2.0**63, value.dtype)
            below = math.compare("<", value, bound)
            above = math.compare(">=", value, math.negate(bound))
            self._flag(math.invert(math.logical("and", below, above)), Status.TOO_LARGE_A_FLOAT, value)
        if e.to == PYINT and value.dtype.kind == "u" and value.dtype.bits == 64:
            self._flag(math.compare("<", Val(value.ssa, I64, value.lanes), self.constant(0, I64)))
        return math.convert(value, e.to)

    def _check_fits(self, e: syntax.Cast, value: Val) -> None:
        """A Python int stored in a narrower type: NumPy raises OverflowError where it does not fit."""
        if isinstance(e.operand, (Index, syntax.Const)) or always_fits(e.operand, e.to):
            return  # checked at entry, or when compiled
        math = self._body.math
        if e.to.bits == 64:
            if e.to.kind == "u":
                self._flag(math.compare("<", value, self.constant(0, PYINT)), Status.DOES_NOT_FIT)
            return
        low = -(1 << (e.to.bits - 1)) if e.to.kind == "i" else 0
        high = (1 << (e.to.bits - (e.to.kind == "i"))) - 1
        outside = math.logical(
            "or",
            math.compare("<", value, self.constant(low, PYINT)),
            math.compare(">", value, self.constant(high, PYINT)),
        )
        self._flag(outside, Status.DOES_NOT_FIT)

    @contextmanager
    def _only_if(self, condition: Val) -> Iterator[None]:
        """Both sides of a choice are computed; what goes wrong in the one not taken did not happen."""
        self._conditions.append(condition)
        try:
            yield
        finally:
            self._conditions.pop()

    def _flag(self, happened: Val, status: Status = Status.LEFT_64_BITS, number: Val | None = None) -> None:
        """Remember the first number that Python raises an error for; the kernel then answers so. number: a float, perhaps NaN."""
        fn, answer = self._body.fn, str(int(status))
        for condition in self._conditions:
            happened = self._body.math.logical("and", happened, condition)
        if happened.lanes > 1:
            raise CannotRunTogether("checked integers are not run in lanes")
        left, fine = fn.block("left"), fn.block("fine")
        fn.branch(happened.ssa, left, fine)
        fn.current = left
        if number is not None:
            is_nan = fn.emit(f"fcmp uno {number.type} {number.ssa}, {number.ssa}")
            answer = fn.emit(f"select i1 {is_nan}, i8 {int(Status.NOT_A_NUMBER)}, i8 {answer}")
        before = fn.emit(f"load i8, ptr {self._body.overflow}")
        is_first = fn.emit(f"icmp eq i8 {before}, 0")
        fn.do(f"store i8 {fn.emit(f'select i1 {is_first}, i8 {answer}, i8 {before}')}, ptr {self._body.overflow}")
        fn.jump(fine)
        fn.current = fine

    def _unary(self, e: syntax.Unary, value: Val) -> Val:
        math = self._body.math
        if e.op == "-":
            if e.dtype == PYINT:
                return self._checked("-", self.constant(0, PYINT), value)
            return math.negate(value)
        if e.op == "~":
            return math.invert(value)
        if e.op == "not":
            return math.invert(math.truth(value))
        return value

    def _binary(self, op: str, dtype: DType, left: Val, right: Val) -> Val:
        math = self._body.math
        left, right = math.together(left, right)
        if op in ("min", "max"):
            return math.minimum(op, left, right)
        if op in _POINTWISE:
            return self._checked(op, left, right) if dtype == PYINT and op in "+-*" else math.plain(op, left, right)
        if op in ("//", "%"):
            if dtype == PYINT and op == "//":
                least = math.compare("==", left, self.constant(-(1 << 63), PYINT))
                minus = math.compare("==", right, self.constant(-1, PYINT))
                self._flag(math.logical("and", least, minus))
            return math.floor_divide(left, right, op == "%")
        if op in ("<<", ">>"):
            shifted = math.shift(op, left, right)
            if dtype == PYINT and op == "<<":
                self._flag(math.compare("!=", math.shift(">>", shifted, right), left))
            return shifted
        if op == "**":
            return self._power(dtype, left, right)
        raise TypeError(f"not an operator: {op}")

    def _checked(self, op: str, left: Val, right: Val) -> Val:
        """Python int arithmetic: wraps nowhere, so leaving 64 bits is remembered."""
        body = self._body
        stem = {"+": "sadd", "-": "ssub", "*": "smul"}[op]
        name = f"llvm.{stem}.with.overflow.i64"
        body.declared.setdefault(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        pair = body.fn.emit(f"call {{i64, i1}} @{name}(i64 {left.ssa}, i64 {right.ssa})")
        self._flag(Val(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 1"), BOOL))
        return Val(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 0"), PYINT)

    def _power(self, dtype: DType, left: Val, right: Val) -> Val:
        math = self._body.math
        if dtype.is_float:
            return elementary.function(math, "pow", left, right)
        exponent = _constant_exponent(right)
        if exponent is None:
            return self._integer_power(dtype, left, right)
        result, square = None, left
        while exponent:
            if exponent & 1:
                result = square if result is None else self._binary("*", dtype, result, square)
            exponent >>= 1
            if exponent:
                square = self._binary("*", dtype, square, square)
        return math.splat(self.constant(1, dtype), left.lanes) if result is None else result

    def _integer_power(self, dtype: DType, left: Val, right: Val) -> Val:
        """A power whose exponent is known only when it runs, lane by lane through a loop of its own."""
        math = self._body.math
        self._body.declared["polyml_power"] = POWER
        numbers = []
        for lane in range(left.lanes):
            base = math.convert(math.element(left, lane), I64)
            exponent = math.convert(math.element(right, lane), I64)
            ssa = self._body.fn.emit(
                f"call i64 @polyml_power(i64 {base.ssa}, i64 {exponent.ssa}, i1 {'true' if dtype == PYINT else 'false'}, "
                f"ptr {self._body.overflow})"
            )
            numbers.append(math.convert(Val(ssa, I64), dtype))
        return numbers[0] if left.lanes == 1 else math.vector(numbers)


def _row(places: Mapping[int, Place], lanes: int, step: int) -> Row | None:
    """The places by their offsets; None where they do not overlap, or not in every vector of an iteration."""
    first = sorted(o for o in places if o - lanes not in places)
    vectors = range(step // lanes)
    if len(first) < 2 or first[-1] - first[0] >= lanes or step % lanes or len(places) != len(first) * len(vectors):
        return None
    if not all(o + lanes * v in places for o in first for v in vectors):
        return None
    return Row(tuple(tuple(places[o + lanes * v] for v in vectors) for o in first), tuple(first))


def _earlier(place: Place, loop: Loop) -> Place | None:
    """The place that the iteration before has in its stead; None where it does not move with the loop, or its lanes do."""
    if not any(loop.var in e.names for e in place.subscripts) or place.last is not None and loop.var in place.last.names:
        return None
    return replace(place, subscripts=tuple(e.substitute({loop.var: var(loop.var) - loop.step}) for e in place.subscripts))


def _apart(a: Place, b: Place, name: str) -> bool:
    """Whether the places share no element whatever values a variable has in either."""
    dims = [d for d, (x, y) in enumerate(zip(a.subscripts, b.subscripts)) if name not in x.names | y.names]
    return disjoint(*(_along(place, dims) for place in (a, b)))


def _along(place: Place, dims: list[int]) -> Place:
    """The place as far as some of its dimensions say."""
    subscripts, strides = (
        tuple(each[d] for d in dims) for each in (place.subscripts, place.strides or (0,) * len(place.subscripts))
    )
    return replace(place, subscripts=subscripts, strides=strides)


def _constant_exponent(value: Val) -> int | None:
    text = value.ssa
    if value.lanes > 1 and text.startswith("<"):
        text = text[1:].split(",")[0].split()[-1]
    return int(text) if text.lstrip("-").isdigit() and not text.startswith("-") else None


@dataclass(frozen=True)
class _Context:
    statement: Statement
    iterators: dict[str, Lin]
    copy: Copy
    accumulator: int | None
    reduces: str | None
    loads: dict[int, Val]
