"""Quasi-affine expressions of iterators and parameters, and conditions on them: one canonical form for the model and the code.

    affine    = constant + sum of coefficient * atom
    atom      = name | FloorDiv(affine // divisor) | Extremum("min" | "max", affines) | Choice(affine if condition else affine)
    condition = Compare(affine >= 0 | affine == 0) | Logic("and" | "or", conditions)

The functions below make canonical values: equal sums are equal values, so they hash, compare and cancel. isl calls such an expression
`isl_pw_aff`; MLIR calls it `AffineExpr`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Union

from polyml.values import cached_property


@dataclass(frozen=True, init=False, eq=False)
class Affine:
    """An Affine is a quasi-affine expression: a constant plus a sum of atoms with coefficients.

    constant: the integer that is added.
    terms: ((atom, nonzero coefficient), ...), sorted by the atom's text; an atom is a name, a FloorDiv, an Extremum or a Choice.
    """

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    def __init__(self, constant: int = 0, terms: tuple[tuple[Atom, int], ...] = ()):  # half the time of a dataclass's own
        fields = self.__dict__
        fields["constant"], fields["terms"] = constant, terms

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms) if other else self
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms) if other.constant else self
        if not self.terms:
            return Affine(self.constant + other.constant, other.terms) if self.constant else other
        return linear((*self.terms, *other.terms), self.constant + other.constant)

    def __sub__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return self + -other
        if self.terms == other.terms:
            return Affine(self.constant - other.constant)
        return linear((*self.terms, *[(a, -c) for a, c in other.terms]), self.constant - other.constant)

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        if factor == 1:
            return self
        return Affine(self.constant * factor, tuple([(a, c * factor) for a, c in self.terms]))

    def __neg__(self) -> Affine:
        return self * -1

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Affine) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        known = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = hash((self.terms, self.constant))
        return known

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @cached_property
    def names(self) -> frozenset[str]:
        """Returns the names of all iterators and parameters in the expression, also inside FloorDiv, Extremum and Choice."""
        found: set[str] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, str) else atom.names
        return frozenset(found)

    def coefficient(self, name: str) -> int | None:
        """Returns the coefficient of `name`, or None where the expression is not linear in it."""
        result = 0
        for atom, c in self.terms:
            if atom == name:
                result = c
            elif not isinstance(atom, str) and name in atom.names:
                return None
        return result

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        """Returns the expression with names replaced by the given expressions, all at once."""
        if self.names.isdisjoint(values):
            return self
        terms: list[tuple[Atom, int]] = []
        constant = self.constant
        for atom, c in self.terms:
            if isinstance(atom, str):
                value = values.get(atom)
                if value is None:
                    terms.append((atom, c))
                    continue
            else:
                value = atom.substitute(values)
            terms += value.terms if c == 1 else [(a, c * k) for a, k in value.terms]
            constant += c * value.constant
        return linear(terms, constant)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Returns the expression's value, an integer, for the given values of its names."""
        return self.constant + sum(c * (values[a] if isinstance(a, str) else a.evaluate(values)) for a, c in self.terms)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        parts: list[str] = []
        for atom, c in self.terms:
            body = str(atom) if abs(c) == 1 else f"{abs(c)}*{atom}"
            parts.append((" - " if c < 0 else " + ") + body)
        if self.constant or not parts:
            parts.append((" - " if self.constant < 0 else " + ") + str(abs(self.constant)))
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]


@dataclass(frozen=True)
class FloorDiv:
    """A quotient by a positive integer, rounded down: floor(operand / divisor)."""

    operand: Affine
    divisor: int

    @cached_property
    def names(self) -> frozenset[str]:
        return self.operand.names

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        return floor_div(self.operand.substitute(values), self.divisor)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return self.operand.evaluate(values) // self.divisor

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"(({self.operand}) // {self.divisor})"


