"""Spans of cycles run as blocks of several cycles each, with LLVM: a sum stays in a vector register for a whole block.

    for each batch of a few blocks
        for each register              on threads
            what has gone out in the batch before goes to memory
            what is there goes back to where its vector begins
            what comes in goes to its place
        for each strip of columns      on threads
            for each block of cycles
                for vectors of sums of a few rows
                    for each cycle     the values of the PEs that these sums are in

Cycle by cycle, all registers of all PEs go through the second cache in every cycle. Of a block, what a strip reads stays in
the first one. What moves has one place for the whole batch, which the PEs pass: in cycle t = 1, 2, ... of a batch the PE
(r, c) has what is at

    row * (r - a*t) + (c - b*t)

if values of the register move by (a, b). From a sum, which moves by (d, 0), it lies so much further: ((d - a) * row - b) * t.
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
from polyml.systolic.program.events import MemoryContents, StridedEvents
from polyml.systolic.program.fold_program import Datapath, FoldProgram, Register
from polyml.systolic.simulate.llvm.module import VectorFunction, loaded
from polyml.systolic.simulate.llvm.values import TOGETHER, ChainShape, chains
from polyml.systolic.simulate.steady_spans import Grid, Span, as_pair, run_steps

ENTRY, _REGISTERS, _STRIPS = "polyml_blocks", "registers", "strips"
LEAST_CYCLES, MOST_CYCLES = 16, 128  # of a block
BLOCKS = 8  # of a batch: threads wait for one another twice in each batch
CACHE_SHARE = 2 / 3  # of the first cache, for what a strip reads of a block
EVENT_GROUP = 8  # events of a cycle that come before those of the next cycle: more lines may not fit into one set of a cache
EVENT_WORDS = 7

_FIRST, _END, _ROWS, _COLUMNS, _THREADS, _START, _CYCLES, _BEFORE, _OTHERS = range(9)  # the positions of words
_DECLARED = {
    "llvm.memmove": "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
    "llvm.smin": "declare i64 @llvm.smin.i64(i64, i64)",
    "polyml_parallel": "declare void @polyml_parallel(ptr, ptr, i64, i64)",
}

Planes = Mapping[Register, np.ndarray]


@dataclass(frozen=True)
class _RegisterLayout:
    """A _RegisterLayout says where in a vector a register's values in all PEs lie, in each cycle of a batch (a few blocks).

    length: how many elements the vector has.
    row: how many elements lie between a row's first PE and the next row's.
    first: the position of the value of PE (0, 0) at the start of a batch.
    step: the rows of PEs by which values move in a cycle.
    advance: what is added to the position of a PE's value with each cycle; no value is copied, each PE reads the next position.
    kind: the type of elements.
    """

    length: int
    row: int
    first: int
    step: int
    advance: int
    kind: DType


class TimeBlocks:
    """A TimeBlocks runs spans of cycles in which elements enter and leave only at the array's boundary. Its compiled code serves
    all folds on this grid that have as many loads and as many stores for each register as the given one.

    arguments: the values of scalar arguments, by name.
    """

    def __init__(self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: Grid, arguments: Mapping[str, object]):
        host = cpu.host()
        types = {(name, read): kind for name, datapath in datapaths.items() for read, kind in enumerate(datapath.types)}
        lanes = max(1, host.vector_bytes // max(kind.size_bytes for kind in types.values()))
        together = min(TOGETHER, -(-grid.columns // lanes))
        self._grid, self._strip, self._threads = grid, lanes * together, thread_pool.count(config.resolve().threads)
        self._cycles = self._block_cycles(types)
        self._layouts = {register: self._layout(types[register], steps) for register, steps in grid.moves}
        self._vectors = {register: _aligned(layout.length, numpy_dtype(layout.kind)) for register, layout in self._layouts.items()}
        emitter = _Emitter(datapaths, fold, grid, _Blocking(self._layouts, self._cycles, self._strip))
        for name, datapath in datapaths.items():
            emitter.chains(name, datapath, arguments, (lanes, together))
        self._call = loaded(ENTRY, emitter.finished())

    def _block_cycles(self, types: Mapping[Register, DType]) -> int:
        """Returns how many cycles a block has: a power of two, so small that what a strip, the columns that are computed together,
        reads in a block fits into the first cache.
        """
        sums = dict(self._grid.sums).values()
        read = self._strip * sum(kind.size_bytes for register, kind in types.items() if register not in sums)
        fit = int(CACHE_SHARE * cpu.host().cache(1).size_bytes) // max(read, 1)
        return max(LEAST_CYCLES, min(MOST_CYCLES, 1 << max(fit.bit_length() - 1, 0)))

    def _layout(self, kind: DType, steps: tuple[int, int]) -> _RegisterLayout:
        """Returns where the values of a register lie in its vector. kind: the type of the values; steps: the rows and columns by
        which they move in a cycle.
        """
        row_step, column_step = steps
        line = max(1, cpu.host().line_bytes // kind.size_bytes)
        columns, batch = -(-self._grid.columns // self._strip) * self._strip, self._cycles * BLOCKS
        columns += batch * abs(column_step)
        row = (-(-columns // line) | 1) * line  # an odd number of lines, so that rows fall into different sets of a cache
        first = batch * (max(row_step, 0) * row + max(column_step, 0))
        return _RegisterLayout(
            (self._grid.rows + batch * abs(row_step)) * row, row, first, row_step, -(row_step * row + column_step), kind
        )

    def run(self, fold: FoldProgram, shape: Sequence[int], memories: MemoryContents, span: Span, planes: Planes) -> None:
        """Runs a span of cycles of a fold, and changes elements of the memories in place.

        planes: what all PEs have in each register before the span; it is replaced by what they have after it.
        """
        views = {register: self._used(plane, fold, shape) for register, plane in planes.items()}
        rows, columns = next(iter(views.values())).shape
        number = self._threads if rows * columns * self._cycles * BLOCKS >= PARALLEL_WORK else 1
        words, kept = [*span, rows, columns, number, 0, 0, 0], []
        for register, layout in self._layouts.items():
            words.append(self._vectors[register].ctypes.data + layout.first * layout.kind.size_bytes)
            for runs in (*_stores(fold, self._grid, register), *_loads(fold, register)):
                arrays, numbers = self._events(runs, layout, fold, shape)
                arrays = [*map(np.ascontiguousarray, arrays), memories[runs.memory]]
                kept += arrays
                words += [*(array.ctypes.data for array in arrays), *numbers]
        for register, view in views.items():
            self._plane(register, view.shape)[...] = view
        self._call(np.array(words, np.int64).ctypes.data)
        for register, view in views.items():
            view[...] = self._plane(register, view.shape)

    def _used(self, plane: np.ndarray, fold: FoldProgram, shape: Sequence[int]) -> np.ndarray:
        """Returns a view of a register's values in the PEs that have instances, by row and column of the grid."""
        here = plane.reshape(as_pair(shape, 1))[tuple(slice(low, high + 1) for low, high in as_pair(fold.used, (0, 0)))]
        return here.T if self._grid.transposed else here

    def _plane(self, register: Register, shape: tuple[int, int]) -> np.ndarray:
        """Returns a view of a register's vector: what PEs with instances have before a batch, by row and column."""
        layout, size = self._layouts[register], self._layouts[register].kind.size_bytes
        return as_strided(self._vectors[register][layout.first :], shape, (layout.row * size, size))

    def _events(
        self, runs: StridedEvents, layout: _RegisterLayout, fold: FoldProgram, shape: Sequence[int]
    ) -> tuple[list[np.ndarray], list[int]]:
        """Returns (vectors, numbers), which tell compiled code of some loads or stores of a register.

        The vectors have for each cycle: the position in the register's vector, at the start of a batch, of the value for the first
        event; the position of its element in memory; and how many events there are. The numbers are the most events of a cycle, and
        how far it is from an event's value, and from its element, to the next event's.
        """
        _, columns = as_pair(shape, 1)
        (row, _), (column, _) = as_pair(fold.used, (0, 0))
        factors = (1, layout.row) if self._grid.transposed else (layout.row, 1)

        def at(x, y):
            """Returns the position in a register's vector of what lies x rows and y columns from the first PE."""
            return factors[0] * x + factors[1] * y

        first = np.divmod(runs.units, columns)
        numbers = [int(runs.counts.max(initial=0)), at(*run_steps(runs, columns)), runs.element_step]
        return [at(first[0] - row, first[1] - column), runs.elements, runs.counts], numbers


