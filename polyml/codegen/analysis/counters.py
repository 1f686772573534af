"""Which of a SCoP's Python ints are counters: they move by small constants alone, so that code need not test them for leaving 64 bits.

    inside = 0
    for i in range(n):
        if x[i] < y[i]:
            inside += 1       2**53 such steps would take years

A counter that was expanded along a loop, or whose new value goes through another variable, is one too.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from polyml.codegen.analysis.region_integers import MOST_STEPS, SMALL_STEP
from polyml.dtypes import BOOL, PYINT
from polyml.frontend import syntax
from polyml.model.core.scop import Index, Load, Role, Scop, Statement, Value


def counters(scop: Scop) -> frozenset[str]:
    """Returns the local variables that are counters: each of their values is near 0, or a counter's and at most 16 more or less."""
    found = {a.name for a in scop.arrays.values() if a.role is Role.LOCAL and a.element == PYINT}
    changed = True
    while changed:
        others = {
            access.array for s in scop.statements.values() if s.region is not None or not _counts(s, found) for access in s.writes
        } & found
        found -= others
        changed = bool(others)
    return frozenset(found)


def counted(value: Value | syntax.Expr, statement: Statement, arrays: Set[str]) -> bool:
    """Returns whether a value of a statement is a counter's and a small constant more or less. arrays: the counters"""
    if not isinstance(value, syntax.Binary) or value.op not in ("+", "-") or value.dtype != PYINT:
        return False
    return _is_read(value.left, statement, arrays) and _is_small(value.right, SMALL_STEP)


def _counts(statement: Statement, arrays: Set[str]) -> bool:
    """Returns whether all values that the statement may assign are those of a counter."""
    return all(
        _is_read(v, statement, arrays) or _is_small(v, MOST_STEPS) or counted(v, statement, arrays)
        for v in _choices(statement.value)
    )


def _is_read(value: Value | syntax.Expr, statement: Statement, arrays: Set[str]) -> bool:
    return isinstance(value, Load) and statement.reads[value.access].array in arrays


def _choices(value: Value | syntax.Expr) -> Iterator[Value | syntax.Expr]:
    """Yields the values between which conditional expressions choose."""
    if isinstance(value, syntax.IfExp):
        yield from _choices(value.then)
        yield from _choices(value.orelse)
    else:
        yield value


def _is_small(value: Value | syntax.Expr, most: int) -> bool:
    """Returns whether an integer is within -most and most, whichever way it is chosen."""
    for v in _choices(value):
        if isinstance(v, syntax.Cast) and v.operand.dtype == BOOL or isinstance(v, Index) and most >= MOST_STEPS:
            continue
        if not isinstance(v, syntax.Const) or not isinstance(v.value, int) or abs(v.value) > most:
            return False
    return True
