"""The context of all isl objects, and the number of operations that isl may use in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl

from polyml import interrupts

CONTEXT = isl.DEFAULT_CONTEXT


class BudgetExceeded(Exception):
    """BudgetExceeded is raised where isl has used up the number of operations that it was given."""


@dataclass
class _Account:
    """An _Account counts the operations of isl that all budgets inside one `account` block share.

    left: operations that remain
    charges: whether the operations that budgets use are subtracted from `left`
    """

    left: int
    charges: bool = True


_account: _Account | None = None


@contextmanager
def account(operations: int) -> Iterator[None]:
    """Lets isl use at most `operations` inside a `with` block, summed over all `budget` blocks in it. Raises BudgetExceeded.

    An account inside another one does not reduce what is left in the outer one.

    operations: isl's internal count, some millions per second
    """
    global _account
    outer, _account = _account, _Account(operations)
    try:
        with budget(operations):
            yield
    finally:
        _account = outer


def left() -> int | None:
    """Returns the operations of isl that remain in the `account` block around; None where there is none.

    What isl has used inside a `budget` block counts only after the block.
    """
    return None if _account is None else _account.left


def charge(operations: int) -> None:
    """Subtracts operations from the `account` block around, if there is one, as if isl had used them."""
    if _account is not None:
        _account.left -= operations


@contextmanager
def uncharged() -> Iterator[None]:
    """Lets `budget` blocks inside a `with` block use operations that the enclosing account does not count."""
    known = _account
    if known is None:
        yield
        return
    before, known.charges = known.charges, False
    try:
        yield
    finally:
        known.charges = before


@contextmanager
def budget(operations: int, context: isl.Context = CONTEXT) -> Iterator[None]:
    """Lets isl use at most `operations` inside a `with` block, and no more than the enclosing account still has.

    Raises BudgetExceeded when they are used up; isl works normally again afterwards. Of nested budgets the inner one counts from
    zero, and the outer one starts again after it.

    operations: isl's internal count, some millions per second
    """
    interrupts.checkpoint()
    known = _account if context is CONTEXT else None
    outer = context.get_max_operations()
    _settle(known, context, outer)
    most = operations if known is None or not known.charges else min(operations, known.left)
    if most <= 0:
        raise BudgetExceeded("the operations of this compilation are used up")
    context.reset_operations()
    context.set_max_operations(most)
    try:
        yield
    except (isl.Error, TypeError, ValueError):  # without memory, isl has no text of a number
        if not _is_exhausted(context):
            raise
        raise BudgetExceeded(f"isl exceeded {most} operations") from None
    finally:
        _settle(known, context, most)
        context.reset_operations()
        context.set_max_operations(outer if known is None or not outer or not known.charges else max(1, min(outer, known.left)))


def _settle(known: _Account | None, context: isl.Context, most: int) -> None:
    """Subtracts from an account the operations that isl has used since its count was last reset, if the account is charged.

    known: the account; None where there is none
    most: the limit that isl has now, 0 for none
    """
    if known is not None and known.charges and most:
        known.left -= _used(context, most)


def _used(context: isl.Context, most: int) -> int:
    """Returns the operations that isl has used since its count was last reset, or a few more.

    isl tells only whether a limit is reached, so a search tries limits. Each trial with a limit that is reached may itself count as
    some operations.

    most: the limit that isl has now
    """
    low, high = 0, 64
    while high < most:  # from small limits on, since most budgets are far from used up
        context.set_max_operations(high)
        if not _is_exhausted(context):
            break
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 4:
        middle = (low + high) // 2
        context.set_max_operations(middle)
        if _is_exhausted(context):
            low = middle
        else:
            high = middle
    context.set_max_operations(most)
    return high


def _is_exhausted(context: isl.Context) -> bool:
    """Returns whether isl has used up the operations that it may use.

    This cannot be read off the error that isl raised: a parser that gets no memory reports a syntax error, for example. Every
    allocation counts as an operation, so a further allocation fails too, and that is tried here.
    """
    try:
        isl.Space.params_alloc(context, 0)
    except isl.Error:
        return True
    return False
