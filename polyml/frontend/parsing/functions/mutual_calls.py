"""Functions that call each other: those that a function calls and that call it, with names of their own, as parts of one text.

def even(n): return n == 0 or odd(n - 1)           even    ->    itself, and odd with n as n1
def odd(n): return n != 0 and even(n - 1)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FunctionType

from polyml.errors import LanguageError
from polyml.frontend.captures import python_function
from polyml.frontend.parsing.builtin_reductions import Renamer
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.functions.inner_functions import parameters
from polyml.frontend.parsing.source_text import FunctionText, text_of
from polyml.reading.function_source import names_outside
from polyml.source import Source


@dataclass(frozen=True)
class Companion:
    """A Companion is a function that another one calls and that calls it.

    tree: its definition, in which its own names are not in use anywhere else, and places are those of the other one's file
    args: its parameters as they are written
    text: its source, which is in the same file
    """

    function: FunctionType
    tree: ast.FunctionDef
    args: ast.arguments
    text: FunctionText

    @property
    def names(self) -> frozenset[str]:
        """Returns the names of its parameters and local variables."""
        stored = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        return frozenset(stored | {each.arg for each in parameters(self.tree.args)})


def companions(parser: ExpressionParser, function: FunctionType) -> tuple[Companion, ...]:
    """Returns the functions that a function calls, by others perhaps, and that call it; () where one of them has not the same meaning in
    the text of the function: names of its own from outside, or another file.
    """
    reached = _reached(function)
    if function not in reached:
        return ()
    others = [other for other in reached if other is not function and function in _reached(other)]
    if not others or not all(_means_the_same(parser, function, other) for other in others):
        return ()
    try:
        return tuple(_named_apart(parser, other) for other in others)
    except LanguageError:
        return ()


def around(text: FunctionText, others: Sequence[Companion]) -> Source:
    """Returns the lines of a file from the first to the last one of these functions."""
    sources = [text.source, *(each.text.source for each in others)]
    known = {source.first_line + k: line for source in sources for k, line in enumerate(source.lines)}
    lines = tuple(known.get(number, "") for number in range(min(known), max(known) + 1))
    return Source(text.source.file, min(known), lines)


def with_shared_names(
    tree: ast.FunctionDef,
    others: Sequence[Companion],
    callee: Callable[[ast.Call], int],
    bound: Callable[[ast.Call], tuple[ast.expr, ...]],
) -> list[ast.FunctionDef]:
    """Returns the definitions of the others, in which a parameter has the name of the parameter of the first one that all calls give it,
    where no statement assigns one of them: what all calls hand on as it is has one name then.

    callee, bound: the number of the function that a call is of, 0 for the first one, and its arguments
    """
    trees = [tree, *(each.tree for each in others)]
    stored = {n.id for each in trees for n in ast.walk(each) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    shared = {each.arg for each in parameters(tree.args)} - stored
    changed = True
    while changed:
        changed = False
        for number in range(1, len(trees)):
            calls = [c for each in trees for c in ast.walk(each) if isinstance(c, ast.Call) and callee(c) == number]
            given = [bound(call) for call in calls]
            for place, name in enumerate(each.arg for each in parameters(trees[number].args)):
                sources = {arg.id if isinstance(arg, ast.Name) else "" for arg in (each[place] for each in given)} - {name}
                if name not in stored and name not in shared and len(sources) == 1 and sources <= shared:
                    trees[number] = _renamed(trees[number], {name: sources.pop()})
                    changed = True
    return trees[1:]


def _reached(function: FunctionType) -> list[FunctionType]:
    """Returns the functions of its module that a function calls, and those that these call."""
    found: list[FunctionType] = []
    pending = [function]
    while pending:
        for called in _called(pending.pop()):
            if called not in found:
                found.append(called)
                pending.append(called)
    return found


def _called(function: FunctionType) -> Iterator[FunctionType]:
    for value in _outside(function).values():
        found = python_function(value)
        if found is not None and found.__globals__ is function.__globals__:
            yield found


def _outside(function: FunctionType) -> dict[str, object]:
    """Returns the globals and closure values that a function has names for."""
    code, cells = function.__code__, function.__closure__ or ()
    found = {name: function.__globals__[name] for name in names_outside(code) if name in function.__globals__}
    for name, cell in zip(code.co_freevars, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _means_the_same(parser: ExpressionParser, function: FunctionType, other: FunctionType) -> bool:
    """Returns whether the names of another function from outside mean the same in the text of the first one."""
    code = other.__code__
    if code.co_filename != function.__code__.co_filename or {*names_outside(code), *code.co_freevars} & parser.locals:
        return False
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    theirs = dict(zip(code.co_freevars, other.__closure__ or ()))
    return all(own.get(name) is cell or python_function(_outside(other).get(name)) is not None for name, cell in theirs.items())


def _named_apart(parser: ExpressionParser, function: FunctionType) -> Companion:
    """Returns a function with names of its own, which the parser takes as its function's; its closure's functions become known."""
    text, code = text_of(function), function.__code__
    tree = copy.deepcopy(text.tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr, ast.keyword, ast.arg)):
            node.lineno += text.shift - parser.text.shift
            node.end_lineno = None if node.end_lineno is None else node.end_lineno + text.shift - parser.text.shift
    own = {name: parser.fresh(name) for name in (*code.co_varnames, *code.co_cellvars)}
    return Companion(function, _renamed(tree, own), text.tree.args, text)


def known_functions(function: FunctionType, others: Sequence[Companion]) -> dict[str, object]:
    """Returns the functions in the closures of others for which the function itself has no name."""
    found = {name: _outside(each.function).get(name) for each in others for name in each.function.__code__.co_freevars}
    return {name: value for name, value in found.items() if name not in function.__code__.co_freevars}


class _Renamer(Renamer):
    """A _Renamer gives names other names, those of parameters too."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(self.names.get(node.arg, node.arg), node.annotation), node)


def _renamed(tree: ast.FunctionDef, names: dict[str, str]) -> ast.FunctionDef:
    made = copy.deepcopy(tree)
    made.args = _Renamer(names).visit(made.args)
    made.body = [_Renamer(names).visit(stmt) for stmt in made.body]
    return made


def with_text(text: FunctionText, others: Sequence[Companion], tree: ast.FunctionDef) -> FunctionText:
    """Returns the text of a function and of others as one, whose definition is `tree`."""
    return replace(text, tree=tree, source=around(text, others))
