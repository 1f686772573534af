"""The values of a Region's expressions: numbers and elements at any index, each evaluated where Python evaluates it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace

from polyml.codegen.analysis.integer_ranges import Interval
from polyml.codegen.analysis.region_indices import in_64_bits
from polyml.codegen.analysis.region_integers import FULL, RegionIntegers, linear
from polyml.codegen.ir.jams import Copy
from polyml.codegen.ir.program import Instance
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.regions import array_scopes, quotients
from polyml.codegen.llvm.regions.region_checks import RegionChecks, StripChecks
from polyml.codegen.llvm.regions.strip_plans import is_conversion
from polyml.codegen.llvm.regions.tested_indices import TestedIndices
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue, memory_type, register_type
from polyml.codegen.llvm.statements.checked_integers import CheckedIntegers
from polyml.codegen.llvm.statements.expressions import ExpressionEmitter, Operands, Term
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.dtypes import BOOL, I64, PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.model.core.call_interface import TOLD, Failure, Status
from polyml.model.core.nest import Integer
from polyml.model.core.scop import Region, ScalarArg, Statement, operand_failure, position_failure, unbound_failure
from polyml.model.lowering.regions.region_building import address_of
from polyml.quasi_affine.affine import Affine

_AHEAD = 4096  # bytes, by which elements are prefetched: the best of 1,024 to 8,192 on Zen 5
_CHEAP = 7  # nodes of an expression that is computed beside another one, of which one is chosen
Dimension = tuple[int, int]  # the identity of a Subscript, and a dimension


class RegionValues(ExpressionEmitter):
    """A RegionValues emits the expressions of one instance of a region.

    safe: the indices that are known to be those of elements, counted from 0
    whole: those of them whose sums of narrow integers stay within these, so that they may be computed in 64 bits
    fixed: those of them that do not change in the loop around, with their SSA names
    tested: the indices that were tested before
    ahead: by identity of expressions that were computed for a strip of iterations, their memory and which place of it is meant
    """

    def __init__(self, body: ElementAccess, locations: AccessLocations, statement: Statement, region: Region, node: Instance):
        super().__init__(body, locations)
        self._checks: CheckedIntegers = RegionChecks(body)
        sizes = frozenset(p.name for p in body.scop.parameters if p.is_size)
        self._iterators = dict(zip(statement.iterators, node.point))
        self.integers = RegionIntegers(region, sizes, lambda e: body.module.ranges.of(e.substitute(self._iterators)))
        copy = Copy({}, None, 1, None, 0)
        self._operands = Operands(InstanceCopy(statement, self._iterators, copy, node, ()), None)
        entry = body.fn.blocks[0]
        self._places = {name: body.fn.emit(f"alloca {self._kind(name, dtype)}", entry) for name, dtype in region.numbers}
        self._types = dict(region.numbers)
        self.safe: frozenset[Dimension] = frozenset()
        self.whole: frozenset[Dimension] = frozenset()
        self.fixed: dict[Dimension, str] = {}
        self.tested = TestedIndices()
        self.ahead: Mapping[int, tuple[str, str]] = {}
        self._is_in_strip = False
        self._given: Mapping[str, SsaValue] = {}  # numbers that have other values than in memory

    def _kind(self, name: str, dtype: DType) -> str:
        """Returns the LLVM type of a number's memory."""
        return register_type(dtype)

    def of(self, expr: Term) -> SsaValue:
        """Emits an expression, and returns its value."""
        return self.value(expr, self._operands)

    def assign(self, target: syntax.Target, value: SsaValue) -> None:
        """Emits the store of a value to a number or an element."""
        if isinstance(target, syntax.Name):
            self._body.fn.do(f"store {value.type} {value.ssa}, ptr {self._places[target.name]}")
            return
        if not isinstance(target, syntax.Subscript):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        if not target.indices:
            self._body.memory.store(Location(target.array, ()), value)
            return
        address, (kind, align), ssa = self._address(target, stores=True), self._memory(target.array), value.ssa
        if value.dtype.kind == "b":
            ssa = self._body.fn.emit(f"zext i1 {ssa} to i8")
        self._body.fn.do(f"store {kind} {ssa}, ptr {address}, align {align}{self._scope(target.array)}")

    def number(self, name: str) -> SsaValue:
        """Emits the load of a number of the region, and returns its value."""
        if name in self._given:
            return self._given[name]
        dtype = self._types[name]
        return SsaValue(self._body.fn.emit(f"load {register_type(dtype)}, ptr {self._places[name]}"), dtype)

    def value(self, e: Term, operands: Operands) -> SsaValue:
        """Emits an expression, and returns its value."""
        if id(e) in self.ahead and isinstance(e, syntax.Expr):
            return self._computed_ahead(e)
        match e:
            case syntax.Name():
                return self.number(e.name)
            case Integer():
                return SsaValue(self._body.integer(e.affine.substitute(self._iterators)), _own(e.dtype))
            case syntax.Subscript():
                return self._element(e)
            case syntax.Call(function="allocate"):
                return self._allocated(e)
            case syntax.Call(function="release"):
                return self._released(e)
            case syntax.Call(function="reallocate"):
                return self._reallocated(e)
        return self._operation(e, operands)

    @contextmanager
    def in_strip(self) -> Iterator[StripChecks]:
        """Makes checks find out whether the iterations of a strip have to be looked at one by one, in place of ending the call."""
        before, checks = self._checks, StripChecks(self._body)
        self._checks, self._is_in_strip = checks, True
        yield checks
        self._checks, self._is_in_strip = before, False

    def _computed_ahead(self, e: syntax.Expr) -> SsaValue:
        (room, place), dtype = self.ahead[id(e)], _own(e.dtype)
        kind = memory_type(dtype)
        ssa = self._body.fn.emit(f"load {kind}, ptr {self._body.fn.emit(f'getelementptr {kind}, ptr {room}, i64 {place}')}")
        return SsaValue(self._body.fn.emit(f"icmp ne i8 {ssa}, 0") if dtype.kind == "b" else ssa, dtype)

    def _cast(self, e: syntax.Cast, operands: Operands) -> SsaValue:
        made = super()._cast(e, operands)  # of a float that no integer is, it is poison
        return replace(made, ssa=self._body.fn.emit(f"freeze {made.type} {made.ssa}")) if self._is_in_strip else made

    def _element(self, e: syntax.Subscript) -> SsaValue:
        if not e.indices:
            return self._body.memory.load(Location(e.array, ()))
        address, (kind, align) = self._address(e), self._memory(e.array)
        ssa = self._body.fn.emit(f"load {kind}, ptr {address}, align {align}{self._scope(e.array)}")
        if e.dtype.kind == "b":
            ssa = self._body.fn.emit(f"icmp ne i8 {ssa}, 0")
        return SsaValue(ssa, self._body.scop.arrays[e.array].element)

    def fetch(self, element: syntax.Subscript, given: Mapping[str, SsaValue]) -> None:
        """Emits a prefetch of what is some thousand bytes behind an element, and need not exist.

        given: numbers of the region that its indices are made with, in place of those in memory
        """
        self._given = given
        fn, pointer = self._body.fn, self._base(element.array)
        ahead = _AHEAD // self._body.scop.arrays[element.array].element.size_bytes
        for number, stride in enumerate(self._body.module.layout.strides(element.array), start=1):
            index = self.unchecked(element.indices[number - 1])
            if number == len(element.indices):
                index = fn.emit(f"add i64 {index}, {ahead}")
            offset = fn.emit(f"mul i64 {index}, {self._body.stride(stride)}")
            pointer = fn.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        self._given = {}
        self._body.fetch_from(pointer, 3)

    def _memory(self, array: str) -> tuple[str, int]:
        """Returns the LLVM type of an array's elements in memory, and their alignment in bytes."""
        element = self._body.scop.arrays[array].element
        return memory_type(element), 1 if self._body.module.layout.unaligned(array) else element.size_bytes

    def _scope(self, array: str) -> str:
        """Returns what tells LLVM that an access to an array is not one to another array."""
        scopes = self._body.module.scopes
        if scopes.owners:
            self._body.declared.setdefault(array_scopes.NAME, scopes.text())
        return scopes.of_access(self._body.scop.arrays[array])

    def _address(self, e: syntax.Subscript, stores: bool = False) -> str:
        """Emits the tests of an element's indices, and returns the SSA name of its address. stores: whether it is assigned"""
        body, fn = self._body, self._body.fn
        shape = body.scop.arrays[e.array].shape
        indices = [self._position(e, dim, body.module.table.affine(shape[dim]), stores) for dim in range(len(e.indices))]
        pointer = self._base(e.array)
        for index, stride in zip(indices, body.module.layout.strides(e.array)):
            offset = fn.emit(f"mul nsw i64 {index}, {body.stride(stride)}")
            pointer = fn.emit(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")
        return pointer

    def _base(self, array: str) -> str:
        """Returns the SSA name of the address of an array's first element."""
        own = address_of(array)
        if own not in self._types:
            return self._body.base(array)
        return self._body.fn.emit(f"inttoptr i64 {self.number(own).ssa} to ptr")

    def _allocated(self, e: syntax.Call) -> SsaValue:
        """Emits the allocation of memory, and returns its address. Where there is none, the call ends."""
        return self._acquired(self.of(e.args[0]).ssa)

    def _reallocated(self, e: syntax.Call) -> SsaValue:
        """Emits the allocation of more memory, a copy of what is in use of the old one, which is given back, and returns its address."""
        body, (old, kept, total) = self._body, (self.of(each).ssa for each in e.args)
        new = self._acquired(total)
        to, begin = (body.fn.emit(f"inttoptr i64 {address} to ptr") for address in (new.ssa, old))
        body.declared["llvm.memcpy.p0.p0.i64"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        body.fn.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {begin}, i64 {kept}, i1 false)")
        body.release(old)
        return new

    def _acquired(self, size_bytes: str) -> SsaValue:
        fn = self._body.fn
        address, fine, wrong = self._body.acquired(size_bytes), fn.block("fine"), fn.block("wrong")
        fn.branch(fn.emit(f"icmp eq i64 {address}, 0"), wrong, fine)
        fn.current = wrong
        self._body.fail(str(int(Status.OUT_OF_MEMORY)))
        fn.current = fine
        return SsaValue(address, I64)

    def _released(self, e: syntax.Call) -> SsaValue:
        """Emits that memory, if there is any, is given back, and returns zero in the place of its address."""
        self._body.release(self.of(e.args[0]).ssa)
        return SsaValue("0", I64)

    def _position(self, e: syntax.Subscript, dim: int, extent: Affine, stores: bool) -> str:
        """Emits an index, with a test that an element has it, and returns it counted from 0."""
        body, index = self._body, e.indices[dim]
        if (id(e), dim) in self.fixed:
            return self.fixed[id(e), dim]
        if (id(e), dim) in self.whole:
            return self.unchecked(in_64_bits(index))
        if e.inside or (id(e), dim) in self.safe or self.integers.of(index)[0] >= 0 and self.integers.is_below(index, extent):
            return self.unchecked(index)
        size = body.integer(extent)
        found = self.tested.position(index, size)
        if found is None:
            found = self._tested(index, size, body.scop.failure(e, dim, stores))
            self.tested.add(index, size, found)
        return found

    def _tested(self, index: syntax.Expr, size: str, failure: Failure) -> str:
        """Emits an index with a test that a dimension of this size has it, and returns it counted from 0.

        size: an SSA name
        failure: what the caller is told where it has not
        """
        body, fn = self._body, self._body.fn
        value, least = self.of(index).ssa, self.integers.of(index)[0]
        fine, wrong = fn.block("inside"), fn.block("outside")
        is_inside, counted = fn.emit(f"icmp ult i64 {value}, {size}"), value
        if least >= 0:
            fn.branch(is_inside, fine, wrong)
        else:
            before, other = fn.current, fn.block("counted")
            fn.branch(is_inside, fine, other)
            fn.current = other
            from_end = fn.emit(f"add i64 {value}, {size}")
            fn.branch(fn.emit(f"icmp ult i64 {from_end}, {size}"), fine, wrong)
            counted = fn.name()
            fine.phis.append(f"{counted} = phi i64 [ {value}, %{before.label} ], [ {from_end}, %{other.label} ]")
        fn.current = wrong
        site = body.module.failure(failure)
        told = value
        for name, most in (("smax", -TOLD), ("smin", TOLD)):
            body.declared.setdefault(f"llvm.{name}.i64", f"declare i64 @llvm.{name}.i64(i64, i64)")
            told = fn.emit(f"call i64 @llvm.{name}.i64(i64 {told}, i64 {most})")
        body.fail(fn.emit(f"or i64 {fn.emit(f'shl i64 {told}, 16')}, {site}"))
        fn.current = fine
        return counted

    def unchecked(self, index: syntax.Expr) -> str:
        """Emits an index that is known to be within its array, without tests, and returns it."""
        match index:
            case syntax.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                name = {"+": "add", "-": "sub", "*": "mul"}[op]
                one, other = self.unchecked(left), self.unchecked(right)
                return self._body.fn.emit(f"{name} nsw i64 {one}, {other}")
        return self.of(index).ssa

    # -- what Python evaluates only in part ----------------------------------------------------------------------

    def _logical(self, e: syntax.Logical, operands: Operands) -> SsaValue:
        """Emits `and` or `or`, whose operands are evaluated as far as they are needed, and returns its truth value."""
        total = self._body.math.truth(self.of(e.operands[0]))
        for position, operand in enumerate(e.operands[1:], 1):
            if self.is_plain(operand):
                total = self._body.math.logical(e.op, total, self._body.math.truth(self.of(operand)))
                continue
            known = SsaValue("false" if e.op == "and" else "true", BOOL)
            before = [(each, e.op == "and") for each in e.operands[:position]]
            rest, decided = self._later(operand, before), self._later(known)
            total = self._branches(total, *((rest, decided) if e.op == "and" else (decided, rest)))
        return total

    def _later(self, value: SsaValue | syntax.Expr, known: Sequence[tuple[syntax.Expr, bool]] = ()) -> Callable[[], SsaValue]:
        """Returns a function that emits an expression and returns its truth value, or returns a value that is known.

        known: conditions, and what they are where the expression is evaluated
        """

        def emitted() -> SsaValue:
            with self.integers.branch():
                for condition, is_true in known:
                    self.integers.holds(condition, is_true)
                return value if isinstance(value, SsaValue) else self._body.math.truth(self.of(value))

        return emitted

    def _choice(self, e: syntax.IfExp, operands: Operands) -> SsaValue:
        """Emits a conditional expression, of which one side is evaluated, and returns its value."""
        math = self._body.math
        test = math.truth(self.of(e.condition))
        if self.is_plain(e.then) and self.is_plain(e.orelse):
            return math.select(test, self.of(e.then), self.of(e.orelse))
        if self.is_chosen_cheaply(e.then) and self.is_chosen_cheaply(e.orelse):
            return self.chosen(test, e.then, e.orelse)
        return self._branches(test, lambda: self.of(e.then), lambda: self.of(e.orelse))

    def _branches(self, test: SsaValue, then: Callable[[], SsaValue], orelse: Callable[[], SsaValue]) -> SsaValue:
        fn = self._body.fn
        ends, after = [], None
        blocks = fn.block("then"), fn.block("else")
        fn.branch(test.ssa, *blocks)
        for block, side in zip(blocks, (then, orelse)):
            fn.current = block
            self._body.math.forget()
            with self.tested.branch():
                value = side()
            ends.append((value, fn.current))
        after = fn.block("after")
        for _, block in ends:
            fn.current = block
            fn.jump(after)
        fn.current = after
        self._body.math.forget()
        (one, first), (other, second) = ends
        result = fn.name()
        after.phis.append(f"{result} = phi {one.type} [ {one.ssa}, %{first.label} ], [ {other.ssa}, %{second.label} ]")
        return replace(one, ssa=result)

    def is_plain(self, expr: syntax.Expr, safe: Set[Dimension] | None = None) -> bool:
        """Returns whether an expression is cheap and raises nothing, so that it may be evaluated where Python does not.

        safe: the indices that are known to be those of elements, if they are not those that are known here
        """
        safe = self.safe if safe is None else safe
        for node in traversal.nodes(expr):
            if isinstance(node, syntax.Subscript) and node.indices:
                if not all((id(node), dim) in safe for dim in range(len(node.indices))):
                    return False
            if isinstance(node, syntax.Cast) and (node.to == PYINT and node.operand.dtype.is_float or node.operand.dtype == PYINT):
                is_tested = self._is_in_strip and is_conversion(node)
                if not (node.to.is_float or node.operand.dtype == PYINT and node.to == I64 or is_tested):
                    return False
            if isinstance(node, (syntax.Binary, syntax.Unary)) and node.dtype == PYINT and self.integers.of(node) == FULL:
                return False
            if isinstance(node, syntax.Call) and node.function not in ("abs", "sqrt", "minimum", "maximum"):
                return False
            if isinstance(node, syntax.Binary) and node.op in ("**", "//", "%", "<<", ">>"):
                return False
        return True

    def _operation(self, e: Term, operands: Operands) -> SsaValue:
        is_divided = isinstance(e, syntax.Binary) and e.op in ("//", "%") and isinstance(e.right, syntax.Const)
        if isinstance(e, (syntax.Binary, syntax.Unary)) and e.dtype == PYINT and (is_divided or self.integers.of(e) != FULL):
            plain = self._within_64_bits(e)
            if plain is not None:
                return plain
        if isinstance(e, syntax.Binary) and e.dtype == PYINT and (found := linear(e)) is not None:
            return self._linear(e, *found)
        if isinstance(e, ScalarArg):
            return self._number(e)
        if isinstance(e, syntax.Call) and e.function == "bound":
            self._bound(e)
            return self.of(e.args[1])
        if isinstance(e, syntax.Call) and e.function == "position":
            return SsaValue(self._tested(e.args[0], self.of(e.args[1]).ssa, position_failure(e)), PYINT)
        if isinstance(e, syntax.Binary) and e.op in ("//", "%", "<<", ">>") and e.dtype.kind == "i":
            left, right = self.of(e.left), self.of(e.right)
            test = self._without_result(e) if e.dtype == PYINT else None
            if test is not None:
                self._test_operand(e, right, test)
            if e.op in ("//", "%") and left.lanes == right.lanes == 1:
                known = self.integers.of(e.left), self.integers.of(e.right)
                return quotients.by_either(self._body, e.op, (left, right), known, lambda: self._binary(e.op, e.dtype, left, right))
            return self._binary(e.op, e.dtype, left, right)
        return super()._operation(e, operands)

    def _linear(self, e: syntax.Binary, number: syntax.Name, fits: Interval) -> SsaValue:
        """Emits sums and products of one number and constants behind one test, and returns their value. fits: where it is in 64 bits"""
        math, (low, high) = self._body.math, fits
        above = math.plain("-", *math.broadcast(self.of(number), SsaValue(str(low), PYINT)))
        _, most = math.broadcast(above, SsaValue(str(high - low), PYINT))
        outside = self._body.fn.emit(f"icmp ugt {above.type} {above.ssa}, {most.ssa}")
        self._checks.flag(SsaValue(outside, BOOL, above.lanes))
        return self._lowest_bits(e, self._operands)

    def chosen(self, test: SsaValue, then: syntax.Expr, orelse: syntax.Expr) -> SsaValue:
        """Emits two values, of which a test chooses one, and returns that; errors in the other one are none."""
        with self._checks.only_if(test):
            one = self.of(then)
        with self._checks.only_if(self._body.math.invert(test)):
            other = self.of(orelse)
        return self._body.math.select(test, one, other)

    def is_chosen_cheaply(self, expr: syntax.Expr) -> bool:
        """Returns whether an expression is a few operations of Python ints and constants, some of which are tested."""
        nodes = [*traversal.nodes(expr)]
        plain = (syntax.Name, syntax.Const, Integer, syntax.Binary)
        if len(nodes) > _CHEAP or not all(isinstance(node, plain) and node.dtype == PYINT for node in nodes):
            return False
        return all(
            node.op in ("+", "-", "*", "//", "%") and quotients.has_simple_divisor(node)
            for node in nodes
            if isinstance(node, syntax.Binary)
        )

    def _bound(self, read: syntax.Call) -> None:
        """Emits a test that ends the call where a name is read that has no value."""
        fn = self._body.fn
        wrong, fine = fn.block("unset"), fn.block("fine")
        fn.branch(self._body.math.truth(self.of(read.args[0])).ssa, fine, wrong)
        fn.current = wrong
        self._body.fail(str(self._body.module.failure(unbound_failure(read))))
        fn.current = fine

    def _without_result(self, e: syntax.Binary) -> str | None:
        """Returns the comparison of a right operand with zero that is true where an operation of Python ints raises; None where none
        is: of a divisor that is not zero, or a count of a shift that is not negative.
        """
        low, high = self.integers.of(e.right)
        if e.op in ("<<", ">>"):
            return "<" if low < 0 else None
        return "==" if low <= 0 <= high else None

    def _test_operand(self, e: syntax.Binary, operand: SsaValue, test: str) -> None:
        """Emits a test that ends the call where an operation of Python ints raises. test: of the right operand with zero."""
        fn = self._body.fn
        wrong, fine = fn.block("zero"), fn.block("fine")
        fn.branch(fn.emit(f"icmp {'slt' if test == '<' else 'eq'} i64 {operand.ssa}, 0"), wrong, fine)
        fn.current = wrong
        self._body.fail(str(self._body.module.failure(operand_failure(e))))
        fn.current = fine

    def _within_64_bits(self, e: syntax.Binary | syntax.Unary) -> SsaValue | None:
        """Emits an operation of Python ints that is known not to leave 64 bits, and returns its value; None for other operators."""
        if isinstance(e, syntax.Unary):
            if e.op != "-":
                return None
            return SsaValue(self._body.fn.emit(f"sub nsw i64 0, {self.of(e.operand).ssa}"), PYINT)
        if e.op in ("//", "%"):
            return quotients.by_constant(self._body.fn, e.op, self.of(e.left), e.right, self.integers.of(e.left)[0] >= 0)
        name = {"+": "add", "-": "sub", "*": "mul"}.get(e.op)
        if name is None:
            return None
        left, right = self.of(e.left), self.of(e.right)
        return SsaValue(self._body.fn.emit(f"{name} nsw i64 {left.ssa}, {right.ssa}"), PYINT)


def _own(dtype: DType) -> DType:
    return PYINT if dtype is None else dtype
