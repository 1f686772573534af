"""Folds run cycle by cycle with LLVM: the same registers, events and order as in `numpy_engine`; but `steady_spans` of cycles in `time_blocks`.

    for each cycle
        for each register      where its vector is now; what others have there; what memory gives; what is on wires
        for each statement     the values of all units; of sums along a wire of one after another
        for each store         what leaves

Code is made for how registers hang together; cycles, places, elements and memories come as words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from polyml.systolic.program.events import Events, Memory, StridedEvents
from polyml.systolic.program.fold_program import Datapath, FoldProgram, Operand, Register
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate.llvm.fold_code import ENTRY, FoldCode
from polyml.systolic.simulate.llvm.module import loaded
from polyml.systolic.simulate.llvm.time_blocks import TimeBlocks, form
from polyml.systolic.simulate.steady_spans import Span, grid_of, spans

LEAST_SPAN = 32  # cycles that run in blocks
LEAST_WORK = 1 << 20  # units and cycles of a fold that is looked at for them


class CompiledEngine:
    """Runs the folds of one nest. arguments: numbers by name."""

    def __init__(self, program: NestProgram, arguments: Mapping[str, object]):
        self._datapaths, self._grid, self._arguments = program.datapaths, program.grid, arguments
        self._codes: dict[tuple, _FoldMachineCode] = {}
        self._blocks: dict[tuple, TimeBlocks] = {}

    def run(self, fold: FoldProgram, memories: Mapping[Memory, np.ndarray]) -> None:
        """The fold's cycles; changes elements of the memories."""
        state, now = self._code(fold).begin(fold, memories), 0
        for (first, end), blocks in self._spans(fold):
            state.run(now, first)
            planes = {own: state.plane(own) for own in fold.operands}
            blocks.run(fold, self._grid, memories, (first, end), planes)
            now = end
        state.run(now, fold.cycles)

    def _spans(self, fold: FoldProgram) -> list[tuple[Span, TimeBlocks]]:
        """Cycles that run in blocks, and what runs them."""
        here = grid_of(fold, self._grid, self._datapaths) if prod(self._grid) * fold.cycles >= LEAST_WORK else None
        found = spans(fold, self._grid, LEAST_SPAN) if here is not None else []
        if not found:
            return []
        key = form(fold, here)
        if key not in self._blocks:
            self._blocks[key] = TimeBlocks(self._datapaths, fold, here, self._arguments)
        return [(span, self._blocks[key]) for span in found]

    def _code(self, fold: FoldProgram) -> _FoldMachineCode:
        operands = ((own, each.link, _ways(each), *map(_form, each.loads)) for own, each in fold.operands.items())
        key = tuple(operands), tuple((name, _form(events)) for name, events in fold.stores)
        if key not in self._codes:
            self._codes[key] = _FoldMachineCode(self._datapaths, fold, self._grid, self._arguments)
        return self._codes[key]


class _FoldMachineCode:
    """The machine code for folds whose registers hang together in one way."""

    def __init__(
        self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: tuple[int, int], arguments: Mapping[str, object]
    ):
        emitter = FoldCode(datapaths, fold, grid, arguments)
        self._vectors, self._moving, self._units = emitter.vectors, emitter.moving, prod(grid)
        self._call = loaded(ENTRY, emitter.units)

    def begin(self, fold: FoldProgram, memories: Mapping[Memory, np.ndarray]) -> _FoldState:
        """The fold before its first cycle."""
        words = [np.full(each.length, each.fill, each.kind) for each in self._vectors]
        for operand in fold.operands.values():
            for _, places in operand.transfers:
                words += [places.starts, places.units]
            for each in operand.broadcasts:
                words += [each.drivers.starts, each.drivers.units]
            for events in operand.loads:
                words += _words(events, memories)
        for _, events in fold.stores:
            words += _words(events, memories)
        words = [word if word.flags.c_contiguous else np.ascontiguousarray(word) for word in words]
        return _FoldState(self._call, words, self._moving, self._units)


class _FoldState:
    """A fold between two of its cycles. words: vectors that the code has pointers to. moving: of registers along which units move,
    the first of their two words.
    """

    def __init__(self, call: Callable[[int], None], words: Sequence[np.ndarray], moving: Mapping[Register, int], units: int):
        self._call, self._words, self._moving, self._units = call, words, moving, units
        self._pointers = np.array([0, 0, *(word.ctypes.data for word in words)], np.int64)

    def run(self, first: int, end: int) -> None:
        """Its next cycles."""
        if first < end:
            self._pointers[:2] = first, end
            self._call(self._pointers.ctypes.data)

    def plane(self, own: Register) -> np.ndarray:
        """What all units have in a register that takes what the one along its link had in the cycle before."""
        number = self._moving[own]
        vector, (start, *_) = self._words[number : number + 2]
        return vector[start : start + self._units]


def _ways(operand: Operand) -> tuple[object, ...]:
    return tuple(link for link, _ in operand.transfers), tuple(each.along for each in operand.broadcasts)


def _form(events: Events | StridedEvents) -> tuple[int, ...]:
    """What the code for them depends on."""
    return (events.unit_step, events.element_step) if isinstance(events, StridedEvents) else ()


def _words(events: Events | StridedEvents, memories: Mapping[Memory, np.ndarray]) -> list[np.ndarray]:
    if isinstance(events, StridedEvents):
        return [events.counts, events.units, events.elements, memories[events.memory]]
    own = events.memory[0] == "number"
    elements = np.arange(len(events.elements)) if own else events.elements
    return [
        events.units_by_cycle.starts,
        events.units_by_cycle.units,
        elements,
        events.elements if own else memories[events.memory],
    ]
