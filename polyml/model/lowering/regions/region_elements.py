"""Elements in a Region whose indices are known to be inside their arrays: they are affine, and the loops around them say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import statements
from polyml.model.core.iteration_context import IterationContext
from polyml.model.core.nest import Nest
from polyml.model.core.scop import Region
from polyml.model.lowering.regions.region_building import affine
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine


def with_known_elements(region: Region, nest: Nest, context: IterationContext) -> Region:
    """Returns a region in which it is said of elements that their indices are always inside their arrays, where a quick test proves it.

    context: the loops and guards around the region
    """
    return replace(region, body=_Marking(nest, context, {}).block(region.body))


@dataclass(frozen=True)
class _Marking:
    """A _Marking marks the elements at one place of a region.

    context: the loops around the place, those of the region too whose bounds are affine
    values: the loops' variables
    """

    nest: Nest
    context: IterationContext
    values: Mapping[str, Affine]

    def block(self, body: tuple[syntax.Stmt, ...]) -> tuple[syntax.Stmt, ...]:
        """Returns a block of statements with its elements marked."""
        return tuple(map(self._stmt, body))

    def _stmt(self, stmt: syntax.Stmt) -> syntax.Stmt:
        inner = self._inside(stmt) if isinstance(stmt, syntax.For) else self
        return traversal.with_bodies(traversal.map_reads(stmt, self._marked), inner.block)

    def _inside(self, loop: syntax.For) -> _Marking:
        """Returns the marking of a loop's body."""
        start, stop = affine(loop.start, self.values), affine(loop.stop, self.values)
        others = {name: value for name, value in self.values.items() if name != loop.var}
        assigned = (s.target for s in statements(loop.body) if isinstance(s, syntax.Assign))
        inner = {s.var for s in statements(loop.body) if isinstance(s, syntax.For)}
        is_changed = any(isinstance(target, syntax.Name) and target.name == loop.var for target in assigned) or loop.var in inner
        if start is None or stop is None or is_changed:
            return replace(self, values=others)
        iterator = f"{loop.var}'{len(self.context.bounds)}"  # as no other is called
        first, last = (start, stop - 1) if loop.step > 0 else (stop + 1, start)
        around = replace(self.context, bounds={**self.context.bounds, iterator: (first, last)})
        return replace(self, context=around, values={**others, loop.var: af.variable(iterator)})

    def _marked(self, expr: syntax.Expr) -> syntax.Expr:
        if isinstance(expr, syntax.Subscript) and expr.indices and not expr.inside and self._is_inside(expr):
            expr = replace(expr, inside=True)
        return traversal.with_operands(expr, tuple(map(self._marked, traversal.operands(expr))))

    def _is_inside(self, element: syntax.Subscript) -> bool:
        return all(map(self._is_below, element.indices, self.nest.arrays[element.array].shape))

    def _is_below(self, index: syntax.Expr, size: Affine) -> bool:
        """Returns whether an index is never negative and below a size, since it is affine or of an array whose numbers are known to be."""
        known = affine(index, self.values)
        if known is not None:
            return self.context.is_never_negative(known) and self.context.is_below(known, size)
        while isinstance(index, syntax.Cast) and index.to.is_integer and index.to.bits == 64:
            index = index.operand
        facts = (fact for fact in self.nest.facts if isinstance(index, syntax.Subscript) and fact.array == index.array)
        return any(
            low is not None and high is not None and self.context.is_never_negative(low) and self.context.is_below(high - 1, size)
            for low, high in ((fact.low, fact.high) for fact in facts)
        )
