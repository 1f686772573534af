"""Spans of cycles as blocks of several cycles each, with LLVM: a sum stays in a vector register for a whole block.

    for each turn of a few blocks
        for each register              on threads
            what has gone out in the turn before goes to memory
            what is there goes back to where its vector begins
            what comes in goes to its place
        for each strip of columns      on threads
            for each block of cycles
                for vectors of sums of a few rows
                    for each cycle     the values of the units that these sums are in

Cycle by cycle, all registers of all units go through the second cache in every cycle. Of a block, what a strip reads stays in
the first one. What moves has one place for the whole turn, which the units pass: in cycle t = 1, 2, ... of a turn the unit
(r, c) has what is at

    row * (r - a*t) + (c - b*t)

if values of the register move by (a, b). From a sum, which moves by (d, 0), so much further: ((d - a) * row - b) * t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np
from numpy.lib.stride_tricks import as_strided

from polyml import config
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.emit import PARALLEL_WORK
from polyml.codegen.llvm.ssa_value import memory_type
from polyml.dtypes import DType
from polyml.machines import cpu
from polyml.numpy_dtypes import numpy_dtype
from polyml.runtime.loading import thread_pool
from polyml.systolic.program.events import Memory, StridedEvents
from polyml.systolic.program.fold_program import Datapath, FoldProgram, Register
from polyml.systolic.simulate.llvm.module import VectorFunction, loaded
from polyml.systolic.simulate.llvm.values import TOGETHER, chains
from polyml.systolic.simulate.steady_spans import Grid, Span, run_steps, two

ENTRY, _REGISTERS, _STRIPS = "polyml_blocks", "registers", "strips"
LEAST_CYCLES, MOST_CYCLES = 16, 128  # of a block
BLOCKS = 8  # of a turn: threads wait for one another twice in each
NEAR = 2 / 3  # of the first cache, for what a strip reads of a block
CLOSE = 8  # elements of a cycle that come in or go out before the next cycle's: more lines may not fit into one set of a cache
EVENT_WORDS = 7

_FIRST, _END, _ROWS, _COLUMNS, _THREADS, _START, _CYCLES, _BEFORE, _OTHERS = range(9)  # words
_DECLARED = {
    "llvm.memmove": "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
    "llvm.smin": "declare i64 @llvm.smin.i64(i64, i64)",
    "polyml_parallel": "declare void @polyml_parallel(ptr, ptr, i64, i64)",
}

Planes = Mapping[Register, np.ndarray]


@dataclass(frozen=True)
class _RegisterLayout:
    """A register's vector. row: elements from a row to the next. first: the element of the unit (0, 0) before a turn's first
    cycle. step: rows that values move in a cycle. moved: elements by which a unit's is further in each cycle.
    """

    length: int
    row: int
    first: int
    step: int
    moved: int
    kind: DType


class TimeBlocks:
    """Runs spans of the folds that have this grid, and as many loads and stores of each register. arguments: numbers by name."""

    def __init__(self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: Grid, arguments: Mapping[str, object]):
        host = cpu.host()
        types = {(name, read): kind for name, datapath in datapaths.items() for read, kind in enumerate(datapath.types)}
        lanes = max(1, host.vector_bytes // max(kind.size_bytes for kind in types.values()))
        together = min(TOGETHER, -(-grid.columns // lanes))
        self._grid, self._strip, self._threads = grid, lanes * together, thread_pool.count(config.resolve().threads)
        self._cycles = self._near(types)
        self._places = {own: self._place(types[own], steps) for own, steps in grid.moves}
        self._vectors = {own: _aligned(place.length, numpy_dtype(place.kind)) for own, place in self._places.items()}
        emitter = _Emitter(datapaths, fold, grid, self._places, self._cycles, self._strip)
        for name, datapath in datapaths.items():
            emitter.chains(name, datapath, arguments, (lanes, together))
        self._call = loaded(ENTRY, emitter.finished())

    def _near(self, types: Mapping[Register, DType]) -> int:
        """Cycles of a block: a power of two."""
        sums = dict(self._grid.sums).values()
        read = self._strip * sum(kind.size_bytes for own, kind in types.items() if own not in sums)
        fit = int(NEAR * cpu.host().cache(1).size_bytes) // max(read, 1)
        return max(LEAST_CYCLES, min(MOST_CYCLES, 1 << max(fit.bit_length() - 1, 0)))

    def _place(self, kind: DType, steps: tuple[int, int]) -> _RegisterLayout:
        a, b = steps
        line = max(1, cpu.host().line_bytes // kind.size_bytes)
        columns, turn = -(-self._grid.columns // self._strip) * self._strip, self._cycles * BLOCKS
        columns += turn * abs(b)
        row = (-(-columns // line) | 1) * line  # an odd number of lines: rows fall into different sets of a cache
        first = turn * (max(a, 0) * row + max(b, 0))
        return _RegisterLayout((self._grid.rows + turn * abs(a)) * row, row, first, a, -(a * row + b), kind)

    def run(
        self, fold: FoldProgram, shape: Sequence[int], memories: Mapping[Memory, np.ndarray], span: Span, planes: Planes
    ) -> None:
        """planes: what all units have in each register before the span; then what they have after it."""
        views = {own: self._used(plane, fold, shape) for own, plane in planes.items()}
        rows, columns = next(iter(views.values())).shape
        number = self._threads if rows * columns * self._cycles * BLOCKS >= PARALLEL_WORK else 1
        words, kept = [*span, rows, columns, number, 0, 0, 0], []
        for own, place in self._places.items():
            words.append(self._vectors[own].ctypes.data + place.first * place.kind.size_bytes)
            for runs in (*_stores(fold, self._grid, own), *_loads(fold, own)):
                arrays, numbers = self._events(runs, place, fold, shape)
                arrays = [*map(np.ascontiguousarray, arrays), memories[runs.memory]]
                kept += arrays
                words += [*(array.ctypes.data for array in arrays), *numbers]
        for own, view in views.items():
            self._plane(own, view.shape)[...] = view
        self._call(np.array(words, np.int64).ctypes.data)
        for own, view in views.items():
            view[...] = self._plane(own, view.shape)

    def _used(self, plane: np.ndarray, fold: FoldProgram, shape: Sequence[int]) -> np.ndarray:
        """The units that have instances, by row and column of the grid."""
        here = plane.reshape(two(shape, 1))[tuple(slice(low, high + 1) for low, high in two(fold.used, (0, 0)))]
        return here.T if self._grid.turned else here

    def _plane(self, own: Register, shape: tuple[int, int]) -> np.ndarray:
        """What these units have before a turn's first cycle."""
        place, size = self._places[own], self._places[own].kind.size_bytes
        return as_strided(self._vectors[own][place.first :], shape, (place.row * size, size))

    def _events(
        self, runs: StridedEvents, place: _RegisterLayout, fold: FoldProgram, shape: Sequence[int]
    ) -> tuple[list[np.ndarray], list[int]]:
        """By cycle, the first one's place before a turn and its element, and how many there are; most of a cycle, and steps."""
        _, columns = two(shape, 1)
        (row, _), (column, _) = two(fold.used, (0, 0))
        factors = (1, place.row) if self._grid.turned else (place.row, 1)

        def at(x, y):
            return factors[0] * x + factors[1] * y

        first = np.divmod(runs.units, columns)
        numbers = [int(runs.counts.max(initial=0)), at(*run_steps(runs, columns)), runs.element_step]
        return [at(first[0] - row, first[1] - column), runs.elements, runs.counts], numbers


