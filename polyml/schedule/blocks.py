"""Block sizes of a contraction: which loops go around which, and how far each runs at a time.

    for the panel's blocks: for the depth's blocks:               operand of the panel, copied once, stays in the third cache
        parallel for the rows' blocks:                            operand of the rows, copied by each thread, in the second
            for panels: for rows in the point loops: for depth:   one panel in the first, the result's tile in registers

Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008; block sizes as in Low et
al., "Analytical modeling is enough for high-performance BLIS", ACM TOMS 43(2), 2016; contractions of many dimensions as in
Springer and Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication", ACM TOMS 44(3), 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from polyml.machine import CpuMachine
from polyml.schedule.roles import LoopRole

PANEL_VECTORS = 2  # registers of neighbouring elements that a register tile holds
DEPTH_SHARE = 80  # percent of the first cache that one panel fills
STRETCH = 1.3  # by how much a block may grow so that there is one instead of two
SHARED_BYTES = 4 * 2**20  # of the copy that all threads read, at most
MANY = 1000  # iterations of a loop of unknown length
UNEVEN_SHARE = 96  # iterations that a thread takes at a time of a loop whose iterations differ in work
CHUNKS = 4  # that each thread takes at least of the loop they share
ROW_COUNTS = (8, 7, 6, 5, 4)  # of a register tile


@dataclass(frozen=True)
class Axis:
    """One loop of a contraction. extent: about how many iterations it has, None where nothing is known.

    stride: its place among the result's dimensions from the last one, for choosing between equals; -1 where it is not there.
    unit: whether it moves along the rows of an operand, of which a block should hold whole cache lines. parallel: whether
    threads may share it. leans: whether how far it or others run depends on one another. ordered: whether the sums along it
    and the others must be added in the order of the axes.
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
    """Loops over tiles from outside inwards, each an axis's name and its step, and the order of the loops inside.

    outer: around the loop that threads share (None: there is none). inner: inside it; points: over single iterations.
    """

    outer: tuple[tuple[str, int], ...]
    shared: tuple[str, int] | None
    inner: tuple[tuple[str, int], ...]
    points: tuple[str, ...]

    def __str__(self) -> str:
        tiles = [*self.outer, *([self.shared] if self.shared else []), *self.inner]
        return " > ".join([*(f"{name} by {step}" for name, step in tiles), ", ".join(self.points)])


def blocks(axes: Sequence[Axis], element_bytes: int, machine: CpuMachine, *, parallel: bool) -> Blocks:
    """For axes of which one is a PANEL, and some ROWS and DEPTH."""
    return _Choice(axes, element_bytes, machine, parallel).made()


