"""The rules of the algebra: pairs of expressions of equal value.

Each rule is text that reads as NumPy, so that a test proves it by sympy on arrays of symbols, and runs it on numbers. What it does
to rounding: for a rule `left -> right` let |left| be `left` with the absolute values of all elements, and with sums in the place of
differences. Then |right| <= |left|, so that the right side is within n * eps * |left| of the exact value, as the left side is, for
n operations in a row; a rule without this property, such as (A - B) @ x -> A @ x - B @ x, is none.

What it does to NaN and infinities: where no value in between overflows or underflows, the same elements of both sides are finite.
An element that depends on a NaN is NaN on both sides, one that depends on an infinity is infinite or NaN, and may be the one on one
side and the other on the other, as inf - inf is. (A sum of no terms times an infinity is NaN where the factor stands outside.)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from polyml.dtypes import BOOL, HALVES, DType
from polyml.frontend.algebra.egraph import Binding, EGraph, Leaf, Term
from polyml.frontend.algebra.facts import Fact
from polyml.frontend.arrays.shapes import Linear
from polyml.values import cached_property

VECTOR, MATRIX, ARRAY, NUMBER = (1,), (2,), (1, 2), (0,)


@dataclass(frozen=True)
class Rule:
    """A rule says that two expressions have the same value.

    name: how `explain` calls it.
    left, right: the expressions; where the left one is found the right one is added.
    ranks: {variable: the numbers of dimensions that it may have}.
    bits: whether both sides have the same bits, so that the rule holds under fp="strict" too.
    integers: whether it holds for integers, which wrap.
    square: (a, b): a's rows and b's columns must not broadcast.
    """

    name: str
    left: str
    right: str
    ranks: Mapping[str, tuple[int, ...]]
    bits: bool = False
    integers: bool = True
    square: tuple[str, ...] = ()

    @cached_property
    def before(self) -> Term:
        """Returns the left side as a term."""
        return parsed(self.left)

    @cached_property
    def after(self) -> Term:
        """Returns the right side as a term."""
        return parsed(self.right)

    def applies(self, facts: Mapping[str, Fact], result: Fact, strict: bool) -> bool:
        """Returns whether the rule holds for operands with these facts.

        result: what is known of the value.
        strict: whether no bit of a floating-point number may change.
        """
        if any(facts[name].rank not in ranks for name, ranks in self.ranks.items()):
            return False
        kind = result.dtype
        if kind is None or kind in (*HALVES, BOOL) or not all(_has_type(fact, kind) for fact in facts.values()):
            return False
        if self.square:
            rows, columns = facts[self.square[0]].shape[0], facts[self.square[1]].shape[1]
            if rows != columns and Linear((), 1) in (rows, columns):
                return False
        return self.integers if kind.is_integer else self.bits or not strict

    def apply(self, graph: EGraph, strict: bool) -> int:
        """Adds the right side to a graph wherever the left side is found, and returns how many classes were merged."""
        found: list[tuple[int, Binding]] = []
        for name in tuple(graph.nodes):
            for binding in graph.matches(self.before, name, {}):
                facts = {str(leaf.name): graph.facts[each] for leaf, each in binding.items()}
                if self.applies(facts, graph.facts[name], strict):
                    found.append((name, binding))
        merged = 0
        for name, binding in found:
            made = graph.add_term(self.after, binding)
            merged += made is not None and graph.merge(name, made)
        return merged


def _has_type(fact: Fact, kind: DType) -> bool:
    """Returns whether a value is of the type, or a number of Python's that takes it."""
    if fact.dtype == kind:
        return True
    return fact.dtype is not None and fact.dtype.weak and not fact.rank and not fact.dtype.is_complex


def parsed(text: str) -> Term:
    """Returns a rule's side as a term, whose leaves are its variables.

    >>> parsed("(a @ b).T").op
    'T'
    """
    return _term(ast.parse(text, mode="eval").body)


_OPERATORS = {ast.MatMult: "@", ast.Mult: "*", ast.Add: "+", ast.Sub: "-", ast.Div: "/"}


