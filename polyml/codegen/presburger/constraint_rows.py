"""Rows of linear constraints: names are replaced in them, and loops eliminated from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd

from polyml.codegen.presburger.omega_test import MOST_ROWS, Name, Row, System, combined
from polyml.polyhedra import LinearRow, Quotient

SOME_ROWS = 60  # that are kept where some do
LoopName = tuple[str, int]  # a loop's name in rows: ("loop", 2)


class NotSimple(Exception):
    """The tree or the constraints are for isl's generator."""


def row_of_linear(row: LinearRow) -> Row:
    """Returns isl's constraint as a row that may get names of loops as well."""
    terms, constant = row
    return dict(terms.items()), constant


def tight(row: Row) -> Row:
    """Returns the row that is at least 0 for the same integers, without a common factor."""
    terms, constant = row
    divisor = gcd(*terms.values())
    return ({n: c // divisor for n, c in terms.items()}, constant // divisor) if divisor > 1 else row


def opposite(row: Row) -> Row:
    """Returns the row that is at most 0 where this one is at least 0."""
    return {n: -c for n, c in row[0].items()}, -row[1]


def negated(row: Row) -> Row:
    """Returns the row that is at least 0 where this one is not."""
    return {n: -c for n, c in row[0].items()}, -row[1] - 1


def without(row: Row, by: int, other: Row, factor: int) -> Row:
    """Returns by * row - factor * other."""
    return combined(row, by, other, -factor)


def innermost_loop(row: Row) -> int:
    """Returns the number of the innermost loop in the row, -1 where there is none."""
    found = -1
    for name in row[0]:
        if type(name) is tuple and name[1] > found:
            found = name[1]
    return found


def row_key(row: Row) -> tuple[frozenset, int]:
    """Returns a key that equal rows have in common."""
    return frozenset(row[0].items()), row[1]


def both(system: System) -> list[Row]:
    """Returns a system's rows with each equation as two."""
    return [*(end for row in system.equal for end in (row, opposite(row))), *system.least]


def of_loops(rows: Iterable[Row]) -> bool:
    """Returns whether rows are of parameters and loops alone."""
    return all(type(name) in (str, tuple) for terms, _ in rows for name in terms)


def solve(equations: Sequence[Row], shortest: bool = False) -> tuple[dict[Name, Row], list[Row]]:
    """Returns what iterators and quotients are by the equations, and the equations that are not used.

    shortest: whether equations with the fewest iterators and quotients are used first.
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
    """Returns the rows that are 0 because they and their opposites are at least 0."""
    found = [tight(row) for row in rows]
    keys = {row_key(row) for row in found}
    return [row for row in found if row[0] and row_key(opposite(row)) in keys]


def _unknowns(usable: tuple[Row, Name]) -> int:
    """Returns how many iterators and quotients a row has."""
    return sum(type(name) in (int, Quotient) for name in usable[0][0])


def solved_for(row: Row, name: Name) -> Row:
    """Returns what a name with coefficient 1 or -1 is where the row is 0."""
    sign = -row[0][name]
    return {n: sign * c for n, c in row[0].items() if n != name}, sign * row[1]


def replaced(row: Row, values: Mapping[Name, Row]) -> Row:
    """Returns the row with names replaced by their values, which have none of these names."""
    terms: dict[Name, int] = {}
    constant = row[1]
    for name, c in row[0].items():
        more, number = values.get(name, ({name: 1}, 0))
        constant += c * number
        for n, k in more.items():
            terms[n] = terms.get(n, 0) + c * k
    return {n: c for n, c in terms.items() if c}, constant


def shadows_of(rows: list[Row] | None, first: int, last: int, some: bool = False) -> tuple[tuple[Row, ...] | None, ...]:
    """Returns what rows say of the outermost loops, for each number of them from the first to the last; None: a contradiction.

    Loops are eliminated from the innermost one outwards (Fourier and Motzkin). A row that is derived from more rows than there
    are loops eliminated, and one, follows from others (Imbert, 1990).

    some: whether the shortest rows alone are kept where there are many.
    """
    found: list[tuple[Row, ...] | None] = []
    least = None if rows is None else _tightest(_origins(rows), some)
    for eliminated, kept in enumerate(range(last, first - 1, -1)):
        if eliminated and least is not None:
            least = _tightest(_eliminated(least, ("loop", kept), eliminated + 1), some)
        found.append(None if least is None else tuple(row for row, _ in least.values()))
    return tuple(reversed(found))


def outline(rows: Iterable[Row]) -> list[Row] | None:
    """Returns some of what rows say of parameters and loops alone, or None where they contradict each other."""
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
    """Yields rows as derived of themselves."""
    return ((row, frozenset([k])) for k, row in enumerate(rows))


def _tightest(rows: Iterable[_Derived], some: bool) -> dict[frozenset, _Derived] | None:
    """Returns, by terms, the row that says the most, or None where rows contradict each other.

    some: whether the shortest rows alone are kept where there are many.
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
    """Returns how many names of a row are no parameters, and how many it has. A row of parameters alone bounds nothing."""
    return sum(type(name) is not str for name, _ in item[0]) or 2, len(item[0])


def _eliminated(rows: dict[frozenset, _Derived], name: Name, most: int) -> Iterator[_Derived]:
    """Yields what the rows say without a name. most: of how many of the first rows one may be derived."""
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
