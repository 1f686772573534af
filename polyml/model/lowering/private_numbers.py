"""Numbers that one branch or one loop alone has: they carry nothing from one iteration to the next.

A number that is made in a branch is anything where the branch does not run. A select that kept its old value would make it depend on
the iteration before. This is the privatization of scalars (Allen and Kennedy, "Optimizing Compilers for Modern Architectures", sec. 5.3)
for statements under a condition.

        if c:                       t = x[i] - y[i] if c else 0
            t = x[i] - y[i]    ->   B[i] = t*t if c else B[i]
            B[i] = t*t

A number that is made before a loop and used in it alone is made in each of its iterations, so that nothing but the loop is in the loop
around, and both may go to threads or have lanes. Only arithmetic of floats is moved, which raises nothing and takes little.

        b = y0 + i * step            for j in range(m):
        for j in range(m):     ->        b = y0 + i * step
            ... b ...                    ... b ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import assigned_names, statements
from polyml.frontend.syntax import Stmt
from polyml.model.index_arrays.kernel_names import mentions


def branch_locals(branch: Sequence[syntax.Stmt], everywhere: Mapping[str, int]) -> frozenset[str]:
    """Returns the numbers that a branch assigns before it reads them, and that nothing outside of the branch mentions.

    everywhere: how often each name stands in the whole kernel
    """
    inside = mentions(branch)
    return frozenset(name for name in _begun(branch) if inside[name] == everywhere[name])


def _begun(block: Sequence[syntax.Stmt]) -> set[str]:
    """Returns the numbers whose first mention in a block is an assignment, be it in the one loop of the block that mentions them."""
    seen: set[str] = set()
    begun: set[str] = set()
    for place, stmt in enumerate(block):
        if isinstance(stmt, syntax.Assign) and isinstance(stmt.target, syntax.Name):
            read = {node.name for node in traversal.nodes(stmt.value) if isinstance(node, syntax.Name)}
            begun |= {stmt.target.name} - read - seen
        elif isinstance(stmt, syntax.For):
            begun |= _begun(stmt.body) - {stmt.var} - mentions((*block[:place], *block[place + 1 :])).keys()
        seen |= mentions((stmt,)).keys()
    return begun


def sunk(body: tuple[Stmt, ...], mentioned: Mapping[str, int]) -> tuple[Stmt, ...]:
    """Returns a block that is a loop behind numbers as the loop alone; the block itself where it is none, or numbers cannot be moved.

    mentioned: how often the whole kernel mentions each name
    """
    *before, loop = body
    if not before or not isinstance(loop, syntax.For) or not _has_loops(loop.body):
        return body
    changed, own = assigned_names((loop,)) | {loop.var}, mentions(body)
    names: set[str] = set()
    for stmt in before:
        if not isinstance(stmt, syntax.Assign) or not isinstance(stmt.target, syntax.Name) or not _is_plain(stmt.value):
            return body
        name, read = stmt.target.name, {*mentions((stmt,))} - {stmt.target.name}
        if name in changed | names or read & changed or own[name] != mentioned.get(name):
            return body
        names.add(name)
    if names & {*mentions((replace(loop, body=()),))}:
        return body
    return (replace(loop, body=(*before, *loop.body)),)


def _has_loops(body: Sequence[Stmt]) -> bool:
    return any(isinstance(stmt, (syntax.For, syntax.While)) for stmt in statements(body))


def _is_plain(value: syntax.Expr) -> bool:
    """Returns whether a value is made of numbers by operations on floats."""
    for node in traversal.nodes(value):
        match node:
            case syntax.Name() | syntax.Const() | syntax.Shape():
                continue
            case syntax.Cast(to=to, operand=operand) if to.is_float and not operand.dtype.is_complex:
                continue
            case syntax.Binary(op="+" | "-" | "*" | "/") | syntax.Unary(op="-" | "+") if node.dtype.is_float:
                continue
        return False
    return True
