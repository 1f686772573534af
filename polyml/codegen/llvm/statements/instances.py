"""Instances of statements, one copy after the other: loads, the value, the store."""

from __future__ import annotations

from collections.abc import Iterator

from polyml.codegen.ir.program import Instance, Jam, Loop, Unroll, instances
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.lanes.lane_code import LaneEmitter
from polyml.codegen.llvm.regions.region_code import RegionEmitter
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.dot_products import DotProducts
from polyml.codegen.llvm.statements.expressions import ExpressionEmitter, Operands
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.codegen.llvm.statements.loop_elements import LoopElements
from polyml.codegen.llvm.statements.prefix_sums import PrefixSums
from polyml.dtypes import BOOL
from polyml.frontend import syntax
from polyml.model.core.scop import Statement


class StatementEmitter:
    """A StatementEmitter emits the instances of one function's statements."""

    def __init__(self, body: ElementAccess):
        self._body = body
        self._locations = AccessLocations(body.module.table, body.module.ranges)
        self.expressions = ExpressionEmitter(body, self._locations)
        self._prefix_sums = PrefixSums(body, self._locations, self.expressions)
        self._dot_products = DotProducts(body, self._locations, self.expressions)

    def elements(self, loop: Loop) -> LoopElements:
        """Returns what an innermost loop accesses, for all iterations that the Jam nodes around it run together."""
        return LoopElements(self._body, self._locations, loop)

    def enter(self, jam: Jam) -> None:
        """Emits the scans (prefix sums) that have to come before a Jam (iterations that run together): those of single elements
        that an instance in it reads before another one updates them. It is called right before the Jam's body is emitted.
        """
        if jam.scans:
            self._prefix_sums.begin(jam.body, self._copies)

    def instance(self, node: Instance) -> None:
        """Emits the instance for all iterations that the jams around it run together (unroll-and-jam)."""
        statement = self._body.scop.statements[node.statement]
        if statement.region is not None:
            self._region(statement, node)
            return
        if self._prefix_sums.take_updated(node):
            return
        for copy in self._copies(node):
            if not (copy.copy.scans and self._prefix_sums.emit(copy)):
                self._emit(copy)

    def _region(self, statement: Statement, node: Instance) -> None:
        """Emits an instance of a region, or those that run together as lanes."""
        for copy in self._body.jams.copies:
            if copy.lane_var is None:
                RegionEmitter(self._body, self._locations, statement, node).emit()
            else:
                LaneEmitter(self._body, self._locations, statement, node, copy).emit()

    def words(self, node: Unroll) -> bool:
        """Emits an unrolled loop as instructions on words of small numbers, and returns whether it did."""
        return self._dot_products.emit(node)

    def _copies(self, node: Instance) -> Iterator[InstanceCopy]:
        """Yields the copies of an instance that the Jam nodes around it make: one for each iteration that runs together with
        others, or for each vector of them.
        """
        statement, jams = self._body.scop.statements[node.statement], self._body.jams
        iterators = dict(zip(statement.iterators, node.point))
        return (InstanceCopy(statement, iterators, copy, node, jams.jams) for copy in jams.copies)

    def _emit(self, instance: InstanceCopy) -> None:
        """Emits one copy of an instance: for one iteration, or for a vector of iterations in lanes. If all lanes update one element
        by a reduction, each lane updates a partial result of it instead.
        """
        statement, copy = instance.statement, instance.copy
        reduction = self._body.module.program.reductions.get(statement.name)
        if copy.lane_var is None or copy.scans or reduction is not None and self._locations.varies_over_lanes(instance):
            reduction = None  # the lanes have no partial results
        operands = Operands(instance, reduction)
        value = self._added_up(instance, operands) or self.expressions.value(statement.value, operands)
        target = self._locations.of(instance, instance.write, None if reduction is None else reduction.operator)
        if reduction is not None and copy.last is not None:
            happens = SsaValue(self._body.lanes_up_to(copy.last, copy.lanes), BOOL, copy.lanes)
            value = self._body.math.select(happens, value, self.expressions.load(reduction.access, operands))
        self._body.store(target, value)
        if self._streams(instance):
            self._body.write_through(target)

    def _added_up(self, instance: InstanceCopy, operands: Operands) -> SsaValue | None:
        """Emits the sum or product of an element and something else of which LLVM's passes may make lanes, since the order is free, and
        returns it; None for other values, and where no such passes run.
        """
        statement, module = instance.statement, self._body.module
        reduction = module.program.reductions.get(statement.name)
        if reduction is None or not module.has_regions or instance.copy.lane_var is not None:
            return None
        match statement.value:
            case syntax.Binary(op="+" | "*" as op, left=left, right=right, dtype=dtype) if dtype is not None and dtype.is_float:
                values = self.expressions.value(left, operands), self.expressions.value(right, operands)
                return self._body.math.reassociated(op, *self._body.math.broadcast(*values))
        return None

    def _streams(self, instance: InstanceCopy) -> bool:
        """Returns whether the copy is one of several vectors that run in order, and no other instance beside it writes its array: each
        vector is then stored as soon as it is computed, since stores at the end, one behind the other, take longer.
        """
        jam = instance.around[-1] if instance.around else None
        if not isinstance(jam, Jam) or not jam.in_order:
            return False
        statements, array = self._body.scop.statements, instance.statement.write.array
        return sum(statements[other.statement].write.array == array for other in instances(jam.body)) == 1
