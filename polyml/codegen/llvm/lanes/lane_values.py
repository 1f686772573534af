"""The values of a Region's expressions in several instances at once, one in each lane of vectors.

Lanes that are not at a place of the code compute there too, without effects: they load and store nothing, and their errors are none.
Their results may be poison, so that masks choose (`select`) and are not combined by `and`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polyml.codegen.analysis.region_lanes import Cell, LaneNumbers
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import CannotRunTogether, Instance
from polyml.codegen.llvm import numpy_functions
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.lanes.lane_checks import LaneChecks
from polyml.codegen.llvm.lanes.masks import Masks
from polyml.codegen.llvm.regions.region_values import RegionValues
from polyml.codegen.llvm.ssa_value import SsaValue, literal, name_suffix, register_type, vector_type
from polyml.codegen.llvm.statements.expressions import Operands, Term
from polyml.codegen.llvm.statements.locations import AccessLocations
from polyml.dtypes import BOOL, PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Statement


@dataclass(frozen=True)
class LaneGroup:
    """A LaneGroup is what is known of instances that run together.

    copy: the iterations that the lanes are
    numbers: which numbers differ between lanes
    written: the elements that an instance alone accesses and writes, which are numbers while it runs
    read: the elements that the instances read at least once, all before anything else
    rerun: the block that runs the instances one by one, because one of them ends with an error
    """

    copy: Copy
    numbers: LaneNumbers
    written: frozenset[Cell]
    read: frozenset[Cell]
    rerun: BasicBlock


class LaneValues(RegionValues):
    """A LaneValues emits the expressions of several instances of one region at once."""

    def __init__(self, body: ElementAccess, locations: AccessLocations, statement: Statement, node: Instance, group: LaneGroup):
        if statement.region is None:
            raise TypeError(f"{statement.name} is no region")
        self.group, self.lanes = group, group.copy.lanes
        super().__init__(body, locations, statement, statement.region, node)
        self._checks = LaneChecks(body, self.failing)
        self.masks = Masks(body, self.lanes)
        self._cells = {cell: self._alloca(self._cell_type(cell)) for cell in sorted(group.written | group.read, key=str)}
        self._written = {cell: self._alloca(vector_type("i1", self.lanes)) for cell in sorted(group.written, key=str)}

    # -- errors ---------------------------------------------------------------------------------------------------

    def failing(self, happened: SsaValue) -> None:
        """Emits a branch to the instances one by one if something happened in a lane that is at this place of the code."""
        fn = self._body.fn
        some = happened.ssa if happened.lanes == 1 else self.masks.any(self.masks.among(self.masks.live, happened))
        fine = fn.block("fine")
        fn.branch(some, self.group.rerun, fine)
        fn.current = fine

    def _alloca(self, kind: str) -> str:
        return self._body.fn.emit(f"alloca {kind}", self._body.fn.blocks[0])

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _kind(self, name: str, dtype: DType) -> str:
        """Returns the LLVM type of a number's memory."""
        return vector_type(register_type(dtype), self.lanes if name in self.group.numbers.varying else 1)

    def number(self, name: str) -> SsaValue:
        """Emits the load of a number of the region, and returns its value."""
        if name not in self.group.numbers.varying:
            return super().number(name)
        dtype = self._types[name]
        ssa = self._body.fn.emit(f"load {self._kind(name, dtype)}, ptr {self._places[name]}")
        return SsaValue(ssa, dtype, self.lanes)

    def assign(self, target: syntax.Target, value: SsaValue) -> None:
        """Emits the store of a value to a number or an element, in the lanes that are at this place of the code."""
        if isinstance(target, syntax.Name):
            if target.name not in self.group.numbers.varying:
                super().assign(target, value)
            else:
                self._blend(value, self._places[target.name])
            return
        if not isinstance(target, syntax.Subscript):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        cell = target.array, target.indices
        if cell in self._written:
            if not target.inside:
                self._positions(target)
            self._blend(replace(value, dtype=self._element_type(cell)), self._cells[cell])
            self._blend(SsaValue("true", BOOL), self._written[cell])
            return
        self._store(target, value, self.masks.live)

    def _blend(self, value: SsaValue, place: str) -> None:
        value, live = self._body.math.splat(value, self.lanes), self.masks.live
        before = self._body.fn.emit(f"load {value.type}, ptr {place}")
        after = self._body.fn.emit(f"select {live.type} {live.ssa}, {value.type} {value.ssa}, {value.type} {before}")
        self._body.fn.do(f"store {value.type} {after}, ptr {place}")

    def value(self, e: Term, operands: Operands) -> SsaValue:
        """Emits an expression, and returns its value: a vector where it may differ between lanes."""
        if isinstance(e, Integer):
            return self._integer(e)
        return super().value(e, operands)

    def _integer(self, e: Integer) -> SsaValue:
        copy, dtype = self.group.copy, e.dtype or PYINT
        affine = e.affine.substitute(self._iterators)
        first = SsaValue(self._body.integer(affine.substitute(copy.values)), dtype)
        if copy.lane_var is None or copy.lane_var not in affine.names:
            return first
        step = affine.coefficient(copy.lane_var)
        if step is None:
            at = ({**copy.values, copy.lane_var: copy.values[copy.lane_var] + lane} for lane in range(copy.lanes))
            return self._body.math.vector([SsaValue(self._body.integer(affine.substitute(each)), dtype) for each in at])
        ramp = ", ".join(f"i64 {step * lane}" for lane in range(copy.lanes))
        return self._body.math.plain("+", first, SsaValue(f"<{ramp}>", dtype, copy.lanes))

    # -- elements --------------------------------------------------------------------------------------------------

    def _element_type(self, cell: Cell) -> DType:
        return self._body.scop.arrays[cell[0]].element

    def _cell_type(self, cell: Cell) -> str:
        return vector_type(register_type(self._element_type(cell)), self.lanes)

    def _of_cell(self, cell: Cell) -> SsaValue:
        """Emits the load of an element that is a number while the instances run, and returns its value."""
        return SsaValue(
            self._body.fn.emit(f"load {self._cell_type(cell)}, ptr {self._cells[cell]}"), self._element_type(cell), self.lanes
        )

    def _element(self, e: syntax.Subscript) -> SsaValue:
        cell = e.array, e.indices
        if not e.indices:
            return super()._element(e)
        if cell in self._cells:
            return self._of_cell(cell)
        return self._load(e, self.masks.live)

    def _load(self, e: syntax.Subscript, mask: SsaValue) -> SsaValue:
        fn, dtype = self._body.fn, self._body.scop.arrays[e.array].element
        address, kind, is_row = self._vector_address(e)
        element, align = self._memory(e.array)
        if kind == "ptr" and not is_row:
            ssa, lanes = fn.emit(f"load {element}, ptr {address}, align {align}"), 1
        else:
            lanes, wide = self.lanes, vector_type(element, self.lanes)
            name = f"llvm.masked.{'load' if is_row else 'gather'}.v{lanes}{name_suffix(element)}.{'' if is_row else f'v{lanes}'}p0"
            self._body.declared.setdefault(name, f"declare {wide} @{name}({kind}, {mask.type}, {wide})")
            ssa = fn.emit(f"call {wide} @{name}({kind} align {align} {address}, {mask.type} {mask.ssa}, {wide} zeroinitializer)")
        if dtype.kind == "b":
            ssa = fn.emit(f"icmp ne {vector_type('i8', lanes)} {ssa}, {'0' if lanes == 1 else 'zeroinitializer'}")
        return SsaValue(ssa, dtype, lanes)

    def _store(self, target: syntax.Subscript, value: SsaValue, mask: SsaValue, is_tested: bool = False) -> None:
        fn, lanes = self._body.fn, self.lanes
        address, kind, is_row = self._vector_address(target, is_tested)
        if kind == "ptr" and not is_row:
            raise CannotRunTogether(f"all lanes store to one element of {target.array}")
        element, align = self._memory(target.array)
        wide, value = vector_type(element, lanes), self._body.math.splat(value, lanes)
        ssa = fn.emit(f"zext {value.type} {value.ssa} to {wide}") if value.dtype.kind == "b" else value.ssa
        name = f"llvm.masked.{'store' if is_row else 'scatter'}.v{lanes}{name_suffix(element)}.{'' if is_row else f'v{lanes}'}p0"
        self._body.declared.setdefault(name, f"declare void @{name}({wide}, {kind}, {mask.type})")
        fn.do(f"call void @{name}({wide} {ssa}, {kind} align {align} {address}, {mask.type} {mask.ssa})")

    def _vector_address(self, e: syntax.Subscript, is_tested: bool = False) -> tuple[str, str, bool]:
        """Emits the tests of an element's indices and its address in each lane. Returns (the SSA name, its LLVM type, whether the
        lanes' elements lie side by side, so that one address stands for all).

        is_tested: whether the tests were emitted before
        """
        body, fn, math = self._body, self._body.fn, self._body.math
        positions = self._positions(e, is_tested)
        strides = [body.stride(stride) for stride in body.module.layout.strides(e.array)]
        varying = [dim for dim, position in enumerate(positions) if position.lanes > 1]
        size_bytes = str(body.scop.arrays[e.array].element.size_bytes)
        is_row = len(varying) == 1 and strides[varying[0]] == size_bytes and self._is_ramp(e, varying[0])
        pointer, offsets = self._base(e.array), None
        for dim, (position, stride) in enumerate(zip(positions, strides)):
            if position.lanes > 1 and is_row:
                position = self._first(e.indices[dim])
            if position.lanes == 1:
                moved = fn.emit(f"mul nsw i64 {position.ssa}, {stride}")
                pointer = fn.emit(f"getelementptr inbounds i8, ptr {pointer}, i64 {moved}")
                continue
            each = math.plain("*", position, SsaValue(stride, PYINT))
            offsets = each if offsets is None else math.plain("+", offsets, each)
        if offsets is None:
            return pointer, "ptr", is_row
        return fn.emit(f"getelementptr i8, ptr {pointer}, {offsets.type} {offsets.ssa}"), f"<{self.lanes} x ptr>", False

    def _is_ramp(self, e: syntax.Subscript, dim: int) -> bool:
        """Returns whether an index grows by one from lane to lane, and does not wrap around."""
        index, lane_var = e.indices[dim], self.group.copy.lane_var
        if not isinstance(index, Integer) or lane_var is None:
            return False
        is_ramp = index.affine.substitute(self._iterators).coefficient(lane_var) == 1
        return is_ramp and (e.inside or self._least(index) >= 0)

    def _first(self, index: syntax.Expr) -> SsaValue:
        if not isinstance(index, Integer):
            raise TypeError(f"no affine index: {index!r}")
        affine = index.affine.substitute(self._iterators).substitute(self.group.copy.values)
        return SsaValue(self._body.integer(affine), PYINT)

    def _least(self, index: syntax.Expr) -> int:
        """Returns a bound that an index is never below in any lane."""
        least = self.integers.of(index)[0]
        if isinstance(index, Integer):
            affine, lane_var = index.affine.substitute(self._iterators), self.group.copy.lane_var
            step = affine.coefficient(lane_var) if lane_var is not None and lane_var in affine.names else 0
            if step is not None and step >= 0:
                least = max(least, self._body.module.ranges.of(affine.substitute(self.group.copy.values))[0])
        return least

    def _positions(self, e: syntax.Subscript, is_tested: bool = False) -> list[SsaValue]:
        """Emits the indices of an element, with tests that an element has them, and returns them counted from 0.

        is_tested: whether the tests were emitted before
        """
        body, found = self._body, []
        for dim, index in enumerate(e.indices):
            if e.inside:
                found.append(self._inside(index))
                continue
            size = SsaValue(body.integer(body.module.table.affine(body.scop.arrays[e.array].shape[dim])), PYINT)
            found.append(self._from_start(index, size, is_tested))
        return found

    def _from_start(self, index: syntax.Expr, size: SsaValue, is_tested: bool) -> SsaValue:
        """Emits an index with a test that it is one of so many elements, and returns it counted from 0.

        is_tested: whether the test was emitted before
        """
        math, position = self._body.math, self.of(index)
        inside = self._is_below(position, size)
        if self._least(index) < 0:
            from_end = math.plain("+", position, size)
            position = math.select(inside, position, from_end)
            inside = self._is_below(position, size)
        if not is_tested:
            self.failing(math.invert(inside))
        return position

    def _inside(self, index: syntax.Expr) -> SsaValue:
        """Emits an index that is known to be within its array, without tests, and returns it."""
        if isinstance(index, syntax.Binary) and index.op in ("+", "-", "*"):
            return self._body.math.plain(index.op, self._inside(index.left), self._inside(index.right))
        return self.of(index)

    def _is_below(self, position: SsaValue, size: SsaValue) -> SsaValue:
        """Emits whether positions are from 0 to below a size, and returns the truth value."""
        position, size = self._body.math.broadcast(position, size)
        return SsaValue(self._body.fn.emit(f"icmp ult {position.type} {position.ssa}, {size.ssa}"), BOOL, position.lanes)

    def begin(self) -> None:
        """Emits the loads of the elements that are numbers while the instances run."""
        for place in self._written.values():
            self._body.fn.do(f"store {vector_type('i1', self.lanes)} zeroinitializer, ptr {place}")
        for array, indices in sorted(self.group.read, key=str):
            dtype = self._element_type((array, indices))
            value = self._body.math.splat(
                self._load(syntax.Subscript(array, indices, inside=True, dtype=dtype), self.masks.live), self.lanes
            )
            self._body.fn.do(f"store {value.type} {value.ssa}, ptr {self._cells[array, indices]}")

    def end(self) -> None:
        """Emits the stores of the elements that were numbers while the instances ran."""
        for (array, indices), written in self._written.items():
            dtype = self._element_type((array, indices))
            value = self._of_cell((array, indices))
            self._store(syntax.Subscript(array, indices, dtype=dtype), value, self.masks.at(written), is_tested=True)

    # -- operations ------------------------------------------------------------------------------------------------

    def _logical(self, e: syntax.Logical, operands: Operands) -> SsaValue:
        if self.group.numbers.is_uniform(e):
            return super()._logical(e, operands)
        math = self._body.math
        total = math.truth(self.of(e.operands[0]))
        for operand in e.operands[1:]:
            if self.is_plain(operand):
                total = math.logical(e.op, total, math.truth(self.of(operand)))
            else:
                asks = total if e.op == "and" else math.invert(total)
                total = self._where(asks, self._later(operand), math.splat(total, self.lanes))
        return total

    def _choice(self, e: syntax.IfExp, operands: Operands) -> SsaValue:
        if self.group.numbers.is_uniform(e):
            return super()._choice(e, operands)
        if self.group.numbers.is_uniform(e.condition):
            return self._one_side(e)
        math = self._body.math
        test = math.truth(self.of(e.condition))
        if self.is_plain(e.then) and self.is_plain(e.orelse):
            return math.select(test, self.of(e.then), self.of(e.orelse))
        total = self._where(test, lambda: self.of(e.then), SsaValue("zeroinitializer", e.dtype, self.lanes))
        return self._where(math.invert(test), lambda: self.of(e.orelse), total)

    def _one_side(self, e: syntax.IfExp) -> SsaValue:
        """Emits a conditional expression whose condition is the same in all lanes, and returns its value in each lane."""
        test = self._body.math.truth(self.of(e.condition))

        def side(value: syntax.Expr) -> Callable[[], SsaValue]:
            return lambda: self._body.math.splat(self.of(value), self.lanes)

        return self._branches(test, side(e.then), side(e.orelse))

    def _where(self, test: SsaValue, made: Callable[[], SsaValue], otherwise: SsaValue) -> SsaValue:
        """Emits a value that only the lanes compute of which a test is true, and returns it, with another one in the others."""
        fn, place = self._body.fn, self._alloca(otherwise.type)
        fn.do(f"store {otherwise.type} {otherwise.ssa}, ptr {place}")
        saved = self.masks.live
        chosen = self.masks.among(saved, test)
        some, after = fn.block("some"), fn.block("after")
        self.masks.live = chosen
        fn.branch(self.masks.any(chosen), some, after)
        fn.current = some
        self._body.math.forget()
        value = self._body.math.splat(made(), self.lanes)
        result = fn.emit(f"select {chosen.type} {chosen.ssa}, {value.type} {value.ssa}, {value.type} {otherwise.ssa}")
        fn.do(f"store {value.type} {result}, ptr {place}")
        fn.jump(after)
        fn.current = after
        self._body.math.forget()
        self.masks.live = saved
        return replace(otherwise, ssa=fn.emit(f"load {otherwise.type}, ptr {place}"))

    def _test_operand(self, e: syntax.Binary, operand: SsaValue, test: str) -> None:
        self.failing(self._body.math.compare(test, operand, SsaValue("0", PYINT)))

    def _within_64_bits(self, e: syntax.Binary | syntax.Unary) -> SsaValue | None:
        """Emits an operation of Python ints that is known not to leave 64 bits, and returns its value; None for other operators.

        Lanes that are elsewhere may leave them, so that no result is poison then.
        """
        if isinstance(e, syntax.Unary):
            return self._body.math.negate(self.of(e.operand)) if e.op == "-" else None
        if e.op in ("//", "%"):
            return self._quotient(e)
        return self._body.math.plain(e.op, self.of(e.left), self.of(e.right)) if e.op in ("+", "-", "*") else None

    def _quotient(self, e: syntax.Binary) -> SsaValue | None:
        math, divisor = self._body.math, e.right
        if not isinstance(divisor, syntax.Const) or divisor.value <= 0:
            return None
        left, by = self.of(e.left), int(divisor.value)
        if by & (by - 1):
            return numpy_functions.floor_divide(math, left, SsaValue(literal(by, PYINT), PYINT), e.op == "%")
        if e.op == "%":
            return math.logical("and", left, SsaValue(str(by - 1), PYINT))
        bits = math.splat(SsaValue(str(by.bit_length() - 1), PYINT), left.lanes)
        return replace(left, ssa=self._body.fn.emit(f"ashr {left.type} {left.ssa}, {bits.ssa}"))
