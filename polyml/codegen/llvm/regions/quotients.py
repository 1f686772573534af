"""// and % of integers in regions: the usual case, a divisor above zero, has a way of its own, on which results are seldom moved.

Divisions take long, and a number that a loop divides again and again (`x = x * x % m`) waits for all that stands around them. What NumPy
and Python define for divisors of zero and below, and for the least integer by -1, stands on the other way. Processors foresee which
way is taken, since few loops have divisors of both signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polyml.codegen.analysis.integer_ranges import Interval
from polyml.codegen.llvm.addresses import Addresses
from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.codegen.llvm.ssa_value import SsaValue
from polyml.frontend import syntax

Emitted = Callable[[], SsaValue]


def by_either(
    body: Addresses, op: str, numbers: tuple[SsaValue, SsaValue], known: tuple[Interval, Interval], other: Emitted
) -> SsaValue:
    """Emits // or % of two signed integers, and returns it.

    numbers, known: both operands, and in which intervals they are
    other: emits the operation for any divisor
    """
    fn, (left, right), (dividends, divisors) = body.fn, numbers, known
    if divisors[0] > 0:
        return _by_positive(fn, op, left, right, dividends[0] >= 0)
    if divisors[1] <= 0:
        return other()
    blocks, after = (fn.block("positive"), fn.block("any")), fn.block("after")
    fn.branch(fn.emit(f"icmp sgt {right.type} {right.ssa}, 0"), *blocks)
    ends = []
    for block, made in zip(blocks, (lambda: _by_positive(fn, op, left, right, dividends[0] >= 0), other)):
        fn.current = block
        body.math.forget()
        ends.append((made(), fn.current))
        fn.jump(after)
    fn.current = after
    body.math.forget()
    result = fn.name()
    after.phis.append(f"{result} = phi {left.type} {', '.join(f'[ {value.ssa}, %{end.label} ]' for value, end in ends)}")
    return replace(left, ssa=result)


def _by_positive(fn: FunctionBuilder, op: str, left: SsaValue, right: SsaValue, is_natural: bool) -> SsaValue:
    """Emits // or % by a number above zero, rounded down, and returns it. is_natural: whether the dividend is not negative"""
    kind, operands = left.type, f"{left.ssa}, {right.ssa}"
    if is_natural:
        return replace(left, ssa=fn.emit(f"{'udiv' if op == '//' else 'urem'} {kind} {operands}"))
    rest = fn.emit(f"srem {kind} {operands}")
    below = fn.emit(f"icmp slt {kind} {rest}, 0")
    if op == "%":
        moved = fn.emit(f"add {kind} {rest}, {right.ssa}")
        return replace(left, ssa=fn.emit(f"select i1 {below}, {kind} {moved}, {kind} {rest}"))
    quotient = fn.emit(f"sdiv {kind} {operands}")
    return replace(left, ssa=fn.emit(f"add {kind} {quotient}, {fn.emit(f'sext i1 {below} to {kind}')}"))


def by_constant(fn: FunctionBuilder, op: str, left: SsaValue, divisor: syntax.Expr, is_natural: bool) -> SsaValue | None:
    """Emits // or % of a Python int by a positive constant, and returns its value; None for other divisors.

    is_natural: whether the dividend is not negative
    """
    if not isinstance(divisor, syntax.Const) or divisor.value <= 0:
        return None
    by = int(divisor.value)
    if by & (by - 1) == 0:
        operation = f"ashr i64 {left.ssa}, {by.bit_length() - 1}" if op == "//" else f"and i64 {left.ssa}, {by - 1}"
        return replace(left, ssa=fn.emit(operation))
    return _by_positive(fn, op, left, replace(left, ssa=str(by)), is_natural)


def has_simple_divisor(e: syntax.Binary) -> bool:
    """Returns whether an operation is none of these, or has a positive constant as its divisor."""
    return e.op not in ("//", "%") or isinstance(e.right, syntax.Const) and int(e.right.value) > 0
