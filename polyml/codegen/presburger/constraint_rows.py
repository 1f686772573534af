"""Operations on linear expressions over names (rows), which constraints are made of: names are replaced in them, and loops
eliminated from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from polyml.codegen.presburger.omega_test import MOST_ROWS, Name, Row, System, combined
from polyml.polyhedra import LinearRow, Quotient
from polyml.values import cached_property

SOME_ROWS = 60  # that are kept where some do
LoopName = tuple[str, int]  # a loop's name in rows: ("loop", 2)


@dataclass(frozen=True)
class Maximum:
    """A Maximum is the greatest of some linear expressions of parameters. In rows it stands in the place of a parameter's name.

    operands: these expressions, each as (pairs of a parameter and its coefficient, constant).
    """

    operands: frozenset[tuple[frozenset, int]]

    @cached_property
    def rows(self) -> list[Row]:
        """Its operands as linear expressions, in an order that is always the same."""
        return [(dict(sorted(terms)), constant) for terms, constant in sorted(self.operands, key=lambda o: (sorted(o[0]), o[1]))]

    def facts(self) -> list[Row]:
        """Returns what linear expressions can say of it: the differences to its operands, which are at least 0."""
        return [without(({self: 1}, 0), 1, row, 1) for row in self.rows]


def maximum(rows: Iterable[Row]) -> Maximum:
    """Returns the greatest of some linear expressions of parameters."""
    return Maximum(frozenset(map(row_key, rows)))


def is_fixed(name: Name) -> bool:
    """Returns whether a name in rows has one value in all iterations: it is a parameter or a maximum of them."""
    return type(name) in (str, Maximum)


def without_maxima(row: Row) -> list[Row]:
    """Returns linear expressions which are all at least 0 exactly where `row` is, without the maxima that it subtracts: instead of
    each of them, every operand is subtracted once.
    """
    found = next((name for name, c in row[0].items() if c < 0 and type(name) is Maximum), None)
    if found is None:
        return [row]
    return [left for operand in found.rows for left in without_maxima(replaced(row, {found: operand}))]


class NotSimple(Exception):
    """Raised for a schedule tree or constraints for which polyml does not make the loops itself, so that isl's generator has to."""


def row_of_linear(row: LinearRow) -> Row:
    """Returns a linear expression of isl, (read-only terms, constant), as a row, ({ name -> coefficient }, constant), which may be
    changed.
    """
    terms, constant = row
    return dict(terms.items()), constant


