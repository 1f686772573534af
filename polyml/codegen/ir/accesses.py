"""Subscripts and affine values of a statement as quasi-affine expressions of its iterators."""

from __future__ import annotations

import islpy as isl

from polyml.model.core.scop import Access, Statement
from polyml.quasi_affine.affine import Affine, Condition
from polyml.quasi_affine.from_isl import condition_expression, expression_of_iterators


class AccessTable:
    """A table of the subscripts, affine values and conditions of one SCoP as quasi-affine expressions; an affine value is
    converted from isl when it is first asked for, and kept.

    context: the SCoP's constraints on its parameters.
    """

    def __init__(self, context: isl.Set):
        self._context = context
        self._known: dict[int, tuple[object, Affine]] = {}

    def subscripts(self, access: Access) -> tuple[Affine, ...]:
        """Returns an access's subscripts, one for each dimension, as expressions of the statement's iterators."""
        return access.expressions

    def affine(self, value: isl.PwAff) -> Affine:
        """Returns isl's { S[i, j] -> [(e)] } as an expression of i and j."""
        hit = self._known.get(id(value))
        if hit is None:
            hit = self._known[id(value)] = (value, expression_of_iterators(value))
        return hit[1]

    def condition(self, violated: isl.Set) -> Condition:
        """Returns a set of parameters' values, { : ... }, as the condition that they are in it.

        violated: the set, such as the values that violate a check.
        """
        return condition_expression(violated, self._context)


def reads_and_write(statement: Statement) -> tuple[Access, ...]:
    """Returns all accesses of a statement, its write last."""
    return (*statement.reads, *statement.writes)
