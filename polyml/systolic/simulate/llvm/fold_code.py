"""LLVM code for the cycles of one fold: registers, events and stores of all PEs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.ssa_value import memory_type
from polyml.dtypes import I64, DType
from polyml.machines import cpu
from polyml.numpy_dtypes import numpy_dtype
from polyml.systolic.program.events import Events, StridedEvents
from polyml.systolic.program.fold_program import Datapath, FoldProgram, Link, Operand, Register
from polyml.systolic.recurrences.value_sources import RESULT
from polyml.systolic.simulate.llvm.module import VectorFunction
from polyml.systolic.simulate.llvm.values import TOGETHER, values
from polyml.systolic.simulate.numpy_engine import ROOM, chained_sums, history_depths, in_place

ENTRY = "polyml_fold"
WIDE_BYTES = 64  # of a wire's value that one store writes


@dataclass(frozen=True)
class CodeVector:
    """A CodeVector is a vector that compiled code works on: its length, the value of all elements at first, and their type."""

    length: int
    fill: int
    kind: np.dtype


class FoldCode:
    """A FoldCode writes the LLVM function `i64 @polyml_fold(ptr %words)`, which runs cycles of one fold.

    The words are the first cycle and the one behind the last, then pointers to the `vectors`, then pointers to the vectors for the
    fold's transfers, broadcasts, loads and stores, in the order in which `_FoldMachineCode.begin` has them.
    vectors: the vectors that the code works on, such as those of registers' values.
    moving: for some registers, the number of a vector that is longer than needed: PE u has element start + u of it, and values pass
        from PE to PE by a change of `start`. The vector with the next number has `start`.
    units: this function, and those that it calls.
    """

    def __init__(
        self, datapaths: Mapping[str, Datapath], fold: FoldProgram, grid: tuple[int, int], arguments: Mapping[str, object]
    ):
        host = cpu.host()
        self._datapaths, self._fold, self._grid = datapaths, fold, grid
        self.vectors: list[CodeVector] = []
        self.moving: dict[Register, int] = {}  # the number of the register's vector
        self._fn, self._words = VectorFunction(ENTRY, f"i64 @{ENTRY}(ptr %words)"), 2
        self._declared: dict[str, str] = {}
        self.units: list[Unit] = []
        self._step = TOGETHER * max(host.vector_bytes, 16)
        self._chained = chained_sums(fold)
        units = prod(grid) + (self._step if self._chained else 0)  # the last row is computed in whole loops, which end behind it
        self._length = -(-units // self._step) * self._step  # the length of vectors, the same for all types
        for name, datapath in datapaths.items():
            widest = max(numpy_dtype(kind).itemsize for kind in (*datapath.types, datapath.result))
            units = self._chain_width(fold.operands[name, self._chained[name]]) if name in self._chained else self._length
            lanes = max(1, host.vector_bytes // widest)
            own = (1, 1, 1) if units == 1 else (lanes, self._padded(units))
            self.units += values(f"values_{name}", datapath, arguments, *own)
        self._users = Counter(link.source for operand in fold.operands.values() for link in operand.links)
        self._in_place = in_place(fold)
        depths, self._reach = history_depths(fold, datapaths, self._in_place)
        self._depths = {source: depth + 1 for source, depth in depths.items()}
        self._histories = {
            source: self._vector(depth * (self._length + 2 * self._reach), self._type(source))
            for source, depth in self._depths.items()
        }
        self._write()

    # -- words -------------------------------------------------------------------------------------------------------

    def _word(self) -> str:
        """Writes a load of the next of the pointers in %words, and returns its LLVM value."""
        at = self._fn.emit(f"getelementptr i64, ptr %words, i64 {self._words}", self._fn.blocks[0])
        self._words += 1
        return self._fn.emit(f"load ptr, ptr {at}", self._fn.blocks[0])

    def _vector(self, length: int, kind: DType | None, fill: int = 0) -> str:
        """Adds to `vectors` a vector that the code works on, and returns the LLVM value of the pointer to it.

        kind: the type of its elements; None for 64-bit integers.
        fill: the value of all elements at first.
        """
        self.vectors.append(CodeVector(length, fill, np.dtype(np.int64) if kind is None else numpy_dtype(kind)))
        return self._word()

    def _type(self, register: Register) -> DType:
        """Returns the type of a register's values."""
        name, read = register
        return self._datapaths[name].result if read == RESULT else self._datapaths[name].types[read]

    # -- the cycles --------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        """Writes the loop over cycles, which is the whole function."""
        fn, fold = self._fn, self._fold
        first, end = fn.get("%words", 0), fn.get("%words", 1)
        bases = {own: self._base(own, operand) for own, operand in fold.operands.items()}
        last_begins = {
            name: self._vector(self._length, None, -1) for name in self._chained
        }  # the last cycle in which a sum began, by PE
        events = {
            own: [
                *([self._word() for _ in range(2)] for _ in (*operand.transfers, *operand.broadcasts)),
                *([self._word() for _ in range(4)] for _ in operand.loads),
            ]
            for own, operand in fold.operands.items()
        }
        stores = [[self._word() for _ in range(4)] for _ in fold.stores]
        entry, head, after = fn.current, fn.block("cycle"), fn.block("after")
        fn.jump(head)
        fn.current = head
        self._cycle = fn.name()
        now = {own: self._register(own, operand, bases[own], events[own]) for own, operand in fold.operands.items()}
        made = {own[0]: now[own] for own in self._in_place}
        results = {name: made[name] if name in made else self._history_at((name, RESULT), "0", 0) for name in self._datapaths}
        for name, datapath in self._datapaths.items():
            registers = [now[name, read] for read in range(len(datapath.types))]
            out = results[name]
            if name in self._chained:
                self._chain_sums(name, registers, out, last_begins[name], events[name, self._chained[name]])
                continue
            fn.do(f"call i64 @values_{name}({', '.join(f'ptr {each}' for each in (*registers, out))})")
        for (name, events_), words in zip(fold.stores, stores):
            kind, memory, out = self._datapaths[name].result, words[3], results[name]
            self._for_events(events_, words, lambda unit, element: self._fn.copy(kind, out, unit, memory, element))
        next_ = fn.emit(f"add i64 {self._cycle}, 1")
        head.phis.append(f"{self._cycle} = phi i64 [ {first}, %{entry.label} ], [ {next_}, %{fn.current.label} ]")
        fn.branch(fn.emit(f"icmp slt i64 {next_}, {end}"), head, after)
        fn.current = after
        after.terminator = "ret i64 0"
        self.units.append(Unit(ENTRY, fn.text(), self._declared, float(len(fn.text()))))

    def _base(self, own: Register, operand: Operand) -> list[str]:
        """Returns the pointers to the vectors that only this register uses: that of its values; for the registers in `moving`, also
        that of the positions `start`. Returns [] for a register that reads its values in another register's vector.
        """
        kind, link = self._type(own), operand.link
        if link is None or link.cycles == 0:
            return [self._vector(self._length, kind)]
        if link.source == own or own in self._in_place:
            room, begin = self._room(link)
            self.moving[own] = len(self.vectors)
            return [self._vector(link.cycles * (self._length + room), kind), self._vector(link.cycles, None, begin)]
        return [self._vector(self._length, kind)] if self._users[link.source] > 1 else []

    def _room(self, link: Link) -> tuple[int, int]:
        """Returns (room, begin) for the vector of a register in `moving`: how many elements it has more than there are PEs, and the
        position at which the first PE's value is at first.
        """
        room = max(ROOM * abs(link.offset), self._length)
        return room, room if link.offset > 0 else 0

    def _register(self, own: Register, operand: Operand, base: list[str], events: list[list[str]]) -> str:
        """Writes code that puts into a vector the values that a register has in this cycle, and returns the pointer to it; element
        u is the value in the PE with the number u.

        base: the pointers that `_base` returns.
        events: for each of the operand's transfers, then broadcasts, then loads, the pointers that say which PEs they concern in
            which cycle.
        """
        link, kind = operand.link, self._type(own)
        if link is None or link.cycles == 0:
            vector = base[0]
        elif link.source == own or own in self._in_place:
            vector = self._advanced(link, kind, *base)
        else:
            vector = self._arrived(link)
            if base and events:
                vector = self._copied_vector(vector, base[0], kind)
        for (along, _), (starts, units) in zip(operand.transfers, events):
            get = self._fn.get
            self._for_listed(starts, lambda k: self._fn.copy(kind, self._arrived(along), get(units, k), vector, get(units, k)))
        transfers, wired = len(operand.transfers), len(operand.broadcasts)
        for loads, words in zip(operand.loads, events[transfers + wired :]):
            memory = words[3]
            self._for_events(loads, words, lambda unit, element: self._fn.copy(kind, memory, element, vector, unit))
        for each, words in zip(operand.broadcasts, events[transfers:]):
            self._spread(kind, vector, each.along, *words)
        if own in self._histories:
            self._copied_vector(vector, self._history_at(own, "0", 0), kind)
        return vector

    def _advanced(self, link: Link, kind: DType, vectors: str, starts: str) -> str:
        """Writes code for a cycle in which each PE of a register in `moving` gets what another one had `link.cycles` cycles before:
        it changes the first PE's position in the vector, and copies values only where the vector ends. Returns the pointer to the
        first PE's value.

        vectors: the pointer to `link.cycles` vectors one after another, which serve one cycle each in turn.
        starts: the pointer to the first PE's position in each of them.
        """
        fn, (room, begin) = self._fn, self._room(link)
        phase = fn.emit(f"urem i64 {self._cycle}, {link.cycles}")
        vector = self._element(kind, vectors, fn.emit(f"mul i64 {phase}, {self._length + room}"))
        slot = fn.emit(f"getelementptr i64, ptr {starts}, i64 {phase}")
        start = fn.emit(f"load i64, ptr {slot}")
        later = fn.emit(f"icmp uge i64 {self._cycle}, {link.cycles}")
        step = fn.emit(f"select i1 {later}, i64 {link.offset}, i64 0")
        there = fn.emit(f"sub i64 {start}, {step}")
        before, back, on = fn.current, fn.block("back"), fn.block("on")
        fn.branch(fn.emit(f"icmp ugt i64 {there}, {room}"), back, on)
        fn.current = back
        self._copied_vector(self._element(kind, vector, start), self._element(kind, vector, str(begin)), kind)
        fn.jump(on)
        fn.current = on
        place = fn.name()
        on.phis.append(f"{place} = phi i64 [ {there}, %{before.label} ], [ {begin - link.offset}, %{back.label} ]")
        fn.do(f"store i64 {place}, ptr {slot}")
        return self._element(kind, vector, place)

    def _spread(self, kind: DType, vector: str, along: int, starts: str, drivers: str) -> None:
        """Writes code that copies the value of each driver (a PE that puts its value on a wire in this cycle) to all PEs of its row
        (along 1) or its column (along 0).

        starts, drivers: the pointers to the list of drivers: where each cycle begins in it, and the numbers of the PEs.
        """
        fn, (rows, columns), type_ = self._fn, self._grid, memory_type(kind)
        size_bytes = numpy_dtype(kind).itemsize
        lanes = WIDE_BYTES // size_bytes
        whole = columns // lanes

        def to_row(k: str) -> None:
            """Writes code that copies the value of the k-th driver to all PEs of the driver's row."""
            unit = self._fn.get(drivers, k)
            first = fn.emit(f"sub i64 {unit}, {fn.emit(f'urem i64 {unit}, {columns}')}")
            value = fn.emit(f"load {type_}, ptr {self._element(kind, vector, unit)}")
            one = fn.emit(f"insertelement <{lanes} x {type_}> poison, {type_} {value}, i32 0")
            every = fn.emit(f"shufflevector <{lanes} x {type_}> {one}, <{lanes} x {type_}> poison, <{lanes} x i32> zeroinitializer")

            def put(stored: str, column: str) -> None:
                """Writes a store of the driver's value to the row's PEs from this column on.

                stored: an LLVM type and value: one copy of the driver's value, or a vector of copies.
                """
                there = self._element(kind, vector, fn.emit(f"add i64 {first}, {column}"))
                fn.do(f"store {stored}, ptr {there}, align {size_bytes}")

            self._fn.loop("0", str(whole), lambda n: put(f"<{lanes} x {type_}> {every}", fn.emit(f"mul i64 {n}, {lanes}")))
            self._fn.loop(str(whole * lanes), str(columns), lambda column: put(f"{type_} {value}", column))

        if along:
            self._for_listed(starts, to_row)
            return
        row = fn.emit(f"alloca [{columns} x {type_}]", fn.blocks[0])

        def column_of(k: str) -> str:
            """Returns the column of the k-th driver."""
            return fn.emit(f"urem i64 {self._fn.get(drivers, k)}, {columns}")

        def to_rows(each: str) -> str:
            """Returns the LLVM value of the number of the first PE in the row with the number `each`."""
            return fn.emit(f"mul i64 {each}, {columns}")

        self._for_listed(starts, lambda k: self._fn.copy(kind, vector, self._fn.get(drivers, k), row, column_of(k)))
        count = fn.emit(
            f"sub i64 {self._fn.get(starts, fn.emit(f'add i64 {self._cycle}, 1'))}, {self._fn.get(starts, self._cycle)}"
        )
        every = fn.emit(f"icmp eq i64 {count}, {columns}")  # whether each column has a driver
        together, single = (fn.emit(f"select i1 {every}, i64 {a}, i64 {b}") for a, b in ((rows, 0), (0, rows)))
        self._fn.loop("0", together, lambda n: self._memmove(row, self._element(kind, vector, to_rows(n)), columns * size_bytes))

        def some(n: str) -> None:
            """Writes code for the n-th row of PEs: it copies each driver's value to the PE that this row has in the driver's
            column. The values are at the pointer `row`, by column.
            """
            first = to_rows(n)
            self._for_listed(
                starts, lambda k: self._fn.copy(kind, row, column_of(k), vector, fn.emit(f"add i64 {first}, {column_of(k)}"))
            )

        self._fn.loop("0", single, some)

    def _chain_sums(self, name: str, registers: list[str], out: str, last_begins: str, events: list[list[str]]) -> None:
        """Writes code for the results of a statement whose sums go down columns or along rows within one cycle: PE after PE adds
        its term to the result of the PE before it, unless a new sum begins in this PE. Where sums go down the columns, all PEs of a
        row do this together.

        name: the statement's name; registers: the pointers to its registers' values; out: the pointer to its results.
        last_begins: the pointer to a vector that has for each PE the last cycle in which a sum began there.
        events: the pointers to the vectors for the loads with which sums begin.
        """
        fn, read = self._fn, self._chained[name]
        operand, (*types, result) = self._fold.operands[name, read], (*self._datapaths[name].types, self._datapaths[name].result)
        for loads, words in zip(operand.loads, events):
            self._for_events(
                loads, words, lambda unit, _: fn.do(f"store i64 {self._cycle}, ptr {self._element(I64, last_begins, unit)}")
            )
        sums, offset, together = registers[read], _link_of(operand).offset, self._chain_width(operand)
        last = prod(self._grid) // together - 1
        made = fn.emit(f"alloca [{self._padded(together)} x {memory_type(result)}]", fn.blocks[0])

        def take(unit: str) -> None:
            """Writes code that copies the result of the PE before this one into the register from which this PE takes the sum so
            far; where a new sum begins in this PE, the register keeps what it has.
            """
            before = self._element(result, out, fn.emit(f"sub i64 {unit}, {offset}"))
            begins = fn.emit(f"icmp eq i64 {self._fn.get(last_begins, unit)}, {self._cycle}")
            own = self._element(types[read], sums, unit)
            value = fn.emit(f"load {memory_type(result)}, ptr {fn.emit(f'select i1 {begins}, ptr {own}, ptr {before}')}")
            fn.do(f"store {memory_type(result)} {value}, ptr {own}")

        def make(k: str) -> None:
            """Writes code for the results of the k-th group of PEs that are computed together: one PE, or a row of them."""
            first = fn.emit(f"mul i64 {k if offset > 0 else fn.emit(f'sub i64 {last}, {k}')}, {together}")
            self._fn.loop("0", str(together), lambda n: take(fn.emit(f"add i64 {first}, {n}")))
            places = [self._element(kind, each, first) for kind, each in zip(types, registers)]
            fn.do(f"call i64 @values_{name}({', '.join(f'ptr {each}' for each in (*places, made))})")
            self._memmove(made, self._element(result, out, first), together * numpy_dtype(result).itemsize)

        self._fn.loop("0", str(last + 1), make)

    def _chain_width(self, operand: Operand) -> int:
        """Returns how many PEs add their terms to their sums together: 1 where sums go along a row, and all PEs of a row where sums
        go down the columns.
        """
        return 1 if _link_of(operand).along else self._grid[1]

    def _padded(self, units: int) -> int:
        """Returns `units` rounded up to the multiple of the elements that one iteration of a loop over vectors computes; 1 for a
        single PE, which is computed without vectors.
        """
        return 1 if units == 1 else -(-units // self._step) * self._step

    def _arrived(self, link: Link) -> str:
        """Returns the pointer to the vector of what each PE gets by a link in this cycle."""
        return self._history_at(link.source, str(self._depths[link.source] - link.cycles), -link.offset)

    def _history_at(self, source: Register, later: str, offset: int) -> str:
        """Returns the pointer to one PE's value in a register's vector of an earlier cycle, or of this one. The vectors of several
        cycles are in a circular buffer.

        later: how many places behind the current cycle's vector the wanted one is; offset: the number of the PE.
        """
        fn, depth = self._fn, self._depths[source]
        turn = fn.emit(f"urem i64 {fn.emit(f'add i64 {self._cycle}, {later}')}, {depth}")
        first = fn.emit(f"mul i64 {turn}, {self._length + 2 * self._reach}")
        return self._element(self._type(source), self._histories[source], fn.emit(f"add i64 {first}, {self._reach + offset}"))

    # -- elements ----------------------------------------------------------------------------------------------------

    def _element(self, kind: DType, vector: str, index: str) -> str:
        """Returns the LLVM address of an element of a vector."""
        return self._fn.at(memory_type(kind), vector, index)

    def _copied_vector(self, here: str, there: str, kind: DType) -> str:
        """Writes code that copies the whole vector `here` to `there`, and returns the pointer `there`."""
        self._memmove(here, there, self._length * numpy_dtype(kind).itemsize)
        return there

    def _memmove(self, here: str, there: str, size_bytes: int) -> None:
        """Writes code that copies bytes from `here` to `there`, which may overlap."""
        self._declared["llvm.memmove"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"
        self._fn.do(f"call void @llvm.memmove.p0.p0.i64(ptr {there}, ptr {here}, i64 {size_bytes}, i1 false)")

    def _for_events(self, events: Events | StridedEvents, words: list[str], each: Callable[[str, str], None]) -> None:
        """Writes a loop over the loads or stores of this cycle.

        each: writes the code for one of them, from the number of the PE and the position of the element in memory.
        """
        fn = self._fn
        if not isinstance(events, StridedEvents):
            starts, units, elements, _ = words
            self._for_listed(starts, lambda k: each(self._fn.get(units, k), self._fn.get(elements, k)))
            return
        count, unit, element = (self._fn.get(word, self._cycle) for word in words[:3])

        def further(first: str, step: int, k: str) -> str:
            """Returns the LLVM value of `first` plus k steps."""
            return fn.emit(f"add i64 {first}, {fn.emit(f'mul i64 {k}, {step}')}")

        self._fn.loop("0", count, lambda k: each(further(unit, events.unit_step, k), further(element, events.element_step, k)))

    def _for_listed(self, starts: str, each: Callable[[str], None]) -> None:
        """Writes a loop over the listed events of this cycle.

        starts: the pointer to where each cycle's events begin; each: writes the body, from an event's number.
        """
        self._fn.loop(self._fn.get(starts, self._cycle), self._fn.get(starts, self._fn.emit(f"add i64 {self._cycle}, 1")), each)


def _link_of(operand: Operand) -> Link:
    """Returns the link of an operand that is a running sum, by which the sum comes from the PE before. Raises ValueError where it
    has none.
    """
    if operand.link is None:
        raise ValueError("a sum that goes on has a link")
    return operand.link
