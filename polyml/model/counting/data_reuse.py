"""Lower bounds on loads from the reuse of data, statement by statement.

Cut a run into segments of T loads. What the instances E of one statement in a segment use, and what was not computed in the segment,
is in the fast memory of S elements when it begins or loaded: at most S + T values. These values are at least as many as the images of
E under linear maps (`Projection`):

    a read of an array     there are as many values as subscripts; those that other instances compute may be new in the segment
    a chain                each instance uses a value that the instance at a fixed distance before it made, perhaps by way of
                           others: each line of E along the distance begins with a value from before the segment

and E has at most as many points as the Hölder-Brascamp-Lieb inequality of these maps allows (`brascamp_lieb.exponents`). So E is
small, there are many segments, and T loads in each but the last. (Christ, Demmel, Knight, Scanlon and Yelick 2013; Olivry et al.,
PLDI 2020.) New values that a segment makes are counted once for the whole kernel, as if they were loaded: the bound is less by
their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import ceil, lcm, prod
from typing import Any

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import sources_of
from polyml.model.core.scop import Access, Role, Scop, Statement
from polyml.model.counting import formula_text
from polyml.model.counting.brascamp_lieb import Space, exponents, kernel, space
from polyml.model.counting.cardinality import CannotCount, Count, added, case_text, count
from polyml.polyhedra import BudgetExceeded
from polyml.values import cached_property

OPERATIONS = 2_000_000  # of isl, for one statement
MOST_SLICES = 64  # values that dimensions of constant length have together
LONGEST_PATH = 3  # instances on a path from one to that of the same statement whose value it uses
MOST_SEGMENTS = 8  # loads in a segment, in multiples of S, that are tried

Values = isl.UnionSet  # { S[i]; A[j] }: made by an instance, or there at the start


@dataclass(frozen=True)
class Projection:
    """A Projection is a linear map of a statement's instances; each image stands for a value that the instances mapped to it use.

    text: what the map is to, for people
    vanishing: the map's kernel, the vectors that it maps to 0
    values: the values that its images stand for, { S[i]; A[j] }: made by an instance, or in an element at the start
    made: at most how many images need no load in a segment, a part of a run with a given number of loads: those whose value the
        segment has made itself, and those that stand for no value
    """

    text: str
    vanishing: Space
    values: Values = field(repr=False, compare=False)
    made: Count = field(repr=False)


@dataclass(frozen=True)
class ReuseBound:
    """A ReuseBound limits the instances of one statement in a segment, a part of a run with a given number of loads.

    A segment that can use X values has at most `factor * X ** degree` of these instances.

    instances: how many instances the statement has
    projections: pairs (projection, its exponent in the inequality)
    power, root: factor = power ** (1 / root)
    """

    statement: str
    instances: Count = field(repr=False)
    projections: tuple[tuple[Projection, Fraction], ...]
    degree: Fraction
    power: Fraction
    root: int

    def most(self, values: int) -> int:
        """Returns the largest number of this statement's instances in a part of a run that can use so many different `values`."""
        return _root(self.power * values ** int(self.degree * self.root), self.root)

    @cached_property
    def values(self) -> Values:
        """Returns the union of the values { S[i]; A[j] } that the projections stand for."""
        return reduce(isl.UnionSet.union, (p.values for p, _ in self.projections))

    @property
    def made(self) -> tuple[Count, ...]:
        """Returns for each projection at most how many of its images need no load: `Projection.made`."""
        return tuple(p.made for p, _ in self.projections)

    @property
    def multiple(self) -> int:
        """Returns m: the bound is greatest where a run is cut into segments of m * S loads each (S: the fast memory's size)."""
        return max(1, round(1 / (self.degree - 1)))

    @property
    def constant(self) -> float:
        """Returns c of the bound c * instances / S ** (degree - 1) - `multiple` * S - `made`. S: the size of the fast memory."""
        m = self.multiple
        return round(m / (float(self.power) ** (1 / self.root) * (1 + m) ** float(self.degree)), 12)

    def loads(self, sizes: Mapping[str, int], elements: int) -> int:
        """Returns the least number of elements that are loaded, by this bound.

        elements: the size S of the fast memory
        """
        return loads([self], sizes, elements)

    def text(self, context: isl.Set, sizes: Mapping[str, int] | None) -> str:
        """Returns the bound on loads as a formula in the fast memory's size S, such as `2*M*N*K/sqrt(S) - 2*S`.

        context: { : ... }, the sizes that the formula is for
        sizes: only what holds for these is in the text; None for everything
        """
        exponent = self.degree - 1
        power = "sqrt(S)" if exponent == Fraction(1, 2) else "S" if exponent == 1 else f"S**({exponent})"
        cases = self.instances.within(context).pieces
        value = cases[0][1] if len(cases) == 1 else None
        share = Fraction(1) if value is None else formula_text.factored(value)[0]
        most = formula_text.text(value.scaled(1 / share)) if value is not None else case_text(self.instances, context, sizes)
        number = round(self.constant * float(share), 12)
        shown = "" if number == 1 else f"{round(number)}*" if number == round(number) else f"{number:.4g}*"
        made = case_text(added(self.made), context, sizes)
        segment = "S" if self.multiple == 1 else f"{self.multiple}*S"
        return f"{shown}{_factor(most)}/{power} - {segment}" + (f" - {_factor(made)}" if made != "0" else "")

    def symbolic(self, memory: Any, context: isl.Set) -> Any:  # of a library without types
        """Returns the bound on loads as a sympy expression.

        memory: the symbol of the fast memory's size S
        context: { : ... }, the sizes that it is for
        """
        import sympy

        m, (power, root, degree) = self.multiple, (self.power, self.root, self.degree)
        factor = sympy.Rational(power.numerator, power.denominator) ** sympy.Rational(1, root)
        exponent = sympy.Rational(degree.numerator, degree.denominator)
        instances, made = (each.within(context).sympy() for each in (self.instances, added(self.made)))
        return m * instances * memory / (factor * ((1 + m) * memory) ** exponent) - m * memory - made


