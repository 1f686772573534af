"""Python's `sum`, `math.prod`, `any`, `all`, `min` and `max` of what a loop can go over, as the loops that they are.

    sum(f(a) for a in A if a > 0)         total = 0
                                          for each in A:
                                              if each > 0:
                                                  total = total + f(each)

The loops are written as Python's syntax tree, so that they mean what they would mean if the user had written them.
"""

from __future__ import annotations

import ast
import copy
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_REDUCTIONS = (sum, math.prod, any, all, min, max)
_FOLDS: dict[object, tuple[int, ast.operator]] = {
    sum: (0, ast.Add()),
    math.prod: (1, ast.Mult()),
}  # where they start, and how they go on
COMPENSATES = sys.version_info >= (3, 12)  # sum() of Python's floats, which a generator may have, then is more than additions

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True)
class BuiltinReduction:
    """A BuiltinReduction is the call of one of these functions as statements.

    before: what runs first
    statements: what runs then
    result: the name of the result
    needed: the name of an array that `before` binds, in which the call needs an element; "" where it needs none
    """

    before: list[ast.stmt]
    statements: list[ast.stmt]
    result: str
    needed: str = ""


def is_reduction(function: object) -> bool:
    """Returns whether an object is one of these functions; it may be any object, and is not compared with `==`."""
    return any(function is each for each in _REDUCTIONS)


def reduction(call: ast.Call, function: object, fresh: Callable[[str], str]) -> BuiltinReduction | None:
    """Returns the call of one of these functions as statements. None is returned for calls that are something else: of several operands,
    with options, and of generators that may have no elements, or whose floats are added up in a way of Python's own.

    fresh: returns a name, made of a stem, that the kernel does not use
    """
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        return None
    [operand] = call.args
    generator = operand if isinstance(operand, (ast.GeneratorExp, ast.ListComp)) else None
    if function is min or function is max:
        return None if generator or isinstance(operand, (ast.Tuple, ast.List)) else _extremum(call, operand, fresh)
    if generator is not None and (function is sum and COMPENSATES or any(each.is_async for each in generator.generators)):
        return None
    if generator is not None:
        element, parts = own_names(generator, fresh)
    else:
        each = fresh("_each")
        element, parts = _read(each), [ast.comprehension(_stored(each), operand, [], 0)]
    fold = _FOLDS.get(function)
    result = fresh("_total" if fold else "_found")
    body = _step(function, result, element)
    for part in reversed(parts):
        for condition in reversed(part.ifs):
            body = ast.If(condition, [body], [])
        if isinstance(operand, ast.GeneratorExp) and not fold:  # what is behind the element that decides is not computed
            undecided = _read(result) if function is all else ast.UnaryOp(ast.Not(), _read(result))
            body = ast.If(undecided, [body], [])
        body = ast.For(part.target, part.iter, [body], [])
    start = ast.Assign([_stored(result)], ast.Constant(fold[0] if fold else function is all))
    return BuiltinReduction([], [_placed(start, call), _placed(body, call)], result)


def _step(function: object, result: str, element: ast.expr) -> ast.stmt:
    """Returns the statement that takes one element into the result."""
    if function in _FOLDS:
        return ast.Assign([_stored(result)], ast.BinOp(_read(result), _FOLDS[function][1], element))
    decides = element if function is any else ast.UnaryOp(ast.Not(), element)
    return ast.If(decides, [ast.Assign([_stored(result)], ast.Constant(function is any))], [])


def _extremum(call: ast.Call, operand: ast.expr, fresh: Callable[[str], str]) -> BuiltinReduction:
    """Returns the statements for the least or greatest element of an array."""
    rows, result, each = fresh("_rows"), fresh("_found"), fresh("_each")
    first = ast.Subscript(_read(rows), ast.Constant(0), ast.Load())
    others = ast.Subscript(_read(rows), ast.Slice(ast.Constant(1)), ast.Load())
    better = ast.Call(call.func, [_read(result), _read(each)], [])
    loop = ast.For(_stored(each), others, [ast.Assign([_stored(result)], better)], [])
    statements = [_placed(ast.Assign([_stored(result)], first), call), _placed(loop, call)]
    return BuiltinReduction([_placed(ast.Assign([_stored(rows)], operand), call)], statements, result, rows)


def own_names(generator: ast.GeneratorExp | ast.ListComp, fresh: Callable[[str], str]) -> tuple[ast.expr, list[ast.comprehension]]:
    """Returns the element and the parts of a generator, whose variables, which it alone sees, have names of their own. What its first
    loop goes over is computed outside of it.
    """
    first = generator.generators[0].iter
    bound = {n.id for part in generator.generators for n in ast.walk(part.target) if isinstance(n, ast.Name)}
    renamer = Renamer({name: fresh(f"_{name}") for name in sorted(bound)})
    element = renamer.visit(copy.deepcopy(generator.elt))
    parts = [renamer.visit(copy.deepcopy(part)) for part in generator.generators]
    parts[0].iter = first
    return element, parts


class Renamer(ast.NodeTransformer):
    """A Renamer gives names other names."""

    def __init__(self, names: Mapping[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _placed(node: _Node, call: ast.Call) -> _Node:
    """Returns a node with the place of the call where it has none, and all that is in it."""
    for each in ast.walk(node):
        if isinstance(each, (ast.expr, ast.stmt)) and not hasattr(each, "lineno"):
            ast.copy_location(each, call)
    return node
