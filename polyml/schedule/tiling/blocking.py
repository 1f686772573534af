"""Block sizes of a contraction: the order of its loops, and how many iterations each runs at a time.

    for the rows' blocks: for the depth's blocks:        operand of the rows stays in the third cache
        parallel for the columns' blocks:                operand of the columns, copied by each thread, in the second
            for a register tile's rows:                  these rows stay in the first
                for panels: for rows, columns, depth:    the result's tile in registers, its rows written one after another

Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008, have the two sides the
other way around, for results stored by columns; block sizes after Low et al., "Analytical modeling is enough for
high-performance BLIS", ACM TOMS 43(2), 2016; contractions of many dimensions as in
Springer and Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication", ACM TOMS 44(3), 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from polyml.machines.cpu import CpuMachine
from polyml.schedule.analysis.loop_roles import LoopRole

PANEL_VECTORS = 2  # registers of neighbouring elements that a register tile holds
ROW_COUNTS = (8, 7, 6, 5, 4, 3)  # rows of a register tile
BYTES_ROW_COUNTS = (12, *ROW_COUNTS)  # the same for operands of bytes, of which a word is four, with what all rows share for a bias
FIRST_SHARE = 60  # percent of the first cache that the rows of a register tile fill
SECOND_SHARE = 50  # percent of the second cache that the block of columns fills
LEAST_DEPTH = 16  # iterations of the depth that a block has at least
FLAT_SHARE = 25  # and that all columns fill where the depth may be long because they are few
FEW_ROWS = 128  # for which columns that come from memory are read in long pieces, so the depth is short
STRETCH = 1.3  # by how much a block may grow so that there is one instead of two
SHARED_BYTES = 4 * 2**20  # of a block of rows in the third cache, at most
MANY = 1000  # iterations of a loop of unknown length
VECTOR_SHARE = 1024  # iterations that a thread takes at a time of a product of a matrix and a vector
UNEVEN_SHARE = 96  # iterations that a thread takes at a time of a loop whose iterations differ in work
MANY_TIMES = 16  # as much as another loop has of what threads could take makes it the one that they share
CHUNKS = 4  # that each thread takes at least of the loop they share

Loops = tuple[tuple[str, int], ...]  # over tiles: an axis's name, and how many iterations a tile has


@dataclass(frozen=True)
class ContractionAxis:
    """An axis is one loop of a contraction.

    name: its iterator.
    role: which accesses change as it runs.
    extent: about how many iterations it has; None where nothing is known.
    stride: the dimension of the result whose subscript it changes, counted from the last one; -1: none. Of axes that are otherwise
        equally good, those with smaller ones are preferred.
    unit: whether it goes along rows of an operand, so that its blocks should be whole cache lines.
    parallel: whether threads may share it.
    leans: whether its bounds depend on other loops, or theirs on it, as in a triangle.
    ordered: whether its terms must be added in the order of its iterations, since no reduction allows another order.
    """

    name: str
    role: LoopRole
    extent: int | None
    stride: int = -1
    unit: bool = False
    parallel: bool = True
    leans: bool = False
    ordered: bool = False

    @property
    def count(self) -> int:
        return MANY if self.extent is None else self.extent


@dataclass(frozen=True)
class Blocks:
    """The loops of a blocked contraction, each with its block size.

    outer: the loops over tiles around the one that threads share, outermost first.
    shared: the loop over tiles that threads share; None: there is none.
    inner: the loops over tiles inside the shared one.
    points: the loops over single iterations inside all tiles, by name.
    notes: the sizes, and what they were chosen by.
    """

    outer: Loops
    shared: tuple[str, int] | None
    inner: Loops
    points: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        tiles = [*self.outer, *([self.shared] if self.shared else []), *self.inner]
        return " > ".join([*(f"{name} by {step}" for name, step in tiles), ", ".join(self.points)])


@dataclass(frozen=True)
class BlockingSetting:
    """The machine and the limits by which block sizes are chosen.

    element_bytes: size of the largest element, which decides how many a vector has.
    machine: the CPU, whose caches, registers and cores count.
    parallel: whether threads may share a loop.
    products: how many products are added in each step, as in C[i,j] += A[i,k]*B[k,j] + D[i,k]*E[k,j].
    grain: a power of two; tile sizes divide it or are multiples of it, so that no tile crosses a border between slabs of that size.
    operand_bytes: size of an element of the operands, which fill the caches, where it is less than `element_bytes`; else 0.
    """

    element_bytes: int
    machine: CpuMachine
    parallel: bool
    products: int = 1
    grain: int = 1
    operand_bytes: int = 0


def blocks(axes: Sequence[ContractionAxis], setting: BlockingSetting) -> Blocks:
    """Returns the loops of a contraction with their block sizes, chosen for the machine's caches and registers.

    axes: the contraction's loops: one PANEL, and some ROWS and DEPTH. Not both of panel and rows may have a single iteration; where
        one of them has, this is a product of a matrix and a vector.
    """
    if not all(_is_long(axes, role) for role in (LoopRole.ROWS, LoopRole.PANEL)):
        line = setting.machine.line_bytes // setting.element_bytes
        return _of_vector(axes, line, setting.machine.cores if setting.parallel else 1)
    return _BlockChoice(axes, setting).made()


def is_worth_blocks(axes: Sequence[ContractionAxis]) -> bool:
    """Returns whether tiling a contraction can pay: whether a loop with role DEPTH has more than one iteration, and one with role
    ROWS or PANEL (the loop of the vectors) has, too.
    """
    return _is_long(axes, LoopRole.DEPTH) and any(_is_long(axes, role) for role in (LoopRole.ROWS, LoopRole.PANEL))


def _is_long(axes: Sequence[ContractionAxis], role: LoopRole) -> bool:
    return any(a.count > 1 for a in axes if a.role is role)


def _of_vector(axes: Sequence[ContractionAxis], line: int, threads: int) -> Blocks:
    """Returns the loops of a product of a matrix and a vector, without tiles, as each element of the matrix is read only once.

    Threads share the longest loop over rows or columns.

    line: elements of a cache line.
    """
    free = [a for a in axes if a.role is not LoopRole.DEPTH]
    main = max((a for a in free if a.parallel), key=lambda a: a.count)
    others = tuple((a.name, 1) for a in free if a is not main)
    share = max(1, min(ceil(main.count / threads / line) * line, VECTOR_SHARE))
    points = (main.name, *(a.name for a in axes if a.role is LoopRole.DEPTH))
    note = f"a product with a vector: threads share {main.name}, {share} at a time"
    return Blocks((), (main.name, share), others, points, (note,))


class _BlockChoice:
    """The choice of block sizes for one contraction; an axis is one of its loops.

    _rows, _columns: the axes along the result's rows, and along its columns; the first of each goes along register tiles.
    _depth: the axes that are added up, outermost first.
    _height, _width: rows and columns of a register tile.
    _steps: the block size of each axis, once it is chosen.
    """

    def __init__(self, axes: Sequence[ContractionAxis], setting: BlockingSetting):
        machine, element_bytes, grain = setting.machine, setting.element_bytes, setting.grain
        self._grain = grain
        self._bytes = (setting.operand_bytes or element_bytes) * setting.products  # of each step of the depth, per row or column
        self._machine = machine
        self._threads = machine.cores if setting.parallel else 1
        self._lanes, self._line = machine.lanes(element_bytes), machine.line_bytes // (setting.operand_bytes or element_bytes)
        once = [a for a in axes if a.extent == 1 and a.role is not LoopRole.PANEL and not a.ordered]
        by_role = {role: [a for a in axes if a.role is role and a not in once] for role in LoopRole}
        (panel,) = by_role[LoopRole.PANEL]
        row = max(by_role[LoopRole.ROWS], key=_as_row)
        self._batch = [*once, *by_role[LoopRole.BATCH]]
        self._rows = [row, *sorted((a for a in by_role[LoopRole.ROWS] if a is not row), key=lambda a: a.stride)]
        self._columns = [panel, *sorted(by_role[LoopRole.COLUMNS], key=lambda a: a.stride)]
        self._depth = sorted(by_role[LoopRole.DEPTH], key=lambda a: 0 if a.ordered else a.count)
        vectors = ceil(panel.count / self._lanes)
        self._width = self._lanes * (vectors if vectors == 1 or vectors == 3 and grain == 1 else PANEL_VECTORS)
        vectors = self._width // self._lanes
        counts = BYTES_ROW_COUNTS if setting.operand_bytes == 1 else ROW_COUNTS
        fitting = [n for n in counts if (n + 1) * vectors + 2 <= machine.vector_registers and self._grained(n) == n]
        self._height = max(fitting, key=lambda n: _efficiency(row.count, n))
        self._steps: dict[str, int] = {}

    def made(self) -> Blocks:
        """Returns the contraction's loops with their block sizes."""
        notes = self._choose_steps()
        shared, side = self._shared()
        own, others = (self._rows, self._columns) if side == "rows" else (self._columns, self._rows)
        batch = [(a.name, 1) for a in self._batch]
        around = [*self._split(others), *self._split(self._depth)]
        first = None if shared is None else (shared.name, self._share(shared))
        if shared is not None and shared in self._batch:
            outer, inner = [], [*(b for b in batch if b != first), *around, *self._split(own)]
        else:
            outer, inner = [*batch, *around], [t for t in self._split(own) if first is None or t[0] != first[0]]
        single = {first[0]} if first is not None and first[1] == 1 else set()
        micro = [(a.name, self._unit(a)) for a in self._tile_order() if a.name not in single]
        points = (self._rows[0].name, self._columns[0].name, *(a.name for a in self._depth))
        if first is not None:
            notes.append(f"threads share {first[0]}, {first[1]} at a time")
        return Blocks(tuple(outer), first, (*inner, *micro), points, tuple(notes))

    # -- block sizes ---------------------------------------------------------------------------------------------------

    def _choose_steps(self) -> list[str]:
        """Chooses the block size of each axis and stores it in `_steps`; returns notes on the sizes."""
        first, second, third = (self._machine.cache(level).size_bytes for level in (1, 2, 3))
        rows, columns, depth = (prod(a.count for a in axes) for axes in (self._rows, self._columns, self._depth))
        room = max(first * FIRST_SHARE // 100, second * FLAT_SHARE // 100 * self._height // columns)
        if rows <= FEW_ROWS and self._columns[0].count >= FEW_ROWS * 8 and 2 * columns * depth * self._bytes > third:
            room = max(room * self._height // max(rows, self._height), FEW_ROWS * self._bytes)
        deep = self._deep(max(LEAST_DEPTH, room // (self._height * self._bytes)))
        notes = [
            f"registers: about {self._height} of {self._rows[0].name} x {self._width} of {self._columns[0].name}",
            f"rows of a register tile: {self._height} x {deep}, {_kib(self._height * deep * self._bytes)} of {_kib(room)}",
        ]
        for what, side, unit, bytes_ in (
            ("columns, second", self._columns, self._width, second * SECOND_SHARE // 100),
            ("rows, third", self._rows, self._height, min(SHARED_BYTES, third // 4)),
        ):
            self._side(side, max(bytes_ // (deep * self._bytes), unit), unit)
            sizes = [self._steps[a.name] for a in side]
            shown = " x ".join(f"{n} of {a.name}" for n, a in zip(sizes, side))
            notes.append(f"a block of {what} cache: {shown}, {_kib(prod(sizes) * deep * self._bytes)} of {_kib(bytes_)}")
        return notes

    def _deep(self, limit: int) -> int:
        """Chooses the block sizes of the axes that are added up, whose product is at most about `limit`; returns that product.

        Where sums must keep their order, an axis around one that does not fit into one block gets blocks of one iteration. Where
        the order is free, an axis along cache lines of an operand gets blocks of whole lines.
        """
        *outer, inner = self._depth
        lines = prod(min(a.count, self._line) for a in outer if a.unit)
        if lines > 1 and not any(a.ordered for a in self._depth) and prod(a.count for a in self._depth) > limit:
            self._divide([inner], max(limit // lines, self._line))
            self._side([inner, *reversed(outer)], limit, 1)
            return prod(max(1, self._steps[a.name]) for a in self._depth)
        total = 1
        for axis in reversed(self._depth):
            self._divide([axis], limit)
            whole = axis.extent is not None and self._steps[axis.name] == axis.extent
            limit = limit // max(1, axis.count) if whole else 0
            total *= max(1, self._steps[axis.name])
        return total

    def _side(self, axes: Sequence[ContractionAxis], limit: int, unit: int) -> None:
        """Chooses the block sizes of all axes along the rows, or of all along the columns; their product is about `limit` at most.

        axes: these axes, first the one that goes along register tiles, whose block size is a multiple of `unit`. After it come the
            axes along cache lines of operands, and then the others.
        """
        tile, *others = axes
        if tile.name not in self._steps:
            self._divide([tile], limit, unit)
        left = max(1, limit // self._steps[tile.name])
        lines = [a for a in others if a.unit and left >= self._line]
        for axis in lines:
            self._steps[axis.name] = min(axis.count, self._line)
            left = max(1, left // self._steps[axis.name])
        rest = [a for a in others if a not in lines]
        self._divide(rest, left)
        left = max(1, left // prod(self._steps[a.name] for a in rest))
        for axis in lines:
            step = self._steps[axis.name] * left
            self._steps[axis.name] = axis.extent if axis.extent is not None and axis.extent <= step * STRETCH else step

    def _divide(self, axes: Sequence[ContractionAxis], limit: int, unit: int = 1) -> None:
        """Chooses the block sizes of some axes; multiplied, they are at most about `limit`.

        An axis gets as much of the limit as it can use, and those behind it get what is left.

        unit: the first axis' block size is a multiple of it, unless one block holds the whole axis.
        """
        for axis in axes:
            room = max(unit, limit)
            if axis.extent is not None and axis.extent <= (room * STRETCH if room > 1 else 1):
                size = axis.extent
            else:
                size = room if axis.extent is None else ceil(axis.extent / ceil(axis.extent / room))
                multiple = unit if unit > 1 else 8 if room >= 64 else 1
                rounded = ceil(size / multiple) * multiple
                size = self._grained(max(unit, rounded if rounded <= room else size // multiple * multiple))
            self._steps[axis.name] = size
            limit, unit = max(1, limit // max(1, size)), 1

    def _grained(self, step: int) -> int:
        """Returns the largest block size of at most `step` iterations that divides the grain or is a multiple of it."""
        return step // self._grain * self._grain if step >= self._grain else 1 << (step.bit_length() - 1)

    def _split(self, axes: Sequence[ContractionAxis]) -> list[tuple[str, int]]:
        """Returns the loops over blocks of the axes, as name and block size; none for an axis that is a single block."""
        steps = [(a, self._steps[a.name]) for a in axes]
        return [(a.name, step) for a, step in steps if a.extent is None or step < a.extent]

    def _tile_order(self) -> list[ContractionAxis]:
        """Returns the rows' and columns' axes in the order of the loops over register tiles inside a block, outermost first."""
        micro = [*self._rows[:0:-1], self._rows[0], *self._columns[:0:-1], self._columns[0]]
        micro.sort(key=lambda a: -a.stride)
        return micro

    # -- threads -------------------------------------------------------------------------------------------------------

    def _unit(self, axis: ContractionAxis) -> int:
        """Returns how many iterations of the axis a register tile has."""
        return self._height if axis is self._rows[0] else self._width if axis is self._columns[0] else 1

    def _shared(self) -> tuple[ContractionAxis | None, str]:
        """Returns the axis that threads share, None where there is none, and the side that it is of, "rows" or "columns".

        The axis has work for all threads; of several such axes it is the outermost of the batch, or else of the columns.
        """
        if self._threads == 1:
            return None, "columns"
        sides = {"columns": [*self._batch, *reversed(self._columns)], "rows": self._rows[::-1]}
        units = {a: a.count / self._unit(a) for side in sides.values() for a in side if a.parallel}
        for side, axes in sides.items():
            for axis in axes:
                if units.get(axis, 0) >= CHUNKS * self._threads and MANY_TIMES * units[axis] >= max(units.values()):
                    return axis, side
        candidates = [a for a in units if a not in self._batch and units[a] >= 2]
        if not candidates:
            return None, "columns"
        best = max(candidates, key=lambda a: (units[a] / (ceil(units[a] / self._threads) * self._threads), units[a]))
        return best, "rows" if best in self._rows else "columns"

    def _share(self, axis: ContractionAxis) -> int:
        """Returns the block size of the axis that threads share, so small that every thread gets a block."""
        if axis in self._batch:
            return 1
        step, unit = self._steps[axis.name], self._unit(axis)
        if axis.leans:
            step = min(step, max(unit, UNEVEN_SHARE // unit * unit))
        if axis.extent is None:
            return step
        unit = unit if unit == 1 else max(unit, self._grain)
        even = ceil(axis.extent / self._threads / unit) * unit
        if unit == 1:
            least = min(self._line, even) if axis.unit else 1
            even = max(least, axis.extent // (CHUNKS * self._threads))
        elif step < even:
            step = self._balanced(axis.extent, step, unit)
        return max(1, min(step, even))

    def _balanced(self, extent: int, step: int, unit: int) -> int:
        """Returns the block size from step/2 to step for which the thread with the most iterations has the fewest.

        extent: iterations of the axis that threads share.
        step: the largest block size allowed.
        unit: the block size is a multiple of it.
        """
        steps = [n for n in range(unit, step + 1, unit) if 2 * n >= step and self._grained(n) == n]
        return min(steps, key=lambda n: (ceil(ceil(extent / n) / self._threads) * n, -n), default=step)


def _as_row(axis: ContractionAxis) -> tuple[float, int]:
    """Returns a key that is larger the better the axis suits as the rows of a register tile.

    Its first part is larger the better tiles fit the axis' iterations (`_efficiency`), the second the nearer in memory its rows.
    """
    return round(max(_efficiency(axis.count, n) for n in ROW_COUNTS), 1), -axis.stride


def _efficiency(extent: int, count: int) -> float:
    """Returns a number from 0 to 1 that is larger the better a register tile of `count` rows suits a result of `extent` rows.

    It is the share of the tiles' rows that are in the result, times the share of loads that a tile saves, count / (count + 1).
    """
    return extent / (ceil(extent / count) * count) * count / (count + 1) if extent else 0.0


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.0f} KiB"