def read_sources(scop: Scop, statement: Statement) -> Iterator[ReadSources]:
    """Yields, for each read that every instance of a statement makes, which instances made the values that it gets.

    A read is left out where isl would need too many steps to find them.
    """
    for access in statement.reads:
        try:
            with polyhedra.budget(OPERATIONS):
                if not access.may:
                    yield ReadSources.of(scop, statement, access)
        except BudgetExceeded:
            continue


def _factor(text: str) -> str:
    return f"({text})" if " + " in text or " - " in text else text


@dataclass(frozen=True)
class ReadSources:
    """A ReadSources tells which instances made the values that one read of a statement S reads.

    access: the read
    made: by the name of T, { S[i] -> T[j] : T[j] made the value that S[i] reads }
    at_start: { S[i] -> A[j] : S[i] reads the value that A[j] had at the start }
    """

    access: Access
    made: dict[str, isl.Map]
    at_start: isl.Map

    @staticmethod
    def of(scop: Scop, statement: Statement, access: Access) -> ReadSources:
        """Returns the sources of the values that a statement reads by one access."""
        made, at_start = sources_of(scop, statement, access)
        return ReadSources(access, {name: m.reverse() for name, m in made.items()}, at_start)

    @property
    def values(self) -> Values:
        """Returns the values that are read, { T[j]; A[j] }: made by an instance, or in an element at the start."""
        sets = [self.at_start.range(), *(m.range() for m in self.made.values())]
        return reduce(isl.UnionSet.union, map(isl.UnionSet.from_set, sets))


def reuse_bounds(scop: Scop, name: str, flows: Mapping[str, Sequence[ReadSources]]) -> Iterator[ReuseBound]:
    """Yields bounds of one statement that say more than that its operands are loaded once; none where they take too long to find.

    name: the statement's name
    flows: the sources of reads, by statement
    """
    statement = scop.statements[name]
    try:
        with polyhedra.budget(OPERATIONS):
            dims = polyhedra.identifying_dimensions(statement.domain)
            instances = count(polyhedra.onto(statement.domain, dims, name))
            found = [p for flow in flows[name] for p in _of_read(scop, statement, flow, dims)]
            found += _chains(scop, name, flows, dims)
            size = _order(instances)
            found = _different([p for p in found if _order(p.made) < size])
            for constant in dict.fromkeys(((), _constant_dims(statement.domain, dims))):
                reuse = _inequality(name, instances, found, len(dims), constant)
                if reuse is not None and reuse.degree > 1:
                    yield reuse
    except (CannotCount, BudgetExceeded):
        return


