"""np.zeros, np.empty, np.ones, np.full and their _like forms -> Alloc."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polyml.dtypes import ACCEPTED, F64, DType
from polyml.frontend import elementwise_functions, syntax
from polyml.frontend.captures import MISSING
from polyml.frontend.parsing.expressions import Expressions, lookup
from polyml.source import Loc

_CONSTANTS = {"zeros": 0, "ones": 1}


def allocation(read: Expressions, node: ast.expr) -> str | None:
    """The NumPy name of the function, if `node` calls one that makes an array."""
    return lookup(elementwise_functions.ALLOCATIONS, read.value(node.func)) if isinstance(node, ast.Call) else None


def alloc(read: Expressions, name: str, call: ast.Call, loc: Loc) -> syntax.Alloc:
    """The array that `name = call` makes."""
    function = allocation(read, call)
    if function is None:
        raise TypeError(f"not an allocation: {ast.unparse(call)}")
    stem, like = function.removesuffix("_like"), function.endswith("_like")
    source = "a" if like else "shape"
    given = _bound(read, call, function, (source, "fill_value", "dtype") if stem == "full" else (source, "dtype"))
    shape = syntax.Like(read.array(given[source]), loc=read.text.loc(given[source])) if like else _shape(read, given[source])
    fill = _fill(read, stem, given, call)
    default = shape if like else None if stem == "full" else F64
    return syntax.Alloc(name, shape, _element(read, given.get("dtype"), default), fill, loc=loc)


def _bound(read: Expressions, call: ast.Call, function: str, slots: Sequence[str]) -> dict[str, ast.expr]:
    """Parameter -> argument, all but dtype given."""
    accepted = f"np.{function}({', '.join(slots)})"
    for argument in (*call.args[len(slots) :], *(a for a in call.args if isinstance(a, ast.Starred))):
        raise read.error(argument, f"np.{function} does not take this in a kernel", accepted)
    given = dict(zip(slots, call.args))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in slots or keyword.arg in given:
            raise read.error(keyword, f"np.{function} does not take this in a kernel", accepted)
        given[keyword.arg] = keyword.value
    for slot in slots:
        if slot != "dtype" and slot not in given:
            raise read.error(call, f"np.{function} needs {slot}", accepted)
    return given


def _shape(read: Expressions, node: ast.expr) -> tuple[syntax.Expr, ...] | syntax.Like:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return syntax.Like(read.array(node.value), loc=read.text.loc(node))
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(map(read.expr, node.elts))
    return (read.expr(node),)


def _fill(read: Expressions, stem: str, given: dict[str, ast.expr], call: ast.Call) -> syntax.Expr | None:
    if stem == "full":
        return read.expr(given["fill_value"])
    return syntax.Const(_CONSTANTS[stem], loc=read.text.loc(call)) if stem in _CONSTANTS else None


def _element(read: Expressions, node: ast.expr | None, default) -> DType | syntax.Like | None:
    if node is None or isinstance(node, ast.Constant) and node.value is None:
        return default
    if isinstance(node, ast.Attribute) and node.attr == "dtype" and read.is_local(node.value):
        return syntax.Like(read.array(node.value), loc=read.text.loc(node))
    value = node.value if isinstance(node, ast.Constant) else read.value(node)
    dtype = None if value is MISSING or value is None else elementwise_functions.dtype_of(value)
    if dtype is None:
        raise read.error(
            node,
            "this is not an element type of the language",
            f"{ACCEPTED}, or A.dtype",
        )
    return dtype
