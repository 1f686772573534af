"""Sums of products over several loops, for blocks whose threads run positions of merged loops: a product of two matrices whose rows,
columns and inner dimension are numberings of loops.

    for c: for p: for q:                                     for 16 positions of (c, p, q), the copies one chunk ahead:
        y_held[a][b] += x[n, c, i + p, j + q]*w[f, c, p, q]  ->  x_tile[k][position of (n, i, j)] = x[...]; w_tile[k][f] = w[...]
                                                                 for k < 16: y_held[a][b] += x_tile[k][...]*w_tile[k][...]

The order of the sum is the source's. A thread copies elements whose subscripts it computes once; from one to the next, it adds what
the iterations that lie between them add to the subscripts. Where there are no positions left, it copies elements of the last one, which
nobody stores the sums of. Legal as other copies to shared memory are, since no thread writes the arrays in the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from polyml.codegen.gpu.axes import LaunchAxis, MergedLoop, fresh
from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES, RowOrder
from polyml.codegen.gpu.shared_tiles import MOST_BYTES, BlockAxis, SharedTile
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.program import Instance, Loop, Node
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, variable

CHUNK = 16  # positions of the sum whose elements are in shared memory at a time
SLOTS = 2  # chunks that shared memory has room for
ROWS, GROUP = 4, 8  # a warp copies eight elements that follow one another, of four rows: their places are in 32 banks
DISTANCE_BYTES = 8  # of how far from an operand's first element those of a position of the sum are
_ASYNCHRONOUS = (4, 8)  # bytes of elements that can be copied without waiting


@dataclass(frozen=True)
class PositionAxis:
    """A PositionAxis is an axis of the block together with the loops whose iterations are numbered along it.

    block: the names of the positions of a block, of a thread and of its items.
    loops: outermost first.
    count: the name of how many positions there are.
    """

    block: BlockAxis
    loops: tuple[MergedLoop, ...]
    count: str

    @property
    def extent(self) -> int:
        """Returns how many positions a block has."""
        return self.block.threads * self.block.items


@dataclass(frozen=True)
class Operand:
    """An Operand is what a block copies of an array for a chunk: an element for each of its positions along an axis, and each of the sum.

    tile: the array and the subscripts of its reads.
    axis: the axis.
    along_sum: whether threads beside each other copy elements that follow one another in the sum, in place of those of positions that do.
    threads: of a block.
    element_bytes: the size of an element.
    """

    tile: SharedTile
    axis: PositionAxis
    along_sum: bool
    threads: int
    element_bytes: int

    @property
    def array(self) -> str:
        return self.tile.array

    @property
    def order(self) -> RowOrder:
        """Where the tile has the elements of its rows: such that eight threads read vectors from eight groups of banks."""
        width = max(VECTOR_BYTES // self.element_bytes, 1)
        block = self.axis.block
        own = block.items // width if block.thread_step > 1 and not self.along_sum and block.items % width == 0 else 1
        return RowOrder(own if own in (2, 4, 8) else 1, width, self.axis.extent // width)

    @property
    def length(self) -> int:
        """How many elements of shared memory a row takes."""
        return self.order.length if self.order.own > 1 else self.axis.extent + self.order.width

    @property
    def lengths(self) -> tuple[int, int]:
        """How many elements of shared memory there are along each dimension of the tile of a chunk."""
        return CHUNK, self.length

    @property
    def index(self) -> Affine:
        """The column of the tile from which a thread reads for an item, an expression of the names of both."""
        block = self.axis.block
        thread, item = variable(block.thread), variable(block.item) if block.item else Affine()
        if self.order.own > 1:
            return self.order.read(thread, item)
        return thread * block.thread_step + item * block.item_step

    @property
    def fits(self) -> bool:
        """Returns whether the threads of a block have equal parts of a copy, each with one position of the sum or one of the axis."""
        extent, threads = self.axis.extent, self.threads
        if extent % self.order.width:
            return False
        if self.along_sum:
            return threads % CHUNK == 0 and CHUNK * extent % threads == 0
        if threads < CHUNK:  # each position of the sum has a thread that tells the others its distance
            return False
        return extent % threads == 0 or threads % extent == 0 and CHUNK % (threads // extent) == 0

    @property
    def is_grouped(self) -> bool:
        """Returns whether a warp copies eight elements of each of four rows, for a tile that is copied along the sum."""
        return self.threads % (ROWS * CHUNK) == 0 and self.axis.extent % ROWS == 0

    @property
    def positions(self) -> int:
        """Returns of how many positions along the axis a thread copies elements."""
        extent = self.axis.extent
        return CHUNK * extent // self.threads if self.along_sum else max(extent // self.threads, 1)

    @property
    def step(self) -> int:
        """Returns how many positions of the sum, at least one, the threads of a block copy at once, if those of an axis lie beside each other."""
        return max(self.threads // self.axis.extent, 1)

    @property
    def size_bytes(self) -> int:
        """Returns how many bytes of shared memory the tiles of all slots take, and where a thread does not copy elements of one position
        of the sum, how far from the first element those of each position are.
        """
        return SLOTS * CHUNK * (self.length * self.element_bytes + (0 if self.along_sum else DISTANCE_BYTES))


@dataclass(frozen=True)
class MergedSum:
    """A MergedSum is what a block runs whose threads have positions of merged loops: sums in registers, of tiles in shared memory.

    array, subscripts: the elements of the sums, expressions of the names of the loops' iterations.
    axes: the axes of which each thread has items.
    loop: the outermost loop of the sum; the others are directly inside one another in it.
    inner: the loops of the sum, outermost first.
    chunk: the name of the first position of a chunk of the sum.
    count: the name of how many positions the sum has.
    update: the instance that adds to an element.
    before, after: what else runs for each element, before the sum and after it.
    operands: what the block copies.
    is_asynchronous: whether copies go on while threads compute.
    """

    array: str
    subscripts: tuple[Affine, ...]
    axes: tuple[PositionAxis, ...]
    loop: Loop
    inner: tuple[MergedLoop, ...]
    chunk: str
    count: str
    update: Instance
    before: tuple[Instance, ...]
    after: tuple[Instance, ...]
    operands: tuple[Operand, ...]
    is_asynchronous: bool

    @property
    def items(self) -> tuple[tuple[str, int], ...]:
        """The names of a thread's items along each axis, and how many there are."""
        return tuple((axis.block.item, axis.block.items) for axis in self.axes if axis.block.item)

    def is_loaded(self, scop: Scop) -> bool:
        """Returns whether the elements have to be loaded, since what runs first reads them."""
        first = (*self.before, self.update)[0]
        return any(access.array == self.array for access in scop.statements[first.statement].reads)


