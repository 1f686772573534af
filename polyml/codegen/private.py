"""Local arrays that live within one iteration of a parallel loop, or of one over tiles, need memory for that iteration alone.

        parallel it: for i in the strip: T[i, :] = ...; B[i, :] = T[i, :]      T: a strip for each thread, not all rows
        kt: for k in the slab: V[k, :] = A[k, :]; ... V[k, i] ...              V: a slab, not all rows

This keeps temporaries in the cache, and untouched memory untouched. (Array contraction to a tile: Lewis, Lin and Snyder,
"The implementation and evaluation of fusion and contraction in array languages", PLDI 1998.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyml.codegen.accesses import AccessTable
from polyml.codegen.ast import Guard, Instance, Loop, Node, Program, Window, instances, with_body, with_paths
from polyml.codegen.conflicts import Around, ConflictTest, Touch
from polyml.codegen.integers import const, var
from polyml.model.scop import Array, Role


def with_private_arrays(program: Program) -> Program:
    """The program with windows of such arrays, which are named in its outermost parallel loops."""
    outermost = list(_outermost(program.body, ()))
    touched: dict[str, set[int]] = {}
    for position, (node, _) in enumerate(outermost):
        for name in _arrays(program, (node,)):
            touched.setdefault(name, set()).add(position)
    tests = ConflictTest(program.scop, AccessTable(program.scop.context))
    marked: dict[int, Loop] = {}
    windows = dict(program.windows)
    for position, (node, guards) in enumerate(outermost):
        if not isinstance(node, Loop) or not (node.parallel or node.role == "tile"):
            continue
        own = [a for a in sorted(_arrays(program, (node,))) if touched[a] == {position}]
        found = tuple(a for a in own if _is_private(program, tests, a, node, guards))
        if found:
            marked[id(node)] = replace(node, private=(*node.private, *found)) if node.parallel else node
            windows |= {a: _strip(program.scop.arrays[a], node) for a in found}
    return replace(program, body=_replaced(program.body, marked), windows=windows) if marked else program


def _strip(array: Array, loop: Loop) -> Window:
    """The part of the array that one iteration of the loop touches."""
    rest = len(array.shape) - 1
    return Window((var(loop.var), *[const(0)] * rest), (loop.step, *[None] * rest))


def _outermost(nodes: tuple[Node, ...], guards: tuple[Guard, ...]) -> Iterator[tuple[Loop | Instance, tuple[Guard, ...]]]:
    """The loops (and instances) that no loop is around, each with the guards around it."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from _outermost(node.body, (*guards, node))
        else:
            yield node, guards


def _arrays(program: Program, nodes: tuple[Node, ...]) -> set[str]:
    statements = (program.scop.statements[instance.statement] for instance in instances(nodes))
    return {access.array for s in statements for access in (*s.reads, s.write)}


def _is_private(program: Program, tests: ConflictTest, name: str, loop: Loop, guards: tuple[Guard, ...]) -> bool:
    array = program.scop.arrays[name]
    if name in program.windows or array.role is not Role.LOCAL or not array.shape or any(r.array == name for r in program.scop.results):
        return False
    return all(
        tests.stays_within(touch, around, (var(loop.var),), (loop.step,)) for touch, around in _touches(program, name, loop.body, (*guards, loop))
    )


def _touches(
    program: Program, name: str, nodes: tuple[Node, ...], around: tuple[Around, ...]
) -> Iterator[tuple[Touch, tuple[Around, ...]]]:
    for instance, path in with_paths(nodes, around):
        statement = program.scop.statements[instance.statement]
        yield from (((a, instance), path) for a in (*statement.reads, statement.write) if a.array == name)


def _replaced(nodes: tuple[Node, ...], marked: dict[int, Loop]) -> tuple[Node, ...]:
    return tuple(
        with_body(n, _replaced(n.body, marked)) if isinstance(n, Guard) else marked.get(id(n), n) for n in nodes
    )
