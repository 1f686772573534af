"""The statements of a Region become blocks and branches, in the source's order.

Numbers of a region have memory on the stack, which LLVM's passes make registers of. A loop without others inside has two
forms: where all its indices are known to be those of elements before it begins, none is tested in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from polyml.codegen.analysis.integer_ranges import Interval
from polyml.codegen.analysis.region_blocks import (
    ITERATIONS,
    LEAST,
    BlockIndex,
    Dimension,
    block_indices,
    invariant_indices,
    totals,
    watched,
)
from polyml.codegen.analysis.region_indices import loop_indices, while_indices
from polyml.codegen.analysis.region_integers import changed_in
from polyml.codegen.analysis.region_streams import streams
from polyml.codegen.ir.program import Instance
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.regions.loop_hints import hint
from polyml.codegen.llvm.regions.loop_tests import LoopTests, Run
from polyml.codegen.llvm.regions.region_values import RegionValues
from polyml.codegen.llvm.regions.statement_blocks import StatementBlocks, in_groups
from polyml.codegen.llvm.regions.strip_loops import Iterations, StripLoops
from polyml.codegen.llvm.regions.strip_plans import strip_plan
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.locations import AccessLocations
from polyml.dtypes import PYINT
from polyml.frontend import syntax, traversal
from polyml.model.core.scop import Region, Statement, raise_failure


class RegionEmitter(StatementBlocks):
    """A RegionEmitter emits one instance of a region."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, statement: Statement, node: Instance):
        region = statement.region
        if region is None:
            raise TypeError(f"{statement.name} is no region")
        super().__init__(body)
        self._region = region
        self._values = RegionValues(body, locations, statement, region, node)
        self._integers = self._values.integers
        self._tests = LoopTests(body, self._values)
        self._numbers = {name for name, _ in region.numbers}
        self._sides: list[Mapping[str, Interval]] = []  # what is known where the sides of a branch end
        self._ends = _loop_end(body, statement, region, node)
        self._watched: frozenset[str] = frozenset()  # numbers whose sums wait for each other, and are fused with no products
        self._terms: dict[str, list[SsaValue]] = {}  # what is added to numbers where several iterations run at once

    def emit(self) -> None:
        """Emits the region's statements."""
        self._body.flush()
        before, self._body.restarts = self._body.restarts, self._region.restarts
        with self._body.math.one_by_one():
            self._block(self._region.body)
        self._body.restarts = before
        self._body.math.forget()

    @contextmanager
    def _branched(self) -> Iterator[None]:
        """Goes through code that begins here, after which other code begins here too."""
        with self._integers.branch(), self._values.tested.branch():
            yield

    def _forget(self, names: set[str]) -> None:
        """Tells that numbers and elements may have other values from here on."""
        self._integers.forget(names)
        self._forget_tested(names)

    def _forget_tested(self, names: set[str]) -> None:
        """Tells that indices made of numbers and elements may have to be tested again."""
        self._values.tested.forget(names)
        if self._body.module.arguments.aliased and not names.issubset(self._numbers):
            self._values.tested.forget_elements()

    def _block(self, body: Sequence[syntax.Stmt]) -> None:
        for stmt in body:
            self._stmt(stmt)

    def _stmt(self, stmt: syntax.Stmt) -> None:
        match stmt:
            case syntax.Assign():
                self._assign(stmt)
            case syntax.If():
                self._if(stmt)
            case syntax.For():
                self._for(stmt)
            case syntax.While():
                self._while(stmt)
            case syntax.Block():
                end = self._fn.block("end")
                outer, self._ends = self._ends, {**self._ends, stmt.label: end}
                with self._branched():
                    self._block(stmt.body)
                self._forget(changed_in(stmt.body))
                self._ends = outer
                self._go(end)
            case syntax.Raise():
                self._body.fail(str(self._body.module.failure(raise_failure(stmt))))
                self._begin(self._fn.block("never"))
            case syntax.Leave():
                self._fn.jump(self._ends[stmt.label])
                self._begin(self._fn.block("never"))
            case _:
                raise TypeError(f"not a statement of a region: {stmt!r}")

    def _assign(self, stmt: syntax.Assign) -> None:
        """Emits an assignment. What is added to the number itself may be added up in another order."""
        match stmt:
            case syntax.Assign(syntax.Name(name=name), syntax.Binary(right=right)) if name in self._terms and is_sum(
                self._body, stmt
            ):
                with self._body.math.in_sums(self._body.module.floats.mode):
                    self._terms[name].append(self._values.of(right))
            case syntax.Assign(syntax.Name(name=name)) if stmt.value.dtype == PYINT:
                interval = self._integers.of(stmt.value)
                self._values.assign(stmt.target, self._values.of(stmt.value))
                self._forget({name})
                self._integers.assigned(name, interval)
            case _:
                made = None if traversal.named(stmt.target) in self._watched else sum_of(self._body, self._values, stmt)
                self._values.assign(stmt.target, made or self._values.of(stmt.value))
                self._forget({traversal.named(stmt.target)})

    def _add_terms(self, stmt: syntax.For) -> None:
        """Emits the addition of what several iterations add to numbers, in pairs, so that the iterations do not wait for each other."""
        math = self._body.math
        for each in stmt.body:
            match each:
                case syntax.Assign(syntax.Name(name=name) as target, syntax.Binary(op=op)) if terms := self._terms.get(name, []):
                    with math.in_sums(self._body.module.floats.mode):
                        while len(terms) > 1:
                            pairs = zip(terms[::2], terms[1::2])
                            terms = [math.plain(op, one, other) for one, other in pairs]
                        self._values.assign(target, math.plain(op, self._values.number(name), terms[0]))

    def _if(self, stmt: syntax.If) -> None:
        test = self._body.math.truth(self._values.of(stmt.condition))
        match stmt.then, stmt.orelse:
            case (syntax.Assign(syntax.Name() as target, one),), (syntax.Assign(syntax.Name() as same, other),):
                if target == same and all(map(self._values.is_chosen_cheaply, (one, other))):
                    self._values.assign(target, self._values.chosen(test, one, other))
                    self._forget({target.name})
                    return
        outer, self._sides = self._sides, []
        self._branch(test.ssa, stmt)
        self._integers.joined(self._sides)
        self._forget_tested(changed_in((stmt,)))
        self._sides = outer

    def _side(self, stmt: syntax.If, is_then: bool) -> None:
        body = stmt.then if is_then else stmt.orelse
        goes_on = not (body and isinstance(body[-1], (syntax.Leave, syntax.Raise)))
        with self._integers.branch(self._sides if goes_on else None), self._values.tested.branch():
            self._integers.holds(stmt.condition, is_then)
            self._block(body)

    def _while(self, stmt: syntax.While) -> None:
        known = self._values.safe
        indices = [each for each in while_indices(stmt) if (id(each.element), each.dim) not in known]
        if not indices:
            self._while_loop(stmt)
            return
        inside = self._tests.all_inside_while(indices)
        fast, slow, after = self._fn.block("fast"), self._fn.block("slow"), self._fn.block("after")
        self._fn.branch(inside, fast, slow)
        proved, before = {(id(each.element), each.dim) for each in indices}, self._values.whole
        for block, safe, whole in ((fast, known | proved, before | proved), (slow, known, before)):
            self._begin(block)
            self._values.safe, self._values.whole = safe, whole
            with self._branched():
                self._while_loop(stmt)
            self._fn.jump(after)
        self._begin(after)
        self._forget(changed_in(stmt.body))
        self._integers.holds(stmt.condition, False)

    def _while_loop(self, stmt: syntax.While) -> None:
        test, body, after = self._fn.block("test"), self._fn.block("body"), self._fn.block("after")
        self._go(test)
        self._forget(changed_in(stmt.body))
        condition = self._body.math.truth(self._values.of(stmt.condition))
        self._fn.branch(condition.ssa, body, after)
        self._begin(body)
        with self._branched():
            self._integers.holds(stmt.condition)
            self._block(stmt.body)
        self._fn.jump(test)
        self._begin(after)
        self._integers.holds(stmt.condition, False)

    def _for(self, stmt: syntax.For) -> None:
        start, stop = self._values.of(stmt.start).ssa, self._values.of(stmt.stop).ssa
        self._forget(changed_in((stmt,)))
        with self._values.tested.branch():
            self._for_between(stmt, start, stop)

    def _for_between(self, stmt: syntax.For, start: str, stop: str) -> None:
        """Emits a loop. start, stop: the SSA names of its ends"""
        run, known = self._run(start, stop, stmt.step), self._values.safe
        found = loop_indices(stmt)
        indices = [each for each in found.indices if (id(each.element), each.dim) not in known]
        proved, before = {(id(each.element), each.dim) for each in indices}, self._values.whole
        safe = known | proved
        fixed = self._fixed(stmt, safe)
        if not indices and not fixed:
            self._fetch_ahead(stmt, start)
            self._loop(stmt, start, run.count, self._strips(stmt, start, run.count) or self._blocks(stmt, start, run.count))
            return
        inside = self._tests.all_inside(stmt, run, indices, found.counters)
        fast, slow, after = self._fn.block("fast"), self._fn.block("slow"), self._fn.block("after")
        self._fn.branch(inside, fast, slow)
        self._begin(fast)
        self._values.safe, self._values.whole = safe, before | proved
        with self._values.tested.branch():
            if fixed:
                self._fix(fixed, slow)
            self._fetch_ahead(stmt, start)
            self._loop(stmt, start, run.length, self._strips(stmt, start, run.length) or self._blocks(stmt, start, run.length))
        self._fn.jump(after)
        self._begin(slow)
        self._values.safe, self._values.whole, self._values.fixed = known, before, {}
        self._loop(stmt, start, run.count, "0")
        self._fn.jump(after)
        self._begin(after)

    def _fixed(self, stmt: syntax.For, safe: frozenset[Dimension]) -> tuple[BlockIndex, ...]:
        """Returns the indices that are the same in all iterations of a loop, and can be tested before it."""
        if self._body.module.arguments.aliased:
            return ()
        before, self._values.safe = self._values.safe, safe
        found = tuple(each for each in invariant_indices(stmt, safe) if self._values.is_plain(each.value))
        self._values.safe = before
        return found

    def _fix(self, indices: Sequence[BlockIndex], otherwise: BasicBlock) -> None:
        """Emits a test of indices that are the same in all iterations of a loop, which is left out where it does not hold."""
        fn, total, fixed = self._fn, "", {}
        for each in indices:
            value = self._values.of(each.value).ssa
            inside = fn.emit(f"icmp ult i64 {value}, {self._tests.extent(each.element, each.dim)}")
            total = fn.emit(f"and i1 {total}, {inside}") if total else inside
            fixed[id(each.element), each.dim] = value
        fine = fn.block("fixed")
        fn.branch(total, fine, otherwise)
        self._begin(fine)
        self._values.safe, self._values.fixed = self._values.safe | fixed.keys(), fixed

    def _run(self, start: str, stop: str, step: int) -> Run:
        """Emits the number of iterations of a loop."""
        fn = self._fn
        low, high = (start, stop) if step > 0 else (stop, start)
        some = fn.emit(f"icmp slt i64 {low}, {high}")
        length = fn.emit(f"sub i64 {high}, {low}")
        if abs(step) > 1:  # rounded up, without a sum that may leave 64 bits
            last = fn.emit(f"udiv i64 {fn.emit(f'sub i64 {length}, 1')}, {abs(step)}")
            length = fn.emit(f"add i64 {last}, 1")
        return Run(start, stop, some, length, fn.emit(f"select i1 {some}, i64 {length}, i64 0"))

    def _strips(self, stmt: syntax.For, start: str, count: str) -> str | None:
        """Emits the iterations of a loop in strips, and returns the number of the first one that is left; None where that does not pay."""
        if self._body.module.arguments.aliased:
            return None
        with self._values.in_strip():
            plan = strip_plan(stmt, self._values.safe, self._values.is_plain)
        if plan is None:
            return None
        begin, run = (lambda number: self._set_variable(stmt, start, number)), (lambda: self._block(stmt.body))
        with self._branched():
            return StripLoops(self._body, self._values, self._tests, plan, Iterations(stmt, count, begin, run)).emit()

    def _blocks(self, stmt: syntax.For, start: str, count: str) -> str:
        """Emits the iterations of a loop that run several at once, and returns the number of the first one that is left."""
        fn, outer = self._fn, self._values.safe
        indices = () if self._body.module.arguments.aliased else block_indices(stmt, outer)
        if not indices or not all(self._values.is_plain(each.value) for each in indices):
            return "0"
        steps: list[str] = []

        def tested(number: str) -> str:
            steps[:] = [number, *(fn.emit(f"add nuw nsw i64 {number}, {step}") for step in range(1, ITERATIONS))]
            total = ""
            for step in steps:
                self._set_variable(stmt, start, step)
                for value, extent in dict.fromkeys((each.value, self._tests.extent(each.element, each.dim)) for each in indices):
                    inside = fn.emit(f"icmp ult i64 {self._values.of(value).ssa}, {extent}")
                    total = fn.emit(f"and i1 {total}, {inside}") if total else inside
            return total

        def run(number: str) -> None:
            self._values.safe = outer | {(id(each.element), each.dim) for each in indices}
            self._terms = {name: [] for name in totals(stmt)}
            self._fetch_ahead(stmt, fn.emit(f"add i64 {start}, {number}"))
            with self._branched():
                for step in steps:
                    self._set_variable(stmt, start, step)
                    self._block(stmt.body)
            self._add_terms(stmt)
            self._values.safe, self._terms = outer, {}

        return in_groups(self._body, count, LEAST, ITERATIONS, tested, run)

    def _fetch_ahead(self, stmt: syntax.For, variable: str) -> None:
        """Emits prefetches of what a loop will read after some iterations. variable: the SSA name of its variable's value"""
        for element in streams(stmt):
            self._values.fetch(element, {stmt.var: SsaValue(variable, PYINT)})

    def _set_variable(self, stmt: syntax.For, start: str, number: str) -> None:
        """Emits the assignment of the variable of a loop. number: that of the iteration, counted from 0."""
        moved = number if stmt.step == 1 else self._fn.emit(f"mul i64 {number}, {stmt.step}")
        value = self._fn.emit(f"add i64 {start}, {moved}")
        self._values.assign(syntax.Name(stmt.var, dtype=PYINT), SsaValue(value, PYINT))
        self._forget({stmt.var})

    def _loop(self, stmt: syntax.For, start: str, count: str, first: str) -> None:
        """Emits the iterations of a loop one by one. first: the number of the first one of them"""
        fn = self._fn
        before, head, body, after = fn.current, fn.block("loop"), fn.block("body"), fn.block("after")
        fn.jump(head)
        self._begin(head)
        number = fn.name()
        fn.branch(fn.emit(f"icmp ult i64 {number}, {count}"), body, after)
        self._begin(body)
        self._set_variable(stmt, start, number)
        outer, self._watched = self._watched, watched(stmt)
        with self._branched():
            self._block(stmt.body)
        self._watched = outer
        following = fn.emit(f"add nuw i64 {number}, 1")
        fn.jump(head, hint(self._body, stmt))
        head.phis.append(f"{number} = phi i64 [ {first}, %{before.label} ], [ {following}, %{fn.current.label} ]")
        self._begin(after)


