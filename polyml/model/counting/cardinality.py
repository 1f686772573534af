"""The number of points of a set, as a quasi-polynomial of its parameters in each of several regions. It is exact: nothing is
fitted.

The set's constraints and the quotients in them are rows over integer unknowns. Equalities are solved by unimodular changes of
unknowns (Pugh, "The Omega test", Supercomputing 1991); then one unknown after the other is summed over, between one of its lower
bounds and one of its upper bounds in each region where these are the tightest, by Faulhaber's formula. A bound with a factor is a
floor; an unknown inside a floor is written as a multiple of its divisor and a remainder, for each remainder in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as numbers
from math import gcd, inf, lcm
from typing import Any, Union

import islpy as isl

from polyml import polyhedra
from polyml.model.counting import formula_text
from polyml.model.counting.quasi_polynomial import Floor, Poly, floor, summed
from polyml.model.counting.rows import Row, between, beyond, bound_of, difficulty, period, replaced, tidy
from polyml.polyhedra import LinearRow
from polyml.values import cached_property

MOST_REMAINDERS = 64  # of an unknown inside floors
MOST_PIECES = 4000  # of one count
MOST_TERMS = 1000  # of one quasi-polynomial
MOST_CASES = 100  # of a formula for people

LONGEST_CONDITION = 60  # characters of a formula's condition that are shown beside the sizes it is for
NEAR = "sizes are like these"  # in place of a longer condition


class CannotCount(Exception):
    """CannotCount is raised where a count has too many pieces or takes too long, or where the set is unbounded."""


_Piece = tuple[isl.Set, Poly]  # a region { : ... }, and the formula that holds there
_Name = Union[str, int, polyhedra.Quotient]


@dataclass(frozen=True)
class Count:
    """A Count is the sum of the formulas of those pieces (region { : ... }, formula) in whose region the parameters are."""

    pieces: tuple[tuple[isl.Set, Poly], ...]

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Returns the count for these values of every name in formulas and regions."""
        return self.compiled(values)

    @cached_property
    def compiled(self) -> Callable[[Mapping[str, int]], int]:
        """Returns a Python function that evaluates the count for values by name; it uses neither isl nor sympy."""
        regions = [[_integer_rows(part) for part in polyhedra.alternatives(region)] for region, _ in self.pieces]
        named = {name for _, value in self.pieces for name in value.names}
        named |= {name for region, _ in self.pieces for name in polyhedra.used_parameters(region)}
        names = {name: f"n{k}" for k, name in enumerate(sorted(named))}
        values = [formula_text.code(value, names) for _, value in self.pieces]
        common = lcm(*(divisor for _, divisor in values))
        lines = [f"{short} = values[{name!r}]" for name, short in names.items()]
        lines.append("total = 0")
        for alternatives, (value, divisor) in zip(regions, values):
            holds = " or ".join(formula_text.condition_code(zero, least, names) for zero, least in alternatives)
            lines.append(f"if {holds}: total += ({value}) * {common // divisor}")
        lines += [f"whole, rest = divmod(total, {common})", "assert rest == 0", "return whole"]
        found: dict[str, Callable] = {}
        exec("def evaluate(values):\n    " + "\n    ".join(lines), found)
        return found["evaluate"]

    @property
    def names(self) -> frozenset[str]:
        """Returns the names that the formulas depend on; regions may depend on others."""
        return frozenset().union(*(value.names for _, value in self.pieces))

    def substitute(self, values: Mapping[str, int]) -> Count:
        """Returns the count with some names replaced by numbers."""
        numbers_ = {name: Poly.number(value) for name, value in values.items()}
        pieces = [(polyhedra.fix(region, values), value.substitute(numbers_)) for region, value in self.pieces]
        return Count(tuple((polyhedra.forget(region, values), value) for region, value in pieces if not region.is_empty()))

    def disjoint_cases(self, context: isl.Set) -> list[tuple[isl.Set, Poly]]:
        """Returns disjoint parts of a context { : ... }, each with the count's formula in it. Raises CannotCount for too many."""
        cases: list[tuple[isl.Set, Poly]] = [(context, Poly())]
        for region, value in self.pieces:
            cases = [case for each in cases for case in add_piece(*each, region, value)]
            if len(cases) > MOST_CASES:
                raise CannotCount(f"more than {MOST_CASES} cases")
        return cases

    def within(self, context: isl.Set) -> Count:
        """Returns the count for parameters in a context { : ... } alone, as disjoint pieces that have different formulas.

        Regions do not repeat what the context says. Pieces for a single value of a parameter come last. It may raise CannotCount.
        """
        multiples = polyhedra.multiples(context)
        cases = _together((region, _of_multiples(value, multiples)) for region, value in self.disjoint_cases(context))
        return Count(tuple((region.gist(context).coalesce(), value) for region, value in cases))

    def cases(self, values: Mapping[str, int] | None = None) -> list[tuple[str, str]]:
        """Returns texts (formula, condition) of the pieces; the condition is "" where the formula always holds.

        values: of parameters; only the pieces that hold for them are returned
        """
        pieces = [(r, v) for r, v in self.pieces if values is None or not polyhedra.fix(r, values).is_empty()]
        return [(formula_text.text(value), polyhedra.condition_text(region)) for region, value in pieces]

    def text(self, values: Mapping[str, int] | None = None) -> str:
        """Returns the formula as text; where there are several, one per line with its condition.

        values: of parameters; only what holds for them is in the text, and a long condition is just "sizes are like these"

        >>> band = count(isl.Set("[N] -> { [i, j] : 0 <= i < N and i - 3 <= j <= i and j >= 0 }"))
        >>> print(band.within(isl.Set("[N] -> { : N > 0 }")).text())
        4*N - 6 where N >= 4
        N*(N + 1)/2 where N <= 3
        """
        longest = inf if values is None else LONGEST_CONDITION
        cases = [(value, where if len(where) <= longest else NEAR) for value, where in self.cases(values)]
        return "\n".join(f"{value} where {where}" if where else value for value, where in cases) or "0"

    def sympy(self) -> Any:  # of a library without types
        """Returns a sympy Piecewise over integer symbols, or the only formula. The regions must be disjoint."""
        import sympy

        cases = [
            (formula_text.symbolic(value), formula_text.symbolic_condition(map(_integer_rows, polyhedra.alternatives(region))))
            for region, value in self.pieces
        ]
        return sympy.Piecewise(*cases, (sympy.Integer(0), True))


