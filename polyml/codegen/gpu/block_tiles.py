"""Parts of arrays that a block of threads copies to shared memory once, before its threads run, since a warp's loads of them would go to
many lines of the cache.

    B[j, i] = A[i, j]        ->   A_tile = A[block's rows, block's columns]     whole rows, by consecutive threads
    x: i, y: j                    barrier
                                  B[j, i] = A_tile[thread's element]            consecutive elements of B by consecutive threads

The part is the box around all elements that the threads of the block load, with what lies around a block of a stencil (its halo): the
subscripts are sums of numbers that run through intervals, so that the ends of the box are attained, and all of it is inside the array.
Nothing that a launch writes is copied. Verdoolaege et al.: "Polyhedral parallel code generation for CUDA", ACM TACO 9(4), 2013, sec. 5.3.

A box that the first-level cache serves as well stays where it is: `lines` counts the lines of 128 bytes that warps ask for, one after the
other, which limits both a cache and shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from types import MappingProxyType

from polyml.codegen.gpu.shared_tiles import MOST_BYTES, BlockAxis, Interval, SharedTile, dimension_of, thread_intervals
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, variable

LINE_BYTES = 128  # of a first-level cache, and of shared memory's banks together
WARP = 32  # threads


@dataclass(frozen=True)
class _Read:
    """A _Read is a load in what a thread runs.

    subscripts: in the names of `inner` and those that are the same for all threads of the block.
    inner: { name in subscripts of the variable of a loop with constant bounds around it -> its values }.
    """

    array: str
    subscripts: tuple[Affine, ...]
    inner: Mapping[str, Interval]


@dataclass(frozen=True)
class BlockTile:
    """A BlockTile is the box around what the threads of a block load of an array, and whether the block copies it to shared memory.

    direct_lines, copied_lines: lines of 128 bytes that the block's warps ask for, without a copy and with one.
    """

    tile: SharedTile
    direct_lines: int
    copied_lines: int
    is_copied: bool

    def __str__(self) -> str:
        """Returns what is done about the box, and why."""
        told = f"loads of {self.tile.region()} ask for {self.direct_lines} lines of 128 bytes, {self.copied_lines} with a copy in shared memory"
        return f"{told}: {'copied' if self.is_copied else 'left to the first-level cache'}"


def block_tiles(
    nodes: Sequence[Node], items: Mapping[str, int], blocks: Sequence[BlockAxis], written: frozenset[str], scop: Scop
) -> tuple[BlockTile, ...]:
    """Returns the boxes that several threads of a block load before they run the nodes, some of which the block copies to shared memory:
    those that at least halve the lines that the block's loads ask for, as long as there is room.

    nodes: what each thread of the block runs, without tests.
    items: { name of the loop over a thread's items (its iterations along an axis) -> how many there are }.
    blocks: the axes along which a block has more than one iteration, x first.
    written: arrays that the launch writes.
    """
    groups: dict[object, list[_Read]] = {}
    for read in _reads(nodes, {}, items, scop, AccessTable(scop.context)):
        if read.array not in written and read.subscripts:
            groups.setdefault((read.array, *(each.terms for each in read.subscripts), *read.inner.items()), []).append(read)
    found: list[BlockTile] = []
    room = MOST_BYTES
    for reads in groups.values():
        tile = _tile(reads, blocks)
        if tile is None or not tile.stored:  # a single element, which the cache serves
            continue
        size = scop.arrays[tile.array].element.size_bytes
        direct, copied = lines(tile, len({read.subscripts for read in reads}), blocks, size)
        pays = 2 * copied <= direct and prod(tile.lengths) * size <= room
        room -= prod(tile.lengths) * size if pays else 0
        found.append(BlockTile(tile, direct, copied, pays))
    return tuple(found)


def lines(tile: SharedTile, reads: int, blocks: Sequence[BlockAxis], element_bytes: int) -> tuple[int, int]:
    """Returns the lines of 128 bytes that a block's warps ask for: where threads load from the array, and with a tile between, which
    is copied, stored and loaded.

    reads: how many loads of the tile's elements the text of a thread has, for one of its items.
    blocks: the axes along which a block has more than one iteration, x first.
    """
    threads, wide = prod(axis.threads for axis in blocks), max(1, LINE_BYTES // element_bytes)
    used = frozenset().union(*(each.index.names for each in tile.dimensions))
    times = reads * prod(axis.items for axis in blocks if axis.item in used)
    warps = -(-threads // WARP)
    row = max(1, tile.dimensions[-1].extent)
    copied = -(-tile.elements // min(row, wide, WARP)) + -(-tile.elements // min(wide, WARP))
    return warps * times * _lines_of_warp(tile, blocks, wide), copied + warps * times * max(1, WARP // wide)


def _lines_of_warp(tile: SharedTile, blocks: Sequence[BlockAxis], wide: int) -> int:
    """Returns how many lines the threads of a warp ask for when each loads one element. wide: elements of a line."""
    zero = {name: 0 for each in tile.dimensions for name in each.index.names}
    ranges = [range(axis.threads) for axis in reversed(blocks)]
    found = set()
    for numbers in islice(product(*ranges), WARP):
        at = {**zero, **{axis.thread: number for axis, number in zip(reversed(blocks), numbers)}}
        *outer, last = (each.index.evaluate(at) for each in tile.dimensions)
        found.add((*outer, last // wide))
    return len(found)


def _tile(reads: Sequence[_Read], blocks: Sequence[BlockAxis]) -> SharedTile | None:
    """Returns the box of reads whose subscripts differ by constants alone; None where a subscript is no sum of numbers that run
    through intervals.
    """
    constants = [[each.constant for each in read.subscripts] for read in reads]
    least, most = ([end(each) for each in zip(*constants)] for end in (min, max))
    names = {**reads[0].inner, **thread_intervals(blocks)}
    found = [
        dimension_of(Affine(low, value.terms), high - low, names) for value, low, high in zip(reads[0].subscripts, least, most)
    ]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    base = tuple(Affine(low, value.terms) for value, low in zip(reads[0].subscripts, least))
    offsets = dict.fromkeys(tuple(c - low for c, low in zip(each, least)) for each in constants)
    return SharedTile(reads[0].array, base, tuple(known), tuple(offsets), padding=1)


def _reads(
    nodes: Sequence[Node],
    inner: Mapping[str, Interval],
    items: Mapping[str, int],
    scop: Scop,
    table: AccessTable,
    names: Mapping[str, Affine] = MappingProxyType({}),
) -> Iterator[_Read]:
    """Yields the loads that each thread makes whatever the sizes are, but for those at indices that data decide.

    inner: the loops around the nodes, which have constant bounds.
    items: { name of the loop over a thread's items -> how many there are }.
    names: { variable of a loop around the nodes -> its name in subscripts }.
    """
    for node in nodes:
        if isinstance(node, Instance):
            statement = scop.statements[node.statement]
            point = {name: value.substitute(names) for name, value in zip(statement.iterators, node.point)}
            for access in reads_and_write(statement):
                if access is not statement.write and not access.may:
                    yield _Read(access.array, tuple(each.substitute(point) for each in table.subscripts(access)), inner)
        elif isinstance(node, Loop) and node.step == 1 and _is_constant(node):
            first, last = node.lower[0].constant, node.upper[0].constant
            name = node.name if node.name in items else node.var
            within = {**inner, name: Interval(Affine(first), variable(name) - first, last - first + 1)}
            yield from _reads(node.body, within, items, scop, table, {**names, node.var: variable(name)})


def _is_constant(loop: Loop) -> bool:
    """Returns whether the loop runs from one constant to another, at least once."""
    ends = (*loop.lower, *loop.upper)
    return len(ends) == 2 and all(each.is_constant for each in ends) and ends[0].constant <= ends[1].constant