def merged_sum(
    nodes: Sequence[Node], axes: Sequence[LaunchAxis], blocks: Sequence[BlockAxis], scop: Scop, copies: bool
) -> MergedSum | None:
    """Returns what threads run, for one position along each merged axis, as a sum for all positions of a block; None where it is none.

    nodes: the loops of a thread.
    blocks: the axes along which a block has more than one iteration.
    copies: whether there are asynchronous copies to shared memory.
    """
    known = {axis.start: axis for axis in blocks}
    merged = [PositionAxis(known[axis.start], axis.merged, axis.count) for axis in axes if axis.merged and axis.start in known]
    places = [k for k, node in enumerate(nodes) if isinstance(node, Loop)]
    if len(places) != 1 or len(merged) != 2:
        return None
    chain = _chain(nodes[places[0]], {loop.name for axis in merged for loop in axis.loops})
    before, after = ([node for node in some if isinstance(node, Instance)] for some in (nodes[: places[0]], nodes[places[0] + 1 :]))
    if chain is None or len(before) + len(after) != len(nodes) - 1:
        return None
    loops, update = chain
    table = AccessTable(scop.context)
    array = scop.statements[update.statement].write.array
    held = {found for each in (*before, update, *after) for name, found in _subscripts(each, scop, table) if name == array}
    inner = tuple(MergedLoop(loop.var, loop.lower[0], loop.upper[0] - loop.lower[0] + 1) for loop in loops)
    if len(held) != 1 or any(loop.name in each.names for loop in inner for each in next(iter(held))):
        return None
    if any(each.coefficient(loop.name) is None for axis in merged for loop in axis.loops for each in next(iter(held))):
        return None
    operands = _operands(update, merged, inner, scop, prod(axis.threads for axis in blocks))
    if operands is None:
        return None
    taken = {*scop.arrays, *scop.params, *(p.name for p in scop.parameters), *(loop.name for loop in loops)}
    taken |= {name for axis in axes for name in (axis.start, axis.count, *(loop.name for loop in axis.merged))}
    joined = "_".join(loop.name or loop.var for loop in loops)
    chunk, count = fresh([f"{joined}_chunk", f"{joined}_count"], taken)
    can_wait = copies and all(each.element_bytes in _ASYNCHRONOUS for each in operands)
    (elements,) = held
    return MergedSum(
        array, elements, tuple(merged), loops[0], inner, chunk, count, update, tuple(before), tuple(after), operands, can_wait
    )  # fmt: skip


