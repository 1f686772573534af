"""The code of one LLVM function: integers, places in registers, loops.

Values are computed where the loop runs that they depend on; elements that a loop updates in place stay in registers around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

from polyml.codegen.analysis.loop_nest import has_guard
from polyml.codegen.ir.linexpr import Compare, Condition, Lin, Logic, conjunction, extremum, var
from polyml.codegen.ir.program import CannotRunTogether, Guard, Instance, Jam, Loop, Node, loops, substitute
from polyml.codegen.llvm.addresses import Module, Scope
from polyml.codegen.llvm.arithmetic import Val
from polyml.codegen.llvm.builder import Block, Unit
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Cells, Place
from polyml.codegen.llvm.statements import Evaluator, Row
from polyml.model.core.reductions import identity

UNHURRIED = "nounwind noinline optnone"
UNHURRIED_EFFORT = 0.4  # of what such code takes to be made, in that of optimised code


class Body(ElementAccess):
    """The code of one LLVM function: the kernel itself, or the iterations of a parallel loop."""

    def __init__(self, module: Module, name: str, signature: str):
        """signature: a format that puts the name in."""
        super().__init__(module, name, signature)
        self._partials: dict[_Group, _Partial] = {}  # that the next loop goes on with
        self._held_ahead: dict[int, dict[Place, str | None]] = {}  # by loop, of the one that runs next
        self.values = Evaluator(self)
        self.repeats = False  # whether instances run in loops of this function

    def finish(self) -> None:
        """The function is whole."""
        text = self.fn.text()
        effort = len(text) * (UNHURRIED_EFFORT if self.fn.attributes == UNHURRIED else 1.0)
        self.module.units.append(Unit(self.name, text, self.declared, effort))
        self.module.finished(self.module.units[-1])

    # -- addresses -----------------------------------------------------------------------------------------------

    # -- nodes ---------------------------------------------------------------------------------------------------

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        begin = None  # where the next loop begins, if it begins where one has ended
        for node, following in zip_longest(nodes, nodes[1:]):
            if isinstance(node, Instance):
                self.values.instance(node)
                self.repeats |= any(isinstance(n, Loop) for n in self.path)
            elif isinstance(node, Loop):
                self.flush()
                if node.parallel and self.can_fork and not node.partial:
                    self.fork(node)
                else:
                    then = following if isinstance(following, Loop) and not following.parallel else None
                    begin = self.loop(node, then, begin)
            elif isinstance(node, Guard):
                self.guard(node)
            elif isinstance(node, Jam):
                self.jams.append(node)
                if node.scans:
                    self.values.begin_scans(node.body)
                self.nodes(node.body)
                self.jams.pop()
            else:
                for i in range(node.count):
                    self.nodes(tuple(substitute(n, {node.var: node.base + i}) for n in node.body))

    def guard(self, node: Guard) -> None:
        self.flush()
        test = self.condition(node.condition)
        then, after = self.fn.block("then"), self.fn.block("after")
        self.fn.branch(test, then, after)
        self.fn.current = then
        self.path.append(node)
        self.nodes(node.body)
        self.path.pop()
        self.flush()
        self.fn.jump(after)
        self.fn.current = after

    def bounds(self, node: Loop) -> tuple[str, str]:
        lower = extremum("max", node.lower)
        upper = extremum("min", node.upper)
        return self.integer(lower), self.integer(upper)

    def ends(self, node: Loop) -> tuple[str, str]:
        """The bounds of a loop, none of whose iterations are there where none of the loops inside has any: to go through the rows of
        an array without columns would take as long as there are rows.
        """
        lower, upper = self.bounds(node)
        outermost = all(_is_fixed(n) for n in self.path if isinstance(n, Loop)) and not _is_fixed(node) and not node.resumes
        tests = self._something_inside(node.body) if outermost else None
        if tests is None:
            return lower, upper
        at = self.scopes[max(self._deepest(e.names) for e in (*node.lower, *node.upper))].entry  # where the ends are known
        none = self.fn.emit(f"sub i64 {lower}, 1", at)
        return lower, self.fn.emit(f"select i1 {self.condition(tests, at)}, i64 {upper}, i64 {none}", at)

    def _something_inside(self, nodes: tuple[Node, ...]) -> Condition | None:
        """Whether loops whose ends sizes and numbers of the call tell have iterations; None where they do not decide it."""
        found: list[Condition] = []
        for node in nodes:
            if isinstance(node, Instance):
                return None
            inside = self._something_inside(node.body)
            if isinstance(node, Loop) and all(e.names <= self.module.symbols for e in (*node.lower, *node.upper)):
                reach = extremum("min", node.upper) - extremum("max", node.lower)
                own = () if reach.is_const and reach.const >= 0 else (Compare(">=", reach),)
            else:
                own = ()
            if not own and inside is None:
                return None
            found.append(conjunction((*own, *(() if inside is None else (inside,)))))
        return Logic("or", tuple(dict.fromkeys(found)))

    def loop(self, node: Loop, following: Loop | None = None, begin: str | None = None) -> str | None:
        """following: the loop that runs next, which may go on with this one's partial results, and begin where this one ends:
        then that is given. begin: where this one begins, if not as its bounds say.
        """
        lower, upper = self.ends(node)
        lower = begin or lower
        if node.last:
            self.names[node.last] = (upper, max(self._deepest(e.names) for e in (*node.lower, *node.upper)))
        end = self.counted(node, lower, upper, following)
        self.names.pop(node.last, None)
        return end

    def counted(self, node: Loop, lower: str, upper: str, then: Loop | None = None) -> str | None:
        """for var = lower; var <= upper; var += step, with what it updates in place held in registers. Where it ended, if the
        next loop begins there.
        """
        before_it, self._partials = self._partials, {}
        self.module.ranges.enter(node)
        fn = self.fn
        before, body, after = fn.block("before"), fn.block("body"), fn.block("after")
        inside = _only_loops(node)
        runs = fn.emit(f"icmp sle i64 {lower}, {upper}")
        carried = {place: self.cells.value(place) for place in self.cells.pinned}  # of the loop around
        outer_cells, self.cells = self.cells, Cells()
        known = self._held_ahead.pop(id(node), None)
        held = self._held(node, inside) if known is None else known
        held = {place: op for place, op in held.items() if place not in carried}
        is_nest = self._is_nest(node)
        chains, rows = ([], []) if is_nest else (self.values.carried(node), self.values.rows(node))
        if held and inside:  # elements of a nest that does not run may not exist
            for inner in inside:
                low, high = self.bounds(inner)
                runs = fn.emit(f"and i1 {runs}, {fn.emit(f'icmp sle i64 {low}, {high}')}")
        skipped = fn.current
        fn.branch(runs, before, after)
        fn.current = before
        begin = {parts[0]: before_it[key].value for key, parts in _groups(held).items() if key in before_it}
        entry_values = {**carried, **{place: begin.get(place) or self._enter(place, op) for place, op in held.items()}}
        first = {node.var: extremum("max", node.lower)}
        earlier = {place: self.memory.load(_substituted(place, first)) for _, *later in chains for place in later}
        scanned = [] if is_nest else self.values.carries(node)
        earlier |= {place: self.memory.load(_substituted(place, first)) for place in scanned}
        begun = [self._begun(row, first) for row in rows]
        fn.jump(body)
        fn.current = body
        counter, following = fn.name(), fn.name()
        self.names[node.var] = (counter, len(self.scopes))
        self.scopes.append(Scope(body, not is_nest))
        self.math.forget()
        phis = {}
        for place, value in entry_values.items():
            phi = Val(fn.name(), value.dtype, value.lanes)
            phis[place] = phi
            self.cells.put(place, phi, dirty=False)
        self.cells.pinned = dict.fromkeys(entry_values)
        for place, value in earlier.items():
            phis[place] = Val(fn.name(), value.dtype, value.lanes)
            self.cells.put(place, phis[place], dirty=False)
        behind = [replace(value, ssa=fn.name()) for value in begun]
        ahead = [self._row(row, value) for row, value in zip(rows, behind)]
        self.path.append(node)
        self.nodes(node.body)
        self.path.pop()
        final = {}
        for written, *later in chains:
            made = self.math.splat(self.cells.value(written), written.lanes)
            final |= dict(zip(later, (made, *(phis[place] for place in later))))
        final |= {place: self._carried_on(place, node) for place in scanned}
        self.flush()
        # an empty assembly keeps LLVM from rewriting the induction variables, which takes a third of its time for no gain
        fn.do(f'{following} = call i64 asm "", "=r,0"(i64 {fn.emit(f"add i64 {counter}, {node.step}")})')
        again = fn.emit(f"icmp sle i64 {following}, {upper}")
        latch, leave = fn.current, fn.block("leave")
        body.phis.append(f"{counter} = phi i64 [ {lower}, %{before.label} ], [ {following}, %{latch.label} ]")
        final |= {place: self.math.splat(self.cells.value(place), place.lanes) for place in entry_values}
        for place, phi in phis.items():
            start = (entry_values.get(place) or earlier[place]).ssa
            body.phis.append(f"{phi.ssa} = phi {phi.type} [ {start}, %{before.label} ], [ {final[place].ssa}, %{latch.label} ]")
        for phi, start, following_ in zip(behind, begun, ahead):
            body.phis.append(f"{phi.ssa} = phi {phi.type} [ {start.ssa}, %{before.label} ], [ {following_.ssa}, %{latch.label} ]")
        fn.branch(again, body, leave)
        fn.current = leave
        self.scopes.pop()
        del self.names[node.var]
        self.cells = Cells()
        self.math.forget()
        self._leave(held, final, phis)
        totals = {key: self._total(key, parts, final) for key, parts in _groups(held).items()}
        kept = _groups(self._held_next(then)).keys() & totals.keys() if totals and then is not None else set()
        for key in (k for k in totals if k not in kept and k not in before_it):
            self._join(key, totals[key])
        left = fn.current
        fn.jump(after)
        fn.current = after
        self.cells = outer_cells
        self.math.forget()
        for key in (k for k in totals if k in kept or k in before_it):
            self._pass_on(key, totals[key], before_it.get(key), _Ends(runs, skipped, left, after), key in kept)
        for place, start in carried.items():
            value = Val(fn.name(), start.dtype, start.lanes)
            incoming = f"[ {start.ssa}, %{skipped.label} ], [ {final[place].ssa}, %{left.label} ]"
            after.phis.append(f"{value.ssa} = phi {value.type} {incoming}")
            self.cells.put(place, value, dirty=True)
        if then is None or then.resumes != node.var:
            return None
        end = fn.name()
        after.phis.append(f"{end} = phi i64 [ {lower}, %{skipped.label} ], [ {following}, %{left.label} ]")
        return end

    def _carried_on(self, place: Place, node: Loop) -> Val:
        """The value with which a scan goes on in the next iteration."""
        value = self.cells.value(_substituted(place, {node.var: var(node.var) + node.step}))
        if value is None:
            raise CannotRunTogether(f"what a scan of {place.array} carries on has no register")
        return value

    # -- what a loop holds in registers --------------------------------------------------------------------------

    def _held(self, node: Loop, inside: list[Loop]) -> dict[Place, str | None]:
        """The places that a loop, around nothing but the loops inside, keeps in registers, each with the operator of the
        reduction it is a part of.
        """
        innermost = inside[-1] if inside else node
        if self._is_nest(innermost):
            return {}
        if not inside:
            return self.values.held(node)
        around = {loop.var for loop in (node, *inside[:-1])}
        if any(e.names & around for loop in inside for e in (*loop.lower, *loop.upper)):
            return {}
        return dict.fromkeys(self.values.updated(innermost, around))

    def _is_nest(self, node: Loop) -> bool:
        """Whether more than a stretch of straight code is in the loop, or every access must happen as it stands."""
        return self.module.aliased or any(True for _ in loops(node.body)) or has_guard(node.body)

    def _begun(self, row: Row, first: Mapping[str, Lin]) -> Val:
        """What stands for the vector before a row's first one: its last lanes are what the first vectors begin with."""
        value, reach = self.memory.load(_substituted(row.places[0][0], first)), row.offsets[-1] - row.offsets[0]
        lanes = value.lanes
        return self._picked(value, value, [*range(lanes - reach), *range(reach)])

    def _row(self, row: Row, behind: Val) -> Val:
        """Load each vector of a row once, the one furthest ahead, and shift the others out of it and the vector before."""
        for number, place in enumerate(row.places[-1]):
            value = self.memory.load(place)
            self.cells.put(place, value, dirty=False)
            for offset, others in zip(row.offsets[:-1], row.places):
                start = value.lanes - (row.offsets[-1] - offset)
                shifted = self._picked(behind, value, range(start, start + value.lanes))
                self.cells.put(others[number], shifted, dirty=False)
            behind = value
        return behind

    def _picked(self, a: Val, b: Val, order: Iterable[int]) -> Val:
        """Lanes of two vectors one behind the other."""
        mask = ", ".join(f"i32 {lane}" for lane in order)
        return replace(a, ssa=self.fn.emit(f"shufflevector {a.type} {a.ssa}, {b.type} {b.ssa}, <{a.lanes} x i32> <{mask}>"))

    def _enter(self, place: Place, op: str | None) -> Val:
        if op is not None:
            element = self.scop.arrays[place.array].element
            return self.math.splat(self.values.constant(identity(op, element), element), place.lanes)
        return self.math.splat(self.memory.load(place), place.lanes)

    def _leave(self, held: dict[Place, str | None], final: dict[Place, Val], phis: dict[Place, Val]) -> None:
        """Store the elements that the loop has changed."""
        stored: set[Place] = set()  # with their other parts
        for place, op in held.items():
            if op is None:
                if final[place] == phis[place] or place in stored:
                    continue
                other = self.memory.other_part(place) if self.memory.is_pair(place) else None
                if other is None or other not in held or final[other] == phis[other]:
                    self.memory.store(place, final[place])
                else:
                    self.memory.store_pairs({place: final[place], other: final[other]})
                    stored.add(other)

    def _total(self, key: _Group, parts: list[Place], final: dict[Place, Val]) -> Val:
        """The partial results of all vectors as one vector."""
        total = final[parts[0]]
        for part in parts[1:]:
            total = self.values.combine(key.op, total, final[part])
        return total

    def _join(self, key: _Group, total: Val) -> None:
        """Bring the partial results of all lanes to the element that they are for."""
        target, number = Place(key.array, key.subscripts), self.values.across_lanes(key.op, total)
        self.memory.store(target, self.values.combine(key.op, self.memory.load(target), number))

    def _held_next(self, then: Loop) -> dict[Place, str | None]:
        """What the loop that runs next will hold."""
        found = self._held_ahead[id(then)] = self._held(then, _only_loops(then))
        return found

    def _pass_on(self, key: _Group, total: Val, before: _Partial | None, ends: _Ends, goes_on: bool) -> None:
        """Behind a loop: what it and the loops before have summed up is kept for the next one, or joined if one of them ran."""
        fn, (runs, skipped, left, after) = self.fn, ends
        start = self._enter(Place(key.array, key.subscripts, key.lanes), key.op) if before is None else before.value
        value = replace(total, ssa=fn.name())
        incoming = f"[ {start.ssa}, %{skipped.label} ], [ {total.ssa}, %{left.label} ]"
        after.phis.append(f"{value.ssa} = phi {value.type} {incoming}")
        ran = runs if before is None else fn.emit(f"or i1 {before.ran}, {runs}")
        if goes_on:
            self._partials[key] = _Partial(value, ran)
            return
        join, done = fn.block("join"), fn.block("done")
        fn.branch(ran, join, done)
        fn.current = join
        self._join(key, value)
        fn.jump(done)
        fn.current = done
        self.math.forget()

    @property
    def can_fork(self) -> bool:
        return False

    def fork(self, node: Loop) -> None:
        raise NotImplementedError


