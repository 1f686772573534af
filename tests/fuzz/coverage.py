"""Which constructs of the language a program uses, read off its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.fuzz.generate import depth
from tests.fuzz.program import Program


def constructs(program: Program) -> set[str]:
    """Names of what the program uses, as the coverage table lists them."""
    tree = ast.parse(program.source)
    body = tree.body[0].body
    found = {name for node in ast.walk(tree) for name in _of(node)}
    found |= {f"depth {depth(tree)}", f"{min(4, sum(isinstance(s, ast.For) for s in body))} nests"}
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For)]
    if any(len(loop.body) > 1 and any(isinstance(s, ast.For) for s in loop.body) for loop in loops):
        found.add("imperfect nest")
    for loop in loops:
        inside = {n.target.id for n in ast.walk(tree) if isinstance(n, ast.For)}
        if any(isinstance(n, ast.Name) and n.id in inside for n in ast.walk(loop.iter)):
            found.add("triangular bound")
    if carried(body):
        found.add("scalar carried by a loop")
    for argument in program.arguments:
        found.add(f"{argument.element} {'number' if argument.shape is None else 'array'}")
        found.add(f"rank {len(argument.shape)}" if argument.shape is not None else "number argument")
        if argument.layout != "C":
            found.add("same array twice" if argument.layout.startswith("=") else f"layout {argument.layout}")
    return found | {f"data {program.data}"}


def carried(body: list[ast.stmt]) -> bool:
    """Whether a loop updates a local scalar from its own value."""
    for loop in (n for statement in body for n in ast.walk(statement) if isinstance(n, ast.For)):
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                return True
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
                    return True
    return False


_BINARY = {ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|",
           ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}  # fmt: skip


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        yield from _of_range(node.iter)
    elif isinstance(node, ast.If):
        yield "if/else" if node.orelse else "if"
        if any(isinstance(n, ast.Subscript) and not _is_shape(n) for n in ast.walk(node.test)):
            yield "condition on data"
    elif isinstance(node, ast.IfExp):
        yield "conditional expression"
    elif isinstance(node, ast.AugAssign):
        yield f"update {_BINARY.get(type(node.op)) or _plain(node.op)}="
    elif isinstance(node, ast.Assign) and len(node.targets) > 1:
        yield "chained assignment"
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        yield f"operator {_BINARY[type(node.op)]}"
    elif isinstance(node, ast.BoolOp):
        yield "and/or"
    elif isinstance(node, ast.Return):
        yield "several results" if isinstance(node.value, ast.Tuple) else "one result"
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Subscript) and not _is_shape(node):
        yield from _of_subscript(node)


def _plain(op: ast.operator) -> str:
    return {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)]


def _of_range(call: ast.Call) -> Iterator[str]:
    step = ast.unparse(call.args[2]) if len(call.args) == 3 else "1"
    if step != "1":
        yield "negative step" if step.startswith("-") else "strided loop"
    inside = [n for a in call.args for n in ast.walk(a)]
    if any(isinstance(n, ast.Call) and ast.unparse(n.func) in ("min", "max") for n in inside):
        yield "min/max bound"
    if any(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod)) for n in inside):
        yield "// or % in a bound"


def _of_call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    if name in ("min", "max", "abs", "float", "int"):
        yield f"{name}()"
    elif name.startswith("np.") and name[3:] in ("zeros", "ones", "full", "empty", "zeros_like", "ones_like"):
        yield f"local array {name}"
    elif name.startswith("np."):
        yield "type conversion" if name[3:].rstrip("0123456789") in ("int", "uint", "float") else f"{name}()"


def _of_subscript(node: ast.Subscript) -> Iterator[str]:
    if isinstance(node.value, ast.Subscript):
        yield "A[i][j]"
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not indices:
        yield "A[()]"
    for index in indices:
        names = [n for n in ast.walk(index) if isinstance(n, ast.Name)]
        text = ast.unparse(index)
        if text.startswith("-"):
            yield "negative constant subscript" if not names else "reversed subscript"
        elif any(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod)) for n in ast.walk(index)):
            yield "// or % in a subscript"
        elif any(isinstance(n, (ast.Call, ast.IfExp)) for n in ast.walk(index)):
            yield "min/max/if in a subscript"
        elif isinstance(index, ast.BinOp):
            yield "sum or difference in a subscript"


def _is_shape(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Attribute)
