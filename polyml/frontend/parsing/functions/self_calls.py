"""Calls of a function by itself, where it is parsed: the function is replaced by one that has none."""

from __future__ import annotations

import ast
import operator
import sys
from dataclasses import replace
from types import FunctionType

from polyml.errors import LanguageError
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions import inlining, recursion
from polyml.frontend.parsing.functions.inner_functions import Default, Held, InnerFunction, parameters
from polyml.frontend.parsing.functions.recursion_graph import Names, calls_itself
from polyml.reading.numba_signatures import signature_of

_ACCEPTED = "calls of itself with numbers, and arrays and lists that all of them hand on as they are"
_CONSTANTS = (bool, int, float, complex, str)


def replaced(
    parser: ExpressionParser, function: FunctionType | InnerFunction, own: frozenset[str]
) -> tuple[frozenset[str], LanguageError | None]:
    """Makes the text of a parser one of a function without calls of itself, if it has any.

    own: the names of its parameters and local variables
    Returns the names of its own that it has then besides these, and why nothing is done where that is refused.
    """
    tree = parser.text.tree

    def is_call(call: ast.Call) -> bool:
        return parser.python_function(call) is function

    if not calls_itself(tree, is_call):
        return frozenset(), None

    def bound(call: ast.Call) -> tuple[ast.expr, ...]:
        if signature_of(parser.value(call.func)) is not None:
            raise refused(call, "a function that calls itself and that numba compiled with a signature")
        given = inlining.bound_arguments(parser, call, function, tree.args)
        return tuple(_expression(parser, call, given[each.arg]) for each in parameters(tree.args))

    def refused(node: ast.AST, what: str) -> LanguageError:
        place = tree if node is tree or not isinstance(node, (ast.expr, ast.stmt)) else node
        return parser.not_affine(place, f"{what} is not compiled", _ACCEPTED, "PML-F009")

    index, length = parser.fresh("_index"), parser.fresh("_length_of")
    names = Names(is_call, lambda call: parser.value(call.func) is range, index, bound, parser.fresh, refused, length)
    try:
        made = recursion.iterative(tree, own, names, sys.getrecursionlimit())
    except LanguageError as problem:
        return frozenset(), problem
    parser.text = replace(parser.text, tree=made.tree)
    parser.locals |= made.names | {index, length}
    parser.known |= {made.error: RecursionError, index: operator.index, length: len}
    return made.names - {made.error}, None


def _expression(parser: ExpressionParser, call: ast.Call, given: ast.expr | Default | Held) -> ast.expr:
    if isinstance(given, ast.expr):
        return given
    if isinstance(given, Default) and (given.value is None or isinstance(given.value, _CONSTANTS)):
        return ast.copy_location(ast.Constant(given.value), call)
    raise parser.not_affine(call, "a default that is no number in a call of the function itself", _ACCEPTED, "PML-F009")
