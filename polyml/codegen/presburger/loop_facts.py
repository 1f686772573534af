"""Constraints (facts) on the iterations of two accesses in loops, as systems of linear constraints and as isl's text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from polyml.codegen.presburger.omega_test import Row, System
from polyml.quasi_affine.affine import Affine, Atom, Choice, Extremum, FloorDiv

SHARED, FIRST, SECOND = range(3)  # which access an expression's iteration is of: of both, of the first, of the second one


class NotAffine(Exception):
    """Raised for an expression that isl's text cannot state."""


def isl_text(e: Affine, rename: Mapping[str, str]) -> str:
    """Returns an expression in isl's syntax, with names replaced as `rename` says. Raises NotAffine for a conditional value."""
    parts = [f"{c}*{_atom_text(a, rename)}" for a, c in e.terms]
    return " + ".join([*parts, str(e.constant)])


def _atom_text(atom: Atom, rename: Mapping[str, str]) -> str:
    """Returns an atom in isl's syntax, with names replaced as `rename` says. Raises NotAffine for a conditional value."""
    if isinstance(atom, str):
        return rename.get(atom, atom)
    if isinstance(atom, FloorDiv):
        return f"floor(({isl_text(atom.operand, rename)})/{atom.divisor})"
    if isinstance(atom, Extremum):
        inner = isl_text(atom.operands[0], rename)
        for operand in atom.operands[1:]:
            inner = f"{atom.op}({inner}, {isl_text(operand, rename)})"
        return f"({inner})"
    raise NotAffine


@dataclass(frozen=True)
class Fact:
    """A fact is a comparison of two expressions, left op right, that holds for the iterations of two accesses.

    op: ">=", "==", or "mod": the difference is a multiple of `step`.
    left, right: (expression, whose loop variables it has: FIRST or SECOND, those of one access's iteration, or SHARED, those of
        loops around both that are in the same iteration).
    """

    op: str
    left: tuple[Affine, int]
    right: tuple[Affine, int] = (Affine(), SHARED)
    step: int = 0

    @property
    def names(self) -> frozenset[str]:
        """The names in both expressions."""
        return self.left[0].names | self.right[0].names


@dataclass(frozen=True)
class Sides:
    """The variables of the loops around two accesses, without those of loops that are in the same iteration for both.

    moving: of the loops around both, which for each access are in an iteration of its own.
    first, second: of the loops around the first access alone, and around the second one alone.
    """

    moving: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()

    def renamed(self) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        """Returns three maps { loop variable -> its name in isl's text }: for iterations that both accesses share, for the first
        access, and for the second one. A variable that a map lacks keeps its name.
        """
        first = {name: f"{name}_1" for name in (*self.moving, *self.first)}
        return {}, first, {name: f"{name}_2" for name in (*self.moving, *self.second)}

    def terms(self) -> tuple[dict[str, dict], dict[str, dict], dict[str, dict]]:
        """Returns three maps { loop variable -> { name -> coefficient } } with the linear expressions that stand for loop
        variables: for iterations that both accesses share, for the first access, and for the second one. A variable that a map
        lacks stands for itself.

        The variable of moving loop number k is a name v for the first access. For the second one it is the sum of v and a name for
        the distance from one access's iteration to the other's; that name is the integer k.
        """
        first = {name: {(name, FIRST): 1} for name in (*self.moving, *self.first)}
        second: dict[str, dict] = {name: {(name, FIRST): 1, k: 1} for k, name in enumerate(self.moving)}
        return {}, first, second | {name: {(name, SECOND): 1} for name in self.second}


def fact_text(fact: Fact, renamed: tuple[Mapping[str, str], ...]) -> str:
    """Returns a fact, which compares two expressions, as text in isl's syntax: LEFT >= RIGHT, LEFT = RIGHT, or (LEFT - (RIGHT)) mod
    STEP = 0. Raises NotAffine if an expression contains a conditional value.

    renamed: three maps { loop variable -> its name in the text }: for iterations that both accesses share, for the first access,
        and for the second one, as `Sides.renamed` returns them.
    """
    left, right = (isl_text(e, renamed[side]) for e, side in (fact.left, fact.right))
    if fact.op == "mod":
        return f"({left} - ({right})) mod {fact.step} = 0"
    return f"{left} {'=' if fact.op == '==' else '>='} {right}"


class Alternatives(Exception):
    """Raised for a fact that holds in one of several cases, so that it is no conjunction of linear constraints."""


class Systems:
    """A collector of facts as one system of linear constraints.

    is_complete: whether the system says all that the facts do; facts with alternatives are left out.
    """

    def __init__(self, sides: Sides):
        self._terms = sides.terms()
        self._equal: list[Row] = []
        self._least: list[Row] = []
        self._quotients: set[Hashable] = set()
        self.is_complete = True

    def system(self) -> System:
        """Returns the system of the facts that were added so far."""
        return System(tuple(self._equal), tuple(self._least))

    def add(self, fact: Fact) -> None:
        """Adds a fact's constraints to the system. A fact that holds in one of several cases is left out, and is_complete becomes
        False.
        """
        try:
            if fact.op == ">=":
                rows = self._with(*fact.left, 1, [({}, 0)], 1)
                self._least += self._with(*fact.right, -1, rows, 1)
                return
            (row,) = self._with(*fact.right, -1, self._with(*fact.left, 1, [({}, 0)], 0), 0)
            if fact.op == "mod":
                row[0]["mod", frozenset(row[0].items()), row[1], fact.step] = fact.step
            self._equal.append(row)
        except Alternatives:
            self.is_complete = False

    def _with(self, e: Affine, side: int, factor: int, rows: list[Row], sense: int) -> list[Row]:
        """Returns the linear expressions `rows` with factor * e added to each. Raises Alternatives if e contains a conditional
        value, or a minimum or maximum that would make the result hold in one of several cases.

        side: whose iteration the loop variables in e belong to: SHARED, FIRST or SECOND, as in `Fact`.
        sense: 1 for rows that are at least 0, 0 for those that are 0. With 1, a minimum becomes a row for each of its operands.
        """
        terms = self._terms[side]
        for atom, c in e.terms:
            c *= factor
            if isinstance(atom, Extremum):
                if sense == 0 or (atom.op == "min") != (c > 0):
                    raise Alternatives
                copies = [self._with(operand, side, c, [(dict(t), k) for t, k in rows], sense) for operand in atom.operands]
                rows = [row for copy in copies for row in copy]
                continue
            if isinstance(atom, Choice):
                raise Alternatives
            value = terms.get(atom) if isinstance(atom, str) else {self._quotient(atom, side): 1}
            for row, _ in rows:
                for name, each in ((atom, 1),) if value is None else value.items():
                    row[name] = row.get(name, 0) + c * each
        return [({n: c for n, c in t.items() if c}, k + factor * e.constant) for t, k in rows]

    def _quotient(self, atom: FloorDiv, side: int) -> Hashable:
        """Returns a name that stands for floor(operand / divisor), and adds the constraints that define it to the system."""
        ((terms, constant),) = self._with(atom.operand, side, 1, [({}, 0)], 0)
        name = ("//", frozenset(terms.items()), constant, atom.divisor)
        if name not in self._quotients:
            self._quotients.add(name)
            self._least.append(({**terms, name: -atom.divisor}, constant))
            self._least.append(({**{n: -c for n, c in terms.items()}, name: atom.divisor}, atom.divisor - 1 - constant))
        return name
