"""While the last nest of a tile reads what a nest before it has brought to the cache, the next tile is fetched.

    for it by 8: { for i in the tile, j: t[i] += A[i, j]*x[j]
                   for i in the tile, j: y[j] += A[i, j]*t[i] }   ->   the same, where y[j] += ... fetches A[i + 8, j]

Otherwise memory would have nothing to do in that time. (Mowry, Lam and Gupta, "Design and evaluation of a compiler algorithm
for prefetching", ASPLOS 1992.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Lin, var
from polyml.codegen.ir.program import Instance, Loop, Program, instances, loops, with_paths


def with_fetches(program: Program) -> Program:
    """The program with the reads that fetch ahead."""
    table = AccessTable(program.scop.context)
    found: dict[str, dict[int, tuple[str, int]]] = {}
    for tile in loops(program.body):
        if tile.role == "tile" and tile.step > 1 and len(tile.body) > 1:
            for statement, read, iterator in _again(program, table, tile):
                found.setdefault(statement, {})[read] = (iterator, tile.step)
    return replace(program, ahead=found) if found else program


def _again(program: Program, table: AccessTable, tile: Loop) -> Iterator[tuple[str, int, str]]:
    """The reads of the tile's last nest of rows that a nest before it has read too, each with the iterator that counts rows."""
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


def _rows(program: Program, table: AccessTable, tile: Loop, nodes: tuple) -> Iterator[tuple[str, Instance, int, Lin]]:
    """The reads of one element after the other of rows that a loop over the tile counts: array, instance, number of the read
    and the row.
    """
    for instance, path in with_paths(nodes):
        around = [node for node in path if isinstance(node, Loop)]
        rows = [var(loop.var) for loop in around if var(tile.var) in loop.lower]
        statement = program.scop.statements[instance.statement]
        point = dict(zip(statement.iterators, instance.point))
        for number, access in enumerate(statement.reads):
            subscripts = [e.substitute(point) for e in table.subscripts(access)]
            if len(subscripts) > 1 and subscripts[0] in rows and not subscripts[-1].names & subscripts[0].names:
                yield access.array, instance, number, subscripts[0]
