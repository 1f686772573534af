"""Which values of a statement are computed once, before it, since several operands are the same."""

from __future__ import annotations

from collections import Counter

from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import children
from polyml.model.core.scop import Gather, Load, Statement, Value


def shared(statement: Statement) -> set[int]:
    """Returns the ids of the sub-trees of the statement's value that are operands more than once, and that can be computed before
    the statement since nothing in them may fail.
    """
    uses: Counter[int] = Counter()
    unsafe: dict[int, bool] = {}

    def visit(e: Value) -> bool:
        uses[id(e)] += 1
        if uses[id(e)] > 1:
            return unsafe[id(e)]
        inside = [visit(child) for child in children(e)]
        unsafe[id(e)] = any(inside) or _may_fail(e, statement)
        return unsafe[id(e)]

    visit(statement.value)
    return {key for key, count in uses.items() if count > 1 and not unsafe[key]}


def _may_fail(e: Value, statement: Statement) -> bool:
    """Returns whether the value's own operation, its operands aside, may make the call fail or load outside of an array."""
    if isinstance(e, Load):
        return statement.reads[e.access].may
    if isinstance(e, Gather):
        return True
    if isinstance(e, syntax.Cast):
        return PYINT in (e.to, e.operand.dtype)
    return isinstance(e, (syntax.Unary, syntax.Binary)) and (e.dtype == PYINT or isinstance(e, syntax.Binary) and e.op == "**")
