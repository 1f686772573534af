"""The operations of the language as LLVM instructions, on scalars or on vectors of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from polyml.codegen.llvm.builder import BasicBlock, FunctionBuilder
from polyml.codegen.llvm.ssa_value import SsaValue, literal, name_suffix, register_type, vector_type
from polyml.dtypes import BF16, BOOL, F32, I64, U32, DType

_FLAGS = {"strict": "", "reassociate": "contract ", "fast": "fast "}  # fast-math flags of every floating-point operation
_FLOAT_COMPARE = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_SIGNED_COMPARE = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED_COMPARE = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}


@dataclass(frozen=True)
class FloatArithmetic:
    """A FloatArithmetic says how floats are computed.

    mode: "strict" as in the source; "reassociate": products and sums may become multiply-adds; "fast": all of LLVM's fast-math
      flags.
    fused: whether the processor has multiply-adds, which round once.
    halves: whether it has arithmetic of float16 numbers.
    """

    mode: str
    fused: bool
    halves: bool = False


class Arithmetic:
    """An Arithmetic emits the operations of one function. Equal operations on equal values are emitted once per region, a piece of
    straight code (local value numbering).

    floats: how floats are computed.
    declared: { name -> declaration } of external functions, to which those that are used are added.
    """

    def __init__(self, function: FunctionBuilder, floats: FloatArithmetic, declared: dict[str, str]):
        self._function, self._declared = function, declared
        self._flags, self.fused, self.halves = _FLAGS[floats.mode], floats.fused, floats.halves
        self._seen: dict[str, str] = {}
        self._compared: dict[str, tuple[str, SsaValue, SsaValue]] = {}  # comparisons of integers, by the name of the result

    def forget(self) -> None:
        """Starts a new region of straight code, in which no earlier result is used, since it might not dominate the region."""
        self._seen.clear()

    def once(self, operation: str) -> str:
        """Emits an operation without side effects, unless this region of straight code has it already, and returns the SSA name
        of its result.
        """
        known = self._seen.get(operation)
        if known is None:
            known = self._seen[operation] = self._function.emit(operation)
        return known

    def at_end_of(self, block: BasicBlock, emit: Callable[[], SsaValue]) -> tuple[SsaValue, BasicBlock]:
        """Emits at the end of a block that dominates the current one and ends with a jump. Returns the value of `emit`, and the block
        that has that jump now.
        """
        fn, before, leave = self._function, self._seen, block.terminator
        current, fn.current, self._seen = fn.current, block, {}
        value = emit()
        last, fn.current, self._seen = fn.current, current, before
        last.terminator = leave
        return value, last

    def where_any(self, condition: SsaValue, value: SsaValue, otherwise: Callable[[], SsaValue]) -> SsaValue:
        """Emits a branch to what `otherwise` emits, which runs if the condition holds in any lane. Returns the value of
        `otherwise` if it ran, else `value`.
        """
        fn, kind = self._function, vector_type("i1", condition.lanes)
        found = condition.ssa
        if condition.lanes > 1:
            found = self.call(f"llvm.vector.reduce.or.v{condition.lanes}i1", "i1", [(kind, condition.ssa)])
        usual, seldom, after = fn.current, fn.block("seldom"), fn.block("after")
        fn.branch(found, seldom, after)
        fn.current, before = seldom, dict(self._seen)
        other = otherwise()
        self._seen = before  # values of the branch do not dominate what follows
        fn.jump(after)
        seldom, fn.current = fn.current, after
        result = fn.name()
        after.phis.append(f"{result} = phi {value.type} [ {value.ssa}, %{usual.label} ], [ {other.ssa}, %{seldom.label} ]")
        return SsaValue(result, value.dtype, value.lanes)

    def either_side(self, condition: SsaValue, then: Callable[[], SsaValue], orelse: Callable[[], SsaValue]) -> SsaValue:
        """Emits a branch on one truth value, with what `then` emits where it holds and what `orelse` emits where not, and returns the
        value of the side that ran. Both have one type.
        """
        fn, before = self._function, dict(self._seen)
        sides, after = [(fn.block("then"), then), (fn.block("orelse"), orelse)], fn.block("after")
        fn.branch(condition.ssa, *(block for block, _ in sides))
        incoming = []
        for block, emitted in sides:
            fn.current, self._seen = block, dict(before)  # values of one side do not dominate what follows
            value = emitted()
            fn.jump(after)
            incoming.append(f"[ {value.ssa}, %{fn.current.label} ]")
        fn.current, self._seen = after, before
        result = fn.name()
        after.phis.append(f"{result} = phi {value.type} {', '.join(incoming)}")
        return SsaValue(result, value.dtype, value.lanes)

    def splat(self, value: SsaValue, lanes: int) -> SsaValue:
        """Emits a vector with the scalar in every lane and returns it; a value that has so many lanes is returned as it is."""
        if value.lanes == lanes:
            return value
        element = register_type(value.dtype)
        if not value.ssa.startswith("%"):
            lane = f"{element} {value.ssa}"
            return SsaValue(f"<{', '.join([lane] * lanes)}>", value.dtype, lanes)
        kind = vector_type(element, lanes)
        first = self.once(f"insertelement {kind} poison, {element} {value.ssa}, i32 0")
        every = self.once(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        return SsaValue(every, value.dtype, lanes)

    def broadcast(self, *values: SsaValue) -> tuple[SsaValue, ...]:
        """Returns the values as vectors of the same number of lanes, the greatest that one of them has."""
        lanes = max(v.lanes for v in values)
        return tuple(self.splat(v, lanes) for v in values)

    def call(self, name: str, result: str, args: list[tuple[str, str]]) -> str:
        """Emits a call of an external function without side effects, and returns the SSA name of the result.

        name: the function, which is declared if it is not yet.
        result: the LLVM type of the result.
        args: pairs of LLVM type and SSA name.
        """
        self._declared.setdefault(name, f"declare {result} @{name}({', '.join(t for t, _ in args)})")
        return self.once(f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in args)})")

    def intrinsic(self, stem: str, *values: SsaValue) -> SsaValue:
        """Emits a call of LLVM's intrinsic `llvm.<stem>` for the type of the values, and returns its result."""
        values = self.broadcast(*values)
        head = values[0]
        suffix = name_suffix(register_type(head.dtype))
        suffix = suffix if head.lanes == 1 else f"v{head.lanes}{suffix}"
        ssa = self.call(f"llvm.{stem}.{suffix}", head.type, [(v.type, v.ssa) for v in values])
        return SsaValue(ssa, head.dtype, head.lanes)

    def select(self, condition: SsaValue, then: SsaValue, orelse: SsaValue) -> SsaValue:
        """Emits a choice of `then` in the lanes where the condition holds and `orelse` in the others, and returns it. If it
        chooses the smaller or larger of two compared integers, it becomes a minimum or maximum.
        """
        if then == orelse:
            return then
        op, *sides = self._compared.get(condition.ssa, ("",))
        condition, then, orelse = self.broadcast(condition, then, orelse)
        if sides in ([then, orelse], [orelse, then]):  # LLVM does not recognise a minimum in a select of vectors
            least = (op in ("<", "<=")) == (sides[0] == then)
            return self.intrinsic(f"{'s' if then.dtype.kind == 'i' else 'u'}{'min' if least else 'max'}", then, orelse)
        ssa = self.once(f"select {condition.type} {condition.ssa}, {then.type} {then.ssa}, {orelse.type} {orelse.ssa}")
        return SsaValue(ssa, then.dtype, then.lanes)

    def compare(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits `left op right`, and returns its truth value. Comparisons with NaN are false, except `!=`."""
        left, right = self.broadcast(left, right)
        if left.dtype.is_float:
            ssa = self.once(f"fcmp {_FLOAT_COMPARE[op]} {left.type} {left.ssa}, {right.ssa}")
        else:
            table = _SIGNED_COMPARE if left.dtype.kind == "i" else _UNSIGNED_COMPARE
            ssa = self.once(f"icmp {table[op]} {left.type} {left.ssa}, {right.ssa}")
            if left.dtype.is_integer and op not in ("==", "!="):
                self._compared[ssa] = op, left, right
        return SsaValue(ssa, BOOL, left.lanes)

    def truth(self, value: SsaValue) -> SsaValue:
        """Emits value != 0, and returns its truth value."""
        if value.dtype.kind == "b":
            return value
        return self.compare("!=", value, SsaValue(literal(0, value.dtype), value.dtype))

    def logical(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits the bitwise "and", "or" or "xor" of integers or truth values, and returns it."""
        left, right = self.broadcast(left, right)
        return SsaValue(self.once(f"{op} {left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)

    def invert(self, value: SsaValue) -> SsaValue:
        """Emits the bitwise complement of an integer, or the negation of a truth value, and returns it."""
        ones = SsaValue("true" if value.dtype.kind == "b" else "-1", value.dtype)
        return self.logical("xor", value, ones)

    def plain(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits + - * / of floats, + - * & | ^ of integers, which wrap around, or + * & | ^ of booleans, as NumPy has these, and
        returns the result.
        """
        left, right = self.broadcast(left, right)
        if left.dtype.is_float:
            name = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}[op]
            return SsaValue(self.once(f"{name} {self._flags}{left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)
        if left.dtype.kind == "b":  # NumPy: + is or, * is and on booleans
            name = {"+": "or", "*": "and", "&": "and", "|": "or", "^": "xor"}[op]
        else:
            name = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}[op]
        return SsaValue(self.once(f"{name} {left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)

    @contextmanager
    def one_by_one(self) -> Iterator[None]:
        """Makes operations in a `with` block round one by one, unless all fast-math flags are asked for."""
        before = self._flags
        if before == _FLAGS["reassociate"]:
            self._flags = ""
        try:
            yield
        finally:
            self._flags = before

    @contextmanager
    def in_sums(self, mode: str) -> Iterator[None]:
        """Makes products and sums in a `with` block multiply-adds, as the mode allows. mode: that of `FloatArithmetic`."""
        before, self._flags = self._flags, _FLAGS[mode]
        self.forget()
        try:
            yield
        finally:
            self._flags = before

    def reassociated(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits a sum or product of floats that LLVM may compute in another order, and returns it. op: + or *."""
        name = {"+": "fadd", "*": "fmul"}[op]
        return SsaValue(self.once(f"{name} reassoc {self._flags}{left.type} {left.ssa}, {right.ssa}"), left.dtype, left.lanes)

    def negate(self, value: SsaValue) -> SsaValue:
        """Emits -value and returns it."""
        if value.dtype.is_float:
            return SsaValue(self.once(f"fneg {self._flags}{value.type} {value.ssa}"), value.dtype, value.lanes)
        return self.plain("-", SsaValue("0", value.dtype), value)

    def shift(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits << or >> as NumPy defines them and returns it: a shift by the width or more gives 0, or the sign for a
        signed >>.
        """
        left, right = self.broadcast(left, right)
        width = SsaValue(str(left.dtype.bits), left.dtype)
        inside = self._unsigned_below(right, width)
        safe = self.select(inside, right, SsaValue("0", left.dtype))
        name = "shl" if op == "<<" else "ashr" if left.dtype.kind == "i" else "lshr"
        shifted = SsaValue(self.once(f"{name} {left.type} {left.ssa}, {safe.ssa}"), left.dtype, left.lanes)
        outside: SsaValue = SsaValue("0", left.dtype)
        if name == "ashr":
            outside = self.select(self.compare("<", left, outside), SsaValue("-1", left.dtype), outside)
        return self.select(inside, shifted, outside)

    def _unsigned_below(self, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits left < right, as of unsigned integers, and returns its truth value."""
        left, right = self.broadcast(left, right)
        return SsaValue(self.once(f"icmp ult {left.type} {left.ssa}, {right.ssa}"), BOOL, left.lanes)

    def minimum(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits Python's min or max, and returns it: the first operand unless the second is strictly smaller (greater)."""
        return self.select(self.compare("<" if op == "min" else ">", right, left), right, left)

    def convert(self, value: SsaValue, to: DType) -> SsaValue:
        """Emits the value's conversion to another type, as NumPy's astype does it, and returns the result."""
        source = value.dtype
        if BF16 in (source, to) and source != to:
            return self._upper_half(self.convert(value, F32)) if to == BF16 else self.convert(self._extended(value), to)
        if register_type(source) == register_type(to) and (source.kind == to.kind or source.bits != 8):
            return SsaValue(value.ssa, to, value.lanes)
        if to.kind == "b":
            return self.truth(value)
        if source.kind == "b":
            name = "uitofp" if to.is_float else "zext"
            return self._conversion(name, value, to)
        if source.bits == 64 and to.bits == 16 and source.is_float and to.is_float:
            return self.convert(self._rounded_to_odd(value), to)
        if source.is_float and to.is_float:
            return self._conversion("fpext" if to.bits > source.bits else "fptrunc", value, to)
        if to.is_float:
            return self._conversion("sitofp" if source.kind == "i" else "uitofp", value, to)
        if not source.is_float:
            if to.bits < source.bits:
                return self._conversion("trunc", value, to)
            if to.bits == source.bits:
                return SsaValue(value.ssa, to, value.lanes)
            return self._conversion("sext" if source.kind == "i" else "zext", value, to)
        return self._float_to_integer(value, to)

    def _extended(self, value: SsaValue) -> SsaValue:
        """Emits the conversion of a bfloat16 to the float whose upper half it is, and returns that."""
        bits = self._conversion("zext", value, U32)
        return self._conversion("bitcast", self._moved("shl", bits), F32)

    def _upper_half(self, value: SsaValue) -> SsaValue:
        """Emits the conversion of a float to the nearest bfloat16, ties to even, and returns that. Of a NaN only the sign
        is kept.
        """
        bits = self._conversion("bitcast", value, U32)
        high = self._moved("lshr", bits)
        below_half, last, sign, nan = (SsaValue(str(n), U32) for n in (0x7FFF, 1, 0x8000, 0x7FC0))
        more = self.plain("+", self.logical("and", high, last), below_half)
        nearest = self._moved("lshr", self.plain("+", bits, more))
        odd = self.logical("or", self.logical("and", high, sign), nan)
        return self._conversion("trunc", self.select(self.compare("!=", value, value), odd, nearest), BF16)

    def _moved(self, shift: str, bits: SsaValue) -> SsaValue:
        """Emits LLVM's shift instruction of this name, by 16, on 32-bit integers, and returns the result."""
        by = self.splat(SsaValue("16", U32), bits.lanes)
        return SsaValue(self.once(f"{shift} {bits.type} {bits.ssa}, {by.ssa}"), U32, bits.lanes)

    def _rounded_to_odd(self, value: SsaValue) -> SsaValue:
        """Emits the conversion of a double to a float, truncated, with the last bit set if bits were cut off, and returns that.
        Rounding it to a float16 or bfloat16 gives the same as rounding the double once.
        """
        lanes = value.lanes
        integers = vector_type("i64", lanes)
        bits = self.once(f"bitcast {value.type} {value.ssa} to {integers}")
        mask, low, one = (self.splat(SsaValue(str(n), I64), lanes).ssa for n in (~((1 << 29) - 1), (1 << 29) - 1, 1 << 29))
        cut = self.once(f"and {integers} {bits}, {low}")
        kept = self.once(f"and {integers} {bits}, {mask}")
        zero = "0" if lanes == 1 else "zeroinitializer"
        some = self.once(f"icmp ne {integers} {cut}, {zero}")
        odd = self.once(f"or {integers} {kept}, {one}")
        chosen = self.once(f"select {vector_type('i1', lanes)} {some}, {integers} {odd}, {integers} {kept}")
        return self._conversion(
            "fptrunc", SsaValue(self.once(f"bitcast {integers} {chosen} to {value.type}"), value.dtype, lanes), F32
        )

    def _float_to_integer(self, value: SsaValue, to: DType) -> SsaValue:
        """Emits the conversion of a float to an integer and returns it. As in NumPy's compiled code, that is a conversion to a
        signed type that is wide enough, and a truncation to the type.
        """
        if to.bits == 64 and to.kind == "i":
            return self._conversion("fptosi", value, to)
        if to.bits == 64:
            half = SsaValue(literal(2.0**63, value.dtype), value.dtype)
            low = self._conversion("fptosi", value, to)
            high = self._conversion("fptosi", self.plain("-", value, half), to)
            high = self.logical("xor", high, SsaValue(literal(1 << 63, to), to))
            return self.select(self.compare("<", value, half), low, high)
        wide = DType("wide", "i", 64 if to.kind == "u" and to.bits == 32 else 32)
        return self.convert(self._conversion("fptosi", value, wide), to)

    def _conversion(self, name: str, value: SsaValue, to: DType) -> SsaValue:
        """Emits LLVM's conversion instruction of this name, such as sext, and returns its result."""
        target = vector_type(register_type(to), value.lanes)
        return SsaValue(self.once(f"{name} {value.type} {value.ssa} to {target}"), to, value.lanes)

    def element(self, value: SsaValue, lane: int) -> SsaValue:
        """Emits the extraction of one lane of a vector, and returns it as a scalar."""
        if value.lanes == 1:
            return value
        return SsaValue(self.once(f"extractelement {value.type} {value.ssa}, i32 {lane}"), value.dtype)

    def vector(self, numbers: list[SsaValue]) -> SsaValue:
        """Emits a vector with one of the scalars in each lane, and returns it."""
        lanes, element = len(numbers), register_type(numbers[0].dtype)
        kind = vector_type(element, lanes)
        built = "poison"
        for lane, number in enumerate(numbers):
            built = self.once(f"insertelement {kind} {built}, {element} {number.ssa}, i32 {lane}")
        return SsaValue(built, numbers[0].dtype, lanes)

    def library(self, name: str, *values: SsaValue) -> SsaValue:
        """Emits a call per lane of a function of the C library, and returns the results. name: that of the function for doubles."""
        values = self.broadcast(*values)
        lanes, dtype = values[0].lanes, values[0].dtype
        symbol = name if dtype.bits == 64 else name + "f"
        kind = register_type(dtype)
        numbers = []
        for lane in range(lanes):
            args = [(kind, self.element(v, lane).ssa) for v in values]
            numbers.append(SsaValue(self.call(symbol, kind, args), dtype))
        return numbers[0] if lanes == 1 else self.vector(numbers)