def _different(found: Sequence[Projection]) -> list[Projection]:
    """Returns the projections without those that say less than another one with the same kernel and some of the same values.

    Of two such projections the one with fewer values made in the segments that use them says more.
    """
    kept: list[Projection] = []
    for each in sorted(found, key=lambda p: _order(p.made)):
        if all(each.vanishing != other.vanishing or each.values.is_disjoint(other.values) for other in kept):
            kept.append(each)
    return kept


def _order(counted: Count) -> int:
    """Returns the highest degree of a count's formulas, as polynomials of the sizes; -1 where the count is 0."""
    return max((sum(p for _, p in m) for _, value in counted.pieces for m, _ in value.terms), default=-1)


def _of_read(scop: Scop, statement: Statement, flow: ReadSources, dims: Sequence[int]) -> Iterator[Projection]:
    """Yields the projection of a statement's instances to the subscripts of one read; it stands for the values that are read.

    There is none for a scalar, and for subscripts that are not affine or depend on other dimensions than `dims`.

    dims: the dimensions that identify an instance
    """
    access, array = flow.access, scop.arrays[flow.access.array]
    if not array.shape or not all(map(polyhedra.is_affine, access.subscripts)):
        return
    if array.role is not Role.ARGUMENT and not flow.at_start.is_empty():
        return
    made = dict(flow.made)
    if access.relation.is_equal(statement.write.relation):
        made.pop(statement.name, None)  # the first use of an element in a segment is of a value from before
        new = [m.domain() for m in made.values()]
    else:
        new = [m.range() for m in made.values()]
    rows = [each[0] for each in access.coefficients]
    if any(c for row in rows for dim, c in enumerate(row) if dim not in dims):
        return
    text = f"{array.source_name or array.name}{_subscripts(access)}"
    vanishing = kernel([[int(row[dim]) for dim in dims] for row in rows], len(dims))  # affine subscripts have integers
    yield Projection(text, vanishing, flow.values, added(map(count, new)))


def _subscripts(access: Access) -> str:
    """Returns the subscripts of an access as text, such as `[i, j + 1]`."""
    text = str(access.relation)
    return text[text.rindex("[") :].split("]")[0] + "]"


def _chains(scop: Scop, name: str, flows: Mapping[str, Sequence[ReadSources]], dims: Sequence[int]) -> list[Projection]:
    """Returns projections along the constant distances at which one instance of a statement uses a value that another one made.

    Each one maps all instances on a line in the direction of a distance to one point. The distances are linearly independent; short
    ones come first.

    flows: the sources of reads, by statement
    dims: the dimensions that identify an instance
    """
    statement = scop.statements[name]
    found: dict[Space, tuple[int, tuple[int, ...], list[isl.Map]]] = {}
    for path in _paths(name, name, flows, ()):
        whole = reduce(isl.Map.apply_range, path)
        distance = polyhedra.only_point(whole.reverse().deltas())
        if distance is None or not any(distance[dim] for dim in dims):
            continue
        key, length = space([[distance[dim] for dim in dims]], len(dims)), sum(map(abs, distance))
        if key not in found or length < found[key][0]:
            starts = [reduce(isl.Map.apply_range, path[:k]).intersect_domain(whole.domain()) for k in range(1, len(path) + 1)]
            if all(each.is_injective() for each in starts):
                found[key] = length, distance, starts
    chosen: list[Projection] = []
    spanned: Space = ()
    for key, (_, distance, starts) in sorted(found.items(), key=lambda each: (each[1][0], each[1][1])):
        larger = space([*spanned, *key], len(dims))
        if len(larger) > len(spanned):
            spanned = larger
            values = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(each.range()) for each in starts))
            without = count(statement.domain.subtract(starts[-1].domain()))
            chosen.append(Projection(f"chains along ({', '.join(map(str, distance))})", key, values, without))
    return chosen


