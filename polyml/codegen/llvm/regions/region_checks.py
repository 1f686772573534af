"""The checks of regions: of Python's integers, and of floats that become integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.codegen.llvm.statements.checked_integers import CheckedIntegers
from polyml.dtypes import BOOL
from polyml.model.core.call_interface import Status


class RegionChecks(CheckedIntegers):
    """A RegionChecks emits the checks of a region: one that fails ends the call."""

    def flag(self, happened: SsaValue, status: Status = Status.LEFT_64_BITS, number: SsaValue | None = None) -> None:
        """Emits a branch that ends the call with the status if something happened for which Python raises an error."""
        fn, answer, happened = self._body.fn, str(int(status)), self._where_it_counts(happened)
        if self._conditions:  # LLVM would branch on the condition, and what is seldom foreseen costs more than both values
            opaque = fn.emit(f'call i8 asm "", "=r,0"(i8 {fn.emit(f"zext i1 {happened.ssa} to i8")})')
            happened = SsaValue(fn.emit(f"icmp ne i8 {opaque}, 0"), BOOL)
        wrong, fine = fn.block("wrong"), fn.block("fine")
        fn.branch(happened.ssa, wrong, fine)
        fn.current = wrong
        if number is not None:
            is_nan = fn.emit(f"fcmp uno {number.type} {number.ssa}, {number.ssa}")
            answer = fn.emit(f"select i1 {is_nan}, i64 {int(Status.NOT_A_NUMBER)}, i64 {answer}")
        self._body.fail(answer)
        fn.current = fine


class StripChecks(CheckedIntegers):
    """A StripChecks emits the checks of what is computed ahead for an iteration. total: whether one of them fails; None where there are none"""

    def __init__(self, body: Addresses):
        super().__init__(body)
        self.total: SsaValue | None = None

    @contextmanager
    def all_of(self, conditions: Sequence[SsaValue]) -> Iterator[None]:
        """Makes the checks inside of the `with` statement count only where all conditions hold."""
        before, self._conditions = self._conditions, [*self._conditions, *conditions]
        yield
        self._conditions = before

    def flag(self, happened: SsaValue, status: Status = Status.LEFT_64_BITS, number: SsaValue | None = None) -> None:
        """Emits that the iteration has to be looked at where something happened for which Python raises an error."""
        happened = self._where_it_counts(happened)
        self.total = happened if self.total is None else self._body.math.logical("or", self.total, happened)
