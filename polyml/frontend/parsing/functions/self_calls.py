"""Calls of a function by itself, where it is parsed: the function is replaced by one that has none."""

from __future__ import annotations

import ast
import operator
import sys
from dataclasses import replace
from types import FunctionType

from polyml.errors import LanguageError
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions import inlining, mutual_calls, recursion
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
    others = mutual_calls.companions(parser, function) if isinstance(function, FunctionType) else ()
    group: list[FunctionType | InnerFunction] = [function, *(each.function for each in others)]
    signatures = [tree.args, *(each.args for each in others)]

    def callee(call: ast.Call) -> int:
        found = parser.python_function(call)
        return next((number for number, each in enumerate(group) if each is found), -1)

    if others:
        known = mutual_calls.known_functions(function, others) if isinstance(function, FunctionType) else {}
        parser.known |= known
        parser.locals |= {*known}.union(*(each.names for each in others))
    if not others and not calls_itself(tree, lambda call: callee(call) == 0):
        return frozenset(), None

    def bound(call: ast.Call) -> tuple[ast.expr, ...]:
        if signature_of(parser.value(call.func)) is not None:
            raise refused(call, "a function that calls itself and that numba compiled with a signature")
        number = callee(call)
        given = inlining.bound_arguments(parser, call, group[number], signatures[number])
        return tuple(_expression(parser, call, given[each.arg]) for each in parameters(signatures[number]))

    def refused(node: ast.AST, what: str) -> LanguageError:
        place = tree if node is tree or not isinstance(node, (ast.expr, ast.stmt)) else node
        return parser.not_affine(place, f"{what} is not compiled", _ACCEPTED, "PML-F009")

    index, length = parser.fresh("_index"), parser.fresh("_length_of")
    names = Names(
        lambda call: callee(call) >= 0, lambda call: parser.value(call.func) is range, index, bound, parser.fresh, refused, length, callee,
    )  # fmt: skip
    parser.text = mutual_calls.with_text(parser.text, others, tree) if others else parser.text
    own = own.union(*(each.names for each in others))
    try:
        trees = mutual_calls.with_shared_names(tree, others, callee, bound)
        made = recursion.iterative(tree, own, names, sys.getrecursionlimit(), trees)
    except LanguageError as problem:
        return frozenset(), problem
    parser.text = replace(parser.text, tree=made.tree)
    parser.locals |= made.names | {index, length}
    parser.known |= {made.error: RecursionError, index: operator.index, length: len}
    return frozenset().union(made.names - {made.error}, *(each.names for each in others)), None


def _expression(parser: ExpressionParser, call: ast.Call, given: ast.expr | Default | Held) -> ast.expr:
    if isinstance(given, ast.expr):
        return given
    if isinstance(given, Default) and (given.value is None or isinstance(given.value, _CONSTANTS)):
        return ast.copy_location(ast.Constant(given.value), call)
    raise parser.not_affine(call, "a default that is no number in a call of the function itself", _ACCEPTED, "PML-F009")
