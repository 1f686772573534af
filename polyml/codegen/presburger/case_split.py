"""Expressions with quotients, extrema and choices as linear constraints, case by case.

    max(a, b) >= c     one case in which a >= b, and the row a - c; one in which b >= a, and the row b - c
    floor(e / d)       a name q, of which d*q <= e <= d*q + d - 1 is known wherever it occurs

Every division into cases is exact: together they hold the same integers as the system that is divided. Whether a case is empty
is decided by elimination (`omega_test`), else for each remainder of small divisions, else by isl's integer programming.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from polyml.codegen.presburger.constraint_rows import negated, opposite
from polyml.codegen.presburger.omega_test import Name, Row, System, combined, is_empty
from polyml.polyhedra import BudgetExceeded, Quotient, budget, has_integers
from polyml.quasi_affine.affine import Affine, Choice, Compare, Condition, Extremum, FloorDiv

MOST_DECISIONS = 6000  # of one tree
MOST_FOR_ISL = 200  # of these to isl, and
OPERATIONS = 20_000  # of isl for each
MOST_CASES = 64  # of one system
MOST_REMAINDERS = 12  # of a division, and
MOST_DIVIDED = 3  # of which divisions a system is divided by, where it is not decided otherwise
Values = Mapping[Name, Row]  # what names are
Split = tuple[list[System], list[System]]  # (the part in which something holds, the part in which it does not)


class TooMany(Exception):
    """Raised where there are too many cases or decisions, so that nothing is known."""


class Cases:
    """A divider of systems of linear constraints into cases. It has one name for each quotient, and counts its decisions to stay
    within limits.
    """

    def __init__(self) -> None:
        self._quotients: dict[tuple, Name] = {}
        self._bounds: dict[Name, tuple[Row, Row]] = {}
        self._parts: dict[Name, tuple[Row, int]] = {}
        self._decisions = self._left_to_isl = 0

    def quotient(self, row: Row, divisor: int) -> Row:
        """Returns floor(row / divisor) as a linear expression, in which a name stands for the part that is not linear. Quotients
        that differ only by whole numbers, common factors or signs share a name.
        """
        whole: dict[Name, int] = {}
        rest: dict[Name, int] = {}
        for name, c in row[0].items():
            most = c // divisor
            left = c - most * divisor
            if 2 * left > divisor:
                most, left = most + 1, left - divisor
            if most:
                whole[name] = most
            if left:
                rest[name] = left
        number, constant = divmod(row[1], divisor)
        if not rest:
            return whole, number
        common = gcd(divisor, *rest.values())
        if common > 1:
            rest, constant, divisor = {n: c // common for n, c in rest.items()}, constant // common, divisor // common
        sign = 1
        if rest[min(rest, key=str)] < 0:  # floor(e / d) = -1 - floor((-e - 1) / d)
            more, constant = divmod(-constant - 1, divisor)
            rest, number, sign = {n: -c for n, c in rest.items()}, number - 1 - more, -1
        name, c = next(iter(rest.items()))
        if len(rest) == c == 1 and name in self._parts:  # a quotient of a quotient
            (terms, inner), by = self._parts[name]
            return plus((whole, number), self.quotient((terms, inner + constant * by), divisor * by), sign)
        return plus((whole, number), ({self._name(rest, constant, divisor): 1}, 0), sign)

    def _name(self, terms: dict[Name, int], constant: int, divisor: int) -> Name:
        """Returns the name that stands for floor((terms + constant) / divisor)."""
        key = frozenset(terms.items()), constant, divisor
        name = self._quotients.get(key)
        if name is None:
            name = self._quotients[key] = ("//", len(self._quotients))
            below = {n: -c for n, c in terms.items()}
            self._bounds[name] = ({**terms, name: -divisor}, constant), ({**below, name: divisor}, divisor - 1 - constant)
            self._parts[name] = (terms, constant), divisor
        return name

    def row(self, row: Row, values: Values) -> Row:
        """Returns a linear expression with each name replaced by its value; for a `Quotient` among its names, which is not linear,
        the result has a name that stands for it.

        values: by name, the linear expression that replaces it.
        """
        terms: dict[Name, int] = {}
        constant = row[1]
        for name, c in row[0].items():
            if isinstance(name, Quotient):
                more, number = self.quotient(self.row((dict(name.terms), name.constant), values), name.divisor)
            else:
                more, number = values.get(name) or ({name: 1}, 0)
            constant += c * number
            for n, k in more.items():
                terms[n] = terms.get(n, 0) + c * k
        return {n: c for n, c in terms.items() if c}, constant

    def value(self, e: Affine, case: System, values: Values) -> list[tuple[System, Row]]:
        """Returns pairs (case, the linear expression that the expression is in this case). The cases divide `case`: together they
        hold the same integers.

        values: by name, the linear expression that replaces it.
        """
        found: list[tuple[System, Row]] = [(case, ({}, e.constant))]
        for atom, c in e.terms:
            if isinstance(atom, str):
                row = values.get(atom) or ({atom: 1}, 0)
                found = [(each, plus(total, row, c)) for each, total in found]
            else:
                found = [(more, plus(total, row, c)) for each, total in found for more, row in self._atom(atom, each, values)]
        return found

    def _atom(self, atom: FloorDiv | Extremum | Choice, case: System, values: Values) -> list[tuple[System, Row]]:
        """Returns pairs (case, the linear expression that a quotient, a minimum or maximum, or a conditional value is in this
        case). The cases divide `case`.

        values: by name, the linear expression that replaces it.
        """
        if isinstance(atom, FloorDiv):
            return [(each, self.quotient(row, atom.divisor)) for each, row in self.value(atom.operand, case, values)]
        if isinstance(atom, Choice):
            then, orelse = self.split(case, atom.condition, values)
            found = [pair for each in then for pair in self.value(atom.then, each, values)]
            return found + [pair for each in orelse for pair in self.value(atom.orelse, each, values)]
        return self.extreme(atom.op, atom.operands, case, values)

    def extreme(self, op: str, operands: Sequence[Affine], case: System, values: Values) -> list[tuple[System, Row]]:
        """Returns pairs (case, the linear expression that is the least operand for "min", or the greatest for "max", in this case).
        The cases divide `case`.

        values: by name, the linear expression that replaces it.
        """
        found = []
        for each, rows in self.all(operands, case, values):
            for k, row in enumerate(rows):
                parts = [each]
                for n, other in enumerate(rows):
                    ahead = plus(other, row, -1) if op == "min" else plus(row, other, -1)
                    if n != k:  # of equal ones the first
                        parts = [part for whole in parts for part in self.at_least(whole, (ahead[0], ahead[1] - (n < k)))[0]]
                found += [(part, row) for part in parts]
        return found

    def all(self, expressions: Sequence[Affine], case: System, values: Values) -> list[tuple[System, list[Row]]]:
        """Returns pairs (case, the linear expressions that the given expressions are in this case, in order). The cases divide
        `case`. Raises TooMany.

        values: by name, the linear expression that replaces it.
        """
        found: list[tuple[System, list[Row]]] = [(case, [])]
        for e in expressions:
            found = [(more, [*rows, row]) for each, rows in found for more, row in self.value(e, each, values)]
        if len(found) > MOST_CASES:
            raise TooMany
        return found

    def split(self, case: System, condition: Condition, values: Values) -> Split:
        """Divides a case by a condition. Returns two lists of cases: those in which the condition holds, and those in which it does
        not. Raises TooMany.

        values: by name, the linear expression that replaces it.
        """
        if isinstance(condition, Compare):
            ask = self.at_least if condition.op == ">=" else self.zero
            return _joined(ask(each, row) for each, row in self.value(condition.expr, case, values))
        others: list[System] = []
        left = [case]
        is_and = condition.op == "and"
        for part in condition.parts:
            inside, outside = _joined(self.split(each, part, values) for each in left)
            left, decided = (inside, outside) if is_and else (outside, inside)
            others += decided
        if len(left) + len(others) > MOST_CASES:
            raise TooMany
        return (left, others) if is_and else (others, left)

    def at_least(self, case: System, row: Row) -> Split:
        """Divides a case by the sign of a linear expression. Returns two lists of cases, either of which may be empty: those in
        which it is at least 0, and those in which it is negative.
        """
        if not row[0]:
            return ([case], []) if row[1] >= 0 else ([], [case])
        outside = System(case.equal, (*case.least, negated(row)))
        if self.implies(case, row):
            return [case], []
        inside = System(case.equal, (*case.least, row))
        return ([], [outside]) if self.is_empty(inside) else ([inside], [outside])

    def zero(self, case: System, row: Row) -> Split:
        """Divides a case by whether a linear expression is 0. Returns two lists of cases: those in which it is 0, and those in
        which it is not.
        """
        divisor = gcd(*row[0].values())
        if (row[1] % divisor) if divisor else row[1]:
            return [], [case]
        inside, outside = [case], []
        for side in (row, opposite(row)):
            inside, below = _joined(self.at_least(each, side) for each in inside)
            outside += below
        return inside, outside

    def both(self, case: System, equal: Iterable[Row], least: Iterable[Row]) -> Split:
        """Divides a case. Returns two lists of cases: those in which all of `equal` are 0 and all of `least` at least 0, and all
        others.
        """
        inside, outside = [case], []
        for ask, rows in ((self.zero, equal), (self.at_least, least)):
            for row in rows:
                inside, others = _joined(ask(each, row) for each in inside)
                outside += others
        return inside, outside

    def implies(self, case: System, row: Row) -> bool:
        """Returns whether a linear expression is proved to be at least 0 in a case."""
        terms, constant = row
        for others, other in case.least:
            if other <= constant and others == terms:
                return True
        return self.is_empty(System(case.equal, (*case.least, negated(row))))

    def is_empty(self, case: System) -> bool:
        """Returns whether a case is proved to hold no integers. Three ways are tried: elimination; elimination for each combination
        of the remainders of a few small divisions; and isl. Raises TooMany past a limit of decisions.
        """
        whole = self._with_quotients(case)
        found = self._is_empty_by_elimination(whole)
        if found is None:
            names = {name: None for terms, _ in (*whole.equal, *whole.least) for name in terms if name in self._parts}
            small = sorted((self._parts[name][1], name) for name in names if self._parts[name][1] <= MOST_REMAINDERS)
            found = self._is_empty_by_remainders(whole, [name for _, name in small[:MOST_DIVIDED]])
        if found is None:
            found = self._is_empty_for_isl(whole)
        return found is True

    def _is_empty_by_remainders(self, case: System, quotients: Sequence[Name]) -> bool | None:
        """Returns whether a case holds no integers, decided for each combination of the remainders of some divisions; None where
        this is not decided.

        quotients: the names of these divisions' quotients.
        """
        if not quotients:
            return None
        (terms, constant), divisor = self._parts[quotients[0]]
        for remainder in range(divisor):
            exact = {**terms, quotients[0]: -divisor}, constant - remainder
            part = System((*case.equal, exact), case.least)
            found = self._is_empty_by_elimination(part)
            if found is None:
                found = self._is_empty_by_remainders(part, quotients[1:])
            if not found:
                return found
        return True

    def _is_empty_for_isl(self, case: System) -> bool | None:
        """Returns whether isl finds that a case holds no integers, or None where that takes isl too long. Raises TooMany if isl has
        been asked too often.
        """
        self._left_to_isl += 1
        if self._left_to_isl > MOST_FOR_ISL:
            raise TooMany
        try:
            with budget(OPERATIONS):
                return not has_integers(case.equal, case.least)
        except BudgetExceeded:
            return None

    def _is_empty_by_elimination(self, system: System) -> bool | None:
        """Returns whether elimination finds that a system holds no integers, or None where it does not decide. Raises TooMany if it
        has been asked too often.
        """
        self._decisions += 1
        if self._decisions > MOST_DECISIONS:
            raise TooMany
        return is_empty(system)

    def _with_quotients(self, case: System) -> System:
        """Returns the case together with the constraints that define the quotients in it."""
        names = {name: None for terms, _ in (*case.equal, *case.least) for name in terms}
        todo = [name for name in names if name in self._bounds]
        if not todo:
            return case
        known: list[Row] = []
        while todo:
            rows = self._bounds[todo.pop()]
            known += rows
            for name in rows[0][0]:
                if name not in names:
                    names[name] = None
                    if name in self._bounds:
                        todo.append(name)
        return System(case.equal, (*case.least, *known))


def plus(row: Row, other: Row, factor: int) -> Row:
    """Returns the linear expression row + factor * other."""
    return combined(row, 1, other, factor) if other[0] else (row[0], row[1] + factor * other[1])


def _joined(parts: Iterable[Split]) -> Split:
    """Returns several pairs (cases in which something holds, cases in which it does not), joined into one such pair."""
    inside: list[System] = []
    outside: list[System] = []
    for its, others in parts:
        inside += its
        outside += others
    return inside, outside
