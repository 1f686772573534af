"""A failing program, made smaller while it keeps failing in the same way.

Greedy delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2), 2002) on
Python's syntax tree: the first smaller variant that still fails is taken, until none is left.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar, cast

Case = TypeVar("Case")


def shrink(case: Case, variants: Callable[[Case], Iterator[Case]], fails: Callable[[Case], bool], budget: int = 400) -> Case:
    """Returns the smallest case found by going from `case` to smaller variants as long as one of them still fails.

    variants: yields all cases that are one step smaller than a case, the largest steps first.
    fails: whether a case fails as the first one does.
    budget: how many variants are tried at most.
    """
    progress = True
    while progress and budget > 0:
        progress = False
        for smaller in variants(case):
            budget -= 1
            if budget <= 0:
                break
            if fails(smaller):
                case, progress = smaller, True
                break
    return case


def smaller_sources(source: str) -> Iterator[str]:
    """Yields every text that is one edit smaller than a Python source: a statement less, a loop unwrapped, an expression replaced
    by a part.
    """
    count = sum(1 for _ in _edits(ast.parse(source)))
    for index in range(count):
        tree = ast.parse(source)
        for position, edit in enumerate(_edits(tree)):
            if position == index:
                edit()
                break
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text != source:
            yield text


def _edits(tree: ast.AST) -> Iterator[Callable[[], None]]:
    """Yields functions each of which changes the tree in place by one edit that makes it smaller.

    An edit drops a statement, unwraps a loop or a condition, or replaces an expression by a part of it.
    """
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(node, ast.stmt):
                yield from _block_edits(block, may_empty=name == "orelse")
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(node, ast.Attribute) and name != "func":
                for part in _parts(value):
                    yield partial(setattr, node, name, part)
            elif (
                isinstance(value, list)
                and not isinstance(node, ast.arguments)
                and (name == "elts" or not isinstance(node, ast.Tuple))
            ):
                for position, item in enumerate(value):
                    for part in _parts(item) if isinstance(item, ast.expr) else ():
                        yield partial(operator.setitem, value, position, part)


def _block_edits(block: list[ast.stmt], may_empty: bool) -> Iterator[Callable[[], None]]:
    """Yields functions each of which drops or simplifies one statement of a block in place.

    may_empty: whether the block may lose its last statement; if not, `pass` replaces that one.
    """
    for position, statement in enumerate(block):
        here = slice(position, position + 1)
        if len(block) > 1 or may_empty:
            yield partial(operator.delitem, block, position)
        elif not isinstance(statement, ast.Pass):
            yield partial(operator.setitem, block, position, ast.Pass())
        if isinstance(statement, ast.If):
            yield partial(operator.setitem, block, here, statement.body)
            if statement.orelse:
                yield partial(operator.setitem, block, here, statement.orelse)
        if isinstance(statement, ast.For) and isinstance(statement.iter, ast.Call) and isinstance(statement.target, ast.Name):
            first = statement.iter.args[0] if len(statement.iter.args) > 1 else ast.Constant(0)
            one = ast.Assign([ast.Name(statement.target.id, ast.Store())], first)
            yield partial(operator.setitem, block, here, [one, *statement.body])
            yield partial(_substituted, block, position, statement, first)
        if isinstance(statement, ast.AugAssign):
            yield partial(operator.setitem, block, position, ast.Assign([statement.target], statement.value))


def _substituted(block: list[ast.stmt], position: int, loop: ast.For, value: ast.expr) -> None:
    """Replaces a loop in its block by one copy of its body, in which `value` stands for the loop variable.

    position: the loop's index in the block.
    """

    name = cast(ast.Name, loop.target).id

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(value) if node.id == name and isinstance(node.ctx, ast.Load) else node

    block[position : position + 1] = [Replace().visit(s) for s in loop.body]


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """Yields smaller expressions that may replace `value`: its operands, its arguments, or 1 for a number."""
    if isinstance(value, ast.BinOp):
        yield value.left
        yield value.right
    elif isinstance(value, ast.UnaryOp) and not isinstance(value.operand, ast.Constant):
        yield value.operand
    elif isinstance(value, ast.IfExp):
        yield value.body
        yield value.orelse
    elif isinstance(value, ast.BoolOp):
        yield from value.values
    elif isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        name = ast.unparse(value.func)
        if name != "range" and not name.startswith(("np.zeros", "np.full", "np.ones", "np.empty")):
            yield from value.args
        elif name == "range" and len(value.args) > 1:
            yield ast.Call(value.func, [value.args[1]], [])
            if len(value.args) == 3:
                yield ast.Call(value.func, value.args[:2], [])
    elif isinstance(value, ast.Tuple) and value.elts:
        yield from value.elts
    elif isinstance(value, ast.Constant) and isinstance(value.value, (int, float)) and value.value not in (0, 1):
        yield ast.Constant(type(value.value)(1))
