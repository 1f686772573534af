"""Small random edits of a kernel's text: other constants, operators, loop orders and steps, permuted subscripts.

An edit may take a subscript out of its array; then Python's IndexError is what is expected.
"""

from __future__ import annotations

import ast
import random

_SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
          ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}  # fmt: skip


def mutate(source: str, rng: random.Random) -> str:
    """`source` after one or two edits; `source` itself where nothing can be edited."""
    tree = ast.parse(source)
    for _ in range(rng.choice([1, 1, 2])):
        edits = [edit for node in ast.walk(tree) for edit in _edits(node)]
        if edits:
            rng.choice(edits)(rng)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _edits(node: ast.AST):
    """The edits possible at one node, each a function of the random source that changes the tree in place."""
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        yield lambda rng: _restep(node.iter, rng)
        inner = node.body[0] if len(node.body) == 1 else None
        if isinstance(inner, ast.For) and not _mentions(inner.iter, node.target.id):
            yield lambda rng: _interchange(node)
        if len(node.body) > 1:
            yield lambda rng: rng.shuffle(node.body)
        yield lambda rng: _guard(node, rng)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
        yield lambda rng: rng.shuffle(node.slice.elts)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield lambda rng: _shift(node, rng)
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield lambda rng: setattr(node, "op", _SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        yield lambda rng: node.ops.__setitem__(0, _SWAPS[type(node.ops[0])]())
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield lambda rng: _accumulate(node)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _restep(call: ast.Call, rng: random.Random) -> None:
    """Another step of the same sign, or the same points backwards where the range is range(n)."""
    if len(call.args) == 1 and rng.random() < 0.5:
        stop = ast.unparse(call.args[0])
        call.args = list(ast.parse(f"f(({stop}) - 1, -1, -1)", mode="eval").body.args)
        return
    if len(call.args) < 3:
        call.args = [ast.Constant(0)] * (2 - len(call.args)) + call.args + [ast.Constant(rng.choice([2, 3]))]
        return
    step = ast.literal_eval(call.args[2]) * rng.choice([1, 2])
    call.args[2] = ast.parse(str(step), mode="eval").body


def _interchange(outer: ast.For) -> None:
    inner = outer.body[0]
    outer.target, inner.target, outer.iter, inner.iter = inner.target, outer.target, inner.iter, outer.iter


def _guard(loop: ast.For, rng: random.Random) -> None:
    """The loop's body under an affine condition."""
    name, bound = loop.target.id, rng.randint(1, 4)
    test = rng.choice([f"{name} > {bound}", f"{name} < {bound}", f"{name} % 2 == 0", f"{name} != {bound}"])
    loop.body = [ast.If(ast.parse(test, mode="eval").body, loop.body, [])]


def _shift(node: ast.Subscript, rng: random.Random) -> None:
    node.slice = ast.parse(f"{node.slice.id} {rng.choice(['+', '-'])} 1", mode="eval").body


def _accumulate(node: ast.Assign) -> None:
    """`t = v` becomes `t = t + v`."""
    target = ast.parse(ast.unparse(node.targets[0]), mode="eval").body
    node.value = ast.BinOp(target, ast.Add(), node.value)
