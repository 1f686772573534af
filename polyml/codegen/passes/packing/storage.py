"""The layouts of copies: in which order the dimensions are stored, and whether in panels, each of which is as wide as a tile."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.codegen.analysis.access_boxes import begins_on_step
from polyml.codegen.costs.trip_estimates import middle_values, trips
from polyml.codegen.ir.program import Loop
from polyml.codegen.passes.packing.copies import PackingContext, TileCopy, TileRead
from polyml.quasi_affine.affine import Affine, variable


def order(context: PackingContext, read: TileRead, chain: tuple[Loop, ...]) -> tuple[int, ...]:
    """Returns the array's dimensions in the order in which a copy for the read stores them: by the depth of the innermost loop
    whose variable is in the dimension's subscript, outer ones first.

    One dimension may be moved to the end, so that its elements are neighbours in the copy and vectors of them are loaded at once.
    It is the one that moves with the same loops as the longest dimension of register tiles of the written array, and with no other
    dimension of that array. If there is none, it is the one whose elements are neighbours in the array, provided that a loop which
    moves along it moves the written element too, and that register tiles take several iterations of this loop.
    """
    written, subscripts = context.written(read), context.subscripts(read)
    row = _row(context, read, written)
    along = (written[row].names if written else frozenset()) - _of_one_iteration(context, read)
    others = [e for d, e in enumerate(written) if d != row]
    last = [d for d, e in enumerate(subscripts) if e.names & along and not any(e.names & other.names for other in others)]
    unit = context.unit_dim(read.window.array)
    if not last and len(chain) > 1 and unit is not None and any(subscripts[unit].names & e.names & read.in_tile for e in written):
        last = [unit]
    depths = {node.var: depth for depth, node in enumerate(read.around) if isinstance(node, Loop)}

    def depth(d: int) -> tuple[bool, int]:
        """Returns the key that dimensions are sorted by: whether the dimension has to be last, and the depth of the innermost loop
        whose variable is in its subscript.
        """
        return d in last[-1:], max((depths.get(name, -1) for name in subscripts[d].names), default=-1)

    return tuple(sorted(range(len(subscripts)), key=depth))


def _row(context: PackingContext, read: TileRead, written: Sequence[Affine]) -> int:
    """Returns the dimension of the written array along which register tiles are expected to be longest. This is the last one,
    unless sizes are known and the innermost loop that moves the written element moves along another dimension and has a longer tile
    than the loops along the last one; then it is that other dimension.

    written: the subscripts of the element that the read's instance writes.
    """
    last, steps = len(written) - 1, read.tile_steps
    moving = [v for v in steps if any(v in e.names for e in written)]
    if context.sizes is None or not moving or moving[-1] in written[last].names:
        return last
    own = max((steps.get(v, 1) for v in moving if v in written[last].names), default=0)
    dims = [d for d, e in enumerate(written) if moving[-1] in e.names]
    return dims[0] if len(dims) == 1 and 0 < own < steps.get(moving[-1], 1) else last


def _of_one_iteration(context: PackingContext, read: TileRead) -> set[str]:
    """Returns the variables of loops that run once at the sizes expected."""
    known = middle_values(read.loops, context.known_sizes)
    return {loop.var for loop in read.loops if trips(loop, known) == 1}


def panel(context: PackingContext, read: TileRead, copy: TileCopy) -> Loop | None:
    """Returns the loop over tiles whose tiles the copy stores one after the other, as panels; None if the copy has no panels.

    The loop stands inside of the body that fills the copy. Each of its tiles is a range of indices in the copy's last dimension,
    and becomes a panel; the loop over the tile's iterations has to change a subscript of the written element too. A loop whose
    tiles begin where a thread's chunk does is not taken.
    """
    dim = copy.order[-1]
    e = context.subscripts(read)[dim]
    if not any(e.names & other.names for other in context.written(read)):
        return None
    point = next((loop for loop in read.loops if e == variable(loop.var)), None)
    if point is None:
        return None
    for tile in copy.chain[copy.level + 1 :]:
        begins, ends = ([e - variable(tile.var) for e in side] for side in (point.lower, point.upper))
        along = any(e.is_constant and e.constant >= 0 for e in begins) and any(
            e.is_constant and e.constant < tile.step for e in ends
        )
        if along and tile.step > 1 and begins_on_step(tile, copy.window.low[dim], read.around):
            return tile
    return None


def is_transposed(context: PackingContext, copy: TileCopy) -> bool:
    """Returns whether elements that are neighbours in the copy are no neighbours in the array."""
    return copy.order[-1] != context.unit_dim(copy.window.array)


def is_along_row(context: PackingContext, copy: TileCopy, read: TileRead) -> bool:
    """Returns whether the copy's last dimension has a subscript with a loop variable that the last subscript of the written element
    has too, so that a vector of the result reads neighbours in the copy.
    """
    last = context.subscripts(read)[copy.order[-1]]
    return any(last.names & e.names for e in context.written(read)[-1:])
