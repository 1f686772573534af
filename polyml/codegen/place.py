"""What is known where a loop is made, and proofs from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from polyml.codegen.integers import Lin
from polyml.codegen.rows import NotSimple, innermost_loop, negated, row_key, tight, without
from polyml.codegen.systems import Row, System, is_empty

MOST_PROOFS = 4000  # of rows at one place: past these, isl is faster


@dataclass(frozen=True)
class Place:
    """facts: about parameters. bounds: by loop, the rows that hold in it of which it is the innermost one. values: what the
    loops' names are in the program, and by which number that is divided. outer: the same without the innermost loop.
    """

    facts: System
    bounds: tuple[tuple[Row, ...], ...] = ()
    values: tuple[tuple[Lin, int], ...] = ()
    outer: Place | None = None
    _known: dict = field(default_factory=dict, init=False, compare=False)

    @property
    def depth(self) -> int:
        return len(self.values)

    def bounded(self, rows: Iterable[Row]) -> Place:
        """Inside one more loop, which these bound."""
        return replace(self, bounds=(*self.bounds, tuple(rows)), outer=self)

    def in_loop(self, rows: Iterable[Row], value: Lin, divisor: int) -> Place:
        return replace(self.bounded(rows), values=(*self.values, (value, divisor)))

    def having(self, rows: Iterable[Row]) -> Place:
        """The place where these hold as well."""
        bounds, facts = [*self.bounds], [*self.facts.least]
        for row in rows:
            innermost = innermost_loop(row)
            known = facts if innermost < 0 else bounds[innermost]
            if row in known:
                continue
            if innermost < 0:
                facts.append(row)
            else:
                bounds[innermost] = (*known, row)
        if len(facts) == len(self.facts.least) and tuple(bounds) == self.bounds:
            return self
        return replace(self, bounds=tuple(bounds), facts=replace(self.facts, least=tuple(facts)), outer=None)

    def proves(self, row: Row) -> bool:
        """Whether the loops around say that the row is at least 0: each loop, the innermost first, is put to its bound."""
        row = tight(row)
        if not row[0]:
            return row[1] >= 0
        key = row_key(row)
        if key not in self._known:
            if len(self._known) > MOST_PROOFS:
                raise NotSimple
            self._known[key] = self._proves(row)
        return self._known[key]

    def _proves(self, row: Row) -> bool:
        innermost = innermost_loop(row)
        if self.outer is not None and innermost < len(self.bounds) - 1:
            return self.outer.proves(row)
        if innermost < 0:
            return self._is_fact(row)
        name = ("loop", innermost)
        factor = row[0][name]
        for bound in self.bounds[innermost]:
            c = bound[0][name]
            if (c > 0) == (factor > 0) and self.proves(without(row, abs(c), bound, abs(factor))):
                return True
        return False

    def implies(self, row: Row) -> bool:
        """The same, where it may also follow from loops further inside having iterations."""
        rows = System(least=tuple(row for bounds in self.bounds for row in bounds))
        return is_empty(self.facts & rows & System(least=(negated(row),))) is True

    def _is_fact(self, row: Row) -> bool:
        for name, c in row[0].items():
            is_bounded = any(c * terms.get(name, 0) > 0 for terms, _ in self.facts.least)
            if not is_bounded and not any(name in terms for terms, _ in self.facts.equal):
                return False  # in that direction the parameter has no end
        return is_empty(self.facts & System(least=(negated(row),))) is True
