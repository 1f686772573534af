"""The arguments of an inlined function: what each parameter is in the kernel, known values, names and tuples."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from polyml.frontend import name_resolution, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing.assignments import AssignmentParser
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions import conversions, inlining
from polyml.frontend.parsing.functions.inner_functions import Default, Held, parameters
from polyml.frontend.parsing.names import is_number
from polyml.frontend.parsing.sequences.values import SEQUENCES, Value, leaves
from polyml.reading.numba_signatures import NumbaSignature


def assigned(
    callee: AssignmentParser, caller: ExpressionParser, given: Mapping[str, ast.expr | Default | Held], own_names: Iterable[str],
    signature: NumbaSignature | None = None,
) -> list[syntax.Stmt]:  # fmt: skip
    """Chooses the names of an inlined function's locals, and returns the assignments of the arguments to its parameters.

    A parameter that is never assigned needs no assignment where the argument is a name or constant.

    callee: what the function is parsed with
    caller: what the function that calls it is parsed with
    given: what each parameter gets
    own_names: the names of the function's parameters and local variables
    signature: the types for which the function was compiled; None where it is what its text says
    """
    expressions = callee.expressions
    names = [each.arg for each in parameters(expressions.text.tree.args)]
    kinds = {} if signature is None else dict(zip(names, signature.parameters))
    bound_again = inlining.assigned(expressions.text.tree)
    first: list[syntax.Stmt] = []
    for name, argument in given.items():
        expr, value = _argument(caller, argument)
        if name in kinds:
            expr, value = conversions.given(caller, argument, kinds[name], expr, value)
        if isinstance(expr, SEQUENCES):
            first += _tuple_argument(callee, name, caller.held(expr), name in bound_again)
            continue
        if value is not MISSING and not (name in bound_again and is_number(value)):
            expressions.known[name] = value
            continue
        held = syntax.Const(value) if expr is None else expr
        if isinstance(expr, syntax.Name) and name not in bound_again:
            expressions.renamed[name] = expr.name
        else:
            expressions.renamed[name] = name_resolution.unused(name, expressions.taken)
            first.append(syntax.Assign(syntax.Name(expressions.renamed[name], loc=held.loc), held, loc=held.loc))
        first += conversions.required(expressions.renamed[name], kinds.get(name), held.loc)
    for name in sorted(set(own_names) - expressions.renamed.keys()):
        expressions.renamed[name] = name_resolution.unused(name, expressions.taken)
    return first


def _tuple_argument(callee: AssignmentParser, name: str, value: Value, is_assigned: bool) -> list[syntax.Stmt]:
    """Makes a parameter stand for a tuple, and returns the assignments of its parts, which have names of their own if it is assigned."""
    made = callee.named_parts(name, value, once=False) if is_assigned else value
    callee.expressions.tuples[name] = made
    pairs = zip(leaves(made), leaves(value))
    return [syntax.Assign(own, held, loc=held.loc) for own, held in pairs if own is not held and isinstance(own, syntax.Name)]


def _argument(caller: ExpressionParser, argument: ast.expr | Default | Held) -> tuple[Value | None, object]:
    """Returns an argument of a call as an expression, and the value that it always has; None and MISSING where there is none."""
    if isinstance(argument, Default):
        return None, argument.value
    if isinstance(argument, Held):
        return argument.expr, MISSING
    value = caller.constant(argument)
    if value is not MISSING:
        return None, value
    expr = caller.evaluated(argument)
    return expr, expr.value if isinstance(expr, syntax.Const) else MISSING