def _paths(
    name: str, end: str, flows: Mapping[str, Sequence[ReadSources]], between: tuple[str, ...]
) -> Iterator[tuple[isl.Map, ...]]:
    """Yields paths from an instance of statement `name` by way of the instances whose values it uses to one of statement `end`.

    A path is a chain of relations { S[i] -> T[j] : S[i] uses a value that T[j] made }, { T[j] -> ... }.

    flows: the sources of reads, by statement
    between: the statements that are on the path already
    """
    for flow in flows[name]:
        for source, made in flow.made.items():
            if source == end:
                yield (made,)
            elif source not in between and len(between) + 2 <= LONGEST_PATH:
                for rest in _paths(source, end, flows, (*between, source)):
                    yield (made, *rest)


def _constant_dims(domain: isl.Set, dims: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Returns the dimensions that have the same few values for all sizes, as pairs (position among `dims`, how many values)."""
    everywhere = polyhedra.without_sizes(domain)
    lengths = [(k, polyhedra.length(everywhere, dim)) for k, dim in enumerate(dims)]
    found = tuple((k, length) for k, length in lengths if length is not None)
    return found if prod(length for _, length in found) <= MOST_SLICES else ()


def _inequality(
    name: str, instances: Count, found: Sequence[Projection], dims: int, constant: Sequence[tuple[int, int]]
) -> ReuseBound | None:
    """Returns the bound that the Hölder-Brascamp-Lieb inequality of the projections gives; None where there is none.

    name, instances: the statement's name, and how many instances it has
    dims: how many dimensions identify an instance
    constant: pairs (dimension, number of its values) of those with few values; the inequality is applied for each value separately
    """
    kept = [dim for dim in range(dims) if dim not in dict(constant)]
    kernels = [_inside(p.vanishing, kept) for p in found]
    powers = exponents(kernels, len(kept)) if kept and found else None
    if powers is None:
        return None
    used = [(p, s) for p, s in zip(found, powers) if s]
    degree = sum(powers, start=Fraction(0))
    root = lcm(*(s.denominator for _, s in used), degree.denominator)
    power = Fraction(1)
    for family in _families([p for p, _ in used]):
        share = sum((s for p, s in used if p in family), start=Fraction(0))
        power *= (share / degree) ** int(share * root)
    slices = prod(length for _, length in constant)
    telling = sum((s for p, s in used if all(not v[dim] for v in p.vanishing for dim, _ in constant)), start=Fraction(0))
    power *= slices ** int(max(1 - telling, Fraction(0)) * root)
    return ReuseBound(name, instances, tuple(used), degree, power, root)


def _inside(vanishing: Space, kept: Sequence[int]) -> Space:
    """Returns the vectors of a space that are 0 outside the dimensions `kept`, as a space over these dimensions alone."""
    dims = len(vanishing[0]) if vanishing else 0
    others = [dim for dim in range(dims) if dim not in kept]
    if not vanishing:
        return ()
    combinations = kernel([[v[dim] for v in vanishing] for dim in others], len(vanishing))
    rows = [[sum(c * v[dim] for c, v in zip(each, vanishing)) for dim in kept] for each in combinations]
    return space(rows, len(kept))


def _families(found: Sequence[Projection]) -> list[list[Projection]]:
    """Returns the projections in groups, so that projections of different groups stand for no value in common."""
    families: list[list[Projection]] = []
    for each in found:
        same = [family for family in families if any(not each.values.is_disjoint(other.values) for other in family)]
        families = [family for family in families if family not in same]
        families.append([each, *(other for family in same for other in family)])
    return families


def loads(group: Sequence[ReuseBound], sizes: Mapping[str, int], elements: int) -> int:
    """Returns the least number of elements that are loaded by some statements together, no two of which use a value in common.

    group: one bound of each of these statements
    elements: the size of the fast memory
    """
    made = sum(each.evaluate(sizes) for reuse in group for each in reuse.made)
    best = 0
    for multiple in range(1, MOST_SEGMENTS + 1):
        loads = multiple * elements
        more = int(len(group) > 1)  # parts of a segment add up before they are rounded down
        segments = sum(Fraction(r.instances.evaluate(sizes), max(r.most(elements + loads), 1) + more) for r in group)
        best = max(best, loads * (ceil(segments) - 1) - made)
    return best


def _root(value: Fraction, root: int) -> int:
    """Returns the greatest integer whose power with exponent `root` is at most the value."""
    whole = value.numerator // value.denominator
    low, high = 0, 1 << (whole.bit_length() // root + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= whole else (low, middle)
    return low
