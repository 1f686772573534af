"""Makes a failing program smaller while it keeps failing in the same way.

Greedy delta debugging on Python's ast: the first smaller variant that still fails is taken, until none is left.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.program import Program


def shrink(program: Program, fails: Callable[[Program], bool], budget: int = 400) -> Program:
    """A smaller program for which `fails` holds as it does for `program`. budget: how many variants are tried."""
    progress = True
    while progress and budget > 0:
        progress = False
        for smaller in _variants(program):
            budget -= 1
            if budget <= 0:
                break
            if fails(smaller):
                program, progress = smaller, True
                break
    return program


def _variants(program: Program) -> Iterator[Program]:
    """Every program one step smaller, the largest steps first."""
    if len(program.sizes) > 1:
        for sizes in program.sizes:
            yield replace(program, sizes=(sizes,))
    for source in _smaller_sources(program.source):
        yield program.with_source(source)
    yield from _without_arguments(program)
    for position, argument in enumerate(program.arguments):
        if argument.layout != "C":
            plain = replace(argument, layout="C")
            yield replace(program, arguments=_put(program.arguments, position, plain))
    if program.data != "small":
        yield replace(program, data="small")
    for number, sizes in enumerate(program.sizes):
        for name, value in sizes.items():
            for less in {1, value // 2, value - 1}:
                if 0 <= less < value:
                    yield replace(program, sizes=_put(program.sizes, number, {**sizes, name: less}))


def _put(values: tuple, position: int, value) -> tuple:
    return (*values[:position], value, *values[position + 1 :])


def _without_arguments(program: Program) -> Iterator[Program]:
    """The program without one unused argument."""
    tree = ast.parse(program.source)
    used = {n.id for statement in tree.body[0].body for n in ast.walk(statement) if isinstance(n, ast.Name)}
    for argument in program.arguments:
        if argument.name in used or any(a.layout == f"={argument.name}" for a in program.arguments):
            continue
        smaller = copy.deepcopy(tree)
        smaller.body[0].args.args = [a for a in smaller.body[0].args.args if a.arg != argument.name]
        left = tuple(a for a in program.arguments if a.name != argument.name)
        yield replace(program, source=ast.unparse(smaller) + "\n", arguments=left)


def _smaller_sources(source: str) -> Iterator[str]:
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