def count(domain: isl.Set, deadline: float = inf, steps: float = inf) -> Count:
    """Returns the number of points of a set that is bounded for each value of its parameters. Raises CannotCount where it gives up.

    deadline: when to give up, by `time.monotonic`
    steps: how many sums over one dimension may be made, in about a tenth of a millisecond each, before it gives up

    >>> str(count(isl.Set("[N] -> { [i, j] : 0 <= i <= j < N }")).pieces[0][1])
    '(1/2)*N**2 + (1/2)*N'
    """
    found: list[tuple[isl.Set, Poly]] = []
    for piece in polyhedra.disjoint(domain):
        rows = polyhedra.integer_rows(piece)
        if rows is None:
            raise CannotCount("a piece has alternatives")
        counter = _Counter(polyhedra.parameter_names(domain), deadline, steps)
        found += counter.of(*rows)
        steps = counter.steps
    return Count(tuple(_merged(found)))


def added(counts: Iterable[Count]) -> Count:
    """Returns the sum of some counts as one count."""
    return Count(tuple(piece for each in counts for piece in each.pieces))


def case_text(counted: Count, context: isl.Set, sizes: Mapping[str, int] | None) -> str:
    """Returns a count as text: its formula, or its formulas with their conditions in parentheses.

    context: { : ... }, the sizes that it is for
    sizes: only what holds for these is in the text; None for everything
    """
    within = counted.within(context)
    cases = (within.text(sizes) if sizes is not None and within.cases(sizes) else within.text()).split("\n")
    return cases[0] if len(cases) == 1 else f"({'; '.join(cases)})"


