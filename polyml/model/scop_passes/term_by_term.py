"""Sums of several products are accumulated term by term, so that each is one multiply-add, and numbers multiply one factor of a product.

    s = s + (a*b - c*d)                        ->        s = (s + a*b) - c*d
    C[k, j] = C[k, j] + n*(A[i, k]*B[i, j])    ->        C[k, j] = C[k, j] + n*A[i, k]*B[i, j]

A contraction's register tile then needs no register for the products. The factor that a number multiplies is one that does not move
along the rows of the sums, of which a copy has the product. (Reassociation: Briggs and Cooper, "Effective partial redundancy
elimination", PLDI 1994. LLVM's pass `reassociate` does it without knowing which updates may run in any order.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.nest import children, subvalues
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Load, ScalarArg, Scop, Statement, Value


def term_by_term(scop: Scop, found: Mapping[str, Reduction]) -> Scop:
    """Returns the SCoP in which float sums of products are added term by term: s += a*b + c*d becomes s = (s + a*b) + c*d, and the
    numbers among a product's factors multiply one of the others: s += n*(a*b) becomes s += n*a*b.

    found: the updates whose order is free, by statement; only these statements change
    """
    sums = {name: r.access for name, r in found.items() if r.operator == "+"}
    changed = {name: _added_in_turn(_with_numbers_first(scop.statements[name]), access) for name, access in sums.items()}
    return replace(scop, statements={**scop.statements, **changed})


def _with_numbers_first(statement: Statement) -> Statement:
    """Returns the statement with the numbers among the factors of each product multiplied with one of the others first.

    It is unchanged where it adds up over no loop.
    """
    written = [set(polyhedra.used_iterators(subscript)) for subscript in statement.write.subscripts]
    if len(set().union(*written)) == len(statement.iterators):
        return statement
    value = _scaled(statement, statement.value, written[-1] if written else set())
    return statement if value is statement.value else replace(statement, value=value)


def _scaled(statement: Statement, value: Value, lanes: set[int]) -> Value:
    """Returns a value of the statement with the numbers among a product's factors multiplied with one of the others first.

    lanes: the iterators, by position, along which the elements that are written lie side by side; the factor is one that has none
        of them, if there is one
    """
    if not isinstance(value, syntax.Binary) or not value.dtype.is_float:
        return value
    if value.op in ("+", "-"):
        left, right = _scaled(statement, value.left, lanes), _scaled(statement, value.right, lanes)
        return value if left is value.left and right is value.right else replace(value, left=left, right=right)
    factors = list(_factors(value, value))
    numbers = [
        f for f in factors if all(isinstance(leaf, (ScalarArg, syntax.Const)) for leaf in subvalues(f) if not children(leaf))
    ]
    others = [f for f in factors if f not in numbers]
    if not numbers or len(others) < 2:
        return value
    moving = [bool(_iterators(statement, f) & lanes) for f in others]
    first = others.pop(moving.index(False) if False in moving else 0)
    return _product(value, [*numbers, first, *others])


def _factors(value: Value, like: syntax.Binary) -> Iterator[Value]:
    """Yields the factors of a product of one type, from left to right.

    like: a product of this type
    """
    if isinstance(value, syntax.Binary) and value.op == "*" and value.dtype == like.dtype:
        yield from _factors(value.left, like)
        yield from _factors(value.right, like)
    else:
        yield value


def _iterators(statement: Statement, value: Value) -> set[int]:
    """Returns the iterators, by position, of the elements that a value of the statement reads."""
    reads = (statement.reads[leaf.access] for leaf in subvalues(value) if isinstance(leaf, Load))
    return {position for read in reads for subscript in read.subscripts for position in polyhedra.used_iterators(subscript)}


def _product(like: syntax.Binary, factors: list[Value]) -> Value:
    product, *others = factors
    for factor in others:
        product = syntax.Binary("*", product, factor, dtype=like.dtype, loc=like.loc)
    return product


def _added_in_turn(statement: Statement, access: int) -> Statement:
    """Returns the statement with the terms of its sum added to the accumulator one by one.

    It is unchanged where there are not several terms, or none of them is a product.

    access: the number of the read that is the accumulator
    """
    value = statement.value
    if not (isinstance(value, syntax.Binary) and value.op in ("+", "-") and value.dtype.is_float):
        return statement
    (total, sign), *terms = sorted(_terms(value, "+"), key=lambda term: not _is_load(term[0], access))
    products = [term for term, _ in terms if isinstance(term, syntax.Binary) and term.op == "*"]
    if not _is_load(total, access) or sign != "+" or len(terms) < 2 or not products:
        return statement
    for term, sign in terms:
        total = syntax.Binary(sign, total, term, dtype=value.dtype, loc=value.loc)
    return replace(statement, value=total)


def _terms(value: Value, sign: str) -> Iterator[tuple[Value, str]]:
    """Yields pairs (term, sign) for the terms of a sum of additions and subtractions.

    sign: that of the whole sum, "+" or "-"
    """
    if not (isinstance(value, syntax.Binary) and value.op in ("+", "-")):
        yield value, sign
        return
    yield from _terms(value.left, sign)
    yield from _terms(value.right, sign if value.op == "+" else {"+": "-", "-": "+"}[sign])


def _is_load(value: Value, access: int) -> bool:
    return isinstance(value, Load) and value.access == access
