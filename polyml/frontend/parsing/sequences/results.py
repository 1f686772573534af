"""What a kernel returns: numbers, arrays, and tuples, shapes and lists in each other."""

from __future__ import annotations

import ast
from dataclasses import replace

from polyml.frontend import syntax
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.sequences.values import LISTS, SEQUENCES, ListOf, ListsOf, RecordsOf, ShapeOf, Value, lists_in
from polyml.reading import result_forms
from polyml.source import Loc


def returned(expressions: ExpressionParser, node: ast.expr, found: Value, loc: Loc) -> syntax.Return:
    """Returns the return of the kernel. node: the expression whose value is returned

    Raises NotAffineError for a list in a list.
    """
    if not isinstance(found, SEQUENCES) and not _is_array_of_list(found):
        return syntax.Return((found,), False, loc=loc)
    values: list[syntax.Expr] = []

    def form(value: Value) -> str:
        if isinstance(value, tuple):
            return result_forms.tuple_of(tuple(map(form, value)))
        if isinstance(value, (RecordsOf, ListsOf)):
            held = tuple(lists_in((value,)))
            values.extend(syntax.Name(each.array, loc=loc) for each in held)
            kind = result_forms.TUPLES if isinstance(value, RecordsOf) else result_forms.LISTS
            return result_forms.list_of(kind, len(held))
        if isinstance(value, LISTS) and not (isinstance(value, ListOf) and not value.indices):
            raise expressions.not_affine(node, "a list in a list as the result", "the outermost list", "PML-F006")
        if isinstance(value, (ShapeOf, ListOf)):
            values.append(syntax.Name(value.array, loc=loc))
            return result_forms.SHAPE if isinstance(value, ShapeOf) else result_forms.LIST
        if isinstance(value, syntax.Function) and _is_array_of_list(value):
            values.append(replace(value, options=(*value.options, ("returned", True))))
            return result_forms.ARRAY_OF_LIST
        values.append(value)
        return result_forms.VALUE

    made = form(found)
    is_flat = isinstance(found, tuple) and set(result_forms.leaves(made)) <= {result_forms.VALUE} and made.count("(") == 1
    return syntax.Return(tuple(values), isinstance(found, tuple), form="" if is_flat else made, loc=loc)


def _is_array_of_list(value: Value) -> bool:
    """Returns whether a value is an array of a list that may be empty, and then has floats."""
    return (
        isinstance(value, syntax.Function) and ("grows", True) in value.options and not {"dtype", "like"} & {*dict(value.options)}
    )