class _Counter:
    """A _Counter counts the points of a conjunction of constraints. steps: how many sums over one unknown it may still make"""

    def __init__(self, parameters: Iterable[str], deadline: float, steps: float) -> None:
        self._parameters, self._deadline, self.steps = tuple(parameters), deadline, steps
        self._fresh = (f"v{n}" for n in numbers())
        self._defined: list[tuple[str, Row, int]] = []
        self._pieces = 0

    def of(self, equalities: Iterable[LinearRow], inequalities: Iterable[LinearRow]) -> Iterator[_Piece]:
        """Yields pieces (region, formula) whose sum is the number of points that satisfy these equalities and inequalities."""
        names: dict[_Name, str] = {p: p for p in self._parameters}

        def name(each: _Name) -> str:
            if each not in names:
                names[each] = f"x{len(names)}"
            return names[each]

        def row(given: LinearRow) -> Row:
            return {name(k): c for k, c in given[0].items()}, given[1]

        equal, least = [row(r) for r in equalities], [row(r) for r in inequalities]
        for quotient in [k for k in list(names) if isinstance(k, polyhedra.Quotient)]:
            self._define(quotient, name, least)
        unknowns = [n for n in names.values() if n not in self._parameters]
        yield from self._equal(equal, least, unknowns, Poly.number(1), ())

    def _define(self, quotient: polyhedra.Quotient, name: Callable[[_Name], str], least: list[Row]) -> None:
        """Adds two rows, expressions that must be at least 0, to `least`: they define a quotient. Those inside it come first."""
        for inner, _ in quotient.terms:
            if isinstance(inner, polyhedra.Quotient) and all(name(inner) not in row for row, _ in least):
                self._define(inner, name, least)
        terms = {name(k): c for k, c in quotient.terms}
        terms[name(quotient)] = -quotient.divisor
        least.append((terms, quotient.constant))
        least.append(({k: -c for k, c in terms.items()}, quotient.divisor - 1 - quotient.constant))

    def _equal(
        self, equal: list[Row], least: list[Row], unknowns: list[str], value: Poly, conditions: tuple[Row, ...]
    ) -> Iterator[_Piece]:
        """Yields pieces of the sum of `value` over all values of the unknowns that satisfy the rows; it solves equalities first.

        equal, least: the rows that have to be 0, and those that have to be at least 0
        conditions: rows without unknowns that have to be 0, found so far
        """
        while equal:
            terms, constant = equal[0]
            here = {u: terms[u] for u in unknowns if terms.get(u)}
            if not here:
                conditions = (*conditions, (terms, constant))
                equal = equal[1:]
                continue
            common = gcd(*here.values())
            if common > 1:  # what is left is a multiple of it, where there are points at all
                others = {k: c for k, c in terms.items() if k not in here}, constant
                rest = ({self._quotient(others, common): 1}, 0) if others[0] else ({}, constant // common)
                if not others[0] and constant % common:
                    return
                equal = [({k: c // common for k, c in here.items()} | rest[0], rest[1]), *equal[1:]]
                continue
            chosen = min(here, key=lambda u: (abs(here[u]), str(u)))
            a = here[chosen]
            sign = 1 if a > 0 else -1
            if abs(a) == 1:
                solution = {k: -c * sign for k, c in terms.items() if k != chosen}, -constant * sign
                unknowns = [u for u in unknowns if u != chosen]
            else:  # a new unknown for chosen + the whole multiples of a in the others
                new = next(self._fresh)
                shifts = {k: -(c // abs(a)) * sign for k, c in terms.items() if k != chosen and c // abs(a)}
                solution = shifts | {new: 1}, -(constant // abs(a)) * sign
                unknowns = [new if u == chosen else u for u in unknowns]
            equal = [replaced(r, chosen, solution) for r in equal]
            least = [replaced(r, chosen, solution) for r in least]
            value = value.substitute({chosen: Poly.linear(solution[0].items(), solution[1])})
            equal = [r for r in equal if r[0] or r[1]]
        yield from self._sum(least, unknowns, value, conditions)

    def _quotient(self, others: Row, divisor: int) -> str:
        """Returns a new parameter that stands for the integer others / divisor; its definition becomes part of every region."""
        name = next(self._fresh)
        self._defined.append((name, others, divisor))
        return name

    def _sum(self, rows: list[Row], unknowns: list[str], value: Poly, conditions: tuple[Row, ...]) -> Iterator[_Piece]:
        """Yields pieces of the sum of `value` over all values of the unknowns for which each of the rows is at least 0."""
        least = tidy(rows)
        if least is None:
            return
        self.steps -= 1 + len(value.terms) // 20
        if self.steps < 0 or time.monotonic() > self._deadline:
            raise CannotCount("it takes too long")
        if len(value.terms) > MOST_TERMS:
            raise CannotCount(f"a quasi-polynomial of more than {MOST_TERMS} terms")
        if not unknowns:
            yield self._piece(least, value, conditions)
            return
        chosen = min(unknowns, key=lambda u: difficulty(u, least, value))
        if any(isinstance(a, Floor) and chosen in a.names for a in value.atoms):
            if self._is_empty(least, unknowns, conditions):
                return
            yield from self._by_remainder(chosen, least, unknowns, value, conditions)
            return
        lower = [r for r in least if r[0].get(chosen, 0) > 0]
        upper = [r for r in least if r[0].get(chosen, 0) < 0]
        others = [r for r in least if not r[0].get(chosen)]
        left = [u for u in unknowns if u != chosen]
        if len(lower) * len(upper) != 1 and self._is_empty(least, unknowns, conditions):
            return  # where there is one pair of bounds, this is found at the end
        if not lower or not upper:
            raise CannotCount("the set is not bounded")
        for i, low in enumerate(lower):
            tightest = [beyond(low, r, chosen, strict=k < i) for k, r in enumerate(lower) if k != i]
            for j, high in enumerate(upper):
                near = [beyond(high, r, chosen, strict=k < j) for k, r in enumerate(upper) if k != j]
                inner = [*others, *tightest, *near, between(low, high, chosen)]
                over = summed(value, chosen, bound_of(low, chosen), bound_of(high, chosen))
                yield from self._sum(inner, left, over, conditions)

    def _by_remainder(
        self, chosen: str, least: list[Row], unknowns: list[str], value: Poly, conditions: tuple[Row, ...]
    ) -> Iterator[_Piece]:
        """Yields the pieces of a sum as one sum for each remainder of `chosen` by a period; no floor in these depends on `chosen`.

        The period is a number by which `chosen` can grow so that each floor changes by an integer.
        """
        step = lcm(*(period(atom, chosen) for atom in value.atoms if isinstance(atom, Floor) and chosen in atom.names))
        if step > MOST_REMAINDERS:
            raise CannotCount(f"floors of period {step}")
        whole = next(self._fresh)
        left = [whole if u == chosen else u for u in unknowns]
        for remainder in range(step):
            solution = {whole: step}, remainder
            rows = [replaced(r, chosen, solution) for r in least]
            each = value.substitute({chosen: Poly.linear(solution[0].items(), remainder)})
            yield from self._sum(rows, left, each, conditions)

    def _piece(self, least: list[Row], value: Poly, conditions: tuple[Row, ...]) -> tuple[isl.Set, Poly]:
        self._pieces += 1
        if self._pieces > MOST_PIECES:
            raise CannotCount(f"more than {MOST_PIECES} pieces")
        for name, (terms, constant), divisor in reversed(self._defined):
            value = value.substitute({name: floor(Poly.linear(terms.items(), constant), divisor)})
        return self._set(least, [], conditions), value

    def _is_empty(self, least: list[Row], unknowns: list[str], conditions: tuple[Row, ...]) -> bool:
        return self._set(least, unknowns, conditions).is_empty()

    def _set(self, least: list[Row], unknowns: list[str], conditions: tuple[Row, ...]) -> isl.Set:
        """Returns the region in which rows of `least` are at least 0 and `conditions` are 0; its dimensions are the unknowns."""
        whole = [({**terms, name: -divisor}, constant) for name, (terms, constant), divisor in self._defined]
        defined = [name for name, _, _ in self._defined]
        return polyhedra.set_of_rows(self._parameters, unknowns, defined, [*conditions, *whole], least)


def _merged(pieces: Iterable[tuple[isl.Set, Poly]]) -> Iterator[tuple[isl.Set, Poly]]:
    """Yields pieces (region, formula) with different regions: the formulas of equal regions are added up."""
    regions: list[tuple[isl.Set, Poly]] = []
    for region, value in pieces:
        if region.is_empty() or not value.terms:
            continue
        for number, (other, sum_) in enumerate(regions):
            if region.is_equal(other):
                regions[number] = other, sum_ + value
                break
        else:
            regions.append((region, value))
    for region, value in regions:
        if value.terms:
            yield region.coalesce(), value


def add_piece(where: isl.Set, total: Poly, region: isl.Set, value: Poly) -> Iterator[tuple[isl.Set, Poly]]:
    """Yields pairs (part of `where`, formula): inside of `region` it is `total + value`, outside `total`."""
    both = where.intersect(region)
    if both.is_empty():
        yield where, total
        return
    yield both, total + value
    rest = where.subtract(both)
    if not rest.is_empty():
        yield rest, total


def _of_multiples(value: Poly, multiples: Mapping[str, tuple[int, int]]) -> Poly:
    """Returns a formula without the floors that some names are in, or unchanged where not all of these floors can be resolved.

    multiples: (step, remainder) of each of these names, which is known to be step * n + remainder for an integer n
    """
    mine = {name: (step, rest) for name, (step, rest) in multiples.items() if name in value.names}
    inner = value.substitute({name: Poly.linear([(name, step)], rest) for name, (step, rest) in mine.items()})
    if any(isinstance(atom, Floor) and not mine.keys().isdisjoint(atom.names) for atom in inner.atoms):
        return value
    outer = {name: (Poly.atom(name) - Poly.number(rest)).scaled(Fraction(1, step)) for name, (step, rest) in mine.items()}
    return inner.substitute(outer)


def _together(cases: Iterable[tuple[isl.Set, Poly]]) -> list[tuple[isl.Set, Poly]]:
    """Returns the cases (region, formula) with those of equal formulas joined.

    A case whose region fixes some parameters to numbers also joins another one whose formula is equal for these numbers.
    """
    by_value: dict[Poly, isl.Set] = {}
    for region, value in cases:
        by_value[value] = by_value[value].union(region).coalesce() if value in by_value else region
    found: list[tuple[isl.Set, Poly]] = []
    for value, region in sorted(by_value.items(), key=lambda each: polyhedra.fixed_dimensions(each[1])):
        known = polyhedra.fixed_parameters(region)
        fixed = {name: Poly.number(number) for name, number in known.items()}
        for k, (other, there) in enumerate(found):
            if known and (value - there).substitute(fixed) == Poly():
                found[k] = other.union(region).coalesce(), there
                break
        else:
            found.append((region, value.substitute(fixed)))
    return [(region, value) for region, value in found if value.terms]


def _integer_rows(region: isl.Set) -> tuple[list[LinearRow], list[LinearRow]]:
    """Returns the equalities and inequalities of a conjunction of constraints. Raises CannotCount for a union of several."""
    rows = polyhedra.integer_rows(region)
    if rows is None:
        raise CannotCount("a piece has alternatives")
    return rows
