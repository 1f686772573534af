"""One loop: its blocks, the values that are carried from one iteration to the next, and what it leaves in memory.

skipped:  %runs = lower <= upper; br %runs, before, after
before:   what iterations begin with
body:     %counter = phi [lower, before], [%following, latch]; ...; br %again, body, leave
leave:    stores of what stayed in registers
after:    phis of what was in registers of the loop around
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from polyml.codegen.analysis.loop_nest import has_guard
from polyml.codegen.ir.program import CannotRunTogether, Loop, instances, loops
from polyml.codegen.llvm.addresses import LoopScope
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.loops.loop_bounds import bounds
from polyml.codegen.llvm.loops.partial_results import NOTHING, HandOver, LoopExits, PartialResults, RegisterPlan, accumulators
from polyml.codegen.llvm.registers import Location, Registers
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.instances import StatementEmitter
from polyml.codegen.llvm.statements.loop_elements import LoopElements, OverlappingVectors
from polyml.dtypes import I32
from polyml.quasi_affine.affine import Affine, extremum, variable

NO_BIAS = SsaValue("zeroinitializer", I32)  # what sums of products with biases begin with


@dataclass(frozen=True)
class CountedLoop:
    """A CountedLoop is a loop for var = lower; var <= upper; var += step. Elements that it updates in place stay in registers.

    node: the loop in the program.
    lower, upper: SSA names of its first and last iteration.
    following: the loop that runs next; None if something else does, or nothing.
    handed: what the loop before hands over to this one.
    """

    node: Loop
    lower: str
    upper: str
    following: Loop | None = None
    handed: HandOver = NOTHING


@dataclass
class _CarriedValue:
    """A _CarriedValue is a value that is carried from one iteration to the next.

    start: the value before the first iteration.
    phi: the value at the beginning of an iteration.
    end: the value at its end; None until it is emitted.
    """

    start: SsaValue
    phi: SsaValue
    end: SsaValue | None = None

    @property
    def last(self) -> SsaValue:
        """The value at the end of an iteration. Raises ValueError if it has not been emitted."""
        if self.end is None:
            raise ValueError(f"nothing has been computed for the next iteration of {self.phi.ssa}")
        return self.end


def emit(body: ElementAccess, statements: StatementEmitter, loop: CountedLoop, run: Callable[[], None]) -> HandOver:
    """Emits a loop, and returns what it hands over to the loop that runs next. run: emits its body."""
    return _LoopEmitter(body, statements, loop).emit(run)


class _LoopEmitter:
    """A _LoopEmitter emits the code of one loop."""

    def __init__(self, body: ElementAccess, statements: StatementEmitter, loop: CountedLoop):
        self._body, self._fn, self._statements = body, body.fn, statements
        self._loop, self._node = loop, loop.node
        self._partial = PartialResults(body, statements.expressions)
        body.module.ranges.enter(loop.node)
        self._before, self._inner, self._after = (self._fn.block(hint) for hint in ("before", "body", "after"))
        # locations in registers of the loop around, which continues with their values after this loop
        self._outer: dict[Location, SsaValue] = {p: body.registers.known(p) for p in body.registers.pinned}

    def emit(self, run: Callable[[], None]) -> HandOver:
        """Emits the loop around what `run` emits, and returns what it hands over to the loop that runs next."""
        body, fn, node = self._body, self._fn, self._node
        is_nest = _is_nest(body, node)
        runs = fn.emit(f"icmp sle i64 {self._loop.lower}, {self._loop.upper}")
        outer_registers, body.registers = body.registers, Registers()
        plan = self._plan(node) if self._loop.handed.plan is None else self._loop.handed.plan
        self._held = {location: op for location, op in plan.held.items() if location not in self._outer}
        innermost = None if is_nest else plan.elements
        chains, rows = ([], []) if innermost is None else (innermost.carried(), innermost.overlapping_vectors())
        runs = self._exists(runs)
        skipped = fn.current
        fn.branch(runs, self._before, self._after)
        fn.current = self._before
        self._biases = {} if innermost is None else self._taken_off(innermost)
        pinned = {**self._outer, **self._starts(), **{bias: replace(NO_BIAS, lanes=bias.lanes) for bias in self._biases}}
        first = {node.var: extremum("max", node.lower)}
        read_before = {location: self._first(location, first) for _, *later in chains for location in later}
        scanned = [] if innermost is None else innermost.scanned()
        read_before |= {location: self._first(location, first) for location in scanned}
        behind_rows = [self._before_first(row, first) for row in rows]
        fn.jump(self._inner)
        counter, following = self._enter(is_nest)
        values = self._begin_iteration(pinned, read_before)
        vectors = self._load_rows(rows, behind_rows)
        body.path.append(node)
        run()
        body.path.pop()
        self._end_iteration(values, chains, scanned)
        self._close(counter, following, values, pinned, vectors)
        return self._leave(runs, skipped, values, outer_registers, following)

    # -- before the first iteration ------------------------------------------------------------------------------

    def _plan(self, node: Loop) -> RegisterPlan:
        """Returns what a loop keeps in registers. For an innermost loop these are the elements that each of its iterations
        accesses; for a loop around a perfect nest, the elements that each iteration of the nest updates. It is nothing for other
        loops, for a nest whose bounds depend on its own variables, or if there are guards inside or array arguments may overlap.
        """
        inside = _only_loops(node)
        innermost = inside[-1] if inside else node
        statements = self._body.scop.statements
        if _is_nest(self._body, innermost) or any(statements[i.statement].region for i in instances(innermost.body)):
            return RegisterPlan(None, {})
        elements = self._statements.elements(innermost)
        if not inside:
            return RegisterPlan(elements, elements.held())
        around = {loop.var for loop in (node, *inside[:-1])}
        if any(e.names & around for loop in inside for e in (*loop.lower, *loop.upper)):
            return RegisterPlan(elements, {})
        return RegisterPlan(elements, dict.fromkeys(elements.updated(around)))

    def _exists(self, runs: str) -> str:
        """Emits whether the loop has iterations, and returns the truth value. If the loop keeps elements of a nest in registers,
        all loops of the nest must have some, since otherwise the elements may not exist.

        runs: the SSA name of whether the loop itself has iterations.
        """
        fn = self._fn
        for inner in _only_loops(self._node) if self._held else ():
            low, high = bounds(self._body, inner)
            runs = fn.emit(f"and i1 {runs}, {fn.emit(f'icmp sle i64 {low}, {high}')}")
        return runs

    def _starts(self) -> dict[Location, SsaValue]:
        """Returns the first values of the elements that the loop keeps in registers: the partial results that the loop before hands
        over; else, for a partial result, the identity of its reduction, and for any other element its value in memory.
        """
        partial = self._loop.handed.partial
        given = {parts[0]: partial[key].value for key, parts in accumulators(self._held).items() if key in partial}
        return {location: given.get(location) or self._partial.start(location, op) for location, op in self._held.items()}

    def _taken_off(self, elements: LoopElements) -> dict[Location, list[Location]]:
        """Returns the sums of products with biases that are taken off behind the loop: those whose sums all stay in registers."""
        return {bias: sums for bias, sums in elements.biases().items() if {*self._outer, *self._held}.issuperset(sums)}

    def _first(self, location: Location, first: Mapping[str, Affine]) -> SsaValue:
        """Emits the load of the location as it is in the first iteration, and returns its value. first: { loop variable -> its
        first value }.
        """
        return self._body.memory.load(_substituted(location, first))

    def _before_first(self, row: OverlappingVectors, first: Mapping[str, Affine]) -> SsaValue:
        """Emits and returns a vector for the first iteration, which uses it where later iterations use the vector of the row that
        the iteration before them loaded. Its last lanes have the first elements of the row that the loop reads; its other lanes are
        not used.

        row: vectors along one row of an array that the loop reads at several offsets.
        first: { loop variable -> its first value }.
        """
        value, reach = self._first(row.locations[0][0], first), row.offsets[-1] - row.offsets[0]
        return self._picked(value, value, [*range(value.lanes - reach), *range(reach)])

    # -- an iteration --------------------------------------------------------------------------------------------

    def _enter(self, is_nest: bool) -> tuple[str, str]:
        """Starts the loop's body, and returns the SSA names of the loop's variable in this iteration and in the next one.

        is_nest: whether the loop has loops or guards inside.
        """
        body, fn = self._body, self._fn
        fn.current = self._inner
        counter, following = fn.name(), fn.name()
        body.names[self._node.var] = (counter, len(body.scopes))
        body.scopes.append(LoopScope(self._inner, not is_nest))
        body.math.forget()
        return counter, following

    def _begin_iteration(
        self, pinned: Mapping[Location, SsaValue], read_before: Mapping[Location, SsaValue]
    ) -> dict[Location, _CarriedValue]:
        """Puts the values that each iteration gets from the one before into registers, as phis, and returns them by location.

        pinned: { location that keeps its register until the loop is left -> its value before the first iteration }.
        read_before: { location that an iteration reads after an earlier one wrote it -> its value before the first iteration }.
        """
        registers, values = self._body.registers, {}
        for location, start in (*pinned.items(), *read_before.items()):
            values[location] = _CarriedValue(start, replace(start, ssa=self._fn.name()))
            registers.put(location, values[location].phi, dirty=False)
        registers.pinned = dict.fromkeys(pinned)
        return values

    def _load_rows(self, rows: list[OverlappingVectors], behind: list[SsaValue]) -> list[_CarriedValue]:
        """Emits the loads of the vectors of each row of an array, and returns for each row its last vector, carried into the next
        iteration.

        rows: for each row, the vectors that the loop reads of it at several offsets.
        behind: for each row, the vector just before the one that the first iteration loads.
        """
        phis = [replace(value, ssa=self._fn.name()) for value in behind]
        return [_CarriedValue(start, phi, self._load_row(row, phi)) for row, start, phi in zip(rows, behind, phis)]

    def _load_row(self, row: OverlappingVectors, behind: SsaValue) -> SsaValue:
        """Emits the loads of the vectors at a row's largest offset, and shuffles that make the vectors at smaller offsets of two
        loaded neighbours. Returns the last vector that is loaded.

        row: vectors along one row of an array that the loop reads at several offsets.
        behind: the vector just before the first one that is loaded.
        """
        for number, location in enumerate(row.locations[-1]):
            value = self._body.memory.load(location)
            self._body.registers.put(location, value, dirty=False)
            for offset, others in zip(row.offsets[:-1], row.locations):
                start = value.lanes - (row.offsets[-1] - offset)
                shifted = self._picked(behind, value, range(start, start + value.lanes))
                self._body.registers.put(others[number], shifted, dirty=False)
            behind = value
        return behind

    def _picked(self, a: SsaValue, b: SsaValue, order: Iterable[int]) -> SsaValue:
        """Emits a shuffle of two vectors and returns it: the lanes that `order` numbers, b's lanes being numbered on from a's."""
        mask = ", ".join(f"i32 {lane}" for lane in order)
        return replace(a, ssa=self._fn.emit(f"shufflevector {a.type} {a.ssa}, {b.type} {b.ssa}, <{a.lanes} x i32> <{mask}>"))

    def _end_iteration(
        self, values: dict[Location, _CarriedValue], chains: list[tuple[Location, ...]], scanned: list[Location]
    ) -> None:
        """Records the values that the next iteration gets in registers, as the ends of `values`, and emits stores of values that
        only registers have yet.

        values: { location -> what is carried from one iteration to the next }.
        chains: a tuple for each location that the loop writes and that later iterations read, as `LoopElements.carried` returns
            them: (the location written, the one at which the next iteration reads this value, ...).
        scanned: locations of the elements from which scans (prefix sums) continue.
        """
        body = self._body
        for written, *later in chains:
            made = body.math.splat(body.registers.known(written), written.lanes)
            for location, value in zip(later, (made, *(values[location].phi for location in later))):
                values[location].end = value
        for location in scanned:
            values[location].end = self._carried_on(location)
        body.flush()

    def _carried_on(self, location: Location) -> SsaValue:
        """Returns the value from which a scan (prefix sum) that reads this location continues in the next iteration. Raises
        CannotRunTogether if no register has it.
        """
        value = self._body.registers.value(_substituted(location, {self._node.var: variable(self._node.var) + self._node.step}))
        if value is None:
            raise CannotRunTogether(f"what a scan of {location.array} carries on has no register")
        return value

    def _close(
        self,
        counter: str,
        following: str,
        values: dict[Location, _CarriedValue],
        pinned: Mapping[Location, SsaValue],
        vectors: list[_CarriedValue],
    ) -> None:
        """Emits the end of the loop's body, the branch to the next iteration, and the phis of all carried values.

        counter, following: SSA names of the loop's variable in an iteration and in the next one.
        values: { location -> the value that is carried from one iteration to the next }.
        pinned: locations, with their values before the loop, that keep their registers until the loop is left.
        vectors: the last vector of each row of an array that is read at several offsets; it is carried too.
        """
        body, fn, node = self._body, self._fn, self._node
        if body.rough:  # LLVM's passes run, which make lanes of loops whose variable they understand
            fn.do(f"{following} = add nsw i64 {counter}, {node.step}")
        else:  # an empty inline assembly keeps LLVM from rewriting induction variables, which takes a third of its time for no gain
            fn.do(f'{following} = call i64 asm "", "=r,0"(i64 {fn.emit(f"add i64 {counter}, {node.step}")})')
        again = fn.emit(f"icmp sle i64 {following}, {self._loop.upper}")
        latch, leave = fn.current.label, body.ended_loop(node.var)
        self._phi(counter, "i64", self._loop.lower, following, latch)
        for location in pinned:
            values[location].end = body.math.splat(body.registers.known(location), location.lanes)
        for value in (*values.values(), *vectors):
            self._phi(value.phi.ssa, value.phi.type, value.start.ssa, value.last.ssa, latch)
        fn.branch(again, self._inner, leave)
        fn.current = leave
        body.scopes.pop()
        del body.names[node.var]
        body.registers = Registers()
        body.math.forget()

    def _phi(self, name: str, kind: str, start: str, following: str, latch: str) -> None:
        """Adds a phi to the loop's body.

        name, kind: its SSA name and LLVM type.
        start: the SSA name of its value in the first iteration.
        following: the SSA name of its value in the others.
        latch: the label of the block from which the others begin.
        """
        incoming = f"[ {start}, %{self._before.label} ], [ {following}, %{latch} ]"
        self._inner.phis.append(f"{name} = phi {kind} {incoming}")

    # -- after the loop ------------------------------------------------------------------------------------------

    def _leave(
        self, runs: str, skipped: BasicBlock, values: Mapping[Location, _CarriedValue], outer_registers: Registers, following: str
    ) -> HandOver:
        """Emits the stores of what the loop changed, and the phis of the code after it. Returns what it hands over to the loop
        that runs next.

        runs: the SSA name of whether the loop has iterations.
        skipped: the block from which it is skipped.
        outer_registers: the elements that are in registers in the code around the loop.
        following: the SSA name of the iteration after the last one.
        """
        body, fn, then, before = self._body, self._fn, self._loop.following, self._loop.handed.partial
        for bias, sums in self._biases.items():
            for location in sums:
                values[location].end = body.math.plain("-", values[location].last, values[bias].last)
        self._store_changed(values)
        found = accumulators(self._held).items()
        totals = {key: self._partial.total(key, [values[part].last for part in parts]) for key, parts in found}
        plan = self._plan(then) if totals and then is not None else None
        kept = set() if plan is None else accumulators(plan.held).keys() & totals.keys()
        for key, total in totals.items():
            if key not in kept and key not in before:
                self._partial.join(key, total)
        exits = LoopExits(runs, skipped, fn.current, self._after)
        fn.jump(self._after)
        fn.current = self._after
        body.registers = outer_registers
        body.math.forget()
        handed = {}
        for key, total in totals.items():
            if key in kept or key in before:
                merged = self._partial.merge(key, total, before.get(key), exits)
                if key in kept:
                    handed[key] = merged
                else:
                    self._partial.join_if_run(key, merged)
        for location, start in self._outer.items():
            value = replace(start, ssa=fn.name())
            exits.phi(value.ssa, value.type, start.ssa, values[location].last.ssa)
            body.registers.put(location, value, dirty=True)
        if then is None or then.resumes != self._node.var:
            return HandOver(None, handed, plan)
        end = fn.name()
        exits.phi(end, "i64", self._loop.lower, following)
        return HandOver(end, handed, plan)

    def _store_changed(self, values: Mapping[Location, _CarriedValue]) -> None:
        """Emits stores of the elements that the loop kept in registers and changed.

        values: { location -> the value that the loop carries in a register, with its value at the loop's end }.
        """
        memory = self._body.memory
        stored: set[Location] = set()  # other parts of complex numbers, which were stored together with the first ones
        changed = {p: values[p].last for p, op in self._held.items() if op is None and values[p].last != values[p].phi}
        for location, value in changed.items():
            if location in stored:
                continue
            other = memory.other_part(location) if memory.is_pair(location) else None
            if other is None or other not in changed:
                memory.store(location, value)
            else:
                memory.store_pairs({location: value, other: changed[other]})
                stored.add(other)


def _is_nest(body: ElementAccess, node: Loop) -> bool:
    """Returns whether the loop has loops or guards inside, or array arguments may overlap: then its elements do not stay in
    registers.
    """
    return body.module.arguments.aliased or any(True for _ in loops(node.body)) or has_guard(node.body)


def _substituted(location: Location, values: Mapping[str, Affine]) -> Location:
    """Returns the location with names replaced in its subscripts and its mask."""
    last = None if location.last is None else location.last.substitute(values)
    return replace(location, subscripts=tuple(e.substitute(values) for e in location.subscripts), last=last)


def _only_loops(node: Loop) -> list[Loop]:
    """Returns the loops inside, outermost first, as long as each is the only node in the one around it and is not parallel."""
    found: list[Loop] = []
    while len(node.body) == 1 and isinstance(node.body[0], Loop) and not node.body[0].parallel:
        node = node.body[0]
        found.append(node)
    return found