def tight(row: Row) -> Row:
    """Returns the linear expression `row` divided by the common factor of its coefficients, with the constant rounded down: it is
    at least 0 for the same integers as `row`.
    """
    terms, constant = row
    divisor = gcd(*terms.values())
    return ({n: c // divisor for n, c in terms.items()}, constant // divisor) if divisor > 1 else row


def opposite(row: Row) -> Row:
    """Returns the linear expression -row."""
    return {n: -c for n, c in row[0].items()}, -row[1]


def negated(row: Row) -> Row:
    """Returns the linear expression -row - 1, which over the integers is at least 0 exactly where `row` is not."""
    return {n: -c for n, c in row[0].items()}, -row[1] - 1


def without(row: Row, by: int, other: Row, factor: int) -> Row:
    """Returns the linear expression by * row - factor * other; callers choose the factors so that a name drops out."""
    return combined(row, by, other, -factor)


def innermost_loop(row: Row) -> int:
    """Returns the number of the innermost loop that a linear expression contains, -1 where it contains none."""
    found = -1
    for name in row[0]:
        if type(name) is tuple and name[1] > found:
            found = name[1]
    return found


def row_key(row: Row) -> tuple[frozenset, int]:
    """Returns a hashable key of a linear expression, the same for equal ones."""
    return frozenset(row[0].items()), row[1]


def both(system: System) -> list[Row]:
    """Returns a system's constraints as linear expressions that are at least 0: each equation becomes two of them."""
    return [*(end for row in system.equal for end in (row, opposite(row))), *system.least]


def of_loops(rows: Iterable[Row]) -> bool:
    """Returns whether the only names in linear expressions are parameters, their maxima and loops, without iterators and quotients."""
    return all(type(name) is tuple or is_fixed(name) for terms, _ in rows for name in terms)


def solve(equations: Sequence[Row], shortest: bool = False) -> tuple[dict[Name, Row], list[Row]]:
    """Solves equations for iterators and quotients with coefficient 1 or -1. Returns ({ name -> its value }, the equations left, in
    which these names are replaced).

    equations: linear expressions that are 0.
    shortest: whether equations with the fewest iterators and quotients are used first; if not, they are used in their order.
    """
    solved: dict[Name, Row] = {}
    left = [*equations]
    while True:
        usable = ((row, n) for row in left for n, c in row[0].items() if c in (1, -1) and type(n) in (int, Quotient))
        found = min(usable, key=_unknowns, default=None) if shortest else next(usable, None)
        if found is None:
            return solved, left
        row, name = found
        value = solved_for(row, name)
        left = [replaced(other, {name: value}) for other in left if other is not row]
        solved = {n: replaced(v, {name: value}) for n, v in solved.items()} | {name: value}


def equations_in(rows: Iterable[Row]) -> list[Row]:
    """Returns those of the linear expressions, all at least 0, that are 0 because their opposites are among them too."""
    found = [tight(row) for row in rows]
    keys = {row_key(row) for row in found}
    return [row for row in found if row[0] and row_key(opposite(row)) in keys]


def _unknowns(usable: tuple[Row, Name]) -> int:
    """Returns the number of iterators and quotients in a linear expression, by which equations are chosen. usable: (the expression,
    a name in it).
    """
    return sum(type(name) in (int, Quotient) for name in usable[0][0])


def solved_for(row: Row, name: Name) -> Row:
    """Returns the value of a name, which has coefficient 1 or -1, where the linear expression `row` is 0."""
    sign = -row[0][name]
    return {n: sign * c for n, c in row[0].items() if n != name}, sign * row[1]


def replaced(row: Row, values: Mapping[Name, Row]) -> Row:
    """Returns the linear expression with names replaced by their values, which contain none of these names."""
    terms: dict[Name, int] = {}
    constant = row[1]
    for name, c in row[0].items():
        more, number = values.get(name, ({name: 1}, 0))
        constant += c * number
        for n, k in more.items():
            terms[n] = terms.get(n, 0) + c * k
    return {n: c for n, c in terms.items() if c}, constant


def shadows_of(rows: list[Row] | None, first: int, last: int, some: bool = False) -> tuple[tuple[Row, ...] | None, ...]:
    """Returns, for each n from `first` to `last`, the constraints on the n outermost loops and the parameters that follow from the
    rows, as linear expressions that are at least 0, or None where the rows contradict each other. Raises NotSimple for too many
    rows unless `some` is set.

    Loops are eliminated from the innermost one outwards (Fourier and Motzkin). A row that is derived from more rows than the number
    of eliminated loops plus one follows from others (Imbert, 1990).

    rows: linear expressions on the `last` outermost loops that are at least 0; None for a contradiction.
    some: whether only the shortest rows are kept where there are many.
    """
    found: list[tuple[Row, ...] | None] = []
    least = None if rows is None else _tightest(_origins(rows), some)
    for eliminated, kept in enumerate(range(last, first - 1, -1)):
        if eliminated and least is not None:
            least = _tightest(_eliminated(least, ("loop", kept), eliminated + 1), some)
        found.append(None if least is None else tuple(row for row, _ in least.values()))
    return tuple(reversed(found))


def outline(rows: Iterable[Row]) -> list[Row] | None:
    """Returns some of the constraints on parameters and loops alone that follow from rows which also have iterators and quotients;
    None where the rows contradict each other. The shortest are kept where there are many.

    rows: linear expressions that are at least 0, as those returned are.
    """
    least, eliminated = _tightest(_origins(rows), True), 0
    while least is not None:
        counts: dict[Name, list[int]] = {}
        for row, _ in least.values():
            for name, c in row[0].items():
                if type(name) in (int, Quotient):
                    counts.setdefault(name, [0, 0])[c > 0] += 1
        if not counts:
            return [row for row, _ in least.values()]
        name = min(counts, key=lambda name: counts[name][0] * counts[name][1])
        eliminated += 1
        least = _tightest(_eliminated(least, name, eliminated + 1), True)
    return None


_Derived = tuple[Row, frozenset[int]]  # a row, and the rows that it comes of


def _origins(rows: Iterable[Row]) -> Iterator[_Derived]:
    """Yields (row, the numbers of the given rows from which it is derived) for each given row: it is derived from itself alone."""
    return ((row, frozenset([k])) for k, row in enumerate(rows))


def _tightest(rows: Iterable[_Derived], some: bool) -> dict[frozenset, _Derived] | None:
    """Returns { terms of a linear expression -> the strongest of the rows with these terms, which differ in their constants }, or
    None where rows contradict each other. Raises NotSimple for too many rows unless `some` is set.

    some: whether only the shortest rows are kept where there are many.
    """
    found: dict[frozenset, _Derived] = {}
    for row, origin in rows:
        terms, constant = row = tight(row)
        if not terms:
            if constant < 0:
                return None
            continue
        key = frozenset(terms.items())
        if some and key in found:  # what follows from either may be needed
            origin = min(origin, found[key][1], key=len)
            found[key] = found[key][0], origin
        if key not in found or constant < found[key][0][1]:
            opposite = found.get(frozenset((n, -c) for n, c in terms.items()))
            if opposite is not None and opposite[0][1] + constant < 0:
                return None
            found[key] = row, origin
    if len(found) > MOST_ROWS and not some:
        raise NotSimple
    if len(found) > SOME_ROWS and some:
        kept = sorted(found.items(), key=_reach)[:SOME_ROWS]
        return {key: (row, frozenset()) for key, (row, _) in kept}  # what follows from those that are dropped is new again
    return found


def _reach(item: tuple[frozenset, _Derived]) -> tuple[int, int]:
    """Returns a row's key for sorting, (how many of its names are no parameters, how many names it has); rows with the least keys
    are kept. A row with parameters alone counts as one with two names that are none, since it bounds no loop.

    item: (the terms of a row, the row with the numbers of the given rows from which it is derived).
    """
    return sum(not is_fixed(name) for name, _ in item[0]) or 2, len(item[0])


def _eliminated(rows: dict[frozenset, _Derived], name: Name, most: int) -> Iterator[_Derived]:
    """Yields the rows that are left when a name is eliminated from `rows` by Fourier and Motzkin's method: those that lack it, and
    those that follow from pairs of rows that have it.

    most: rows that are derived from more than this number of the original rows are left out, since they follow from others.
    """
    above: list[tuple[Row, frozenset[int], int]] = []
    below: list[tuple[Row, frozenset[int], int]] = []
    for row, origin in rows.values():
        c = row[0].get(name, 0)
        if c == 0:
            yield row, origin
        else:
            (above if c > 0 else below).append((row, origin, abs(c)))
    for up, its, factor in above:
        for down, others, by in below:
            if len(its | others) <= most:
                yield without(down, factor, opposite(up), by), its | others
