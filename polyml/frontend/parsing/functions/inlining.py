"""Inlining of Python functions: which argument goes to which parameter, and whether the function changes one of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from types import FunctionType

from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions.inner_functions import Default, Held, InnerFunction, parameters
from polyml.frontend.syntax import Stmt

_VIEWS = (
    "transpose swapaxes moveaxis flip fliplr flipud expand_dims squeeze reshape ravel diagonal real imag conj asarray ascontiguousarray"
).split()


def bound_arguments(
    parser: ExpressionParser, call: ast.Call, function: FunctionType | InnerFunction, args: ast.arguments
) -> dict[str, ast.expr | Default | Held]:
    """Returns what each parameter of a called function gets: arguments in the order of the call, and defaults behind them.

    args: the parameters of `function`
    Raises LanguageError where Python would raise TypeError, and NotAffineError for *args and **kwargs.
    """
    if args.vararg or args.kwarg:
        raise parser.not_affine(call, f"`{function.__name__}` takes any arguments", "functions whose parameters have names")
    positional = [a.arg for a in (*args.posonlyargs, *args.args)]
    named = [a.arg for a in (*args.args, *args.kwonlyargs)]
    accepted = f"`{function.__name__}({ast.unparse(args)})`"
    found: dict[str, ast.expr | Default | Held] = {}
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            raise parser.not_affine(argument, "unpacking with * is not static", "each argument written out")
        if position >= len(positional):
            raise parser.error(argument, f"`{function.__name__}` takes {len(positional)} arguments", accepted)
        found[positional[position]] = argument
    for keyword in call.keywords:
        if keyword.arg is None:
            raise parser.not_affine(keyword.value, "unpacking with ** is not static", "each argument written out")
        if keyword.arg not in named or keyword.arg in found:
            raise parser.error(keyword, f"`{function.__name__}` does not take this", accepted)
        found[keyword.arg] = keyword.value
    defaults = function.defaults if isinstance(function, InnerFunction) else _defaults(function, positional)
    for parameter in (each.arg for each in parameters(args)):
        if parameter in found:
            continue
        if parameter not in defaults:
            raise parser.error(call, f"`{function.__name__}` needs {parameter}", accepted)
        found[parameter] = defaults[parameter]
    return found


def _defaults(function: FunctionType, positional: Sequence[str]) -> Mapping[str, Default]:
    values = dict(zip(reversed(positional), reversed(function.__defaults__ or ()))) | (function.__kwdefaults__ or {})
    return {name: Default(value) for name, value in values.items()}


def assigned(function: ast.FunctionDef) -> set[str]:
    """Returns the names that the function's text assigns, loop variables among them."""
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def changes(body: Sequence[Stmt], outside: set[str], counts: Set[str] = frozenset()) -> bool:
    """Returns whether the statements may store into an array that they get from outside.

    outside: the names that stand for arrays from outside before the first statement
    counts: the names of numbers of elements of lists from outside, which are changed where they are assigned
    """
    assigns = [stmt for stmt in statements(body) if isinstance(stmt, syntax.Assign)]
    reached, before = set(outside), -1
    while len(reached) > before:
        before = len(reached)
        for stmt in assigns:
            if isinstance(stmt.target, syntax.Name) and not stmt.in_place and _seen(stmt.value) & reached:
                reached.add(stmt.target.name)
    if any(isinstance(stmt.target, syntax.Name) and stmt.target.name in counts for stmt in assigns):
        return True
    return any(_seen(stmt.target) & reached for stmt in assigns if stmt.in_place or not isinstance(stmt.target, syntax.Name))


def _seen(expr: syntax.Expr) -> set[str]:
    """Returns the names of the arrays that the value of an expression may be, or may be a view or an element of."""
    match expr:
        case syntax.Name(name=name) | syntax.Subscript(array=name):
            return {name}
        case syntax.Part(base=base):
            return _seen(base)
        case syntax.Function(function=function, args=args) if function in _VIEWS:
            return _seen(args[0])
        case syntax.IfExp(then=then, orelse=orelse):
            return _seen(then) | _seen(orelse)
    return set()
