"""Python's integers in 64 bits: if a result does not fit, the kernel says so in its answer instead of wrapping around."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyml.codegen.ir.program import CannotRunTogether
from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.ssa_value import SsaValue, literal
from polyml.dtypes import BOOL, PYINT, DType
from polyml.model.core.call_interface import Status

_OVERFLOWING = {"+": "sadd", "-": "ssub", "*": "smul"}  # parts of the names of LLVM's intrinsics


class CheckedIntegers:
    """A CheckedIntegers emits the checks of Python's integers in one function. A check that fails sets a flag that all functions
    of a kernel share.
    """

    def __init__(self, body: Addresses):
        self._body = body
        self._conditions: list[SsaValue] = []  # conditions under which checks count now

    @contextmanager
    def only_if(self, condition: SsaValue) -> Iterator[None]:
        """Makes the checks inside of the `with` statement count only where the condition holds. A conditional expression needs
        this: both of its sides are computed, but an overflow in the side that is not taken is no error.
        """
        self._conditions.append(condition)
        try:
            yield
        finally:
            self._conditions.pop()

    def flag(self, happened: SsaValue, status: Status = Status.LEFT_64_BITS, number: SsaValue | None = None) -> None:
        """Emits code that sets the overflow flag if something happened for which Python raises an error. The first error is
        kept.

        happened: a truth value.
        status: the flag's new value, with which the kernel returns.
        number: a float that was converted; if it is a NaN, the status is NOT_A_NUMBER.
        """
        fn, answer, happened = self._body.fn, str(int(status)), self._where_it_counts(happened)
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

    def _where_it_counts(self, happened: SsaValue) -> SsaValue:
        """Emits whether something happened where all conditions hold under which it counts, and returns it."""
        for condition in self._conditions:
            happened = self._body.math.logical("and", happened, condition)
        return happened

    def plain(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits +, - or * of Python ints and returns it; a result that leaves 64 bits sets the flag."""
        body = self._body
        name = f"llvm.{_OVERFLOWING[op]}.with.overflow.i64"
        body.declared.setdefault(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        pair = body.fn.emit(f"call {{i64, i1}} @{name}(i64 {left.ssa}, i64 {right.ssa})")
        self.flag(SsaValue(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 1"), BOOL))
        return SsaValue(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 0"), PYINT)

    def fits_floor_division(self, left: SsaValue, right: SsaValue) -> None:
        """Emits a check that sets the flag for the one quotient that leaves 64 bits: -2**63 // -1."""
        math = self._body.math
        least = math.compare("==", left, _number(-(1 << 63)))
        minus = math.compare("==", right, _number(-1))
        self.flag(math.logical("and", least, minus))

    def fits_shift(self, shifted: SsaValue, left: SsaValue, right: SsaValue) -> None:
        """Emits a check that sets the flag for a shift to the left that loses bits: shifted back it is another number.

        shifted: left << right.
        """
        math = self._body.math
        self.flag(math.compare("!=", math.shift(">>", shifted, right), left))

    def fits_float(self, value: SsaValue) -> None:
        """Emits a check that sets the flag for a float whose integer part 64 bits cannot hold."""
        math = self._body.math
        bound = SsaValue(literal(2.0**63, value.dtype), value.dtype)
        below = math.compare("<", value, bound)
        above = math.compare(">=", value, math.negate(bound))
        self.flag(math.invert(math.logical("and", below, above)), Status.TOO_LARGE_A_FLOAT, value)

    def fits_type(self, value: SsaValue, to: DType) -> None:
        """Emits a check that sets the flag for a Python int that the type cannot hold, for which NumPy raises OverflowError."""
        math = self._body.math
        if to.bits == 64:
            if to.kind == "u":
                self.flag(math.compare("<", value, _number(0)), Status.DOES_NOT_FIT)
            return
        low = -(1 << (to.bits - 1)) if to.kind == "i" else 0
        high = (1 << (to.bits - (to.kind == "i"))) - 1
        outside = math.logical("or", math.compare("<", value, _number(low)), math.compare(">", value, _number(high)))
        self.flag(outside, Status.DOES_NOT_FIT)


def _number(value: int) -> SsaValue:
    """Returns a constant Python int as an SSA value."""
    return SsaValue(literal(value, PYINT), PYINT)
