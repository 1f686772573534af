"""The sizes at which passes are checked: few, small, and around the numbers at which code divides.

A pass splits loops at multiples of a tile, a vector, or an unroll factor; so sizes just below, at and above these numbers are
tried, for all parameters, or for one of them where all would be too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Jam, Loop, Node, Program, Unroll, every
from polyml.model.core.scop import Scop

Sizes = dict[str, int]
OTHERS = (3, 4, 2, 5, 1, 6, 0, 7, 8, 9, 10, 12, 16, 17, 24, 32, 33, 40, 64, 65)  # that a parameter may be set to beside one
LARGEST = 70  # of the numbers around which sizes are tried: two-dimensional nests of that size have 5,000 instances


def sizes(scop: Scop, factors: Sequence[int] = ()) -> Iterator[Sizes]:
    """Yields values of all parameters, different ones in each item, with which a call passes the checks at entry: small values, and
    values near the factors.

    factors: numbers at which loops are split, such as tile sizes.
    """
    legal = _Legal(scop)
    seen: set[tuple[int, ...]] = set()
    for wanted in _wanted(legal.names, factors):
        found = legal.near(wanted)
        if found is not None and (key := tuple(found.values())) not in seen:
            seen.add(key)
            yield found


def factors_of(*programs: Program) -> tuple[int, ...]:
    """Returns the numbers by which programs divide loops and storage, ascending: steps of tile loops, numbers of iterations that
    run together or are unrolled, and lengths of arrays that are kept only in part.
    """
    nodes = (node for program in programs for node in every((*program.before, *program.body)))
    windows = (n for program in programs for w in program.windows.values() for n in w.lengths if n is not None)
    found = {*map(_factor, nodes), *windows}
    return tuple(sorted(n for n in found if 1 < n <= LARGEST))


def _factor(node: Node) -> int:
    if isinstance(node, Loop):
        return node.step
    if isinstance(node, Jam):
        return node.count * node.lanes
    return node.count if isinstance(node, Unroll) else 1


def _wanted(names: Sequence[str], factors: Sequence[int]) -> Iterator[Mapping[str, int]]:
    """Yields values for some or all parameters, those most likely to reveal errors first.

    They are small numbers, and numbers near each factor and near twice the factor, for one parameter at a time and for all at once.
    """
    yield {name: 5 + k for k, name in enumerate(names)}
    yield dict.fromkeys(names, 1)
    for value in (factor + 1 for factor in factors[:1]):
        yield dict.fromkeys(names, value)
    for more in (1, 0, -1):
        for value in (factor + more for factor in factors):
            yield from ({name: value} for name in names)
            yield dict.fromkeys(names, value)
        yield dict.fromkeys(names, 0)
    for value in (2 * factor + 1 for factor in factors):
        yield from ({name: value} for name in names)


class _Legal:
    """A _Legal completes given values of some of a SCoP's parameters so that a call with these sizes passes the checks at entry."""

    def __init__(self, scop: Scop):
        self.names = tuple(p.name for p in scop.parameters if not p.extreme)
        self._extremes = {p.name: 0 for p in scop.parameters if p.extreme}
        self._facts = scop.checked
        self._filled = self._facts.intersect(polyhedra.parameters_at_least(dict.fromkeys(self.names, 1)))
        kinds = ("bounds", "range", "shape")
        self._violated = [
            c.violated
            for c in scop.checks
            if c.kind in kinds or c.kind in ("usual", "raise") and c.what != "a size of another form"
        ]

    def near(self, wanted: Mapping[str, int]) -> Sizes | None:
        """Returns values of all parameters, the wanted ones among them, with which a call passes the checks at entry; None where it
        finds none.

        wanted: {parameter: value}; for other parameters, values that go with these are chosen.
        """
        facts = self._filled if all(wanted.values()) else self._facts
        return self._completed({}, wanted, (*wanted, *self.names), facts)

    def _completed(self, chosen: Sizes, wanted: Mapping[str, int], names: Sequence[str], facts: isl.Set) -> Sizes | None:
        """Returns values of all parameters, which are chosen one after the other: the wanted value where there is one, else the
        first of a fixed list, or of the wanted ones, with which some call can still pass the checks at entry; None where no value is possible.

        chosen: {parameter: value} of those that are decided already.
        names: the parameters, in the order in which values are chosen.
        facts: { : constraints on parameters } that must hold.
        """
        left = [name for name in dict.fromkeys(names) if name not in chosen]
        if not left:
            return {name: chosen[name] for name in self.names} | self._extremes
        name, *others = left
        for value in (wanted[name],) if name in wanted else dict.fromkeys((*OTHERS, *wanted.values())):
            here = {**chosen, name: value}
            if self._is_possible(here, facts):
                return self._completed(here, wanted, others, facts)
        return None

    def _is_possible(self, chosen: Sizes, facts: isl.Set) -> bool:
        """Returns whether some call that passes the checks at entry has these values. facts: { : constraints } of parameters."""
        known = {**chosen, **self._extremes}
        facts = polyhedra.fix(facts, known)
        if facts.is_empty():
            return False
        return not any(facts.is_subset(polyhedra.fix(each, known)) for each in self._violated)