def _is_fixed(loop: Loop) -> bool:
    """Whether the loop has the same iterations in every call, and not many."""
    ends = (*loop.lower, *loop.upper)
    return all(e.is_const for e in ends) and max(abs(e.const) for e in ends) < 2**20


class _Group(NamedTuple):
    """Partial results in lanes of one element."""

    array: str
    subscripts: tuple[Lin, ...]
    op: str
    lanes: int


@dataclass(frozen=True)
class _Partial:
    """What loops that follow one another have summed up, and whether one of them ran."""

    value: Val
    ran: str


class _Ends(NamedTuple):
    """Whether a loop runs; the blocks from which it is skipped and left, and the one behind it."""

    runs: str
    skipped: Block
    left: Block
    after: Block


def _groups(held: Mapping[Place, str | None]) -> dict[_Group, list[Place]]:
    """The places of partial results, by what they are parts of."""
    found: dict[_Group, list[Place]] = {}
    for place, op in held.items():
        if op is not None:
            found.setdefault(_Group(place.array, place.subscripts, op, place.lanes), []).append(place)
    return found


def _substituted(place: Place, values: Mapping[str, Lin]) -> Place:
    last = None if place.last is None else place.last.substitute(values)
    return replace(place, subscripts=tuple(e.substitute(values) for e in place.subscripts), last=last)


def _only_loops(node: Loop) -> list[Loop]:
    """The loops inside, as far as each is all that the one around it runs."""
    found: list[Loop] = []
    while len(node.body) == 1 and isinstance(node.body[0], Loop) and not node.body[0].parallel:
        node = node.body[0]
        found.append(node)
    return found