def _chain(node: Node, own: set[str]) -> tuple[list[Loop], Instance] | None:
    """Returns the loops directly inside one another, with the instance inside them, if each has one first and one last iteration, the
    same in all iterations of the others and in all threads; None otherwise. own: names that differ between threads.
    """
    loops: list[Loop] = []
    while isinstance(node, Loop) and len(node.body) == 1 and node.step == len(node.lower) == len(node.upper) == 1:
        if (own | {loop.var for loop in loops}) & (node.lower[0].names | node.upper[0].names):
            return None
        loops.append(node)
        node = node.body[0]
    return (loops, node) if isinstance(node, Instance) else None


def _subscripts(instance: Instance, scop: Scop, table: AccessTable) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """Yields the array and the subscripts of each access of an instance, in names of the program."""
    statement = scop.statements[instance.statement]
    point = dict(zip(statement.iterators, instance.point))
    for access in reads_and_write(statement):
        yield access.array, tuple(each.substitute(point) for each in table.subscripts(access))


def _operands(
    update: Instance, axes: Sequence[PositionAxis], inner: Sequence[MergedLoop], scop: Scop, threads: int
) -> tuple[Operand, ...] | None:
    """Returns the operands of an update, each along one axis; None where one moves along both or none, where there is none along an axis,
    where a subscript is not linear, or where they do not fit shared memory.
    """
    written, table = scop.statements[update.statement].write.array, AccessTable(scop.context)
    found = []
    for array, subscripts in dict.fromkeys(_subscripts(update, scop, table)):
        if array == written:
            continue
        used = frozenset().union(*(each.names for each in subscripts))
        along = [axis for axis in axes if used & {loop.name for loop in axis.loops}]
        if len(along) != 1:
            return None
        names = [loop.name for loop in (*along[0].loops, *inner)]
        if any(each.coefficient(name) is None for each in subscripts for name in names):
            return None
        size, tile = scop.arrays[array].element.size_bytes, SharedTile(array, subscripts, ())
        by_rows = Operand(tile, along[0], not _is_beside(subscripts, along[0].loops[-1].name), threads, size)
        found.append(by_rows if by_rows.fits else Operand(tile, along[0], not by_rows.along_sum, threads, size))
    enough = {id(each.axis) for each in found} == {*map(id, axes)} and all(each.fits for each in found)
    return tuple(found) if enough and sum(each.size_bytes for each in found) <= MOST_BYTES else None


def _is_beside(subscripts: Sequence[Affine], name: str) -> bool:
    """Returns whether elements of iterations that follow one another lie beside each other, or not far: in the last dimension alone."""
    *outer, last = (each.coefficient(name) for each in subscripts)
    return bool(last) and not any(outer)
