"""Sizes that data decide and that have to be alike, compared as the program runs.

x[m] + y[k]    ->    raise ValueError unless n == m or n == 1 or m == 1
                     size = m if n == 1 else n
"""

from __future__ import annotations

from collections.abc import Sequence

from polyml.errors import NO_BROADCAST, NO_FIT
from polyml.frontend import syntax
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.views import Elements, require_equal, stretched
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_ONE = syntax.Const(1)


def joined(builder: LoopBuilder, sizes: Sequence[Extent], loc: Loc | None) -> Extent | None:
    """Returns the size of a dimension of what is computed from operands that have these sizes there, after adding the tests that they fit
    together; None where what is known when a call begins decides.
    """
    if not builder.require.tests(loc) or not any(map(builder.is_counted, sizes)):
        return None
    first, *others = {size.length: size for size in sizes}.values()
    size = builder.held_number(first.expr, loc)
    for other in others:
        next_size = builder.held_number(other.expr, loc)
        are_ones = [syntax.Compare("==", each, _ONE) for each in (size, next_size)]
        differ = syntax.Compare("!=", size, next_size)
        wrong = syntax.Logical("and", (differ, *(syntax.Unary("not", each) for each in are_ones)))
        _raise(builder, wrong, NO_BROADCAST, loc)
        size = builder.held_number(syntax.IfExp(are_ones[0], next_size, size), loc)
    builder.counts[size.name] = None
    return Extent(Linear.of(size), True, joins=True)


def fitted(builder: LoopBuilder, target: Sequence[Extent], value: Elements, loc: Loc | None) -> Elements:
    """Returns a value that is assigned to an array, after requiring that it fits, or adding the tests where data decide: each of its sizes
    is that of the array or 1.

    target: the shape of the array
    """
    shape = list(target)
    for back, (own, other) in enumerate(zip(reversed(target), reversed(value.shape)), 1):
        if other.is_one or own.length == other.length:
            continue
        if not builder.require.tests(loc) or not any(map(builder.is_counted, (own, other))):
            require_equal(own, other, "an array that is assigned to a part of another size", builder.require, loc)
            continue
        differ = syntax.Compare("!=", own.expr, other.expr)
        wrong = syntax.Logical("and", (differ, syntax.Compare("!=", other.expr, _ONE)))
        _raise(builder, wrong, NO_FIT, loc)
        shape[-back] = Extent(own.length, True, joins=True)
    return stretched(value, tuple(shape))


def _raise(builder: LoopBuilder, condition: Expr, text: str, loc: Loc | None) -> None:
    builder.out.append(syntax.If(condition, (syntax.Raise("ValueError", (text,), loc=loc),), loc=loc))