@dataclass(frozen=True)
class Extremum:
    """The least ("min") or greatest ("max") of two or more operands.

    as_written: whether the operands keep the order and the nesting of the source, by which isl divides the value into pieces; else
        they are flattened and sorted by their texts, so that equal extrema are equal values.
    """

    op: str
    operands: tuple[Affine, ...]
    as_written: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(e.names for e in self.operands))

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        return extremum(self.op, [e.substitute(values) for e in self.operands], self.as_written)

    def evaluate(self, values: Mapping[str, int]) -> int:
        return (min if self.op == "min" else max)(e.evaluate(values) for e in self.operands)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return f"{self.op}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class Choice:
    """A value of two cases: `then` where the condition holds, else `orelse`."""

    condition: Condition
    then: Affine
    orelse: Affine

    @cached_property
    def names(self) -> frozenset[str]:
        return self.condition.names | self.then.names | self.orelse.names

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        return choice(self.condition.substitute(values), self.then.substitute(values), self.orelse.substitute(values))

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
    """A comparison with zero: expr >= 0 (op ">=") or expr == 0 (op "==")."""

    op: str
    expr: Affine

    @property
    def names(self) -> frozenset[str]:
        return self.expr.names

    def substitute(self, values: Mapping[str, Affine]) -> Condition:
        return (zero if self.op == "==" else non_negative)(self.expr.substitute(values))

    def evaluate(self, values: Mapping[str, int]) -> bool:
        value = self.expr.evaluate(values)
        return value >= 0 if self.op == ">=" else value == 0

    def __str__(self) -> str:
        positive = [(a, c) for a, c in self.expr.terms if c > 0]
        negative = [(a, -c) for a, c in self.expr.terms if c < 0]
        constant = self.expr.constant
        left = Affine(max(constant, 0), tuple(positive))
        right = Affine(max(-constant, 0), tuple(negative))
        return f"{left} {self.op} {right}"


