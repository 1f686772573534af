"""What is known of the loops of parts, each thing found once: which iterators they follow, how long they are, and where statements
that both follow a subscript access the same elements in the same iteration alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop, Statement
from polyml.quasi_affine.affine import Affine, variable
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, positions_in
from polyml.schedule.strips.row_nests import Part

_ITERATION = variable("'")  # the value of a loop in subscripts, which no iterator or parameter has as its name

_Subscripts = tuple[str, bool, tuple["Affine | None", ...]]  # array, whether it is written, subscripts that follow one loop alone


@dataclass(frozen=True)
class PartLoops:
    """What is known of the loops of the parts of a SCoP.

    sizes: values of parameters.
    The other attributes hold what is known: by the number of a part, whether it has a product; by this and the number of a loop as
    given, by statement the positions of the iterators that the loop depends on and the subscripts that follow it, whether it
    follows a single iterator of each, and its least and its greatest number of iterations; by statement, its domain at these sizes;
    and by statement and position, the most iterations of the iterator there.
    """

    scop: Scop
    sizes: Mapping[str, int]
    _products: dict[int, bool] = field(default_factory=dict)
    _positions: dict[tuple[int, int], dict[str, list[int]]] = field(default_factory=dict)
    _single: dict[tuple[int, int], bool] = field(default_factory=dict)
    _subscripts: dict[tuple[int, int], dict[str, tuple[_Subscripts, ...]]] = field(default_factory=dict)
    _lengths: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _domains: dict[str, isl.Set] = field(default_factory=dict)
    _most: dict[tuple[str, int], int] = field(default_factory=dict)

    def has_product(self, part: Part) -> bool:
        """Returns whether a statement of the part may be a contraction."""
        if part.number not in self._products:
            self._products[part.number] = any(may_be_contraction(self.scop.statements[name]) for name in part.names)
        return self._products[part.number]

    def positions(self, part: Part, k: int) -> dict[str, list[int]]:
        """Returns, by statement, the positions of those iterators on which loop number `k` of a part depends."""
        key = part.number, part.given(k)
        if key not in self._positions:
            self._positions[key] = {name: its for nest in part.nests for name, its in positions_in(nest.members[k]).items()}
        return self._positions[key]

    def is_single(self, part: Part, k: int) -> bool:
        """Returns whether loop number `k` of a part follows one iterator of each statement."""
        key = part.number, part.given(k)
        if key not in self._single:
            self._single[key] = all(len(along) == 1 for along in self.positions(part, k).values())
        return self._single[key]

    def lengths(self, part: Part, k: int) -> tuple[int, int]:
        """Returns the least and the greatest number of iterations that loop number `k` of a part, which follows a single iterator,
        has for its statements.
        """
        key = part.number, part.given(k)
        if key not in self._lengths:
            found = [max(1, self.length(name, along[0])) for name, along in self.positions(part, k).items()]
            self._lengths[key] = min(found, default=1), max(found, default=1)
        return self._lengths[key]

    def most(self, parts: Sequence[Part], k: int) -> int:
        """Returns the most iterations that loop number `k` of the parts, which follows a single iterator, has for a statement."""
        along = [each for part in parts for each in self.positions(part, k).items()]
        return max((self.length(name, position) for name, (position,) in along), default=0)

    def length(self, name: str, position: int) -> int:
        """Returns the most iterations that a loop of a statement has. position: of its iterator."""
        if (name, position) not in self._most:
            if name not in self._domains:
                self._domains[name] = polyhedra.fix(self.scop.statements[name].domain, self.sizes)
            self._most[name, position] = polyhedra.length(self._domains[name], position) or 0
        return self._most[name, position]

    def meet_in_one_iteration(self, ends: tuple[Part, str, int], others: tuple[Part, str, int]) -> bool:
        """Returns whether instances of two statements that access the same element, one of which writes it, are known to be in the
        same iteration of a loop of each: the accesses have a subscript in common that gives the iteration.

        ends, others: a part, one of its statements, and the number of a loop.
        """
        mine, theirs = self._following(*ends), self._following(*others)
        return all(
            any(one is not None and one == other for one, other in zip(left, right))
            for array, writes, left in mine
            for name, written, right in theirs
            if array == name and (writes or written)
        )

    def _following(self, part: Part, name: str, k: int) -> tuple[_Subscripts, ...]:
        """Returns the accesses of a statement with those subscripts that depend on loop number `k` of its part and on no other one."""
        found = self._subscripts.setdefault((part.number, part.given(k)), {})
        if name not in found:
            (nest,) = (nest for nest in part.nests if name in nest.names)
            found[name] = tuple(_in_iterations(self.scop.statements[name], polyhedra.expressions(nest.members[k])[name]))
        return found[name]


def _in_iterations(statement: Statement, loop: isl.PwAff) -> Iterator[_Subscripts]:
    """Yields the accesses of a statement, with the subscripts of its iterators as subscripts of the iteration of a loop.

    loop: { S[i] -> [(e)] }, the iteration in which an instance runs.
    """
    row = polyhedra.linear_row(loop)
    at: dict[str, Affine] = {}
    if row is not None and len(row[0]) == 1:
        ((position, step),) = row[0].items()
        if isinstance(position, int) and abs(step) == 1:
            at[statement.iterators[position]] = (_ITERATION - row[1]) * step

    def alone(expression: Affine) -> Affine | None:
        value = expression.substitute(at)
        return value if value.coefficient("'") and value.names.isdisjoint(statement.iterators) else None

    for access in accesses(statement):
        yield access.array, access is statement.write, tuple(map(alone, access.expressions))
