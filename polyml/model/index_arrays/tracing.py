"""The origins of the indices in a region, found as its statements are gone through in the source's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.frontend.name_resolution import assigned_names, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.model.index_arrays.origins import BLOCK, Origin, Step
from polyml.quasi_affine.affine import Affine

_AT = Affine(1)


class Tracing:
    """A Tracing knows the origins of a region's numbers at the statement that is reached.

    An origin is one of the loops around the region, so that it is that of each value which the number has in one instance of it.

    body: the region's statements
    affine: returns an expression as an affine one of the loops around the region and sizes; None where it is none
    """

    def __init__(self, body: Sequence[Stmt], affine: Callable[[Expr], Affine | None]):
        self._affine = affine
        self._counts = Counter(name for stmt in statements(body) for name in _bound(stmt))
        self._known: dict[str, Origin] = {}

    def of(self, index: Expr) -> Origin | None:
        """Returns the origin of an index over the names of the nest; None where it is not known, or the index is affine."""
        found = self._of(index)
        return found if found is not None and found.steps else None

    def span(self, index: Expr) -> tuple[Affine, Affine] | None:
        """Returns the first value that an index may have, and the one behind the last one, where loops with affine bounds alone decide it;
        None for an index of another kind, and for one that is affine itself.
        """
        found = self._span(index)
        return None if found is None or found[1] - found[0] == _AT else found

    def _span(self, index: Expr) -> tuple[Affine, Affine] | None:
        place = self._affine(index)
        if place is not None:
            return place, place + _AT
        match index:
            case syntax.Name(name=name):
                known = self._known.get(name)
                return known.places[0] if known is not None and not known.steps else None
            case syntax.Binary(op="+" | "-" as op, left=left, right=right) if index.dtype == PYINT:
                one, other = self._span(left), self._span(right)
                if one is None or other is None:
                    return None
                low, high = other if op == "+" else (_AT - other[1], _AT - other[0])
                return one[0] + low, one[1] + high - _AT
        return None

    def assigned(self, name: str, value: Expr) -> None:
        """Notes that a number of the region is assigned here."""
        found = self.of(value)
        if self._counts[name] == 1 and found is not None:
            self._known[name] = found

    @contextmanager
    def inside(self, loop: syntax.For) -> Iterator[None]:
        """Returns a context in which the statements in a loop's body are gone through."""
        found = self._segment(loop)
        if found is None or loop.var in assigned_names(loop.body) or self._counts[loop.var] > 1:
            yield
            return
        self._known[loop.var] = found
        yield
        del self._known[loop.var]

    def _of(self, index: Expr) -> Origin | None:
        place = self._affine(index)
        if place is not None:
            return Origin((), ((place, place + _AT),))
        match index:
            case syntax.Name(name=name):
                return self._known.get(name)
            case syntax.Cast(operand=operand) if index.to.is_integer and index.to.bits == 64 and _is_signed_index(operand):
                return self._of(operand)
            case syntax.Subscript(array=array, indices=indices) if indices and _is_signed_index(index):
                inner = [self._of(each) for each in indices]
                known = [each for each in inner if each is not None]
                if len(known) < len(inner) or len(inner) > 1 and any(each.steps for each in known):
                    return None
                places = tuple(place for each in known for place in each.places)
                return Origin((Step("element", array), *known[0].steps), places)
            case syntax.Binary(op="+", left=left, right=right) if index.dtype == PYINT:
                return self._block(left, right) or self._block(right, left)
        return None

    def _block(self, first: Expr, place: Expr) -> Origin | None:
        """Returns the origin of `i*size + r`, with r from 0 to the size, which is the block i; None for other sums.

        first: i*size, or size*i
        """
        inside = self._of(place)
        if inside is None or inside.steps or len(inside.places) > 1 or not isinstance(first, syntax.Binary) or first.op != "*":
            return None
        ((low, high),) = inside.places
        for number, size in ((first.left, first.right), (first.right, first.left)):
            block, length = self._of(number), self._affine(size)
            if block is not None and not block.steps and length == high and low.is_constant and low.constant >= 0:
                return Origin((Step(BLOCK, str(length)),), block.places)
        return None

    def _segment(self, loop: syntax.For) -> Origin | None:
        """Returns the origin of the variable of a loop from one element of an array to another one, or of one with affine bounds; None for
        other loops.
        """
        first, end = self._affine(loop.start), self._affine(loop.stop)
        if first is not None and end is not None:
            return Origin((), ((first, end),)) if loop.step > 0 else None
        start, stop = self.of(loop.start), self.of(loop.stop)
        if start is None or stop is None or loop.step < 0 or start.steps != stop.steps:
            return None
        if len(start.steps) > 1 or len(start.places) > 1 or not (start.is_one and stop.is_one):
            return None
        return Origin((Step("segment", start.steps[0].array),), ((start.places[0][0], stop.places[0][0]),))


def _is_signed_index(expr: Expr) -> bool:
    """Returns whether an expression is an integer that signed ones of 64 bits hold, so that it does not become a negative one."""
    return expr.dtype.is_integer and (expr.dtype.kind == "i" or expr.dtype.bits < 64)


def _bound(stmt: Stmt) -> Iterator[str]:
    if isinstance(stmt, syntax.For):
        yield stmt.var
    if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
        yield stmt.target.name
