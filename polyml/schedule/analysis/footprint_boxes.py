"""The elements that statements access, as boxes: where iterators run through a box and each subscript follows one of its own, isl need
not be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement
from polyml.quasi_affine.affine import Affine

_Box = tuple[tuple[int, int], ...]  # the first and the last value along each dimension


@dataclass(frozen=True)
class FootprintBoxes:
    """The boxes that the accesses of a SCoP's statements make up at given sizes.

    sizes: values of parameters.
    _domains, _accesses: what is known: by statement, the box that its iterators run through, and the one of each of its accesses.
    """

    scop: Scop
    sizes: Mapping[str, int]
    _domains: dict[str, dict[str, tuple[int, int]] | None] = field(default_factory=dict)
    _accesses: dict[tuple[str, int], _Box | None] = field(default_factory=dict)

    def elements(self, accesses: Iterable[tuple[Statement, Access]]) -> int | None:
        """Returns how many elements of an array some accesses to it go to, where these are one box, that of one access; else None."""
        boxes = {self._of_access(statement, access) for statement, access in accesses}
        known = [box for box in boxes if box is not None]
        if len(known) < len(boxes) or not known:
            return None
        around = tuple((min(first for first, _ in ends), max(last for _, last in ends)) for ends in zip(*known))
        return prod(last - first + 1 for first, last in around) if around in boxes else None

    def _of_access(self, statement: Statement, access: Access) -> _Box | None:
        key = statement.name, id(access)
        if key not in self._accesses:
            self._accesses[key] = self._image(statement, access)
        return self._accesses[key]

    def _image(self, statement: Statement, access: Access) -> _Box | None:
        """Returns the elements that an access goes to; None where they are not known to be a box."""
        if statement.name not in self._domains:
            self._domains[statement.name] = self._domain(statement)
        ranges = self._domains[statement.name]
        if ranges is None:
            return None
        used: set[str] = set()
        found = []
        for subscript in access.expressions:
            own = subscript.names & ranges.keys()
            ends = self._ends(subscript, ranges)
            if ends is None or own & used:
                return None
            used |= own
            found.append(ends)
        return tuple(found)

    def _ends(self, subscript: Affine, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
        """Returns the first and the last value of a subscript that is plus or minus one iterator and a number, or a number alone."""
        first = last = subscript.constant
        steps = 0
        for atom, c in subscript.terms:
            if not isinstance(atom, str):
                return None
            if atom in ranges:
                steps += abs(c)
                first, last = first + min(c * end for end in ranges[atom]), last + max(c * end for end in ranges[atom])
            elif atom in self.sizes:
                first, last = first + c * self.sizes[atom], last + c * self.sizes[atom]
            else:
                return None
        return (first, last) if steps <= 1 else None

    def _domain(self, statement: Statement) -> dict[str, tuple[int, int]] | None:
        """Returns the range of each iterator of a statement; None where its instances are no box, or there are none."""
        box = polyhedra.box_ends(polyhedra.without_sizes(polyhedra.fix(statement.domain, self.sizes)))
        return None if box is None else dict(zip(statement.iterators, box))
