"""The text of a thread's first iterations, from the numbers that the device gives to blocks and threads.

LaunchAxis   ->   const long long i = (long long)blockIdx.y * 8 + threadIdx.y;
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.codegen.gpu.axes import LaunchAxis
from polyml.codegen.gpu.cut_blocks import End
from polyml.codegen.gpu.program import Launch
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.integers import extreme
from polyml.codegen.gpu.text.names import block_number, first_block, named
from polyml.quasi_affine.affine import Affine


def thread_starts(launch: Launch, dialect: Dialect, firsts: Sequence[int], shares: bool) -> Iterator[str]:
    """Yields the C lines that declare a thread's first iteration along each axis, and, if the block has tiles in shared memory, the
    thread's numbers in the block.

    firsts: the axes for which the number of the first block is a parameter of the kernel.
    shares: whether the block has tiles in shared memory.
    """
    index, shared = dialect.index, {axis.start: axis for axis in launch.blocks} if shares else {}
    for number, axis in enumerate(launch.axes):
        block, own = _block_start(launch, dialect, number, firsts), dialect.thread[min(number, 2)] if axis.threads > 1 else ""
        if axis.is_lane:
            yield f"const int {named(axis.start)} = {own};"
            continue
        if found := shared.get(axis.start):
            yield f"const int {found.thread} = {own or '0'};"
            yield f"const {'int' if axis.merged else index} {found.block} = {block};"
            block, own = found.block, found.thread
        step = f"*{axis.thread_step}" if axis.thread_step > 1 else ""
        yield f"const {'int' if axis.merged else index} {named(axis.start)} = {block}{f' + {own}{step}' if own else ''};"
    if shared or launch.team and shares:
        yield f"const int thread = {_linear(launch, dialect)};"


def block_counts(ends: Sequence[End], around: Surroundings) -> Iterator[str]:
    """Yields the C declarations of how many iterations a block has along each axis where it may have fewer than others."""
    for end in ends:
        count = extreme("min", [around.renamed(end.counted), Affine(end.axis.extent)], around.use)
        yield f"const int {end.count} = {count};"


def _linear(launch: Launch, dialect: Dialect) -> str:
    """Returns the C text of a thread's number in its block, as the device counts: along x first."""
    several = [each for each in zip(dialect.thread, launch.axes) if each[1].threads > 1]
    *others, (linear, _) = several or [("0", launch.axes[0])]
    for own, axis in reversed(others):
        linear = f"{linear if linear in dialect.thread else f'({linear})'}*{axis.threads} + {own}"
    return linear


def _block_start(launch: Launch, dialect: Dialect, number: int, firsts: Sequence[int]) -> str:
    """Returns the C text of a block's first iteration along an axis. number: that of the axis, from 0 on."""
    axis: LaunchAxis = launch.axes[number]
    block, extent = block_number(number, launch, dialect), axis.threads * axis.items
    if number in firsts:
        block = f"({block} + {first_block(axis)})"
    kind = "int" if axis.merged else dialect.index
    return f"({kind}){block} * {extent}" if extent > 1 else f"({kind}){block}"