def _term(node: ast.expr) -> Term:
    match node:
        case ast.Name(id=name):
            return Term(Leaf(name))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Term(_OPERATORS[type(op)], (_term(left), _term(right)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Term("neg", (_term(operand),))
        case ast.Attribute(value=value, attr="T"):
            return Term("T", (_term(value),))
        case ast.Call(func=ast.Name(id=name), args=args):
            return Term(name, tuple(map(_term, args)))
    raise ValueError(ast.dump(node))


_CHAIN = {"a": ARRAY, "b": MATRIX, "c": ARRAY}
_PAIR = {"a": MATRIX, "b": MATRIX}
_SCALED = {"s": NUMBER, "a": ARRAY, "b": ARRAY}

RULES = (
    Rule("association", "(a @ b) @ c", "a @ (b @ c)", _CHAIN),
    Rule("association", "a @ (b @ c)", "(a @ b) @ c", _CHAIN),
    Rule("transposed product", "(a @ b).T", "b.T @ a.T", _PAIR, bits=True),
    Rule("transposed product", "b.T @ a.T", "(a @ b).T", _PAIR, bits=True),
    Rule("transposed twice", "a.T.T", "a", {"a": MATRIX}, bits=True),
    Rule("product with a transposed matrix", "b.T @ a", "a @ b", {"a": VECTOR, "b": MATRIX}, bits=True),
    Rule("product with a transposed matrix", "a @ b.T", "b @ a", {"a": VECTOR, "b": MATRIX}, bits=True),
    Rule("factor first", "a * s", "s * a", {"s": NUMBER, "a": ARRAY}, bits=True),
    Rule("factor out of a product", "(s * a) @ b", "s * (a @ b)", _SCALED),
    Rule("factor out of a product", "a @ (s * b)", "s * (a @ b)", _SCALED),
    Rule("factor into a product", "s * (a @ b)", "(s * a) @ b", _SCALED),
    Rule("factor into a product", "s * (a @ b)", "a @ (s * b)", _SCALED),
    Rule("divisor out of a product", "(a / s) @ b", "(a @ b) / s", _SCALED, integers=False),
    Rule("divisor out of a product", "a @ (b / s)", "(a @ b) / s", _SCALED, integers=False),
    Rule("divisor into a product", "(a @ b) / s", "(a / s) @ b", _SCALED, integers=False),
    Rule("divisor into a product", "(a @ b) / s", "a @ (b / s)", _SCALED, integers=False),
    Rule("sign out of a product", "(-a) @ b", "-(a @ b)", {"a": ARRAY, "b": ARRAY}),
    Rule("sign out of a product", "a @ (-b)", "-(a @ b)", {"a": ARRAY, "b": ARRAY}),
    Rule("factor out of a sum", "sum(s * a)", "s * sum(a)", {"s": NUMBER, "a": ARRAY}),
    Rule("factor out of a sum", "sum0(s * a)", "s * sum0(a)", {"s": NUMBER, "a": MATRIX}),
    Rule("factor out of a sum", "sum1(s * a)", "s * sum1(a)", {"s": NUMBER, "a": MATRIX}),
    Rule("divisor out of a sum", "sum(a / s)", "sum(a) / s", {"s": NUMBER, "a": ARRAY}, integers=False),
    Rule("divisor out of a sum", "sum0(a / s)", "sum0(a) / s", {"s": NUMBER, "a": MATRIX}, integers=False),
    Rule("divisor out of a sum", "sum1(a / s)", "sum1(a) / s", {"s": NUMBER, "a": MATRIX}, integers=False),
    Rule("common left factor", "a @ b + a @ c", "a @ (b + c)", {"a": ARRAY, "b": MATRIX, "c": MATRIX}),
    Rule("common left factor", "a @ b - a @ c", "a @ (b - c)", {"a": ARRAY, "b": MATRIX, "c": MATRIX}),
    Rule("common left factor", "a @ b + a @ c", "a @ (b + c)", {"a": MATRIX, "b": VECTOR, "c": VECTOR}),
    Rule("common left factor", "a @ b - a @ c", "a @ (b - c)", {"a": MATRIX, "b": VECTOR, "c": VECTOR}),
    Rule("common right factor", "a @ c + b @ c", "(a + b) @ c", {"a": MATRIX, "b": MATRIX, "c": ARRAY}),
    Rule("common right factor", "a @ c - b @ c", "(a - b) @ c", {"a": MATRIX, "b": MATRIX, "c": ARRAY}),
    Rule("sum of a product", "sum(a @ b)", "sum0(a) @ sum1(b)", _PAIR),
    Rule("sum of a product", "sum(a @ b)", "sum0(a) @ b", {"a": MATRIX, "b": VECTOR}),
    Rule("sum of a product", "sum(a @ b)", "a @ sum1(b)", {"a": VECTOR, "b": MATRIX}),
    Rule("sum of a product", "sum0(a @ b)", "sum0(a) @ b", _PAIR),
    Rule("sum of a product", "sum1(a @ b)", "a @ sum1(b)", _PAIR),
    Rule("sums of a transposed matrix", "sum0(a.T)", "sum1(a)", {"a": MATRIX}),
    Rule("sums of a transposed matrix", "sum1(a.T)", "sum0(a)", {"a": MATRIX}),
    Rule("trace of a product", "trace(a @ b)", "sum(a * b.T)", _PAIR, square=("a", "b")),
    Rule("diagonal of a product", "diagonal(a @ b)", "sum1(a * b.T)", _PAIR, square=("a", "b")),
    Rule("product with an outer product", "outer(a, b) @ c", "a * (b @ c)", {"a": VECTOR, "b": VECTOR, "c": VECTOR}),
    Rule("product with an outer product", "outer(a, b) @ c", "outer(a, b @ c)", {"a": VECTOR, "b": VECTOR, "c": MATRIX}),
    Rule("product with an outer product", "c @ outer(a, b)", "(c @ a) * b", {"a": VECTOR, "b": VECTOR, "c": VECTOR}),
    Rule("product with an outer product", "c @ outer(a, b)", "outer(c @ a, b)", {"a": VECTOR, "b": VECTOR, "c": MATRIX}),
)
