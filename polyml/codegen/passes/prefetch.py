"""Prefetching of the next tile: the last nest of a tile, which finds its own data in the cache, fetches those of the next tile.

    for it by 8: { for i in the tile, j: t[i] += A[i, j]*x[j]
                   for i in the tile, j: y[j] += A[i, j]*t[i] }   ->   the same, where y[j] += ... fetches A[i + 8, j]

Otherwise memory would be idle in that time. (Mowry, Lam and Gupta, "Design and evaluation of a compiler algorithm for
prefetching", ASPLOS 1992.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance, Loop, Node, Program, instances, loops, with_paths
from polyml.quasi_affine.affine import Affine, variable


def prefetch(program: Program) -> Program:
    """Returns the program in which some reads prefetch what they read in the next tile (`Program.prefetches`): reads in the last
    nest of a tile, of rows that an earlier nest of the tile has read and that are hence in a cache.
    """
    table = AccessTable(program.scop.context)
    found: dict[str, dict[int, tuple[str, int]]] = {}
    for tile in loops(program.body):
        if tile.role == "tile" and tile.step > 1 and len(tile.body) > 1:
            for statement, read, iterator in _again(program, table, tile):
                found.setdefault(statement, {})[read] = (iterator, tile.step)
    return replace(program, prefetches=found) if found else program


def _again(program: Program, table: AccessTable, tile: Loop) -> Iterator[tuple[str, int, str]]:
    """Yields (statement, position of the read, iterator that is the row's number) for reads in the last nest of a tile: those of
    arrays of which an earlier nest in the tile reads rows too, and which nothing in the tile writes.

    tile: the loop over tiles.
    """
    *before, last = tile.body
    if not isinstance(last, Loop):
        return
    written = {program.scop.statements[i.statement].write.array for i in instances(tile.body)}
    known = {array for array, *_ in _rows(program, table, tile, tuple(before))} - written
    for array, instance, read, e in _rows(program, table, tile, (last,)):
        iterators = program.scop.statements[instance.statement].iterators
        iterator = next((name for name, value in zip(iterators, instance.point) if value == e), None)
        if array in known and iterator is not None:
            yield instance.statement, read, iterator


def _rows(program: Program, table: AccessTable, tile: Loop, nodes: tuple[Node, ...]) -> Iterator[tuple[str, Instance, int, Affine]]:
    """Yields (array, instance, position of the read, number of the row) for the reads below the nodes that run along rows of an
    array: their first subscript, the number of the row, is the variable of a loop over the tile's iterations, and their last
    subscript does not contain it.

    tile: the loop over tiles.
    """
    for instance, path in with_paths(nodes):
        around = [node for node in path if isinstance(node, Loop)]
        rows = [variable(loop.var) for loop in around if variable(tile.var) in loop.lower]
        statement = program.scop.statements[instance.statement]
        point = dict(zip(statement.iterators, instance.point))
        for number, access in enumerate(statement.reads):
            subscripts = [e.substitute(point) for e in table.subscripts(access)]
            if len(subscripts) > 1 and subscripts[0] in rows and not subscripts[-1].names & subscripts[0].names:
                yield access.array, instance, number, subscripts[0]
