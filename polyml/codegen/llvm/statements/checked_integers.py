"""Python's integers in 64 bits: where a result does not fit, the kernel answers so instead of wrapping."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyml.codegen.ir.program import CannotRunTogether
from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.ssa_value import SsaValue, literal
from polyml.dtypes import BOOL, PYINT, DType
from polyml.model.core.call_interface import Status

_OVERFLOWING = {"+": "sadd", "-": "ssub", "*": "smul"}  # names of LLVM's intrinsics that tell


class CheckedIntegers:
    """The checks of one function, whose outcomes are in a flag that all of a kernel's functions share."""

    def __init__(self, body: Addresses):
        self._body = body
        self._conditions: list[SsaValue] = []  # under which what is being computed counts

    @contextmanager
    def only_if(self, condition: SsaValue) -> Iterator[None]:
        """Both sides of a choice are computed; what goes wrong in the one not taken did not happen."""
        self._conditions.append(condition)
        try:
            yield
        finally:
            self._conditions.pop()

    def flag(self, happened: SsaValue, status: Status = Status.LEFT_64_BITS, number: SsaValue | None = None) -> None:
        """Remember the first number that Python raises an error for; the kernel then answers so.

        happened: a truth value. status: what the kernel answers. number: a float that was converted, perhaps NaN.
        """
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

    def plain(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """+, - or * of Python ints: it wraps nowhere, so leaving 64 bits is remembered."""
        body = self._body
        name = f"llvm.{_OVERFLOWING[op]}.with.overflow.i64"
        body.declared.setdefault(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        pair = body.fn.emit(f"call {{i64, i1}} @{name}(i64 {left.ssa}, i64 {right.ssa})")
        self.flag(SsaValue(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 1"), BOOL))
        return SsaValue(body.fn.emit(f"extractvalue {{i64, i1}} {pair}, 0"), PYINT)

    def fits_floor_division(self, left: SsaValue, right: SsaValue) -> None:
        """Flag the one quotient that leaves 64 bits: -2**63 // -1."""
        math = self._body.math
        least = math.compare("==", left, _number(-(1 << 63)))
        minus = math.compare("==", right, _number(-1))
        self.flag(math.logical("and", least, minus))

    def fits_shift(self, shifted: SsaValue, left: SsaValue, right: SsaValue) -> None:
        """Flag a shift to the left that loses bits: shifted back it is another number."""
        math = self._body.math
        self.flag(math.compare("!=", math.shift(">>", shifted, right), left))

    def fits_float(self, value: SsaValue) -> None:
        """Flag a float that 64 bits do not hold as an integer."""
        math = self._body.math
        bound = SsaValue(literal(2.0**63, value.dtype), value.dtype)
        below = math.compare("<", value, bound)
        above = math.compare(">=", value, math.negate(bound))
        self.flag(math.invert(math.logical("and", below, above)), Status.TOO_LARGE_A_FLOAT, value)

    def fits_type(self, value: SsaValue, to: DType) -> None:
        """Flag a Python int that the type does not hold: NumPy raises OverflowError for it."""
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
    return SsaValue(literal(value, PYINT), PYINT)