def _loop_end(body: ElementAccess, statement: Statement, region: Region, node: Instance) -> dict[str, BasicBlock]:
    """Returns the block behind the loop that a region may leave, by the label that it leaves."""
    if not region.leaves:
        return {}
    label, iterator = region.leaves
    (var,) = node.point[statement.iterators.index(iterator)].names
    return {label: body.loop_end(var)}


def is_sum(body: ElementAccess, stmt: syntax.Assign) -> bool:
    """Returns whether a float is made of itself and something that is added to it, or multiplied with it, in any order."""
    value = stmt.value
    match value:
        case syntax.Binary(op="+" | "*", left=updated) if updated == stmt.target:
            return value.dtype.is_float and value.dtype.bits >= 32 and body.module.floats.mode != "strict"
    return False


def sum_of(body: ElementAccess, values: RegionValues, stmt: syntax.Assign) -> SsaValue | None:
    """Emits a sum or product that a number or element is made of itself and something else (`is_sum`), and returns it; None for other values."""
    if not is_sum(body, stmt) or not isinstance(stmt.value, syntax.Binary):
        return None
    with body.math.in_sums(body.module.floats.mode):
        left, right = values.of(stmt.value.left), values.of(stmt.value.right)
        return body.math.reassociated(stmt.value.op, *body.math.broadcast(left, right))
