"""Privatization: a local array whose elements live within one iteration of a parallel loop, or of a loop over tiles, needs
memory for that iteration alone.

        parallel it: for i in the tile: T[i, :] = ...; B[i, :] = T[i, :]      T: all rows   ->   a tile's rows for each thread
        kt: for k in the tile: V[k, :] = A[k, :]; ... V[k, i] ...             V: all rows   ->   a tile's rows

This keeps temporaries in the cache. (Array contraction to a tile: Lewis, Affine and Snyder, "The implementation and evaluation of
fusion and contraction in array languages", PLDI 1998. OpenMP calls arrays of each thread `private`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from polyml.codegen.analysis.access_conflicts import ConflictTest, Enclosing, InstanceAccess
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Loop, Node, Program, Window, instances, with_body, with_paths
from polyml.model.core.scop import Array, Role
from polyml.quasi_affine.affine import Affine, variable


def privatize(program: Program) -> Program:
    """Returns the program with less memory for local arrays whose elements live within one iteration of an outermost loop. Parallel
    loops list those of which each thread needs its own (`Loop.private`).
    """
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
        own = [a for a in sorted(_arrays(program, (node,))) if touched[a] == {position} and _may_be_private(program, a)]
        begins = {a: first for a in own if (first := _first(program, tests, a, node, guards)) is not None}
        if begins:
            marked[position] = replace(node, private=(*node.private, *begins)) if node.parallel else node
            windows |= {a: _strip(program.scop.arrays[a], first, node.step) for a, first in begins.items()}
    return replace(program, body=_replaced(program.body, marked, count()), windows=windows) if marked else program


def _strip(array: Array, first: Affine, length: int) -> Window:
    """Returns the part of the array that one iteration of a loop uses: all elements whose first index is one of the `length`
    indices from `first` on.
    """
    rest = len(array.shape) - 1
    return Window((first, *[Affine(0)] * rest), (length, *[None] * rest))


def _outermost(nodes: tuple[Node, ...], guards: tuple[Guard, ...]) -> Iterator[tuple[Node, tuple[Guard, ...]]]:
    """Yields the loops and instances that stand in no loop, in textual order, each with the guards around it."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from _outermost(node.body, (*guards, node))
        else:
            yield node, guards


def _arrays(program: Program, nodes: tuple[Node, ...]) -> set[str]:
    """Returns the names of the arrays that instances among and below the nodes access."""
    statements = (program.scop.statements[instance.statement] for instance in instances(nodes))
    return {access.array for s in statements for access in (*s.reads, s.write)}


def _may_be_private(program: Program, name: str) -> bool:
    """Returns whether the array is local, no result, has a dimension, and has memory for all of its elements so far."""
    array = program.scop.arrays[name]
    is_own = array.role is Role.LOCAL and not any(r.array == name for r in program.scop.results)
    return is_own and bool(array.shape) and name not in program.windows


def _first(program: Program, tests: ConflictTest, name: str, loop: Loop, guards: tuple[Guard, ...]) -> Affine | None:
    """Returns an expression f such that an iteration of the loop is proved to access only elements of the array whose first index
    is in f ... f + step - 1, where step is the loop's; None if none is found.

    name: the array's.
    guards: the guards around the loop.
    """
    touches = list(_touches(program, name, loop.body, (*guards, loop)))
    shifts = dict.fromkeys((0, *(tests.subscripts(touch)[0].constant for touch, _ in touches)))
    firsts = (variable(loop.var) + shift for shift in shifts)
    return next((f for f in firsts if all(tests.is_within(t, around, (f,), (loop.step,)) for t, around in touches)), None)


def _touches(
    program: Program, name: str, nodes: tuple[Node, ...], around: tuple[Enclosing, ...]
) -> Iterator[tuple[InstanceAccess, tuple[Enclosing, ...]]]:
    """Yields the accesses to the array in the nodes, each with the loops and guards around it.

    around: the loops and guards around the nodes.
    """
    for instance, path in with_paths(nodes, around):
        statement = program.scop.statements[instance.statement]
        inside = tuple(node for node in path if isinstance(node, Enclosing))
        yield from (((a, instance), inside) for a in (*statement.reads, statement.write) if a.array == name)


def _replaced(nodes: tuple[Node, ...], marked: Mapping[int, Loop], positions: Iterator[int]) -> tuple[Node, ...]:
    """Returns the nodes, and those in guards among them, with some outermost loops replaced.

    marked: { position in the order of `_outermost` -> the new loop }.
    positions: a counter of the positions, which goes on from node to node.
    """
    return tuple(
        with_body(n, _replaced(n.body, marked, positions)) if isinstance(n, Guard) else marked.get(next(positions), n)
        for n in nodes
    )
