"""What the threads of a launch run some of whose axes are over positions, which number the iterations of several loops together.

parallel loops n, f, i, j around a sum   ->   blocks of 128 positions of (n, i, j) x 64 of (f), and the sum that a block runs for them
"""

from __future__ import annotations

from polyml.codegen.astgen.build import nodes_of
from polyml.codegen.gpu.axes import LaunchGrid, fresh
from polyml.codegen.gpu.block_loops.merged_sums import MergedSum, merged_sum
from polyml.codegen.gpu.shared_tiles import BlockAxis
from polyml.codegen.ir.program import Node
from polyml.errors import ScheduleError
from polyml.model.core.scop import Scop
from polyml.schedule.gpu.mapping import LaunchNest
from polyml.schedule.tree import loop_tree


def of_positions(
    nest: LaunchNest, grid: LaunchGrid, scop: Scop, copies: bool
) -> tuple[tuple[Node, ...], tuple[BlockAxis, ...], MergedSum]:
    """Returns the loops of a thread for one position along each axis, the names along the axes on which a block has several, and what
    a block runs for all of them. Raises ScheduleError where it is no sum of what its threads share.

    copies: whether there are asynchronous copies to shared memory.
    """
    nodes = tuple(nodes_of(loop_tree.write(grid.inside, nest.body), grid.context))
    several = [axis for axis in grid.axes if axis.threads * axis.items > 1]
    parts = iter(fresh([f"{axis.start}_{part}" for axis in several for part in ("block", "thread", "item")], grid.taken))
    blocks = []
    for axis in several:
        block, thread, item = next(parts), next(parts), next(parts)
        blocks.append(BlockAxis(axis.start, block, thread, item * (axis.items > 1), axis.threads, axis.items, axis.thread_step))
    found = merged_sum(nodes, grid.axes, blocks, scop, copies)
    if found is None:
        told = ", ".join(axis.loop for axis in grid.axes if axis.merged)
        raise ScheduleError(
            f"the threads of a block cannot share the positions of {told}",
            notes=["they share those of two axes, in a sum of products of arrays of which each moves along the loops of one axis"],
        )
    return nodes, tuple(blocks), found