def form(fold: FoldProgram, grid: Grid) -> tuple:
    """What the code for a fold depends on."""
    return grid, tuple((len(_stores(fold, grid, own)), len(_loads(fold, own))) for own, _ in grid.moves)


def _stores(fold: FoldProgram, grid: Grid, own: Register) -> list[StridedEvents]:
    """Of the register's sums; others are in no span."""
    return [events for name, events in fold.stores if dict(grid.sums)[name] == own and isinstance(events, StridedEvents)]


def _loads(fold: FoldProgram, own: Register) -> list[StridedEvents]:
    return [events for events in fold.operands[own].loads if isinstance(events, StridedEvents)]


def _aligned(length: int, kind: np.dtype) -> np.ndarray:
    """Zeros that begin where a cache line does."""
    line = cpu.host().line_bytes
    memory = np.zeros(length * kind.itemsize + line, np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + length * kind.itemsize].view(kind)


class _Emitter:
    """Writes `i64 @polyml_blocks(ptr %words)`: `_FIRST` and so on, then by register its vector before a turn's first cycle, and
    its stores and loads in the order in which `Blocks.run` has them. cycles: of a block. strip: columns of one.
    """

    def __init__(
        self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: Grid, places: Mapping[Register, _RegisterLayout], cycles: int, strip: int
    ):  # fmt: skip
        self._datapaths, self._grid, self._places, self._cycles, self._strip = datapaths, grid, places, cycles, strip
        self._events = {own: (len(_stores(fold, grid, own)), len(_loads(fold, own))) for own in places}
        self._units: list[Unit] = []
        lengths = (1 + EVENT_WORDS * sum(numbers) for numbers in self._events.values())
        self._word = dict(zip(places, accumulate(lengths, initial=_OTHERS)))

    def finished(self) -> list[Unit]:
        self._add(self._registers(), "llvm.memmove", "llvm.smin")
        self._add(self._strips(), "llvm.smin")
        self._add(self._blocks(), "llvm.smin", "polyml_parallel")
        return self._units

    def _add(self, fn: VectorFunction, *declared: str) -> None:
        text = fn.text()
        self._units.append(Unit(fn.label, text, {name: _DECLARED[name] for name in declared}, float(len(text))))

    def chains(self, name: str, datapath: Datapath, arguments: Mapping[str, object], vectors: tuple[int, int]) -> None:
        register = dict(self._grid.sums)[name]
        places = [self._places[name, read] for read in range(len(datapath.types))]
        step = self._places[register].step
        strides = [(place.row, step * place.row + place.moved) for place in places]
        self._units += chains(f"chains_{name}", datapath, arguments, register[1], step, strides, vectors)

    # -- what is not a sum's value -----------------------------------------------------------------------------------

    def _registers(self) -> VectorFunction:
        """Registers of a share."""
        fn = VectorFunction(_REGISTERS, f"internal void @{_REGISTERS}(ptr %words, i64 %share, i64 %shares)")

        def each(number: str) -> None:
            after = fn.block("after")
            for k, own in enumerate(self._places):
                here, other = fn.block("register"), fn.block("other")
                fn.branch(fn.emit(f"icmp eq i64 {number}, {k}"), here, other)
                fn.current = here
                self._register(fn, own)
                fn.jump(after)
                fn.current = other
            fn.jump(after)
            fn.current = after

        fn.loop("%share", len(self._places), each, "%shares")
        fn.current.terminator = "ret void"
        return fn

    def _register(self, fn: VectorFunction, own: Register) -> None:
        """Of the turn before what goes out, of the next one what comes in."""
        place, word, (stores, loads) = self._places[own], self._word[own], self._events[own]
        start, cycles, before = (fn.get("%words", each) for each in (_START, _CYCLES, _BEFORE))
        since, end = fn.integer("sub", start, before), fn.integer("add", start, cycles)
        vector = fn.get("%words", word, "ptr")
        firsts = iter(range(word + 1, word + 1 + EVENT_WORDS * (stores + loads), EVENT_WORDS))

        def out(memory: str, at: str, element: str) -> None:
            fn.copy(place.kind, vector, at, memory, element)

        def in_(memory: str, at: str, element: str) -> None:
            fn.copy(place.kind, memory, element, vector, at)

        for first in islice(firsts, stores):
            self._each(fn, place, first, (since, start), out)
        if place.moved:
            self._back(fn, place, vector, before)
        for first in firsts:
            self._each(fn, place, first, (start, end), in_)

    def _back(self, fn: VectorFunction, place: _RegisterLayout, vector: str, before: str) -> None:
        """To where all is before a turn's first cycle, in an order in which no row comes over one that is still to go."""
        rows, columns = fn.get("%words", _ROWS), fn.get("%words", _COLUMNS)
        size, last = fn.integer("mul", columns, place.kind.size_bytes), fn.integer("sub", rows, 1)
        further, kind = fn.integer("mul", before, place.moved), memory_type(place.kind)

        def each(k: str) -> None:
            there = fn.integer("mul", fn.integer("sub", last, k) if place.step > 0 else k, place.row)
            here = fn.at(kind, vector, fn.integer("add", there, further))
            fn.do(f"call void @llvm.memmove.p0.p0.i64(ptr {fn.at(kind, vector, there)}, ptr {here}, i64 {size}, i1 false)")

        fn.loop(0, rows, each)

    def _each(
        self, fn: VectorFunction, place: _RegisterLayout, first: int, cycles: tuple[str, str], copy: Callable[[str, str, str], None]
    ) -> None:  # fmt: skip
        """copy(memory, place, element) of these cycles of a turn; some elements of all cycles first, whose lines are then near."""
        at, elements, counts, memory = (fn.get("%words", first + k, "ptr") for k in range(4))
        most, step, element_step = (fn.get("%words", first + k) for k in range(4, EVENT_WORDS))

        def some(low: str) -> None:
            high = fn.integer("add", low, CLOSE)

            def cycle(t: str) -> None:
                number = fn.integer("add", fn.integer("sub", t, cycles[0]), 1)
                here = fn.integer("add", fn.get(at, t), fn.integer("mul", number, place.moved))
                element = fn.get(elements, t)
                end = fn.emit(f"call i64 @llvm.smin.i64(i64 {high}, i64 {fn.get(counts, t)})")

                def each(k: str) -> None:
                    ways = ((here, step), (element, element_step))
                    copy(memory, *(fn.integer("add", begin, fn.integer("mul", k, by)) for begin, by in ways))

                fn.loop(low, end, each)

            fn.loop(*cycles, cycle)

        fn.loop(0, most, some, CLOSE)

    # -- sums --------------------------------------------------------------------------------------------------------

    def _strips(self) -> VectorFunction:
        """Strips of a share."""
        fn = VectorFunction(_STRIPS, f"internal void @{_STRIPS}(ptr %words, i64 %share, i64 %shares)")
        cycles, rows, columns = (fn.get("%words", each) for each in (_CYCLES, _ROWS, _COLUMNS))
        vectors = {own: fn.get("%words", word, "ptr") for own, word in self._word.items()}

        def block(first: str, before: str) -> None:
            number = fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.integer('sub', cycles, before)}, i64 {self._cycles})")
            numbers = [f"i64 {each}" for each in (number, rows, first, first)]
            for name, datapath in self._datapaths.items():
                own = [at((name, read), before) for read in range(len(datapath.types))]
                fn.do(f"call i64 @chains_{name}({', '.join([*own, *numbers])})")

        def at(own: Register, before: str) -> str:
            place = self._places[own]
            return f"ptr {fn.at(memory_type(place.kind), vectors[own], fn.integer('mul', before, place.moved))}"

        def each(first: str) -> None:
            fn.loop(0, cycles, lambda before: block(first, before), self._cycles)

        fn.loop(fn.integer("mul", "%share", self._strip), columns, each, fn.integer("mul", "%shares", self._strip))
        fn.current.terminator = "ret void"
        return fn

    def _blocks(self) -> VectorFunction:
        fn = VectorFunction(ENTRY, f"i64 @{ENTRY}(ptr %words)")
        first, end, threads_ = (fn.get("%words", each) for each in (_FIRST, _END, _THREADS))
        strips = fn.integer("udiv", fn.integer("add", fn.get("%words", _COLUMNS), self._strip - 1), self._strip)
        entry, head, body, after = fn.current, fn.block("turn"), fn.block("sums"), fn.block("after")
        fn.jump(head)
        fn.current, start, before = head, fn.name(), fn.name()
        cycles = fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.integer('sub', end, start)}, i64 {self._cycles * BLOCKS})")
        for word, value in ((_START, start), (_CYCLES, cycles), (_BEFORE, before)):
            fn.put("%words", word, value)
        fn.do(f"call void @polyml_parallel(ptr @{_REGISTERS}, ptr %words, i64 {len(self._places)}, i64 {threads_})")
        fn.branch(fn.emit(f"icmp sgt i64 {cycles}, 0"), body, after)
        fn.current = body
        fn.do(f"call void @polyml_parallel(ptr @{_STRIPS}, ptr %words, i64 {strips}, i64 {threads_})")
        next_ = fn.integer("add", start, cycles)
        fn.jump(head)
        head.phis.append(f"{start} = phi i64 [ {first}, %{entry.label} ], [ {next_}, %{body.label} ]")
        head.phis.append(f"{before} = phi i64 [ 0, %{entry.label} ], [ {cycles}, %{body.label} ]")
        fn.current = after
        after.terminator = "ret i64 0"
        return fn
