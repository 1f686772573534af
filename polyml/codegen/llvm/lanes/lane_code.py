"""The statements of a Region become code for several instances at once, one in each lane of vectors.

A mask says which lanes are at a place of the code. A branch that some lanes take has their mask; lanes that leave a loop or a Block
wait where it ends for the others. Where one instance ends with an error, nothing has been written yet, and all run again one by one,
so that memory and errors are those of Python.

Pharr and Mark, "ispc: A SPMD compiler for high-performance CPU programming", InPar 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyml.codegen.analysis.region_lanes import cells, fixed_cells, lane_numbers, read_cells
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import Instance, Loop
from polyml.codegen.llvm.addresses import LoopScope
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.lanes.lane_values import LaneGroup, LaneValues
from polyml.codegen.llvm.regions.region_code import RegionEmitter, sum_of
from polyml.codegen.llvm.regions.statement_blocks import StatementBlocks
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.locations import AccessLocations
from polyml.dtypes import BOOL, PYINT
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import left
from polyml.model.core.scop import Statement

_CHEAP = 12  # nodes of the values that lanes compute in a branch without asking whether any of them takes it


class LaneEmitter(StatementBlocks):
    """A LaneEmitter emits the instances of a region that run together."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, statement: Statement, node: Instance, copy: Copy):
        if statement.region is None or copy.lane_var is None:
            raise TypeError(f"{statement.name} is no region in lanes")
        super().__init__(body)
        self._region = statement.region
        self._locations, self._statement, self._node, self._copy = locations, statement, node, copy
        self._lane_var = copy.lane_var
        own = {name for name, e in zip(statement.iterators, node.point) if copy.lane_var in e.names}
        self._numbers = lane_numbers(self._region, own)
        self._rerun = body.fn.block("rerun")
        written, read = cells(self._region) or frozenset(), read_cells(self._region)
        group = LaneGroup(copy, self._numbers, written, written & read | fixed_cells(self._region, self._numbers), self._rerun)
        self._values = LaneValues(body, locations, statement, node, group)
        self._masks = self._values.masks
        self._left: dict[str, str] = {}  # the masks of lanes that wait at the end of Blocks, by label

    def emit(self) -> None:
        """Emits the region's statements, and behind them a loop of single instances for where one ends with an error."""
        body, fn, copy = self._body, self._fn, self._copy
        body.flush()
        ones = "splat (i1 true)" if copy.last is None else body.lanes_up_to(copy.last, copy.lanes)
        self._masks.live = SsaValue(ones, BOOL, copy.lanes)
        self._values.begin()
        with body.math.one_by_one():
            self._begin(fn.current)
            self._block(self._region.body)
        body.math.forget()
        self._values.end()
        done = fn.block("done")
        fn.jump(done)
        self._one_by_one(done)
        fn.current = done
        body.math.forget()

    def _one_by_one(self, done: BasicBlock) -> None:
        """Emits the loop of single instances, behind which code goes on at `done`."""
        body, fn, copy = self._body, self._fn, self._copy
        first = copy.values[self._lane_var]
        fn.current = self._rerun
        body.math.forget()
        start, last = body.integer(first), body.integer(first + (copy.lanes - 1 if copy.last is None else copy.last))
        head, single = fn.block("one"), fn.name()
        before = fn.current
        fn.jump(head)
        fn.current = head
        body.names[self._lane_var] = (single, len(body.scopes))
        body.scopes.append(LoopScope(head))
        body.module.ranges.enter(Loop(self._lane_var, (first,), (first + copy.lanes - 1,), 1, ()))
        around, body.jams = body.jams, type(body.jams)()
        RegionEmitter(body, self._locations, self._statement, self._node).emit()
        body.jams = around
        body.scopes.pop()
        del body.names[self._lane_var]
        following = fn.emit(f"add i64 {single}, 1")
        head.phis.append(f"{single} = phi i64 [ {start}, %{before.label} ], [ {following}, %{fn.current.label} ]")
        fn.branch(fn.emit(f"icmp sle i64 {following}, {last}"), head, done)

    # -- statements ------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[syntax.Stmt]) -> None:
        """Emits statements one behind the other. Where no lane is left among them, code goes on at their end."""
        end = self._fn.block("end")
        for position, stmt in enumerate(body):
            self._stmt(stmt)
            if left((stmt,)) and position + 1 < len(body):
                more = self._fn.block("more")
                self._fn.branch(self._masks.any(self._masks.live), more, end)
                self._begin(more)
        self._go(end)

    def _stmt(self, stmt: syntax.Stmt) -> None:
        match stmt:
            case syntax.Assign():
                self._values.assign(stmt.target, self._assigned(stmt))
            case syntax.If():
                self._if(stmt)
            case syntax.For():
                self._for(stmt)
            case syntax.While():
                self._while(stmt)
            case syntax.Block():
                self._left[stmt.label] = self._masks.new()
                self._block(stmt.body)
                self._masks.join(self._left[stmt.label])
            case syntax.Leave():
                self._masks.add(self._left[stmt.label], self._masks.live)
                self._masks.live = SsaValue("zeroinitializer", BOOL, self._copy.lanes)
            case syntax.Raise():
                self._values.failing(SsaValue("true", BOOL, 1))
            case _:
                raise TypeError(f"not a statement of a region: {stmt!r}")

    def _assigned(self, stmt: syntax.Assign) -> SsaValue:
        return sum_of(self._body, self._values, stmt) or self._values.of(stmt.value)

    def _if(self, stmt: syntax.If) -> None:
        values, math = self._values, self._body.math
        test = math.truth(values.of(stmt.condition))
        if test.lanes == 1:
            self._branch(test.ssa, stmt)
            return
        saved, joined = self._masks.live, self._masks.new()
        for body, holds in ((stmt.then, test), (stmt.orelse, math.invert(test))):
            mask = self._masks.among(saved, holds)
            if all(map(self._is_cheap, body)):
                self._masks.live = mask
                for inner in body:
                    self._stmt(inner)
                self._masks.add(joined, mask)
                continue
            taken, after = self._fn.block("taken"), self._fn.block("after")
            self._fn.branch(self._masks.any(mask), taken, after)
            self._begin(taken)
            self._masks.live = mask
            self._block(body)
            self._masks.add(joined, self._masks.live)
            self._go(after)
        self._masks.live = self._masks.at(joined)

    def _is_cheap(self, stmt: syntax.Stmt) -> bool:
        """Returns whether lanes run a statement without a branch around it, even if none of them takes it."""
        if not isinstance(stmt, syntax.Assign) or not isinstance(stmt.target, syntax.Name):
            return False
        is_small = sum(1 for _ in traversal.nodes(stmt.value)) <= _CHEAP
        return is_small and stmt.target.name in self._numbers.varying and self._values.is_plain(stmt.value)

    def _while(self, stmt: syntax.While) -> None:
        values, fn = self._values, self._fn
        waiting = self._masks.new()
        head, test, body, after = (fn.block(hint) for hint in ("head", "test", "body", "after"))
        self._go(head)
        fn.branch(self._masks.any(self._masks.live), test, after)
        self._begin(test)
        self._going(self._body.math.truth(values.of(stmt.condition)), waiting, (body, after))
        self._begin(body)
        self._block(stmt.body)
        fn.jump(head)
        self._begin(after)
        self._masks.join(waiting)

    def _for(self, stmt: syntax.For) -> None:
        values, fn, math = self._values, self._fn, self._body.math
        start, stop = math.broadcast(values.of(stmt.start), values.of(stmt.stop))
        count, waiting = self._count(start, stop, stmt.step), self._masks.new()
        before, head, test, body, after = fn.current, *(fn.block(hint) for hint in ("head", "test", "body", "after"))
        self._go(head)
        number = SsaValue(fn.name(), PYINT)
        fn.branch(self._masks.any(self._masks.live), test, after)
        self._begin(test)
        self._going(math.compare("<", number, count), waiting, (body, after))
        self._begin(body)
        moved = math.plain("*", number, SsaValue(str(stmt.step), PYINT))
        values.assign(syntax.Name(stmt.var, dtype=PYINT), math.plain("+", start, moved))
        self._block(stmt.body)
        following = fn.emit(f"add nuw i64 {number.ssa}, 1")
        fn.jump(head)
        head.phis.append(f"{number.ssa} = phi i64 [ 0, %{before.label} ], [ {following}, %{fn.current.label} ]")
        self._begin(after)
        self._masks.join(waiting)

    def _going(self, condition: SsaValue, waiting: str, targets: tuple[BasicBlock, BasicBlock]) -> None:
        """Emits a branch into a loop's body, or behind it where no lane goes on.

        condition: whether a lane goes on
        waiting: the place of the mask of lanes that do not
        targets: the loop's body, and what is behind it
        """
        if condition.lanes == 1:
            self._fn.branch(condition.ssa, *targets)
            return
        here = self._masks.live
        self._masks.add(waiting, self._masks.among(here, self._body.math.invert(condition)))
        self._masks.live = self._masks.among(here, condition)
        self._fn.branch(self._masks.any(self._masks.live), *targets)

    def _count(self, start: SsaValue, stop: SsaValue, step: int) -> SsaValue:
        """Emits the number of iterations of a loop in each lane, or in all, and returns it."""
        math = self._body.math
        low, high = (start, stop) if step > 0 else (stop, start)
        length = math.plain("-", high, low)
        if abs(step) > 1:  # rounded up, without a sum that may leave 64 bits
            by, one = math.splat(SsaValue(str(abs(step)), PYINT), length.lanes), SsaValue("1", PYINT)
            less = math.plain("-", length, one)
            length = math.plain("+", replace(less, ssa=self._fn.emit(f"udiv {less.type} {less.ssa}, {by.ssa}")), one)
        return math.select(math.compare("<", low, high), length, SsaValue("0", PYINT))
