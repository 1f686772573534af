"""Makes a failing program smaller while it keeps failing in the same way.

Greedy delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2), 2002) on Python's ast:
the first smaller variant that still fails is taken, until none is left.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import TypeVar

Case = TypeVar("Case")


def shrink(case: Case, variants: Callable[[Case], Iterator[Case]], fails: Callable[[Case], bool], budget: int = 400) -> Case:
    """A smaller case for which `fails` holds as it does for `case`. variants: all that are one step smaller, the largest steps first.
    budget: how many are tried.
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
    """Every text one step smaller."""
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
    """Edits in place: drop a statement, unwrap a loop or a condition, replace an expression by a part of it."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(node, ast.stmt):
                yield from _block_edits(block, may_empty=name == "orelse")
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(node, ast.Attribute) and name != "func":
                for part in _parts(value):
                    yield lambda node=node, name=name, part=part: setattr(node, name, part)
            elif isinstance(value, list) and not isinstance(node, (ast.Tuple, ast.arguments)):
                for position, item in enumerate(value):
                    for part in _parts(item) if isinstance(item, ast.expr) else ():
                        yield lambda v=value, p=position, part=part: v.__setitem__(p, part)
            elif isinstance(node, ast.Tuple) and name == "elts" and isinstance(value, list):
                for position, item in enumerate(value):
                    for part in _parts(item):
                        yield lambda v=value, p=position, part=part: v.__setitem__(p, part)


def _block_edits(block: list[ast.stmt], may_empty: bool) -> Iterator[Callable[[], None]]:
    for position, statement in enumerate(block):
        if len(block) > 1 or may_empty:
            yield lambda p=position: block.__delitem__(p)
        elif not isinstance(statement, ast.Pass):
            yield lambda p=position: block.__setitem__(p, ast.Pass())
        if isinstance(statement, ast.If):
            yield lambda p=position, s=statement: block.__setitem__(slice(p, p + 1), s.body)
            if statement.orelse:
                yield lambda p=position, s=statement: block.__setitem__(slice(p, p + 1), s.orelse)
        if isinstance(statement, ast.For):
            first = statement.iter.args[0] if len(statement.iter.args) > 1 else ast.Constant(0)
            one = ast.Assign([ast.Name(statement.target.id, ast.Store())], first)
            yield lambda p=position, s=statement, one=one: block.__setitem__(slice(p, p + 1), [one, *s.body])
            yield lambda p=position, s=statement, first=first: _substituted(block, p, s, first)
        if isinstance(statement, ast.AugAssign):
            plain = ast.Assign([statement.target], statement.value)
            yield lambda p=position, plain=plain: block.__setitem__(p, plain)


def _substituted(block: list[ast.stmt], position: int, loop: ast.For, value: ast.expr) -> None:
    """The loop's body once, its variable replaced by its first value."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node):
            return copy.deepcopy(value) if node.id == loop.target.id and isinstance(node.ctx, ast.Load) else node

    block[position : position + 1] = [Replace().visit(s) for s in loop.body]


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """Smaller expressions that may stand for `value`."""
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
