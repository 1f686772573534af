"""The constraints that are known to hold inside of loops while the loops are made, and proofs from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from polyml.codegen.presburger.constraint_rows import (
    Maximum,
    NotSimple,
    both,
    innermost_loop,
    negated,
    row_key,
    tight,
    without,
    without_maxima,
)
from polyml.codegen.presburger.omega_test import Row, System, is_empty
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property

MOST_PROOFS = 4000  # of rows inside the same loops: past these, isl is faster
SIZE = 1500  # of all parameters, in iterations that are looked at
MOST_POINTS = 4


class Point(NamedTuple):
    """A sample iteration of some nested loops, for a program all of whose parameters are 1500 (SIZE).

    loops: the values of the loops' variables, outermost first.
    """

    loops: tuple[int, ...] = ()

    def value(self, row: Row) -> int:
        """Returns the value that a linear expression of parameters and of these loops has in the iteration."""
        terms, total = row
        for name, c in terms.items():
            if isinstance(name, Maximum):
                total += c * max(map(self.value, name.rows))
            else:
                total += c * (self.loops[name[1]] if isinstance(name, tuple) else SIZE)
        return total

    def ends(self, rows: Iterable[Row]) -> tuple[int, int] | None:
        """Returns the first and the last iteration of a loop just inside of these loops, or None where it has no iteration or no
        end.

        rows: the bounds of that loop, as linear expressions that are at least 0.
        """
        low: list[int] = []
        high: list[int] = []
        name = ("loop", len(self.loops))
        start = Point((*self.loops, 0))
        for row in rows:
            rest, c = start.value(row), row[0][name]
            if c > 0:
                low.append(-(rest // c))
            else:
                high.append(rest // -c)
        return (max(low), min(high)) if low and high and max(low) <= min(high) else None


@dataclass(frozen=True)
class LoopContext:
    """The constraints that are known to hold inside of the loops made so far, as linear expressions (rows) that are at least 0.

    facts: constraints on parameters alone.
    bounds: by loop, outermost first, the constraints on it that contain no loop further inside.
    values: by loop, an expression of the program and a divisor; the loop's name in rows stands for their quotient.
    outer: the context outside the innermost loop, if this is the context just inside of a loop.
    wider: the context without the constraints `more`, if this context was made from it by `having`.
    every: whether polyml makes loops for a schedule tree of any kind, if need be with more tests; if not, NotSimple is raised for
        trees that are left to isl's generator.
    quotients: { quotient in rows -> the expression of the program that computes it }.
    """

    facts: System
    bounds: tuple[tuple[Row, ...], ...] = ()
    values: tuple[tuple[Affine, int], ...] = ()
    outer: LoopContext | None = None
    wider: LoopContext | None = None
    more: tuple[Row, ...] = ()
    every: bool = False
    quotients: Mapping[Quotient, Affine] = field(default_factory=dict, compare=False)
    _known: dict = field(default_factory=dict, init=False, compare=False)

    @property
    def depth(self) -> int:
        """The number of loops that the context is inside of."""
        return len(self.values)

    def in_loop(self, rows: Iterable[Row], value: Affine, divisor: int) -> LoopContext:
        """Returns the context inside one more loop.

        rows: linear expressions that are at least 0 and bound the loop.
        value, divisor: the loop's name in rows stands for value / divisor.
        """
        return LoopContext(self.facts, (*self.bounds, tuple(rows)), (*self.values, (value, divisor)), outer=self, every=self.every)

    def having(self, rows: Iterable[Row]) -> LoopContext:
        """Returns the context in which, besides what is known, the linear expressions `rows` are at least 0."""
        bounds, facts = [*self.bounds], [*self.facts.least]
        more: list[Row] = []
        for row in rows:
            innermost = innermost_loop(row)
            if row in (facts if innermost < 0 else bounds[innermost]):
                continue
            more.append(row)
            if innermost < 0:
                facts.append(row)
            else:
                bounds[innermost] = (*bounds[innermost], row)
        if not more:
            return self
        system = System(self.facts.equal, tuple(facts))
        return LoopContext(system, tuple(bounds), self.values, wider=self, more=tuple(more), every=self.every)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """At most four sample iterations of the loops that the context is inside of. A constraint that does not hold in one of them
        is false, so that no proof of it need be tried.
        """
        if self.wider is not None:
            return tuple(p for p in self.wider.points if all(p.value(row) >= 0 for row in self.more))
        if self.outer is None:
            return (Point(),) if all(Point().value(row) >= 0 for row in both(self.facts)) else ()
        inside = [(p, ends) for p in self.outer.points if (ends := p.ends(self.bounds[-1])) is not None]
        if len(inside) > MOST_POINTS // 2:
            return tuple(Point((*p.loops, ends[k % 2])) for k, (p, ends) in enumerate(inside))
        return tuple(Point((*p.loops, value)) for p, ends in inside for value in dict.fromkeys(ends))

    def proves(self, row: Row) -> bool:
        """Returns whether the linear expression `row` is proved to be at least 0 inside of the loops: the variable of each loop,
        the innermost one first, is replaced by a bound of the loop. Answers are kept.

        For more than about 4000 (MOST_PROOFS) different expressions, it raises NotSimple, or returns False if `every` is set.
        """
        row = tight(row)
        if not row[0]:
            return row[1] >= 0
        key = row_key(row)
        if key not in self._known:
            if len(self._known) > MOST_PROOFS:
                if self.every:
                    return False
                raise NotSimple
            self._known[key] = self._proves(row)
        return self._known[key]

    def _proves(self, row: Row) -> bool:
        """Returns whether the linear expression `row` is proved to be at least 0, without looking among the proofs that were
        kept.
        """
        innermost = innermost_loop(row)
        if self.outer is not None and innermost < len(self.bounds) - 1:
            return self.outer.proves(row)
        if innermost < 0:
            return self._is_fact(row)
        name = ("loop", innermost)
        factor = row[0][name]
        ends = [bound for bound in self.bounds[innermost] if (bound[0][name] > 0) == (factor > 0)]
        if len(ends) > 1 and any(point.value(row) < 0 for point in self.points):
            return False
        return any(self.proves(without(row, abs(bound[0][name]), bound, abs(factor))) for bound in ends)

    def implies(self, row: Row) -> bool:
        """Returns whether the Omega test proves the linear expression `row` to be at least 0 from the constraints of all loops at
        once. It is then so wherever the innermost loop runs, but maybe not in an iteration of an outer loop in which inner ones do
        not.
        """
        rows = System(least=tuple(row for bounds in self.bounds for row in bounds))
        return is_empty(self.facts & rows & System(least=(negated(row),))) is True

    def _is_fact(self, row: Row) -> bool:
        """Returns whether a linear expression of parameters alone is known to be at least 0."""
        cases = without_maxima(row)
        if cases != [row]:
            return all(map(self._is_fact, cases))
        for name, c in row[0].items():
            is_bounded = any(c * terms.get(name, 0) > 0 for terms, _ in self.facts.least)
            if not is_bounded and not any(name in terms for terms, _ in self.facts.equal):
                return False  # in that direction the parameter has no end
        return is_empty(self.facts & System(least=(negated(row),))) is True
