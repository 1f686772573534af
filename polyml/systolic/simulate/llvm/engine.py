"""Folds run cycle by cycle with LLVM: the same registers, events and order as in `numpy_engine`; but `steady_spans` run in
`time_blocks`.

    for each cycle
        for each register      where its vector is now; what others have there; what memory gives; what is on wires
        for each statement     the values of all PEs; those of sums along a wire one after another
        for each store         what leaves

Code is made for how registers hang together; cycles, places, elements and memories come as words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from polyml.systolic.program.events import Events, MemoryContents, StridedEvents
from polyml.systolic.program.fold_program import Datapath, FoldProgram, Operand, Register
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate.llvm.fold_code import ENTRY, FoldCode
from polyml.systolic.simulate.llvm.module import loaded
from polyml.systolic.simulate.llvm.time_blocks import TimeBlocks, block_form
from polyml.systolic.simulate.steady_spans import Span, grid_of, spans

LEAST_SPAN = 32  # cycles of a span that runs in blocks
LEAST_WORK = 1 << 20  # PEs x cycles of a fold in which spans are looked for


class CompiledEngine:
    """A CompiledEngine simulates the folds of one nest with machine code. Folds with the same links, wires, and steps of loads and
    stores share their code.

    arguments: the values of scalar arguments, by name.
    """

    def __init__(self, program: NestProgram, arguments: Mapping[str, object]):
        self._datapaths, self._grid, self._arguments = program.datapaths, program.grid, arguments
        self._codes: dict[tuple, _FoldMachineCode] = {}
        self._blocks: dict[tuple, TimeBlocks] = {}

    def run(self, fold: FoldProgram, memories: MemoryContents) -> None:
        """Runs all cycles of a fold, and changes elements of the memories in place."""
        state, now = self._code(fold).begin(fold, memories), 0
        for (first, end), blocks in self._spans(fold):
            state.run(now, first)
            planes = {own: state.plane(own) for own in fold.operands}
            blocks.run(fold, self._grid, memories, (first, end), planes)
            now = end
        state.run(now, fold.cycles)

    def _spans(self, fold: FoldProgram) -> list[tuple[Span, TimeBlocks]]:
        """Returns the parts of a fold that run in blocks of many cycles, each as ((first cycle, the one behind the last), the code
        that runs it). Other cycles run one by one; in a small fold, all of them, so that [] is returned.
        """
        here = grid_of(fold, self._grid, self._datapaths) if prod(self._grid) * fold.cycles >= LEAST_WORK else None
        found = spans(fold, self._grid, LEAST_SPAN) if here is not None else []
        if here is None or not found:
            return []
        key = block_form(fold, here)
        if key not in self._blocks:
            self._blocks[key] = TimeBlocks(self._datapaths, fold, here, self._arguments)
        return [(span, self._blocks[key]) for span in found]

    def _code(self, fold: FoldProgram) -> _FoldMachineCode:
        """Returns the machine code for a fold, compiled once for all folds with the same links, broadcasts, and steps of loads and
        stores.
        """
        operands = ((own, each.link, _wiring(each), *map(_event_form, each.loads)) for own, each in fold.operands.items())
        key = tuple(operands), tuple((name, _event_form(events)) for name, events in fold.stores)
        if key not in self._codes:
            self._codes[key] = _FoldMachineCode(self._datapaths, fold, self._grid, self._arguments)
        return self._codes[key]


class _FoldMachineCode:
    """A _FoldMachineCode is compiled code that runs the cycles of a fold one by one; all folds with the same links, wires, and
    steps of loads and stores use it.
    """

    def __init__(
        self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: tuple[int, int], arguments: Mapping[str, object]
    ):
        emitter = FoldCode(datapaths, fold, grid, arguments)
        self._vectors, self._moving, self._units = emitter.vectors, emitter.moving, prod(grid)
        self._call = loaded(ENTRY, emitter.units)

    def begin(self, fold: FoldProgram, memories: MemoryContents) -> _FoldState:
        """Returns the state of a fold before its first cycle, with new vectors for the registers of all PEs."""
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
    """A _FoldState holds the vectors on which the compiled code of a fold works, as they are between two cycles.

    call: the compiled function, which takes the address of the pointers to the vectors.
    words: the vectors.
    moving: for some registers, the position in `words` of a vector that is longer than needed: PE u has element start + u of it,
        and values pass from PE to PE by a change of `start`. The vector after it in `words` has `start`.
    units: how many PEs there are.
    """

    def __init__(self, call: Callable[[int], None], words: Sequence[np.ndarray], moving: Mapping[Register, int], units: int):
        self._call, self._words, self._moving, self._units = call, words, moving, units
        self._pointers = np.array([0, 0, *(word.ctypes.data for word in words)], np.int64)

    def run(self, first: int, end: int) -> None:
        """Runs the cycles first ... end - 1, which changes registers and memories in place."""
        if first < end:
            self._pointers[:2] = first, end
            self._call(self._pointers.ctypes.data)

    def plane(self, own: Register) -> np.ndarray:
        """Returns a view of the values that a register has in all PEs, by the PEs' numbers. It has to be one of the registers in
        `moving`.
        """
        number = self._moving[own]
        vector, (start, *_) = self._words[number : number + 2]
        return vector[start : start + self._units]


def _wiring(operand: Operand) -> tuple[object, ...]:
    """Returns a key of an operand; one piece of code, apart from its loads, can serve all operands that have equal keys. The key is
    (the links by which only some PEs take values; for each broadcast, 0 if it goes down columns and 1 if it goes along rows).
    """
    return tuple(link for link, _ in operand.transfers), tuple(each.along for each in operand.broadcasts)


def _event_form(events: Events | StridedEvents) -> tuple[int, ...]:
    """Returns a key of a list of loads or stores (events); one piece of code can make all lists that have equal keys. The key is
    (step from PE to PE, step from element to element) where the events of each cycle are equally far apart, and () where they are
    listed one by one.
    """
    return (events.unit_step, events.element_step) if isinstance(events, StridedEvents) else ()


def _words(events: Events | StridedEvents, memories: MemoryContents) -> list[np.ndarray]:
    """Returns four vectors that tell compiled code which loads or stores (events) to make; the last one has the contents of the
    memory.

    Where the events of each cycle are equally far apart, the first three have for each cycle the number of events, the number of
    the first event's PE, and the position of its element. Where events are listed one by one, the first has the position in the
    list at which each cycle begins, and the next two have the PE and the element of each event.
    """
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
