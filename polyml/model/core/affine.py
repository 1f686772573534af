"""Quasi-affine expressions and formulas over loop variables and parameters, before they become isl objects.

    affine  = constant + sum of coefficient * atom
    atom    = name | Floor(affine / d) | Extreme("min" | "max", a, b) | Choice(formula ? a : b)
    formula = Compare(affine >= 0 | affine == 0) | And(formulas) | Or(formulas)

Values are normal forms: equal expressions of names alone are equal objects. `to_pw_aff` and `to_set` hand them to isl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

import islpy as isl

from polyml.polyhedra import Frame


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient * atom. terms: ((atom, coefficient), ...), none zero, in a fixed order."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        return _normal(self.constant + other.constant, total)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __neg__(self) -> Affine:
        return self.scaled(-1)

    def scaled(self, factor: int) -> Affine:
        if factor == 0:
            return Affine(0)
        return Affine(self.constant * factor, tuple((atom, c * factor) for atom, c in self.terms))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __str__(self) -> str:
        parts = [f"{'' if c == 1 else '-' if c == -1 else f'{c}*'}{_atom_text(a)}" for a, c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Floor:
    """floor(numerator / divisor), divisor >= 2."""

    numerator: Affine
    divisor: int


@dataclass(frozen=True)
class Extreme:
    """The smaller ("min") or larger ("max") of two."""

    op: str
    left: Affine
    right: Affine


@dataclass(frozen=True)
class Choice:
    """then if condition else orelse."""

    condition: Formula
    then: Affine
    orelse: Affine


Atom = Union[str, Floor, Extreme, Choice]


@dataclass(frozen=True)
class Compare:
    """affine >= 0, or affine == 0."""

    affine: Affine
    equality: bool = False


@dataclass(frozen=True)
class And:
    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True)
class Or:
    parts: tuple[Formula, ...] = ()


Formula = Union[Compare, And, Or]
TRUE, FALSE = And(), Or()


def variable(name: str) -> Affine:
    return Affine(0, ((name, 1),))


def product(a: Affine, b: Affine) -> Affine | None:
    """a * b where one of them is constant, else None: not affine."""
    if a.is_constant:
        return b.scaled(a.constant)
    return a.scaled(b.constant) if b.is_constant else None


def floor_div(a: Affine, divisor: int) -> Affine:
    """a // divisor, Python's rule for a negative divisor too: a // -d is (-a) // d."""
    if divisor < 0:
        return floor_div(-a, -divisor)
    whole = {atom: c // divisor for atom, c in a.terms if c % divisor == 0}
    rest = {atom: c for atom, c in a.terms if c % divisor}
    quotient = _normal(a.constant // divisor, whole)
    if not rest:
        return quotient
    return quotient + Affine(0, ((Floor(_normal(a.constant % divisor, rest), divisor), 1),))


def modulo(a: Affine, divisor: int) -> Affine:
    """a % divisor, with the divisor's sign as in Python: a - divisor * (a // divisor)."""
    return a - floor_div(a, divisor).scaled(divisor)


def extreme(op: str, a: Affine, b: Affine) -> Affine:
    """min(a, b) or max(a, b)."""
    difference = a - b
    if difference.is_constant:
        return a if (difference.constant < 0) == (op == "min") else b
    return Affine(0, ((Extreme(op, a, b), 1),))


def choice(condition: Formula, then: Affine, orelse: Affine) -> Affine:
    if then == orelse or condition == TRUE:
        return then
    if condition == FALSE:
        return orelse
    return Affine(0, ((Choice(condition, then, orelse), 1),))


def non_negative(a: Affine) -> Formula:
    """a >= 0, with min, max and choices that stand outside floors turned into and, or."""
    return _split(a, False) or _folded(a, a.constant >= 0, False)


def zero(a: Affine) -> Formula:
    """a == 0."""
    return _split(a, True) or _folded(a, a.constant == 0, True)


def compare(op: str, a: Affine, b: Affine) -> Formula:
    """a op b for Python's comparison operators."""
    if op == "==":
        return zero(a - b)
    if op == "!=":
        return negate(zero(a - b))
    return non_negative({"<": b - a - 1, "<=": b - a, ">": a - b - 1, ">=": a - b}[op])


def conjunction(*formulas: Formula) -> Formula:
    parts = [part for f in formulas for part in (f.parts if isinstance(f, And) else (f,))]
    if FALSE in parts:
        return FALSE
    return parts[0] if len(parts) == 1 else And(tuple(dict.fromkeys(parts)))


def disjunction(*formulas: Formula) -> Formula:
    parts = [part for f in formulas for part in (f.parts if isinstance(f, Or) else (f,))]
    if TRUE in parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Or(tuple(dict.fromkeys(parts)))


def negate(formula: Formula) -> Formula:
    if isinstance(formula, And):
        return disjunction(*(negate(part) for part in formula.parts))
    if isinstance(formula, Or):
        return conjunction(*(negate(part) for part in formula.parts))
    below = non_negative(-formula.affine - 1)
    return disjunction(below, non_negative(formula.affine - 1)) if formula.equality else below


def substituted(value: Affine, values: Mapping[str, Affine]) -> Affine:
    """The value with some variables replaced, all at once."""
    total = Affine(value.constant)
    for atom, coefficient in value.terms:
        total = total + _substituted_atom(atom, values).scaled(coefficient)
    return total


def _substituted_atom(atom: Atom, values: Mapping[str, Affine]) -> Affine:
    if isinstance(atom, str):
        return values.get(atom) or variable(atom)
    if isinstance(atom, Floor):
        return floor_div(substituted(atom.numerator, values), atom.divisor)
    if isinstance(atom, Extreme):
        return extreme(atom.op, substituted(atom.left, values), substituted(atom.right, values))
    then, orelse = substituted(atom.then, values), substituted(atom.orelse, values)
    return choice(substituted_formula(atom.condition, values), then, orelse)


def substituted_formula(formula: Formula, values: Mapping[str, Affine]) -> Formula:
    if isinstance(formula, Compare):
        return (zero if formula.equality else non_negative)(substituted(formula.affine, values))
    parts = (substituted_formula(part, values) for part in formula.parts)
    return conjunction(*parts) if isinstance(formula, And) else disjunction(*parts)


def names(value: Affine | Formula) -> frozenset[str]:
    """The loop variables and parameters that an expression or formula mentions."""
    if isinstance(value, Compare):
        return names(value.affine)
    if isinstance(value, (And, Or)):
        return frozenset().union(*(names(part) for part in value.parts))
    return frozenset().union(*(_atom_names(atom) for atom, _ in value.terms))


def depth(value: Affine) -> int:
    """How deeply floors, extremes and choices are nested: 0 for a linear expression."""
    return max((1 + _atom_depth(atom) for atom, _ in value.terms if not isinstance(atom, str)), default=0)


def atoms(value: Affine | Formula) -> frozenset[Atom]:
    """Every different atom in an expression or formula, also inside others."""
    if isinstance(value, Compare):
        return atoms(value.affine)
    if isinstance(value, (And, Or)):
        return frozenset().union(*map(atoms, value.parts))
    return frozenset().union(*({atom} | _atoms_inside(atom) for atom, _ in value.terms))


def quotients(*values: Affine | Formula) -> int:
    """How many different ones there are: isl has a dimension for each."""
    return sum(isinstance(atom, Floor) for atom in frozenset().union(*map(atoms, values)))


def to_pw_aff(value: Affine, frame: Frame) -> isl.PwAff:
    """{ [iterators] -> [(value)] }"""
    linear = to_aff(value, frame)
    if linear is not None:
        return linear.to_pw_aff()
    result = frame.aff(value.constant, _names_of(value)).to_pw_aff()
    for atom, coefficient in value.terms:
        if not isinstance(atom, str):
            result = result.add(_atom_pw_aff(atom, frame).scale_val(isl.Val(coefficient)))
    return result


def to_aff(value: Affine, frame: Frame) -> isl.Aff | None:
    """The same as one isl.Aff, or None where there are cases to tell apart (min, max, a choice)."""
    named = _names_of(value)
    result = frame.aff(value.constant, named)
    if len(named) == len(value.terms):
        return result
    for atom, coefficient in value.terms:
        if isinstance(atom, str):
            continue
        if not isinstance(atom, Floor):
            return None
        inner = to_aff(atom.numerator, frame)
        if inner is None:
            return None
        result = result.add(inner.scale_down_val(isl.Val(atom.divisor)).floor().scale_val(isl.Val(coefficient)))
    return result


def _names_of(value: Affine) -> list[tuple[str, int]]:
    """The terms that are variables, with their coefficients."""
    return [(atom, coefficient) for atom, coefficient in value.terms if isinstance(atom, str)]


def to_set(formula: Formula, frame: Frame) -> isl.Set:
    """{ [iterators] : formula }"""
    if isinstance(formula, Compare):
        return _compare_set(formula, frame)
    if isinstance(formula, And):
        result = frame.universe()
        for part in formula.parts:
            result = result.intersect(to_set(part, frame))
        return result
    result = isl.Set.empty(frame.space)
    for part in formula.parts:
        result = result.union(to_set(part, frame))
    return result


def _compare_set(formula: Compare, frame: Frame) -> isl.Set:
    linear = to_aff(formula.affine, frame)
    if linear is not None:
        basic = linear.zero_basic_set() if formula.equality else linear.ge_basic_set(frame.aff(0))
        return isl.Set.from_basic_set(basic)
    value = to_pw_aff(formula.affine, frame)
    return value.zero_set() if formula.equality else value.nonneg_set()


def _atom_pw_aff(atom: Floor | Extreme | Choice, frame: Frame) -> isl.PwAff:
    if isinstance(atom, Floor):
        return to_pw_aff(atom.numerator, frame).scale_down_val(isl.Val(atom.divisor)).floor()
    if isinstance(atom, Extreme):
        left, right = to_pw_aff(atom.left, frame), to_pw_aff(atom.right, frame)
        return left.min(right) if atom.op == "min" else left.max(right)
    inside = to_set(atom.condition, frame)
    then = to_pw_aff(atom.then, frame).intersect_domain(inside)
    return then.union_add(to_pw_aff(atom.orelse, frame).intersect_domain(inside.complement()))


def _split(a: Affine, equality: bool) -> Formula | None:
    """Take the first min, max or choice out of a comparison with zero; None when there is none."""
    test = zero if equality else non_negative
    for index, (atom, coefficient) in enumerate(a.terms):
        if not isinstance(atom, (Extreme, Choice)):
            continue
        rest = Affine(a.constant, a.terms[:index] + a.terms[index + 1 :])
        if isinstance(atom, Choice):
            then, orelse = test(rest + atom.then.scaled(coefficient)), test(rest + atom.orelse.scaled(coefficient))
            return disjunction(conjunction(atom.condition, then), conjunction(negate(atom.condition), orelse))
        left, right = rest + atom.left.scaled(coefficient), rest + atom.right.scaled(coefficient)
        if not equality:
            combine = conjunction if (atom.op == "min") == (coefficient > 0) else disjunction
            return combine(non_negative(left), non_negative(right))
        first = compare("<=" if atom.op == "min" else ">=", atom.left, atom.right)
        return disjunction(conjunction(first, zero(left)), conjunction(negate(first), zero(right)))
    return None


def _folded(a: Affine, holds: bool, equality: bool) -> Formula:
    if a.is_constant:
        return TRUE if holds else FALSE
    return Compare(a, equality)


def _normal(constant: int, terms: dict[Atom, int]) -> Affine:
    kept = [(atom, c) for atom, c in terms.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: _atom_text(t[0]))
    return Affine(constant, tuple(kept))


def _atom_names(atom: Atom) -> frozenset[str]:
    if isinstance(atom, str):
        return frozenset((atom,))
    if isinstance(atom, Floor):
        return names(atom.numerator)
    if isinstance(atom, Extreme):
        return names(atom.left) | names(atom.right)
    return names(atom.condition) | names(atom.then) | names(atom.orelse)


def _atoms_inside(atom: Atom) -> frozenset[Atom]:
    if isinstance(atom, str):
        return frozenset()
    if isinstance(atom, Floor):
        return atoms(atom.numerator)
    if isinstance(atom, Extreme):
        return atoms(atom.left) | atoms(atom.right)
    return atoms(atom.condition) | atoms(atom.then) | atoms(atom.orelse)


def _atom_depth(atom: Atom) -> int:
    if isinstance(atom, str):
        return 0
    if isinstance(atom, Floor):
        return depth(atom.numerator)
    if isinstance(atom, Extreme):
        return max(depth(atom.left), depth(atom.right))
    return max(_formula_depth(atom.condition), depth(atom.then), depth(atom.orelse))


def _formula_depth(formula: Formula) -> int:
    if isinstance(formula, Compare):
        return depth(formula.affine)
    return max((_formula_depth(part) for part in formula.parts), default=0)


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    if isinstance(atom, Floor):
        return f"(({atom.numerator}) // {atom.divisor})"
    if isinstance(atom, Extreme):
        return f"{atom.op}({atom.left}, {atom.right})"
    return f"({atom.then} if {formula_text(atom.condition)} else {atom.orelse})"


def formula_text(formula: Formula) -> str:
    """The condition in Python's words, as in `(N - 1 >= 0) and (i == 0)`."""
    if isinstance(formula, Compare):
        return f"{formula.affine} {'==' if formula.equality else '>='} 0"
    joiner = " and " if isinstance(formula, And) else " or "
    return joiner.join(f"({formula_text(part)})" for part in formula.parts) or str(isinstance(formula, And))
