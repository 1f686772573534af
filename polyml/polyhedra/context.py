"""The one context of all isl objects, and the operations that isl may use in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polyml import interrupts

CONTEXT = isl.DEFAULT_CONTEXT


class BudgetExceeded(Exception):
    """isl used up the operations it was given."""


@contextmanager
def budget(operations: int, context: isl.Context = CONTEXT) -> Iterator[None]:
    """Let isl use at most `operations` (an internal count, some millions per second) inside the block.

    Raises BudgetExceeded when they are used up; isl works normally again afterwards. Of nested budgets the inner one
    counts from zero and the outer one starts again after it.
    """
    interrupts.checkpoint()
    outer = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    except (isl.Error, TypeError, ValueError):  # a number that isl has no memory to write has no text either
        if not _is_exhausted(context):
            raise
        raise BudgetExceeded(f"isl exceeded {operations} operations") from None
    finally:
        context.reset_operations()
        context.set_max_operations(outer)


def _is_exhausted(context: isl.Context) -> bool:
    """Whether the operations are used up. The error itself may tell something else: a reader that gets no memory for
    what it reads reports a syntax error. Every allocation counts as an operation, so that the next one fails too.
    """
    try:
        isl.Space.params_alloc(context, 0)
    except isl.Error:
        return True
    return False
