"""Functions of the library that are inlined like those of users: their statements are at the place of the call."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

from polyml.errors import LanguageError, PolymlError
from polyml.frontend import syntax, traversal
from polyml.frontend.library import lists
from polyml.frontend.library.index_arrays import IN_LOOPS
from polyml.frontend.library.whole_arrays.texts import TEXTS
from polyml.frontend.parsing.expression_parser import ExpressionParser
from polyml.frontend.parsing.jumps import Exit
from polyml.frontend.syntax import Expr, Stmt
from polyml.source import Loc

_Node = TypeVar("_Node", bound=ast.AST)


def at_call(function: object, body: tuple[Stmt, ...], end: Exit | None, loc: Loc) -> tuple[tuple[Stmt, ...], Exit | None]:
    """Returns the statements of a function that is inlined, up to its end where it has one, and that; those of a function of the library
    with the place of its call.

    The indices in the body of a condition on index arrays are known to be inside.
    """
    inside = _is_one_of(function, IN_LOOPS)
    if not inside and not _is_one_of(function, TEXTS) and not _is_one_of(function, lists.TEXTS):
        return (body if end is None else end.body), end

    def expression(expr: Expr) -> Expr:
        made = traversal.with_operands(expr, tuple(map(expression, traversal.operands(expr))))
        if inside and isinstance(made, syntax.Subscript):
            return dataclasses.replace(made, loc=loc, inside=True)
        return dataclasses.replace(made, loc=loc)

    def block(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        moved = (dataclasses.replace(traversal.map_reads(stmt, expression), loc=loc) for stmt in stmts)
        return tuple(traversal.with_bodies(stmt, block) for stmt in moved)

    if end is None:
        return block(body), None
    made = dataclasses.replace(end, body=block(end.body), values=tuple(map(expression, end.values)))
    return made.body, made


def at_call_of(function: object, problem: LanguageError, loc: Loc, name: str) -> PolymlError:
    """Returns what is raised for an error in the text of a function that is inlined.

    loc, name: the place of the call, and what the function is called
    """
    if _is_one_of(function, TEXTS) or _is_one_of(function, lists.TEXTS):
        return type(problem)(problem.message, loc=loc, notes=problem.notes, code=problem.code)
    return problem.noted(f"`{name}` is called at {loc}")


def _is_one_of(function: object, table: dict) -> bool:
    return any(function is each for each in table.values())


def call_of(expressions: ExpressionParser, function: Callable, *args: ast.expr) -> ast.Call:
    """Returns a call of a function, for which a name of its own stands."""
    name = expressions.fresh(f"_{function.__name__}")
    expressions.known[name] = function
    expressions.locals |= {name}
    return _placed(ast.Call(ast.Name(name, ast.Load()), [*args], []), args[0])


def slice_elements(expressions: ExpressionParser, node: ast.Subscript) -> ast.ListComp | None:
    """Returns the comprehension of what a slice of a list has; None for one with a step other than 1, or -1 through the whole list."""
    part = node.slice
    assert isinstance(part, ast.Slice)
    length, item = call_of(expressions, len, node.value), expressions.fresh("_item")
    ends = [None if end is None else call_of(expressions, lists.clipped, end, length) for end in (part.lower, part.upper)]
    step = 1 if part.step is None else expressions.constant(part.step)
    limits: list[ast.expr] = [ends[0] or ast.Constant(0), ends[1] or length]
    if step == -1 and ends == [None, None]:
        limits = [ast.BinOp(length, ast.Sub(), ast.Constant(1)), ast.Constant(-1), ast.Constant(-1)]
    elif step != 1:
        return None
    element = ast.Subscript(node.value, ast.Name(item, ast.Load()), ast.Load())
    over = ast.comprehension(
        ast.Name(item, ast.Store()), _placed(call_of(expressions, range, *(_placed(each, node) for each in limits)), node), [], 0
    )
    return _placed(ast.ListComp(element, [over]), node)


def _placed(node: _Node, place: ast.expr) -> _Node:
    """Returns a node with another one's place in all of it that has none."""
    for each in ast.walk(node):
        if isinstance(each, (ast.expr, ast.stmt)) and not hasattr(each, "lineno"):
            ast.copy_location(each, place)
    return node
