"""The context of all isl objects, and the number of operations that isl may use in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import islpy as isl

from polyml import interrupts

CONTEXT = isl.DEFAULT_CONTEXT


class BudgetExceeded(Exception):
    """BudgetExceeded is raised where isl has used up the operations it was given."""


@dataclass
class _Account:
    """An _Account holds the operations that all budgets inside one `account` share.

    left: operations that remain
    charges: whether what is used is subtracted from them
    """

    left: int
    charges: bool = True


_account: _Account | None = None


@contextmanager
def account(operations: int) -> Iterator[None]:
    """Lets isl use at most `operations` inside the block, summed over all budgets in it. Raises BudgetExceeded beyond them.

    An account inside another one counts for itself.
    """
    global _account
    outer, _account = _account, _Account(operations)
    try:
        with budget(operations):
            yield
    finally:
        _account = outer


def left() -> int | None:
    """Returns the operations that remain in the enclosing account, None without one. A budget still open is not counted yet."""
    return None if _account is None else _account.left


def charge(operations: int) -> None:
    """Subtracts operations from the enclosing account, as if isl had used them here."""
    if _account is not None:
        _account.left -= operations


@contextmanager
def uncharged() -> Iterator[None]:
    """Exempts budgets inside the block from the enclosing account."""
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
    """Lets isl use at most `operations` inside the block, and no more than the enclosing account still has.

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
    except (isl.Error, TypeError, ValueError):  # a number that isl has no memory to write has no text either
        if not _is_exhausted(context):
            raise
        raise BudgetExceeded(f"isl exceeded {most} operations") from None
    finally:
        _settle(known, context, most)
        context.reset_operations()
        context.set_max_operations(outer if known is None or not outer or not known.charges else max(1, min(outer, known.left)))


def _settle(known: _Account | None, context: isl.Context, most: int) -> None:
    """Subtracts from the account what isl used since the last reset."""
    if known is not None and known.charges and most:
        known.left -= _used(context, most)


def _used(context: isl.Context, most: int) -> int:
    """Returns the operations since the last reset, or a few more.

    isl tells only whether a limit is reached. So limits are tried; each trial below what was used may count as some operations
    itself.
    """
    low, high = 0, 64
    while high < most:  # from below: most budgets are far from used up
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
    """Says whether the operations are used up.

    The error that isl raised may tell something else: a reader that gets no memory for what it reads reports a syntax error.
    Every allocation counts as an operation, so the next one fails too.
    """
    try:
        isl.Space.params_alloc(context, 0)
    except isl.Error:
        return True
    return False