def block_form(fold: FoldProgram, grid: Grid) -> tuple:
    """Returns a key that is equal for folds which one code can run: (the grid, how many stores and loads each register has)."""
    return grid, tuple((len(_stores(fold, grid, register)), len(_loads(fold, register))) for register, _ in grid.moves)


def _stores(fold: FoldProgram, grid: Grid, register: Register) -> list[StridedEvents]:
    """Returns the lists of a register's stores whose elements are equally far apart in each cycle; a steady span has no others."""
    return [events for name, events in fold.stores if dict(grid.sums)[name] == register and isinstance(events, StridedEvents)]


def _loads(fold: FoldProgram, register: Register) -> list[StridedEvents]:
    """Returns the lists of a register's loads whose elements are equally far apart in each cycle; a steady span has no others."""
    return [events for events in fold.operands[register].loads if isinstance(events, StridedEvents)]


def _aligned(length: int, kind: np.dtype) -> np.ndarray:
    """Returns a vector of zeros that begins where a cache line does."""
    line = cpu.host().line_bytes
    memory = np.zeros(length * kind.itemsize + line, np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + length * kind.itemsize].view(kind)


@dataclass(frozen=True)
class _Blocking:
    """A _Blocking says into which blocks of cycles and strips of columns a span is divided.

    layouts: by register, where its values lie.
    cycles: the cycles of a block.
    strip: the columns of a strip.
    """

    layouts: Mapping[Register, _RegisterLayout]
    cycles: int
    strip: int


