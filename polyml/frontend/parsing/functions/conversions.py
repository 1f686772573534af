"""What a function that numba compiled with a signature makes of its arguments and its result, as expressions of the language."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing.functions.inner_functions import Default, Held
from polyml.frontend.parsing.names import NameLookup, is_number
from polyml.frontend.parsing.sequences.values import Value
from polyml.numpy_dtypes import numpy_dtype
from polyml.reading.numba_signatures import ArrayOf, NumbaSignature, is_exactly
from polyml.source import Loc

_ACCEPTED = "numbers and arrays of the types in the signature"


def given(
    names: NameLookup, argument: ast.expr | Default | Held, kind: DType | ArrayOf, expr: Value | None, value: object
) -> tuple[Value | None, object]:
    """Returns an argument as the function gets it: an expression, and the value that it always has, as `arguments.assigned` has them.

    argument: what the text has
    kind: the type of the parameter
    expr, value: what the argument is before
    Raises NotAffineError for what has no conversion to that type, which numba refuses.
    """
    fits = is_number(value) and not isinstance(kind, ArrayOf) if value is not MISSING else isinstance(expr, syntax.Expr)
    if not fits:
        place = argument if isinstance(argument, ast.expr) else names.text.tree
        raise names.not_affine(place, f"this is not {kind}, for which the function was compiled", _ACCEPTED)
    if isinstance(kind, ArrayOf) or value is not MISSING and is_exactly(value, kind):
        return expr, value
    held = expr if isinstance(expr, syntax.Expr) else syntax.Const(value)
    return _converted(held, kind, held.loc), MISSING


def required(name: str, kind: DType | ArrayOf | None, loc: Loc | None) -> tuple[syntax.Stmt, ...]:
    """Returns the statements that require a parameter to be the array for which the function was compiled.

    name: of the parameter in the kernel
    kind: its type; nothing is required of numbers, which are converted
    """
    if not isinstance(kind, ArrayOf):
        return ()
    options = (("element", kind.element), ("ndim", kind.ndim))
    condition = syntax.Function("of_type", (syntax.Name(name, loc=loc),), options, loc=loc)
    return (syntax.Require(condition, "arrays of other types than numba compiled a function for", loc=loc),)


def returned(
    names: NameLookup, call: ast.Call, signature: NumbaSignature, values: Sequence[Value], is_tuple: bool
) -> tuple[Value, ...]:
    """Returns what a call gives, from what the text of the function returns.

    call: the call, for messages
    Raises NotAffineError where the text returns something else than the signature says.
    """
    if signature.result is None:
        return ()
    if is_tuple or len(values) != 1 or not isinstance(values[0], syntax.Expr):
        accepted = f"one number, which the signature {signature} says"
        raise names.not_affine(call, "what a compiled function returns is not what its signature says", accepted)
    return (_converted(values[0], signature.result, names.text.loc(call)),)


def _converted(expr: syntax.Expr, to: DType, loc: Loc | None) -> syntax.Expr:
    number = expr if isinstance(expr, syntax.Const) else syntax.Function("number", (expr,), loc=expr.loc)
    return syntax.Call("converted", (number, syntax.Const(numpy_dtype(to).type(0))), loc=loc)