class _Choice:
    def __init__(self, axes: Sequence[Axis], element_bytes: int, machine: CpuMachine, parallel: bool):
        self._bytes, self._machine = element_bytes, machine
        self._threads = machine.cores if parallel else 1
        # loops of one iteration
        self._single = [a for a in axes if a.extent == 1 and a.role is not LoopRole.PANEL and not a.ordered]
        by_role = {role: [a for a in axes if a.role is role and a not in self._single] for role in LoopRole}
        self._batch, self._rows = by_role[LoopRole.BATCH], by_role[LoopRole.ROWS]
        self._columns, self._depth = by_role[LoopRole.COLUMNS], by_role[LoopRole.DEPTH]
        (self._panel,) = by_role[LoopRole.PANEL]

    def made(self) -> Blocks:
        width = self._panel_width()
        row = max(self._rows, key=self._as_row)
        depth = self._depth = sorted(self._depth, key=lambda a: 0 if a.ordered else a.count)
        steps = self._deep(self._depth_limit(width))
        deep = self._product(steps)
        rows = [row, *sorted((a for a in self._rows if a is not row), key=lambda a: a.stride)]
        second = self._machine.cache(2).size_bytes
        row_count = max(ROW_COUNTS, key=lambda n: _efficiency(row.count, n))
        row_limit = max(second // 2 // (deep * self._bytes), row_count)
        steps |= self._side(rows, row_limit, row_count)
        columns = [self._panel, *sorted(self._columns, key=lambda a: a.stride)]
        third = min(SHARED_BYTES, self._machine.cache(3).size_bytes // 4)
        steps |= self._side(columns, max(third // (deep * self._bytes), width), width)
        batch = [(a.name, 1) for a in (*self._single, *self._batch)]
        shared, side = self._shared(rows, columns, row_count, width)
        own, others = (rows, columns) if side == "rows" else (columns, rows)
        tiles = {"own": self._split(own, steps), "others": self._split(others, steps), "depth": self._split(depth, steps)}
        outer, inner = [*batch, *tiles["others"], *tiles["depth"]], tiles["own"]
        if shared is not None and shared.role is LoopRole.BATCH:
            first = (shared.name, 1)
            outer, inner = [], [*(b for b in batch if b != first), *tiles["others"], *tiles["depth"], *tiles["own"]]
        elif shared is not None:
            step = self._share(shared, steps[shared.name], row_count if shared is row else width if shared is self._panel else 1)
            first = (shared.name, step)
            inner = [t for t in inner if t[0] != shared.name]
        micro = [*columns[:0:-1], self._panel, *rows[:0:-1]]
        if self._operands(rows, columns, steps, deep) <= second:
            micro.sort(key=lambda a: -a.stride)
        micro = [(a.name, width if a is self._panel else 1) for a in micro]
        done = {shared.name} if shared is not None and first[1] == 1 else set()
        micro = [t for t in micro if t[0] not in done]
        points = [row.name, self._panel.name, *(a.name for a in depth)]
        return Blocks(tuple(outer), None if shared is None else first, (*inner, *micro), tuple(points))

    def _operands(self, rows: Sequence[Axis], columns: Sequence[Axis], steps: dict[str, int], deep: int) -> int:
        """Bytes of both operands' copies."""
        sides = (self._product({a.name: steps[a.name] for a in side}) for side in (rows, columns))
        return sum(sides) * deep * self._bytes

    def _lanes(self) -> int:
        return self._machine.lanes(self._bytes)

    def _line(self) -> int:
        return self._machine.line_bytes // self._bytes

    def _panel_width(self) -> int:
        vectors = ceil(self._panel.count / self._lanes())
        return self._lanes() * (vectors if vectors in (1, 3) else PANEL_VECTORS)

    def _as_row(self, axis: Axis) -> tuple:
        """How good the axis is as the rows of the register tile: few wasted, many, near each other in the result."""
        return round(max(_efficiency(axis.count, n) for n in ROW_COUNTS), 1), axis.stride != -1, -axis.stride

    def _depth_limit(self, width: int) -> int:
        return max(16, self._machine.cache(1).size_bytes * DEPTH_SHARE // 100 // (width * self._bytes))

    def _divided(self, axes: Sequence[Axis], limit: int, multiple: int = 1) -> dict[str, int]:
        """Iterations per block of each axis, the first one filling the limit first. A block of a whole axis is as long as it."""
        steps: dict[str, int] = {}
        for number, axis in enumerate(axes):
            least = multiple if number == 0 else 1
            room = max(least, limit)
            if axis.extent is not None and axis.extent <= (room * STRETCH if room > 1 else 1):
                steps[axis.name] = size = axis.extent
            else:
                unit = least if number == 0 and least > 1 else 8 if room >= 64 else 1
                size = room
                if axis.extent is not None:
                    size = ceil(axis.extent / ceil(axis.extent / room))
                steps[axis.name] = size = max(least, size // unit * unit if size + unit > room else ceil(size / unit) * unit)
            limit = max(1, limit // max(1, size))
        return steps

    def _side(self, axes: Sequence[Axis], limit: int, multiple: int) -> dict[str, int]:
        """Iterations per block of the axes of one side, of which the first one is in the register tile."""
        line = self._line()
        first, *others = axes
        steps = self._divided([first], limit, multiple)
        left = max(1, limit // steps[first.name])
        ahead = {a.name: min(a.count, line) for a in others if a.unit and left >= line}
        for size in ahead.values():
            left = max(1, left // size)
        steps |= self._divided([a for a in others if a.name not in ahead], left)
        left = max(1, left // self._product({name: n for name, n in steps.items() if name != first.name}))
        for axis in others:
            if axis.name in ahead:
                whole = axis.extent is not None and axis.extent <= ahead[axis.name] * left * STRETCH
                steps[axis.name] = axis.extent if whole else ahead[axis.name] * left
        return steps

    def _deep(self, limit: int) -> dict[str, int]:
        """Iterations per block of the depth's axes, from the innermost one. Around an axis in several blocks, all go one by
        one: so sums keep their order.
        """
        steps: dict[str, int] = {}
        for axis in reversed(self._depth):
            steps |= self._divided([axis], limit)
            whole = axis.extent is not None and steps[axis.name] == axis.extent
            limit = limit // max(1, axis.count) if whole else 0
        return steps

    def _product(self, steps: dict[str, int]) -> int:
        total = 1
        for size in steps.values():
            total *= max(1, size)
        return total

    def _split(self, axes: Sequence[Axis], steps: dict[str, int]) -> list[tuple[str, int]]:
        """The loops over blocks, without those of one block."""
        return [(a.name, steps[a.name]) for a in axes if a.extent is None or steps[a.name] < a.extent]

    def _shared(self, rows: list[Axis], columns: list[Axis], row_count: int, width: int) -> tuple[Axis | None, str]:
        """The axis that threads share, and whose side it is on."""
        if self._threads == 1:
            return None, "rows"
        wanted = CHUNKS * self._threads
        for axis in self._batch:
            if axis.count >= wanted and axis.parallel:
                return axis, "rows"
        units = {a: a.count / (row_count if a is rows[0] else 1) for a in rows}
        units |= {a: a.count / (width if a is columns[0] else 1) for a in columns}
        for side, axes in (("rows", rows), ("columns", columns)):
            for axis in reversed(axes):
                if units[axis] >= wanted and axis.parallel:
                    return axis, side
        units = {a: n for a, n in units.items() if a.parallel}
        if not units:
            return None, "rows"
        best = max(units, key=lambda a: (units[a] / (ceil(units[a] / self._threads) * self._threads), units[a]))
        if units[best] < 2:
            return None, "rows"
        return best, "rows" if best in rows else "columns"

    def _share(self, axis: Axis, step: int, unit: int) -> int:
        """The step of the shared axis, so small that every thread gets some."""
        if axis.leans:
            step = min(step, UNEVEN_SHARE // unit * unit or unit)
        if axis.extent is None:
            return step
        share = ceil(axis.extent / self._threads / unit) * unit
        if unit == 1:
            share = max(1, axis.extent // (CHUNKS * self._threads))
            if axis.unit:
                share = max(share, min(self._line(), ceil(axis.extent / self._threads)))
        return max(1, min(step, share))


def _efficiency(extent: int, count: int) -> float:
    """The share of a register tile's work that is used, and of its loads that are saved."""
    return extent / (ceil(extent / count) * count) * count / (count + 1) if extent else 0.0
