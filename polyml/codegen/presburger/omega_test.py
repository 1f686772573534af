"""Conjunctions of linear constraints over integers, decided by substitution and elimination.

    system = rows that are 0, and rows that are at least 0;  row = sum of coefficient * name, and a constant

Loops and subscripts give small systems in which nearly every coefficient is 1: these are decided here in microseconds, exactly
or not at all (Pugh, "The Omega test", CACM 35(8), 1992: real shadows). What is not decided is left to isl.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import gcd

MOST_ROWS = 200  # of a system on the way to an answer

Name = Hashable
Row = tuple[dict[Name, int], int]


@dataclass(frozen=True)
class System:
    """A conjunction of linear constraints over integers.

    equal: rows (linear expressions) that are 0.
    least: rows that are at least 0.
    """

    equal: tuple[Row, ...] = ()
    least: tuple[Row, ...] = ()

    def __and__(self, other: System) -> System:
        return System(self.equal + other.equal, self.least + other.least)


@dataclass(frozen=True)
class Shadow:
    """A shadow is the projection of a system of constraints onto some of its names.

    system: constraints on these names that hold wherever the other names have values; None if the whole system has no solution.
    is_exact: whether the other names have values wherever the constraints hold.
    """

    system: System | None
    is_exact: bool = True


class _Empty(Exception):
    """Raised where no integers satisfy the system."""


class _TooLarge(Exception):
    """Raised where the system has become too large to go on."""


def is_empty(system: System) -> bool | None:
    """Returns whether no integers satisfy the system, or None where this is not decided."""
    rows = _Rows(frozenset())
    try:
        is_exact = rows.eliminate_all(system)
    except _Empty:
        return True
    except _TooLarge:
        return None
    return False if is_exact or rows.has_point() else None


def shadow(system: System, kept: frozenset[Name]) -> Shadow | None:
    """Returns the projection of the system onto the kept names, or None where this takes too long."""
    rows = _Rows(kept)
    try:
        is_exact = rows.eliminate_all(system)
    except _Empty:
        return Shadow(None)
    except _TooLarge:
        return None
    return Shadow(rows.system(), is_exact)


class _Rows:
    """The constraints of a system from which names are being eliminated. Of constraints that differ in their constants alone the
    strongest one is kept.
    """

    def __init__(self, kept: frozenset[Name]):
        self._kept = kept
        self._least: dict[frozenset, Row] = {}
        self._equal: list[Row] = []  # to be substituted
        self._held: list[Row] = []  # of kept names alone
        self._values: dict[Name, Row] = {}  # of names that were substituted
        self._eliminated: list[tuple[Name, list[Row] | None]] = []  # with the rows that they were in, None: they have a value
        self._is_exact = True

    def eliminate_all(self, system: System) -> bool:
        """Eliminates all names of a system that are not kept, and returns whether the constraints left are the exact projection
        onto the kept names. Raises _Empty or _TooLarge.
        """
        self._equal += system.equal
        for terms, constant in system.least:
            self.set_least(terms, constant)
        self.settle()
        while names := self.next_names():
            for name in names:
                self.eliminate(name)
            self.settle()
        return self._is_exact

    def has_point(self) -> bool:
        """Returns whether integers that satisfy all constraints were found. One attempt is made: each eliminated name, the last one
        first, gets a value within the bounds that those with values leave it.
        """
        values: dict[Name, int] = {}
        for name, rows in reversed(self._eliminated):
            if rows is None:
                terms, constant = self._values[name]
                values[name] = constant + sum(c * values.setdefault(n, 0) for n, c in terms.items())
                continue
            low = high = None
            for terms, constant in rows:
                factor = terms[name]
                for n, c in terms.items():
                    if n != name:
                        constant += c * values.setdefault(n, 0)
                bound = -(constant // factor) if factor > 0 else constant // -factor
                if factor > 0:
                    low = bound if low is None else max(low, bound)
                else:
                    high = bound if high is None else min(high, bound)
            if low is not None and high is not None and low > high:
                return False
            values[name] = low if low is not None else 0 if high is None else min(high, 0)
        return True

    def system(self) -> System:
        """Returns the constraints that are left as a system."""
        return System(tuple(self._held), tuple(self._least.values()))

    def set_least(self, terms: dict[Name, int], constant: int) -> None:
        """Adds the constraint terms + constant >= 0, tightened for integers; with an opposite constraint it becomes an equation.
        Raises _Empty for a contradiction, _TooLarge for too many constraints.
        """
        size = len(terms)
        if size == 0:
            if constant < 0:
                raise _Empty
            return
        if size == 1:
            ((name, c),) = terms.items()
            if c != 1 and c != -1:
                terms, constant = {name: 1 if c > 0 else -1}, constant // abs(c)
        else:
            divisor = gcd(*terms.values())
            if divisor > 1:
                terms, constant = {n: c // divisor for n, c in terms.items()}, constant // divisor
        key = frozenset(terms.items())
        known = self._least.get(key)
        if known is not None and known[1] <= constant:
            return
        opposite = frozenset([(n, -c) for n, c in key])
        other = self._least.get(opposite)
        if other is not None:
            room = other[1] + constant
            if room < 0:
                raise _Empty
            if room == 0:
                del self._least[opposite]
                self._least.pop(key, None)
                self._equal.append((terms, constant))
                return
        self._least[key] = (terms, constant)
        if len(self._least) > MOST_ROWS:
            raise _TooLarge

    def settle(self) -> None:
        """Substitutes names by the values that equations give them, until no equation is left to be used. Raises _Empty for an
        equation without integer solutions.
        """
        while self._equal:
            terms, constant = self._substituted(*self._equal.pop())
            if not terms:
                if constant:
                    raise _Empty
                continue
            divisor = gcd(*terms.values())
            if constant % divisor:
                raise _Empty
            if divisor > 1:
                terms, constant = {n: c // divisor for n, c in terms.items()}, constant // divisor
            units = [n for n, c in terms.items() if c in (1, -1)]
            name = next((n for n in units if n not in self._kept), None)
            if name is None and self._kept.issuperset(terms):
                if not units:
                    self._held.append((terms, constant))
                    continue
                name = units[0]
            if name is None and self._kept.isdisjoint(terms):
                self._reduce(terms, constant)
                continue
            if name is None:  # what it says of kept names modulo a coefficient is not said here
                self._is_exact = False
                self._weaken(terms, constant)
                continue
            self._replace(name, terms, constant)

    def _reduce(self, terms: dict[Name, int], constant: int) -> None:
        """Substitutes a new name for the name with the least coefficient in an equation, so that the other coefficients get
        smaller: 4x + 6y = 2 becomes 4z + 2y = 2 with z = x + y.
        """
        name = min(terms, key=lambda name: abs(terms[name]))
        factor = terms[name]
        new = ("new", len(self._eliminated))
        divided = {n: -(c // factor) for n, c in terms.items() if n != name and c // factor}
        self._equal.append((terms, constant))
        self._replace(name, {new: 1, name: -1, **divided}, -(constant // factor))

    def _weaken(self, terms: dict[Name, int], constant: int) -> None:
        """Keeps the equation terms + constant = 0 as the inequalities terms + constant >= 0 and -terms - constant >= 0, which are
        not joined into an equation again. Raises _Empty for a contradiction.
        """
        for row in ((terms, constant), ({n: -c for n, c in terms.items()}, -constant)):
            key = frozenset(row[0].items())
            known = self._least.get(key)
            if known is not None and known[1] < row[1]:
                raise _Empty
            self._least[key] = row

    def _replace(self, name: Name, terms: dict[Name, int], constant: int) -> None:
        """Eliminates a name with coefficient 1 or -1 by the equation terms + constant = 0."""
        sign = -terms[name]  # name = sign * (the rest)
        value = ({n: sign * c for n, c in terms.items() if n != name}, sign * constant)
        self._values[name] = value
        self._eliminated.append((name, None))
        if name in self._kept:
            self._held.append((terms, constant))
        for at, row in enumerate(self._equal):
            if name in row[0]:
                self._equal[at] = _with(row, name, value)
        touched = [(key, row) for key, row in self._least.items() if name in row[0]]
        for key, _ in touched:
            self._least.pop(key, None)
        for _, row in touched:
            self.set_least(*_with(row, name, value))

    def _substituted(self, terms: dict[Name, int], constant: int) -> Row:
        """Returns the linear expression terms + constant with the names that were substituted replaced by their values."""
        row = (terms, constant)
        while (name := next((n for n in row[0] if n in self._values), None)) is not None:
            row = _with(row, name, self._values[name])
        return row

    def next_names(self) -> list[Name]:
        """Returns the names to eliminate next: all names with no lower or no upper bounds; if there are none, the name whose
        elimination is cheapest. Returns no names if all that are left are to be kept.
        """
        counts: dict[Name, list[int]] = {}
        for terms, _ in self._least.values():
            for name, c in terms.items():
                found = counts.get(name)
                if found is None:
                    if name in self._kept:
                        continue
                    found = counts[name] = [0, 0, 0]
                if c > 0:
                    found[0] += 1
                    found[2] += c != 1
                else:
                    found[1] += 1
                    found[2] += c != -1
        unbounded = [name for name, (above, below, _) in counts.items() if not above or not below]
        if unbounded or not counts:
            return unbounded
        return [min(counts, key=lambda name: _price(*counts[name]))]

    def eliminate(self, name: Name) -> None:
        """Replaces the constraints that have the name by those that follow from them on the other names. Raises _Empty or
        _TooLarge.
        """
        above: list[tuple[int, Row]] = []
        below: list[tuple[int, Row]] = []
        for key, row in [*self._least.items()]:
            c = row[0].get(name)
            if c is not None:
                del self._least[key]
                (above if c > 0 else below).append((c, row))
        self._eliminated.append((name, [row for _, row in (*above, *below)]))
        for up, row in above:
            for down, other in below:
                joined, total = combined(row, -down, other, up)
                gap = (up - 1) * (-down - 1)
                self._is_exact &= not gap or self._is_implied(joined, total - gap)
                self.set_least(joined, total)

    def _is_implied(self, terms: dict[Name, int], constant: int) -> bool:
        """Returns whether terms + constant >= 0 follows from a single constraint that is left."""
        if not terms:
            return constant >= 0
        known = self._least.get(frozenset(terms.items()))
        return known is not None and known[1] <= constant


def _price(above: int, below: int, wide: int) -> tuple[bool, int]:
    """Returns the cost of eliminating a name, to be compared: whether the elimination may be inexact, and by how many rows the
    system grows.

    above, below: in how many rows the name's coefficient is positive, and negative.
    wide: in how many it is neither 1 nor -1.
    """
    return wide > 1, above * below - above - below


def combined(row: Row, factor: int, other: Row, by: int) -> Row:
    """Returns the linear expression factor * row + by * other."""
    terms = dict(row[0]) if factor == 1 else {n: factor * c for n, c in row[0].items()}
    for name, c in other[0].items():
        total = terms.get(name, 0) + by * c
        if total:
            terms[name] = total
        else:
            terms.pop(name, None)
    return terms, factor * row[1] + by * other[1]


def _with(row: Row, name: Name, value: Row) -> Row:
    """Returns the linear expression with a name replaced by its value."""
    others = dict(row[0])
    factor = others.pop(name)
    return combined((others, row[1]), 1, value, factor)


def at_least(terms: Mapping[Name, int], constant: int) -> System:
    """Returns the system terms + constant >= 0."""
    return System(least=((dict(terms), constant),))


def equal(terms: Mapping[Name, int], constant: int) -> System:
    """Returns the system terms + constant = 0."""
    return System(equal=((dict(terms), constant),))


def bounds(system: System) -> tuple[dict[Name, tuple[int | None, int | None]], bool]:
    """Returns the lower and the upper bound of each name by the constraints on that name alone (None: no bound), and whether all
    constraints are on one name.
    """
    found: dict[Name, tuple[int | None, int | None]] = {}
    is_box = True
    for rows, both in ((system.equal, True), (system.least, False)):
        for terms, constant in rows:
            if len(terms) != 1:
                is_box = False
                continue
            ((name, c),) = terms.items()
            low, high = found.get(name, (None, None))
            if c > 0 or both:
                least = -(constant // c)
                low = least if low is None else max(low, least)
            if c < 0 or both:
                most = -constant // c if c > 0 else constant // -c
                high = most if high is None else min(high, most)
            found[name] = low, high
    return found, is_box
