"""Indices that data decide: rows and slices at places where tests in the code take the place of conditions that hold for a call.

A[k[i]]          ->    r = position(k[i], A.shape[0])            an IndexError where A has no such row
v[p[i]:p[i+1]]   ->    first, past = both ends, clipped to v as Python clips them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.shapes import Extent, Linear, SlicedExtent, strided
from polyml.frontend.constant_folding import constant
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.source import Loc


@dataclass
class Requirements:
    """A Requirements gets what an array expression relies on: conditions for calls, and numbers that tests need a name for.

    condition: adds a condition for calls; others run as plain Python
    hold: adds an assignment of a number to a new name, and returns that
    stays: whether the values of a number's parts never change while the loops around are in the same iteration
    join: returns the size that operands of several sizes have together, which is tested as it runs; None where that is known at entry
    places: where data decide indices, so that they are tested there; None where nothing may be tested as it runs
    """

    condition: Callable[[Expr, str, Loc | None], None]
    hold: Callable[[Expr, Loc | None], syntax.Name]
    stays: Callable[[Expr], bool]
    join: Callable[[Sequence[Extent], Loc | None], Extent | None]
    places: frozenset[Loc] | None = None
    _held: dict[Expr, syntax.Name] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def __call__(self, condition: Expr, what: str, loc: Loc | None) -> None:
        """Adds a condition. what: a description of the calls in which it does not hold, for messages"""
        self.condition(condition, what, loc)

    def tests(self, loc: Loc | None) -> bool:
        """Returns whether indices are tested at a place of the kernel's text."""
        return self.places is not None and loc in self.places

    def is_held(self, expr: Expr) -> bool:
        """Returns whether an expression is a name that a number was given here, which is assigned once in an iteration."""
        return isinstance(expr, syntax.Name) and expr.name in self._names

    def held(self, value: Expr, loc: Loc | None) -> Expr:
        """Returns a name for a number, the same one for the same number; the number itself where it is a constant or has a name."""
        if isinstance(value, syntax.Const) or self.is_held(value):
            return value
        known = self._held.get(value)
        if known is not None:
            return known
        name = self.hold(value, loc)
        self._names.add(name.name)
        if all(self.is_held(node) or self.stays(node) for node in traversal.nodes(value)):
            self._held[value] = name
        return name

    @contextmanager
    def block(self, variable: str = "") -> Iterator[None]:
        """Forgets the names that are given inside, behind which they may have no value. variable: that of a loop which begins"""
        before = self._held
        self._held = {
            e: name for e, name in before.items() if not any(traversal.name_of(n) == variable for n in traversal.nodes(e))
        }
        try:
            yield
        finally:
            self._held = before


def position(index: Expr, extent: Extent, dim: int, require: Requirements, loc: Loc | None) -> Expr:
    """Returns a subscript counted from the start of its dimension, tested as the program runs.

    extent: that of the dimension
    dim: its number
    """
    return require.held(syntax.Call("position", (index, extent.expr, syntax.Const(dim)), loc=loc), loc)


def clipped(extent: Extent, part: syntax.Slice, require: Requirements, loc: Loc | None) -> SlicedExtent:
    """Returns the indices that a slice takes of a dimension, whatever its ends are."""
    size, step = extent.expr, part.step
    if part.by is not None:
        return _in_steps(extent, part, part.by, require, loc)
    least, most = (0, Linear.of(size)) if step > 0 else (-1, Linear.of(size) - 1)

    def end(bound: Expr | None, otherwise: Linear) -> Linear:
        if bound is None:
            return otherwise
        number = require.held(bound, loc)
        zero, low, high = syntax.Const(0), syntax.Const(least), most.expr
        from_end = syntax.Binary("max", syntax.Binary("+", number, size), low)
        from_start = syntax.Binary("min", number, high)
        if isinstance(number, syntax.Const):
            return Linear.of(require.held(from_end if number.value < 0 else from_start, loc)) if number.value else Linear((), 0)
        return Linear.of(require.held(syntax.IfExp(syntax.Compare("<", number, zero), from_end, from_start, loc=loc), loc))

    start, stop = part.start, part.stop
    if step > 0:
        first, past = end(start, Linear((), 0)), end(stop, most)
        length = past - first
    else:
        first, past = end(start, most), end(stop, Linear((), -1))
        length = first - past
    whole = start is None and stop is None
    return SlicedExtent(first, step, Extent(strided(length, abs(step)), whole, sliced_from=extent))


def possible(stmt: syntax.Require) -> syntax.Require:
    """Returns a requirement. Raises NotAffineError for one that never holds, where its text says what is accepted.

    >>> possible(syntax.Require(syntax.Const(False), "np.unique along an axis; np.unique(x)"))
    Traceback (most recent call last):
    polyml.errors.NotAffineError: error: np.unique along an axis
      note: polyml compiles: np.unique(x)
    """
    what, _, accepted = stmt.what.partition("; ")
    if accepted and constant(stmt.condition) is False:
        raise NotAffineError(what, loc=stmt.loc, notes=[f"polyml compiles: {accepted}"])
    return stmt


def _in_steps(extent: Extent, part: syntax.Slice, step: Expr, require: Requirements, loc: Loc | None) -> SlicedExtent:
    """Returns the indices that a slice takes of a dimension whose step is computed, and not zero, whatever its ends are.

    step: a name of the step, which may be negative
    """
    size, zero, one = extent.expr, syntax.Const(0), syntax.Const(1)
    is_up = syntax.Compare(">", step, zero, loc=loc)
    least = syntax.IfExp(is_up, zero, syntax.Const(-1))
    most = syntax.IfExp(is_up, size, syntax.Binary("-", size, one))

    def end(bound: Expr | None, otherwise: Expr) -> Expr:
        if bound is None:
            return require.held(otherwise, loc)
        number = require.held(bound, loc)
        from_end = syntax.Binary("max", syntax.Binary("+", number, size), least)
        from_start = syntax.Binary("min", number, most)
        return require.held(syntax.IfExp(syntax.Compare("<", number, zero), from_end, from_start, loc=loc), loc)

    first = end(part.start, syntax.IfExp(is_up, zero, most))
    past = end(part.stop, syntax.IfExp(is_up, size, syntax.Const(-1)))
    length = syntax.Binary(
        "-", syntax.Binary("+", syntax.Binary("-", past, first), step), syntax.IfExp(is_up, one, syntax.Const(-1))
    )
    count = require.held(syntax.Binary("max", syntax.Binary("//", length, step), zero, loc=loc), loc)
    return SlicedExtent(Linear.of(first), step, Extent(Linear.of(count), True, sliced_from=extent))


def may_fail(stmt: Stmt) -> bool:
    """Returns whether a lowered statement raises, reads an element that may be outside of its array, or tests an index."""
    if any(isinstance(each, syntax.Raise) for each in statements((stmt,))):
        return True
    nodes = (node for each in statements((stmt,)) for expr in traversal.accessed(each) for node in traversal.nodes(expr))
    return any(
        isinstance(node, syntax.Subscript)
        and not node.inside
        or isinstance(node, syntax.Call)
        and node.function == "position"
        and len(node.args) > 1
        for node in nodes
    )


def is_position(expr: Expr) -> bool:
    return isinstance(expr, syntax.Call) and expr.function == "position"
