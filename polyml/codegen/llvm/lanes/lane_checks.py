"""The checks of Python's integers in lanes, where an error of one lane makes all instances run again one by one."""

from __future__ import annotations

from collections.abc import Callable

from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.ssa_value import SsaValue, vector_type
from polyml.codegen.llvm.statements.checked_integers import CheckedIntegers
from polyml.dtypes import BOOL, PYINT
from polyml.model.core.call_interface import Status


class LaneChecks(CheckedIntegers):
    """A LaneChecks emits the checks of lanes.

    failing: emits what happens where a check fails
    """

    def __init__(self, body: ElementAccess, failing: Callable[[SsaValue], None]):
        super().__init__(body)
        self._failing = failing

    def flag(self, happened: SsaValue, status: Status = Status.LEFT_64_BITS, number: SsaValue | None = None) -> None:
        """Emits a branch to the instances one by one if something happened for which Python raises an error."""
        for condition in self._conditions:
            happened = self._body.math.logical("and", happened, condition)
        self._failing(happened)

    def plain(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits +, - or * of Python ints and returns it; a result that leaves 64 bits is an error."""
        factors = (
            [(one, int(other.ssa)) for one, other in ((left, right), (right, left)) if other.ssa.isdigit()] if op == "*" else []
        )
        if factors and factors[0][1] > 0 and factors[0][0].lanes > 1:
            return self._multiple(*factors[0])
        left, right = self._body.math.broadcast(left, right)
        if left.lanes == 1:
            return super().plain(op, left, right)
        kind, bits = left.type, vector_type("i1", left.lanes)
        name = f"llvm.{ {'+': 'sadd', '-': 'ssub', '*': 'smul'}[op] }.with.overflow.v{left.lanes}i64"
        self._body.declared.setdefault(name, f"declare {{{kind}, {bits}}} @{name}({kind}, {kind})")
        pair = self._body.fn.emit(f"call {{{kind}, {bits}}} @{name}({kind} {left.ssa}, {kind} {right.ssa})")
        self.flag(SsaValue(self._body.fn.emit(f"extractvalue {{{kind}, {bits}}} {pair}, 1"), BOOL, left.lanes))
        return SsaValue(self._body.fn.emit(f"extractvalue {{{kind}, {bits}}} {pair}, 0"), PYINT, left.lanes)

    def _multiple(self, value: SsaValue, factor: int) -> SsaValue:
        """Emits a number times a positive constant, and returns it. Processors have no vectors of products of 128 bits."""
        math, least, most = self._body.math, -(2**63), 2**63 - 1
        small = math.compare("<", value, SsaValue(str(-(-least // factor)), PYINT))
        large = math.compare(">", value, SsaValue(str(most // factor), PYINT))
        self.flag(math.logical("or", small, large))
        return math.plain("*", value, SsaValue(str(factor), PYINT))