class _Emitter:
    """An _Emitter writes the LLVM function `i64 @polyml_blocks(ptr %words)`, which runs a span of cycles.

    The first words are numbers, such as the span's cycles and the grid's rows; constants of this module name their positions. Then
    come for each register a pointer to its vector, and `EVENT_WORDS` words for each of its stores and then of its loads.
    """

    def __init__(self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: Grid, blocking: _Blocking):
        self._datapaths, self._grid, layouts = datapaths, grid, blocking.layouts
        self._layouts, self._cycles, self._strip = layouts, blocking.cycles, blocking.strip
        self._events = {register: (len(_stores(fold, grid, register)), len(_loads(fold, register))) for register in layouts}
        self._units: list[Unit] = []
        lengths = (1 + EVENT_WORDS * sum(numbers) for numbers in self._events.values())
        self._word = dict(zip(layouts, accumulate(lengths, initial=_OTHERS)))

    def finished(self) -> list[Unit]:
        """Writes the functions that remain, and returns all functions of the module."""
        self._add(self._registers(), "llvm.memmove", "llvm.smin")
        self._add(self._strips(), "llvm.smin")
        self._add(self._blocks(), "llvm.smin", "polyml_parallel")
        return self._units

    def _add(self, fn: VectorFunction, *declared: str) -> None:
        """Adds a function to the module, and declarations of the functions that it calls, whose names are `declared`."""
        text = fn.text()
        self._units.append(Unit(fn.label, text, {name: _DECLARED[name] for name in declared}, float(len(text))))

    def chains(self, name: str, datapath: Datapath, arguments: Mapping[str, object], vectors: tuple[int, int]) -> None:
        """Adds the function that adds a statement's terms to its sums for the cycles of a block.

        vectors: (the elements of a vector register, how many vector registers of sums are computed together).
        """
        register = dict(self._grid.sums)[name]
        layouts = [self._layouts[name, read] for read in range(len(datapath.types))]
        step = self._layouts[register].step
        strides = tuple((layout.row, step * layout.row + layout.advance) for layout in layouts)
        self._units += chains(f"chains_{name}", datapath, arguments, ChainShape(register[1], step, strides, vectors))

    # -- what moves, comes and goes ---------------------------------------------------------------------------------

    def _registers(self) -> VectorFunction:
        """Returns the LLVM function that does one thread's share of the loads, stores and moves of registers between two batches."""
        fn = VectorFunction(_REGISTERS, f"internal void @{_REGISTERS}(ptr %words, i64 %share, i64 %shares)")

        def each(number: str) -> None:
            """Writes code that compares `number` with each register's number, and runs the code for the register that has it."""
            after = fn.block("after")
            for k, register in enumerate(self._layouts):
                here, other = fn.block("register"), fn.block("other")
                fn.branch(fn.emit(f"icmp eq i64 {number}, {k}"), here, other)
                fn.current = here
                self._register(fn, register)
                fn.jump(after)
                fn.current = other
            fn.jump(after)
            fn.current = after

        fn.loop("%share", len(self._layouts), each, "%shares")
        fn.current.terminator = "ret void"
        return fn

    def _register(self, fn: VectorFunction, register: Register) -> None:
        """Writes code that stores what has left a register in the batch before, and loads what enters it in the next one."""
        layout, word, (stores, loads) = self._layouts[register], self._word[register], self._events[register]
        start, cycles, before = (fn.get("%words", each) for each in (_START, _CYCLES, _BEFORE))
        since, end = fn.integer("sub", start, before), fn.integer("add", start, cycles)
        vector = fn.get("%words", word, "ptr")
        firsts = iter(range(word + 1, word + 1 + EVENT_WORDS * (stores + loads), EVENT_WORDS))

        def out(memory: str, at: str, element: str) -> None:
            """Writes code that copies an element from the vector to memory."""
            fn.copy(layout.kind, vector, at, memory, element)

        def in_(memory: str, at: str, element: str) -> None:
            """Writes code that copies an element from memory to the vector."""
            fn.copy(layout.kind, memory, element, vector, at)

        for first in islice(firsts, stores):
            self._copies(fn, layout, first, (since, start), out)
        if layout.advance:
            self._rewind(fn, layout, vector, before)
        for first in firsts:
            self._copies(fn, layout, first, (start, end), in_)

    def _rewind(self, fn: VectorFunction, layout: _RegisterLayout, vector: str, before: str) -> None:
        """Writes code that moves the values of each row of PEs to where the row lies at the start of a batch, from where it lay at
        the end of the one before. The rows are taken in such an order that none overwrites one still to be moved.
        """
        rows, columns = fn.get("%words", _ROWS), fn.get("%words", _COLUMNS)
        size, last = fn.integer("mul", columns, layout.kind.size_bytes), fn.integer("sub", rows, 1)
        further, kind = fn.integer("mul", before, layout.advance), memory_type(layout.kind)

        def each(k: str) -> None:
            """Writes code that moves one row."""
            there = fn.integer("mul", fn.integer("sub", last, k) if layout.step > 0 else k, layout.row)
            here = fn.at(kind, vector, fn.integer("add", there, further))
            fn.do(f"call void @llvm.memmove.p0.p0.i64(ptr {fn.at(kind, vector, there)}, ptr {here}, i64 {size}, i1 false)")

        fn.loop(0, rows, each)

    def _copies(
        self, fn: VectorFunction, layout: _RegisterLayout, first: int, cycles: tuple[str, str], copy: Callable[[str, str, str], None]
    ) -> None:  # fmt: skip
        """Writes code that makes all events (element loads, or element stores) of one list, each by a call copy(pointer to the
        memory, position in the register's vector, position in the memory). The code makes a few events of every cycle, then the
        next few of every cycle, so that elements of one cache line are copied together.
        first: where the words that describe the list begin in `%words`. cycles: the first cycle, and the one after the last.
        """
        at, elements, counts, memory = (fn.get("%words", first + k, "ptr") for k in range(4))
        most, step, element_step = (fn.get("%words", first + k) for k in range(4, EVENT_WORDS))

        def some(low: str) -> None:
            """Writes code for the events low, low + 1 and so on of every cycle, at most `EVENT_GROUP` of each."""
            high = fn.integer("add", low, EVENT_GROUP)

            def cycle(t: str) -> None:
                """Writes code for these events of one cycle."""
                number = fn.integer("add", fn.integer("sub", t, cycles[0]), 1)
                here = fn.integer("add", fn.get(at, t), fn.integer("mul", number, layout.advance))
                element = fn.get(elements, t)
                end = fn.emit(f"call i64 @llvm.smin.i64(i64 {high}, i64 {fn.get(counts, t)})")

                def each(k: str) -> None:
                    """Writes code for the k-th event of the cycle."""
                    ways = ((here, step), (element, element_step))
                    copy(memory, *(fn.integer("add", begin, fn.integer("mul", k, by)) for begin, by in ways))

                fn.loop(low, end, each)

            fn.loop(*cycles, cycle)

        fn.loop(0, most, some, EVENT_GROUP)

    # -- sums --------------------------------------------------------------------------------------------------------

    def _strips(self) -> VectorFunction:
        """Returns the LLVM function that computes one thread's share of the strips of columns, over one batch."""
        fn = VectorFunction(_STRIPS, f"internal void @{_STRIPS}(ptr %words, i64 %share, i64 %shares)")
        cycles, rows, columns = (fn.get("%words", each) for each in (_CYCLES, _ROWS, _COLUMNS))
        vectors = {register: fn.get("%words", word, "ptr") for register, word in self._word.items()}

        def block(first: str, before: str) -> None:
            """Writes the call that computes one block of cycles of the strip at column `first`, after `before` cycles of the batch."""
            number = fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.integer('sub', cycles, before)}, i64 {self._cycles})")
            numbers = [f"i64 {each}" for each in (number, rows, first, first)]
            for name, datapath in self._datapaths.items():
                register = [at((name, read), before) for read in range(len(datapath.types))]
                fn.do(f"call i64 @chains_{name}({', '.join([*register, *numbers])})")

        def at(register: Register, before: str) -> str:
            """Returns the LLVM argument that points to the values a register has after `before` cycles of the batch."""
            layout = self._layouts[register]
            return f"ptr {fn.at(memory_type(layout.kind), vectors[register], fn.integer('mul', before, layout.advance))}"

        def each(first: str) -> None:
            """Writes the loop over the blocks of cycles of one strip."""
            fn.loop(0, cycles, lambda before: block(first, before), self._cycles)

        fn.loop(fn.integer("mul", "%share", self._strip), columns, each, fn.integer("mul", "%shares", self._strip))
        fn.current.terminator = "ret void"
        return fn

    def _blocks(self) -> VectorFunction:
        """Returns the LLVM function that runs a span of cycles: batch after batch, each of which is a few blocks of cycles."""
        fn = VectorFunction(ENTRY, f"i64 @{ENTRY}(ptr %words)")
        first, end, threads_ = (fn.get("%words", each) for each in (_FIRST, _END, _THREADS))
        strips = fn.integer("udiv", fn.integer("add", fn.get("%words", _COLUMNS), self._strip - 1), self._strip)
        entry, head, body, after = fn.current, fn.block("turn"), fn.block("sums"), fn.block("after")
        fn.jump(head)
        fn.current, start, before = head, fn.name(), fn.name()
        cycles = fn.emit(f"call i64 @llvm.smin.i64(i64 {fn.integer('sub', end, start)}, i64 {self._cycles * BLOCKS})")
        for word, value in ((_START, start), (_CYCLES, cycles), (_BEFORE, before)):
            fn.put("%words", word, value)
        fn.do(f"call void @polyml_parallel(ptr @{_REGISTERS}, ptr %words, i64 {len(self._layouts)}, i64 {threads_})")
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
