"""Integer expressions of loop variables and parameters: a canonical linear form over atoms.

    Lin    = const + sum of coefficient * atom
    atom   = name | FloorDiv | Extremum | Choice

Two equal linear expressions are equal values, so they hash, compare and cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Union


@dataclass(frozen=True)
class Lin:
    """const + sum(c * atom for atom, c in terms); terms sorted by the atom's text, no zero coefficient."""

    terms: tuple[tuple[Atom, int], ...] = ()
    const: int = 0

    def __add__(self, other: Lin | int) -> Lin:
        if isinstance(other, int):
            return Lin(self.terms, self.const + other) if other else self
        if not other.terms:
            return Lin(self.terms, self.const + other.const) if other.const else self
        if not self.terms:
            return Lin(other.terms, self.const + other.const) if self.const else other
        return linear((*self.terms, *other.terms), self.const + other.const)

    def __sub__(self, other: Lin | int) -> Lin:
        if isinstance(other, int):
            return self + -other
        if self.terms == other.terms:
            return Lin((), self.const - other.const)
        return linear((*self.terms, *[(a, -c) for a, c in other.terms]), self.const - other.const)

    def __mul__(self, factor: int) -> Lin:
        if factor == 0:
            return Lin()
        if factor == 1:
            return self
        return Lin(tuple([(a, c * factor) for a, c in self.terms]), self.const * factor)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.const))

    @property
    def is_const(self) -> bool:
        return not self.terms

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that occurs, also inside atoms."""
        found: set[str] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, str) else atom.names
        return frozenset(found)

    def coefficient(self, name: str) -> int | None:
        """The coefficient of `name`, or None where the expression is not linear in it."""
        result = 0
        for atom, c in self.terms:
            if atom == name:
                result = c
            elif not isinstance(atom, str) and name in atom.names:
                return None
        return result

    def substitute(self, values: Mapping[str, Lin]) -> Lin:
        if self.names.isdisjoint(values):
            return self
        terms: list[tuple[Atom, int]] = []
        constant = self.const
        for atom, c in self.terms:
            if isinstance(atom, str):
                value = values.get(atom)
                if value is None:
                    terms.append((atom, c))
                    continue
            else:
                value = atom.rebuild(lambda e: e.substitute(values))
            terms += value.terms if c == 1 else [(a, c * k) for a, k in value.terms]
            constant += c * value.const
        return linear(terms, constant)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.const + sum(c * (values[a] if isinstance(a, str) else a.evaluate(values)) for a, c in self.terms)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        parts: list[str] = []
        for atom, c in self.terms:
            body = str(atom) if abs(c) == 1 else f"{abs(c)}*{atom}"
            parts.append((" - " if c < 0 else " + ") + body)
        if self.const or not parts:
            parts.append((" - " if self.const < 0 else " + ") + str(abs(self.const)))
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]


@dataclass(frozen=True)
class FloorDiv:
    """floor(operand / divisor), divisor > 0."""

    operand: Lin
    divisor: int

    @cached_property
    def names(self) -> frozenset[str]:
        return self.operand.names

    def rebuild(self, f: Callable[[Lin], Lin]) -> Lin:
        return floor_div(f(self.operand), self.divisor)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.operand.evaluate(values) // self.divisor

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"(({self.operand}) // {self.divisor})"


@dataclass(frozen=True)
class Extremum:
    """op: "min" or "max" of two or more operands."""

    op: str
    operands: tuple[Lin, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(e.names for e in self.operands))

    def rebuild(self, f: Callable[[Lin], Lin]) -> Lin:
        return extremum(self.op, [f(e) for e in self.operands])

    def evaluate(self, values: Mapping[str, int]) -> int:
        return (min if self.op == "min" else max)(e.evaluate(values) for e in self.operands)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"{self.op}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class Choice:
    """then where condition holds, else orelse."""

    condition: Condition
    then: Lin
    orelse: Lin

    @cached_property
    def names(self) -> frozenset[str]:
        return self.condition.names | self.then.names | self.orelse.names

    def rebuild(self, f: Callable[[Lin], Lin]) -> Lin:
        return choice(self.condition.rebuild(f), f(self.then), f(self.orelse))

    def evaluate(self, values: Mapping[str, int]) -> int:
        return (self.then if self.condition.evaluate(values) else self.orelse).evaluate(values)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"({self.then} if {self.condition} else {self.orelse})"


Atom = Union[str, FloorDiv, Extremum, Choice]


@dataclass(frozen=True)
class Compare:
    """expr >= 0 (op ">=") or expr == 0 (op "==")."""

    op: str
    expr: Lin

    @property
    def names(self) -> frozenset[str]:
        return self.expr.names

    def rebuild(self, f: Callable[[Lin], Lin]) -> Condition:
        return Compare(self.op, f(self.expr))

    def evaluate(self, values: Mapping[str, int]) -> bool:
        value = self.expr.evaluate(values)
        return value >= 0 if self.op == ">=" else value == 0

    def __str__(self) -> str:
        positive = [(a, c) for a, c in self.expr.terms if c > 0]
        negative = [(a, -c) for a, c in self.expr.terms if c < 0]
        const = self.expr.const
        left = Lin(tuple(positive), max(const, 0))
        right = Lin(tuple(negative), max(-const, 0))
        return f"{left} {self.op} {right}"


@dataclass(frozen=True)
class Logic:
    """op: "and" / "or" of the parts; no parts: true for "and", false for "or"."""

    op: str
    parts: tuple[Condition, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(p.names for p in self.parts))

    def rebuild(self, f: Callable[[Lin], Lin]) -> Condition:
        return Logic(self.op, tuple(p.rebuild(f) for p in self.parts))

    def evaluate(self, values: Mapping[str, int]) -> bool:
        return (all if self.op == "and" else any)(p.evaluate(values) for p in self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return "True" if self.op == "and" else "False"
        return f" {self.op} ".join(f"({p})" if isinstance(p, Logic) else str(p) for p in self.parts)


Condition = Union[Compare, Logic]
TRUE = Logic("and", ())


def var(name: str) -> Lin:
    return Lin(((name, 1),))


def const(value: int) -> Lin:
    return Lin((), value)


def linear(terms: Iterable[tuple[Atom, int]], constant: int) -> Lin:
    """The canonical sum of the terms."""
    total: dict[Atom, int] = {}
    for atom, c in terms:
        total[atom] = total.get(atom, 0) + c
    kept = [term for term in total.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=None if all(type(a) is str for a, _ in kept) else _text_of_atom)
    return Lin(tuple(kept), constant)


def _text_of_atom(term: tuple[Atom, int]) -> str:
    return str(term[0])


def atom(value: Atom) -> Lin:
    return Lin(((value, 1),))


def floor_div(operand: Lin, divisor: int) -> Lin:
    """floor(operand / divisor) for divisor > 0; terms that divide exactly leave the division."""
    if divisor == 1:
        return operand
    whole = [(a, c // divisor) for a, c in operand.terms if c % divisor == 0]
    rest = tuple((a, c) for a, c in operand.terms if c % divisor)
    if not rest:
        return linear(whole, operand.const // divisor)
    inner = Lin(rest, operand.const % divisor)
    return linear([*whole, (FloorDiv(inner, divisor), 1)], operand.const // divisor)


def modulo(operand: Lin, divisor: int) -> Lin:
    return operand - floor_div(operand, divisor) * divisor


def extremum(op: str, values: Iterable[Lin]) -> Lin:
    """min or max; operands that differ by a constant are compared now, nested ones are flattened."""
    flat: list[Lin] = []
    for e in values:
        flat.extend(operands(op, e))
    best: dict[tuple, int] = {}
    pick = min if op == "min" else max
    for e in flat:
        best[e.terms] = pick(best.get(e.terms, e.const), e.const)
    kept = [Lin(terms, c) for terms, c in best.items()]
    return kept[0] if len(kept) == 1 else atom(Extremum(op, tuple(sorted(kept, key=str))))


def operands(op: str, value: Lin) -> tuple[Lin, ...]:
    """The operands of an outermost min or max, so that a loop bound is a list."""
    if value.const == 0 and len(value.terms) == 1 and value.terms[0][1] == 1:
        top = value.terms[0][0]
        if isinstance(top, Extremum) and top.op == op:
            return top.operands
    return (value,)


def choice(condition: Condition, then: Lin, orelse: Lin) -> Lin:
    return then if then == orelse else atom(Choice(condition, then, orelse))


def conjunction(parts: Iterable[Condition]) -> Condition:
    flat: list[Condition] = []
    for p in parts:
        flat.extend(p.parts if isinstance(p, Logic) and p.op == "and" else [p])
    return flat[0] if len(flat) == 1 else Logic("and", tuple(flat))


def negate(condition: Condition) -> Condition:
    if isinstance(condition, Logic):
        return Logic("or" if condition.op == "and" else "and", tuple(negate(p) for p in condition.parts))
    if condition.op == ">=":
        return Compare(">=", condition.expr * -1 - 1)
    return Logic("or", (Compare(">=", condition.expr - 1), Compare(">=", condition.expr * -1 - 1)))
