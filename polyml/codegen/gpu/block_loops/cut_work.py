"""What the threads of a block do together, in blocks at the ends of a launch: tiles with zeros in place of what no iteration reads.

SharedWork, ends of axes   ->   SharedWork, whose tiles say how many rows and columns there are
Loop(S)                    ->   Loop(Guard(i + i_item <= last, S))

See `cut_blocks` for when this is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from polyml.codegen.gpu.block_loops.matrix_fragments import Fragments, Operand
from polyml.codegen.gpu.block_loops.pipelined_tiles import Pipelined
from polyml.codegen.gpu.block_loops.shared_work import SharedWork
from polyml.codegen.gpu.cut_blocks import End, has_iteration
from polyml.codegen.gpu.registers import Registers, accesses_of, instances_of, never_fails
from polyml.codegen.gpu.shared_tiles import SharedTile, Staged, TileDimension
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.model.core.scop import Scop, Value
from polyml.quasi_affine.affine import Affine, variable


def without_absent(work: SharedWork, kept: Sequence[Registers], ends: Sequence[End], scop: Scop) -> SharedWork | None:
    """Returns what the threads of a block do together, with tiles that have zeros in place of what no iteration reads; None where the loops
    of `kept`, which keep elements in registers, read something else, or where what they compute may fail.
    """
    together: tuple[Fragments | Pipelined | Staged, ...] = (*work.fragments, *work.pipelined, *work.staged)
    loops = {id(each.loop) for each in together}
    if any(id(held.innermost) not in loops or not all(map(never_fails, _values(held, scop))) for held in kept):
        return None
    tiles = [tile for each in work.staged for tile in each.tiles]
    tiles += [tile for each in work.pipelined for tile in each.source.tiles]
    tiles += [operand.tile for each in work.fragments for operand in (each.left, each.right)]
    read = {(tile.array, tile.subscripts) for tile in tiles}
    own = frozenset(name for end in ends for name in (end.axis.start, end.axis.item))
    for held in kept:
        for array, subscripts in accesses_of(held, scop):
            if array != held.array and (array, subscripts) not in read and own & frozenset().union(*(s.names for s in subscripts)):
                return None
    try:
        return _mapped_tiles(work, lambda tile: _cut_tile(tile, ends))
    except _NoCut:
        return None


class _NoCut(Exception):
    """Raised where an end does not cut whole rows or columns of a tile."""


def _mapped_tiles(work: SharedWork, change: Callable[[SharedTile], SharedTile]) -> SharedWork:
    """Returns the work with other tiles."""

    def operand(found: Operand) -> Operand:
        return replace(found, tile=change(found.tile))

    return SharedWork(
        tuple(replace(each, left=operand(each.left), right=operand(each.right)) for each in work.fragments),
        tuple(
            replace(
                each,
                source=replace(each.source, tiles=tuple(map(change, each.source.tiles))),
                tiles=tuple(replace(tile, tile=change(tile.tile)) for tile in each.tiles),
            )
            for each in work.pipelined
        ),
        tuple(replace(each, tiles=tuple(map(change, each.tiles))) for each in work.staged),
    )


def _cut_tile(tile: SharedTile, ends: Sequence[End]) -> SharedTile:
    """Returns the tile with the number of elements along each dimension that the iterations read that there are. Raises _NoCut."""
    return replace(
        tile, dimensions=tuple(_cut_dimension(each, subscript, ends) for each, subscript in zip(tile.dimensions, tile.subscripts))
    )


def _cut_dimension(dimension: TileDimension, subscript: Affine, ends: Sequence[End]) -> TileDimension:
    cut = [(end, dict(subscript.terms).get(end.axis.start, 0)) for end in ends if end.axis.start in subscript.names]
    if not cut:
        return dimension
    ((end, factor), *others) = cut
    if others or factor <= 0 or dimension.step < 0:
        raise _NoCut
    return replace(dimension, more=end.more * factor)


def _values(held: Registers, scop: Scop) -> list[Value]:
    """Returns the values of the statements in the loop."""
    return [scop.statements[each.statement].value for each in instances_of(held)]


def with_tests(
    nodes: Sequence[Node], but: Sequence[Node], ends: Sequence[End], items: Mapping[str, Affine] = MappingProxyType({})
) -> tuple[Node, ...]:
    """Returns the nodes with a test at each instance of whether it is one of the launch.

    but: nodes that stay as they are.
    items: { name of an axis's items -> the variable of the loop over them that is around the nodes }.
    """
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Instance):
            found.append(Guard(has_iteration(ends).substitute(items), (node,)))
        elif any(node is each for each in but):
            found.append(node)
        elif isinstance(node, Loop):
            more = {node.name: variable(node.var)} if node.name in {end.axis.item for end in ends} else {}
            found.append(replace(node, body=with_tests(node.body, but, ends, {**items, **more})))
        elif isinstance(node, Guard):
            found.append(replace(node, body=with_tests(node.body, but, ends, items)))
        else:
            raise TypeError(f"not a node of a thread: {node!r}")
    return tuple(found)
