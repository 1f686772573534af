"""Scans in lanes: each lane needs what the lane before passes on (see `codegen.analysis.scans`).

    X[i] = X[i - 1] + A[i], lanes i ... i + 7:   v = A[i ... i + 7]; v += v shifted by 1, 2, 4 lanes; X[i ... i + 7] = X[i - 1]
    + v

    X[i] = c*X[i - 1] + A[i]:   v += c**1, c**2, c**4 times v shifted by 1, 2, 4 lanes; X[i ... i + 7] = (c**1 ... c**8)*X[i - 1] + v

Source: Hillis and Steele, "Data parallel algorithms", CACM 1986.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from polyml.codegen.analysis.scans import is_read_before, multiplies, scanned_read
from polyml.codegen.ir.program import CannotRunTogether, Instance, Node
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.expressions import ExpressionEmitter, Operands
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.dtypes import BOOL
from polyml.model.core.reductions import identity, scan_factor
from polyml.model.core.scop import Statement
from polyml.quasi_affine.affine import Affine, extremum


@dataclass(frozen=True)
class _Scan:
    """A _Scan says how a value is passed on from lane to lane in a scan (prefix sum).

    access: the position, among the statement's reads, of the read that gets the running result.
    operator: combines the running result with the value of each lane.
    passes_on: whether each lane writes an element of its own, which the next lane reads; if not, all lanes update one element.
    factor: what the running result is multiplied by before a lane's value is added to it; 1.0 for other operators.
    """

    access: int
    operator: str
    passes_on: bool
    factor: float = 1.0


class PrefixSums:
    """A PrefixSums emits the scans (prefix sums) of one function's statements."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, expressions: ExpressionEmitter):
        self._body, self._locations, self._expressions = body, locations, expressions
        # values of elements after the updates of instances that were emitted before their turn
        self._updated: dict[Instance, dict[tuple[Location, int], SsaValue]] = {}

    def take_updated(self, node: Instance) -> bool:
        """Returns whether the instance was emitted already as a scan, because instances before it read the element that it updates.
        If so, reads that are emitted from now on get the updated values.
        """
        if node not in self._updated:
            return False
        self._expressions.scanned |= self._updated.pop(node)
        return True

    def begin(self, body: tuple[Node, ...], copies_of: Callable[[Instance], Iterable[InstanceCopy]]) -> None:
        """Emits, at the start of a `Jam` (iterations that run together) with scans (prefix sums), the scans of single elements that
        an instance in it reads before another one updates them; forgets what scans of an earlier Jam computed.

        body: the nodes in the Jam.
        copies_of: returns the copies of an instance, one for each vector of iterations that run together.

        Raises CannotRunTogether if the body has nodes other than instances.
        """
        self._expressions.scanned.clear()
        module = self._body.module
        nodes = tuple(node for node in body if isinstance(node, Instance))
        if len(nodes) < len(body):
            raise CannotRunTogether("lanes pass on values among instances alone")
        for node in reversed(nodes):  # an earlier one may read what a later one updates
            updates = node.statement in module.program.reductions or node.statement in module.program.scans
            if updates and is_read_before(module.program, module.conflicts, nodes, node):
                for copy in copies_of(node):
                    self.emit(copy, early=True)

    def emit(self, instance: InstanceCopy, early: bool = False) -> bool:
        """Emits the copy of an instance as a scan over its lanes, and returns True; returns False without code if the instance has
        no scan.

        early: whether the instance is emitted before its turn: reads then see the element as it was before each lane's update,
            until `take_updated` lets them see the updated one; otherwise they see the updated one at once.
        """
        scan = self._scan(instance)
        if scan is None:
            return False
        copy, math, element = instance.copy, self._body.math, self._body.scop.arrays[instance.statement.write.array].element
        combine = self._expressions.combine
        nothing = math.splat(self._expressions.constant(identity(scan.operator, element), element), copy.lanes)
        value = self._expressions.value(instance.statement.value, Operands(instance, None, {scan.access: nothing}))
        value = math.splat(value, copy.lanes)
        if copy.last is not None:
            value = math.select(SsaValue(self._body.lanes_up_to(copy.last, copy.lanes), BOOL, copy.lanes), value, nothing)
        own = self._prefixes(scan, value, nothing)
        alone = replace(copy, lane_var=None)
        carry = self._body.load(self._locations.of(instance, scan.access, copy=alone))
        powers = [scan.factor ** (lane + 1) for lane in range(copy.lanes)]
        after = combine(scan.operator, self._times(carry, powers[-1:]), math.element(own, copy.lanes - 1))
        value = combine(scan.operator, self._times(math.splat(carry, copy.lanes), powers), own)
        target = self._locations.of(instance, instance.write)
        if scan.passes_on:
            self._body.store(target, value)
            later = replace(alone, values=copy.one_vector_later())
            self._body.remember(self._locations.of(instance, scan.access, copy=later), after)
            return True
        if copy.last is not None and scan.factor != 1.0:  # lanes behind the last one have multiplied it further
            last = self._body.integer(extremum("min", [copy.last, Affine(copy.lanes - 1)]))
            after = SsaValue(self._body.fn.emit(f"extractelement {value.type} {value.ssa}, i64 {last}"), value.dtype)
        self._body.store(target, after)
        known = self._expressions.scanned
        known[(target, copy.part)] = value
        if early:
            self._updated.setdefault(instance.node, {})[(target, copy.part)] = value
            shifted = self._shifted(own, nothing, 1)
            before = self._times(math.splat(carry, copy.lanes), [1.0, *powers[:-1]])
            known[(target, copy.part)] = combine(scan.operator, before, shifted)
        return True

    def _scan(self, instance: InstanceCopy) -> _Scan | None:
        """Returns the scan that goes through the lanes of the instance, or None if there is none."""
        module, statement, lane_var = self._body.module, instance.statement, instance.copy.lane_var
        if lane_var is None:
            return None
        before = scanned_read(module.program, module.conflicts, statement, instance.node, lane_var)
        if before is not None:
            operator = module.program.scans[statement.name].operator
            return _Scan(before, operator, True, self._factor(statement, before) if operator == "+" else 1.0)
        if self._locations.varies_over_lanes(instance):
            return None
        if multiplies(module.program, module.conflicts, statement, instance.node):
            access = module.program.scans[statement.name].access
            return _Scan(access, "+", False, self._factor(statement, access))
        reduction = module.program.reductions.get(statement.name)
        return None if reduction is None else _Scan(reduction.access, reduction.operator, False)

    def _factor(self, statement: Statement, access: int) -> float:
        """Returns what the statement multiplies the read by; 1.0 where it does not."""
        return scan_factor(statement, access, self._body.scop.arrays[statement.write.array].element) or 1.0

    def _prefixes(self, scan: _Scan, value: SsaValue, nothing: SsaValue) -> SsaValue:
        """Emits the combination of each lane with all lanes before it, in log2(lanes) steps, and returns the vector.

        nothing: a vector of the operator's identity.
        """
        step = 1
        while step < value.lanes:
            before = self._times(self._shifted(value, nothing, step), [scan.factor**step] * value.lanes)
            value = self._expressions.combine(scan.operator, before, value)
            step *= 2
        return value

    def _times(self, value: SsaValue, factors: list[float]) -> SsaValue:
        """Emits the products of the lanes and the factors, and returns them: the value itself where all factors are 1."""
        if all(factor == 1.0 for factor in factors):
            return value
        constants = [self._expressions.constant(factor, value.dtype) for factor in factors]
        by = constants[0] if value.lanes == 1 else self._body.math.vector(constants)
        return self._expressions.combine("*", value, by)

    def _shifted(self, value: SsaValue, nothing: SsaValue, by: int) -> SsaValue:
        """Emits the vector with its lanes moved up by `by`, and returns it; its first lanes are those of `nothing`."""
        order = ", ".join(f"i32 {lane - by if lane >= by else value.lanes}" for lane in range(value.lanes))
        picked = f"shufflevector {value.type} {value.ssa}, {value.type} {nothing.ssa}, <{value.lanes} x i32> <{order}>"
        return replace(value, ssa=self._body.math.once(picked))
