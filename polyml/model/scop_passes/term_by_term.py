"""Sums of several products are accumulated term by term, so that each is one multiply-add.

    s = s + (a*b - c*d)        ->        s = (s + a*b) - c*d

A contraction's register tile then needs no register for the products. (Reassociation: Briggs and Cooper, "Effective partial
redundancy elimination", PLDI 1994. LLVM's pass `reassociate` does it without knowing which updates may run in any order.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polyml.frontend import syntax
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Load, Scop, Statement, Value


def term_by_term(scop: Scop, found: Mapping[str, Reduction]) -> Scop:
    """Returns the SCoP in which float sums of products are added term by term: s += a*b + c*d becomes s = (s + a*b) + c*d.

    found: the updates whose order is free, by statement; only these statements change
    """
    changed = {name: _added_in_turn(scop.statements[name], r.access) for name, r in found.items() if r.operator == "+"}
    return replace(scop, statements={**scop.statements, **changed})


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