@dataclass(frozen=True)
class Logic:
    """A conjunction (op "and") or disjunction (op "or") of conditions; without parts it is true for "and", false for "or"."""

    op: str
    parts: tuple[Condition, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(p.names for p in self.parts))

    def substitute(self, values: Mapping[str, Affine]) -> Condition:
        return (conjunction if self.op == "and" else disjunction)(*(p.substitute(values) for p in self.parts))

    def evaluate(self, values: Mapping[str, int]) -> bool:
        return (all if self.op == "and" else any)(p.evaluate(values) for p in self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return "True" if self.op == "and" else "False"
        return f" {self.op} ".join(f"({p})" if isinstance(p, Logic) else str(p) for p in self.parts)


Condition = Union[Compare, Logic]
TRUE, FALSE = Logic("and", ()), Logic("or", ())


def variable(name: str) -> Affine:
    """Returns the expression that is one iterator or parameter."""
    return Affine(0, ((name, 1),))


def of_atom(atom: Atom) -> Affine:
    """Returns a name, a FloorDiv, an Extremum or a Choice as an expression of this one term."""
    return Affine(0, ((atom, 1),))


def linear(terms: Iterable[tuple[Atom, int]], constant: int) -> Affine:
    """Returns the sum of coefficient * atom and a constant, with one term per atom, sorted: equal sums become equal values."""
    total: dict[Atom, int] = {}
    for atom, c in terms:
        total[atom] = total.get(atom, 0) + c
    kept = [term for term in total.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=None if all(type(a) is str for a, _ in kept) else lambda term: str(term[0]))
    return Affine(constant, tuple(kept))


def product(a: Affine, b: Affine) -> Affine | None:
    """Returns a * b where one of them is constant, else None: the product is not affine."""
    if a.is_constant:
        return b * a.constant
    return a * b.constant if b.is_constant else None


def floor_div(operand: Affine, divisor: int) -> Affine:
    """Returns floor(operand / divisor), as Python's `//`, with terms that are multiples of the divisor outside the FloorDiv."""
    if divisor == 1:
        return operand
    if divisor < 0:
        return floor_div(-operand, -divisor)
    whole = [(a, c // divisor) for a, c in operand.terms if c % divisor == 0]
    rest = tuple((a, c) for a, c in operand.terms if c % divisor)
    if not rest:
        return linear(whole, operand.constant // divisor)
    inner = Affine(operand.constant % divisor, rest)
    return linear([*whole, (FloorDiv(inner, divisor), 1)], operand.constant // divisor)


def modulo(operand: Affine, divisor: int) -> Affine:
    """Returns the remainder operand - divisor * floor(operand / divisor), which has the divisor's sign as in Python."""
    return operand - floor_div(operand, divisor) * divisor


def extremum(op: str, values: Iterable[Affine], as_written: bool = False) -> Affine:
    """Returns the minimum or maximum of values; of those that differ by a constant only one is kept. as_written: see Extremum."""
    flat = [*values] if as_written else [inner for e in values for inner in operands(op, e)]
    best: dict[tuple, int] = {}
    pick = min if op == "min" else max
    for e in flat:
        best[e.terms] = pick(best.get(e.terms, e.constant), e.constant)
    kept = [Affine(c, terms) for terms, c in best.items()]
    if len(kept) == 1:
        return kept[0]
    return of_atom(Extremum(op, tuple(kept if as_written else sorted(kept, key=str)), as_written))


def operands(op: str, value: Affine) -> tuple[Affine, ...]:
    """Returns the operands of a value that is one Extremum with this `op`, "min" or "max", else the value alone."""
    if value.constant == 0 and len(value.terms) == 1 and value.terms[0][1] == 1:
        top = value.terms[0][0]
        if isinstance(top, Extremum) and top.op == op:
            return top.operands
    return (value,)


def choice(condition: Condition, then: Affine, orelse: Affine) -> Affine:
    """Returns `then if condition else orelse`, or one of the two where they are equal or the condition is always or never true."""
    if then == orelse or condition == TRUE:
        return then
    return orelse if condition == FALSE else of_atom(Choice(condition, then, orelse))


def non_negative(value: Affine) -> Condition:
    """Returns the condition value >= 0, with cases joined by and/or in place of each min, max and Choice outside quotients."""
    if not value.terms:
        return TRUE if value.constant >= 0 else FALSE
    return _by_cases(value, ">=") or Compare(">=", value)


def zero(value: Affine) -> Condition:
    """Returns the condition value == 0, with cases joined by and/or in place of each min, max and Choice outside quotients."""
    if not value.terms:
        return FALSE if value.constant else TRUE
    return _by_cases(value, "==") or Compare("==", value)


def _by_cases(value: Affine, op: str) -> Condition | None:
    """Returns `value op 0` as a condition without the value's min, max and Choice terms; None where it has no such term."""
    test = zero if op == "==" else non_negative
    for index, (atom, c) in enumerate(value.terms):
        if not isinstance(atom, (Extremum, Choice)):
            continue
        rest = Affine(value.constant, value.terms[:index] + value.terms[index + 1 :])
        if isinstance(atom, Choice):
            then, orelse = test(rest + atom.then * c), test(rest + atom.orelse * c)
            return disjunction(conjunction(atom.condition, then), conjunction(negate(atom.condition), orelse))
        if op == ">=":
            combine = conjunction if (atom.op == "min") == (c > 0) else disjunction
            return combine(*(non_negative(rest + e * c) for e in atom.operands))
        first, *others = atom.operands
        other = extremum(atom.op, others, atom.as_written)
        is_first = compare("<=" if atom.op == "min" else ">=", first, other)
        return disjunction(conjunction(is_first, zero(rest + first * c)), conjunction(negate(is_first), zero(rest + other * c)))
    return None


def compare(op: str, a: Affine, b: Affine) -> Condition:
    """Returns the condition `a op b`, for any of Python's comparison operators."""
    if op == "==":
        return zero(a - b)
    if op == "!=":
        return negate(zero(a - b))
    return non_negative({"<": b - a - 1, "<=": b - a, ">": a - b - 1, ">=": a - b}[op])


def conjunction(*conditions: Condition) -> Condition:
    """Returns the condition that all of the conditions hold; nested conjunctions are flattened."""
    parts = [part for c in conditions for part in (c.parts if isinstance(c, Logic) and c.op == "and" else (c,))]
    if FALSE in parts:
        return FALSE
    return parts[0] if len(parts) == 1 else Logic("and", tuple(parts))


def disjunction(*conditions: Condition) -> Condition:
    """Returns the condition that at least one of the conditions holds."""
    parts = tuple(c for c in conditions if c != FALSE)
    if TRUE in parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Logic("or", parts)


def negate(condition: Condition) -> Condition:
    """Returns the condition that holds exactly where the given one does not."""
    if isinstance(condition, Logic):
        return (disjunction if condition.op == "and" else conjunction)(*(negate(part) for part in condition.parts))
    below = non_negative(-condition.expr - 1)
    return disjunction(non_negative(condition.expr - 1), below) if condition.op == "==" else below
