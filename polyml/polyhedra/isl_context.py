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
    """An _Account holds how many operations isl may still use inside one `account` block.

    left: this number
    charges: whether operations that isl uses are subtracted from `left`; False inside an `uncharged` block
    """

    left: int
    charges: bool = True


_account: _Account | None = None


@contextmanager
def account(operations: int) -> Iterator[None]:
    """Lets isl use at most `operations` inside a `with` block, over all `budget` blocks in it together. Raises BudgetExceeded.

    It has its own count: what isl uses inside it is not subtracted from that of an `account` block around it.

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
    """Returns how many operations isl may still use in the innermost `account` block that is running; None where there is none.

    What isl uses inside a `budget` block is subtracted at the end of that block.
    """
    return None if _account is None else _account.left


def charge(operations: int) -> None:
    """Subtracts `operations` from those that isl may still use in the innermost `account` block; does nothing outside such
    blocks.
    """
    if _account is not None:
        _account.left -= operations


@contextmanager
def uncharged() -> Iterator[None]:
    """Frees a `with` block from the limit of the `account` block around it: each `budget` block in it is limited by itself alone.

    What isl uses inside is not subtracted from the operations that the account has left.
    """
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
    """Lets isl use at most `operations` inside a `with` block, and no more than the `account` block around it has left.

    Raises BudgetExceeded when they are used up; isl works normally again afterwards. A budget inside another one has its own count
    from zero, and after it the count of the outer one begins again from zero.

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
        if not is_exhausted(context):
            raise
        raise BudgetExceeded(f"isl exceeded {most} operations") from None
    finally:
        _settle(known, context, most)
        context.reset_operations()
        context.set_max_operations(outer if known is None or not outer or not known.charges else max(1, min(outer, known.left)))


def _settle(known: _Account | None, context: isl.Context, most: int) -> None:
    """Subtracts from an account the operations that isl has used since its count was last reset, except in `uncharged` blocks.

    known: the account; None where there is none
    most: the limit that isl has now, 0 for none
    """
    if known is not None and known.charges and most:
        known.left -= _used(context, most)


def _used(context: isl.Context, most: int) -> int:
    """Returns the operations that isl has used since its count was last reset, or a few more.

    isl tells only whether a limit is reached, so a search tries limits, down to a thirtieth of what was used. Each trial with a limit that is
    reached may itself count as some operations, and takes as long as many of them.

    most: the limit that isl has now
    """
    low, high = 0, 512
    while high < most:  # from small limits on, since most budgets are far from used up
        context.set_max_operations(high)
        if not is_exhausted(context):
            break
        low, high = high, 8 * high
    high = min(high, most)
    while high - low > max(64, high >> 5):
        middle = (low + high) // 2
        context.set_max_operations(middle)
        if is_exhausted(context):
            low = middle
        else:
            high = middle
    context.set_max_operations(most)
    return high


def is_exhausted(context: isl.Context = CONTEXT) -> bool:
    """Returns whether isl has used up the operations that it may use, so that whatever was asked of it may have no answer.

    This cannot be read off the error that isl raised: a parser that gets no memory reports a syntax error, for example. Every
    allocation counts as an operation, so a further allocation fails too, and that is tried here.
    """
    try:
        isl.Space.params_alloc(context, 0)
    except isl.Error:
        return True
    return False
