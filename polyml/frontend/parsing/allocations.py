"""Allocations: np.zeros, np.empty, np.ones, np.full and their _like forms become an Alloc."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polyml.dtypes import ACCEPTED, F64, DType
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing.calls import lookup
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.source import Loc

_CONSTANTS = {"zeros": 0, "ones": 1}


def allocation(parser: ExpressionParser, node: ast.expr) -> str | None:
    """Returns NumPy's name of the function that `node` calls, such as "zeros_like", if that allocates an array, else None."""
    return lookup(elementwise_functions.ALLOCATIONS, parser.value(node.func)) if isinstance(node, ast.Call) else None


def alloc(parser: ExpressionParser, name: str, call: ast.Call, loc: Loc) -> syntax.Alloc:
    """Returns the Alloc for `name = call`, where the call is one of NumPy's allocations."""
    function = allocation(parser, call)
    if function is None:
        raise TypeError(f"not an allocation: {ast.unparse(call)}")
    stem, like = function.removesuffix("_like"), function.endswith("_like")
    source = "a" if like else "shape"
    given = _bound(parser, call, function, (source, "fill_value", "dtype") if stem == "full" else (source, "dtype"))
    shape = syntax.Like(parser.array(given[source]), loc=parser.text.loc(given[source])) if like else _shape(parser, given[source])
    fill = _fill(parser, stem, given, call)
    default = shape if like else None if stem == "full" else F64
    return syntax.Alloc(name, shape, _element(parser, given.get("dtype"), default), fill, loc=loc)


def _bound(parser: ExpressionParser, call: ast.Call, function: str, slots: Sequence[str]) -> dict[str, ast.expr]:
    """Returns the arguments of a call by parameter; dtype may be missing.

    slots: the parameters in order. Raises LanguageError for arguments that the function does not take, and for missing ones.
    """
    accepted = f"np.{function}({', '.join(slots)})"
    for argument in (*call.args[len(slots) :], *(a for a in call.args if isinstance(a, ast.Starred))):
        raise parser.error(argument, f"np.{function} does not take this in a kernel", accepted)
    given = dict(zip(slots, call.args))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in slots or keyword.arg in given:
            raise parser.error(keyword, f"np.{function} does not take this in a kernel", accepted)
        given[keyword.arg] = keyword.value
    for slot in slots:
        if slot != "dtype" and slot not in given:
            raise parser.error(call, f"np.{function} needs {slot}", accepted)
    return given


def _shape(parser: ExpressionParser, node: ast.expr) -> tuple[syntax.Expr, ...] | syntax.Like:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return syntax.Like(parser.array(node.value), loc=parser.text.loc(node))
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(map(parser.expr, node.elts))
    return (parser.expr(node),)


def _fill(parser: ExpressionParser, stem: str, given: dict[str, ast.expr], call: ast.Call) -> syntax.Expr | None:
    if stem == "full":
        return parser.expr(given["fill_value"])
    return syntax.Const(_CONSTANTS[stem], loc=parser.text.loc(call)) if stem in _CONSTANTS else None


def _element(parser: ExpressionParser, node: ast.expr | None, default) -> DType | syntax.Like | None:
    if node is None or isinstance(node, ast.Constant) and node.value is None:
        return default
    if isinstance(node, ast.Attribute) and node.attr == "dtype" and parser.is_local(node.value):
        return syntax.Like(parser.array(node.value), loc=parser.text.loc(node))
    value = node.value if isinstance(node, ast.Constant) else parser.value(node)
    dtype = None if value is MISSING or value is None else elementwise_functions.dtype_of(value)
    if dtype is None:
        raise parser.error(
            node,
            "this is not an element type of the language",
            f"{ACCEPTED}, or A.dtype",
        )
    return dtype
