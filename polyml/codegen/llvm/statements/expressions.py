"""The values of statements become instructions, on scalars or on vectors of lanes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeGuard, cast

from polyml.codegen.analysis.counters import counted
from polyml.codegen.costs.expression_costs import is_same_in_call
from polyml.codegen.ir.program import Loop
from polyml.codegen.llvm import elementary, numpy_functions
from polyml.codegen.llvm.builder import BasicBlock
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Location
from polyml.codegen.llvm.ssa_value import SsaValue, literal, register_type
from polyml.codegen.llvm.statements import integer_power
from polyml.codegen.llvm.statements.checked_integers import CheckedIntegers
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.dtypes import F16, F32, I64, PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.nest import always_fits, children
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Gather, Index, Load, ScalarArg, Statement, Value

_POINTWISE = "+-*/&|^"
Term = Value | syntax.Expr  # a node of a statement's value


@dataclass(frozen=True)
class Operands:
    """An Operands holds the values of the reads of an instance.

    instance: the instance, for one of the iterations that run together or for a vector of them.
    reduction: the reduction of which each lane has a partial result; None if there is none, as where each lane updates an element
        of its own.
    loads: { position of a read -> its value }, filled as reads are emitted.
    """

    instance: InstanceCopy
    reduction: Reduction | None
    loads: dict[int, SsaValue] = field(default_factory=dict)


class ExpressionEmitter:
    """An ExpressionEmitter emits the values of one function's statements.

    scanned: what scans (prefix sums) computed for the reads after them: { (location, number of the vector among those that run
        together along the lanes' loop) -> the element's value in each lane }.
    """

    def __init__(self, body: ElementAccess, locations: AccessLocations):
        self._body, self._locations = body, locations
        self._checks = CheckedIntegers(body)
        self.scanned: dict[tuple[Location, int], SsaValue] = {}

    def constant(self, value: float, dtype: DType) -> SsaValue:
        """Returns a constant of the type as an SSA value."""
        return SsaValue(literal(value, dtype), dtype)

    def combine(self, op: str, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits a reduction's operator on two values, and returns the result. op: its name in Python or NumPy."""
        math = self._body.math
        if op in ("min", "max"):
            return math.minimum(op, left, right)
        if op in ("minimum", "maximum", "fmin", "fmax"):
            return numpy_functions.call(math, op, math.broadcast(left, right))
        return math.plain(op, left, right)

    def across_lanes(self, op: str, value: SsaValue) -> SsaValue:
        """Emits the combination of all lanes by a reduction's operator, by halves, and returns a scalar."""
        math = self._body.math
        while value.lanes > 2:
            half = value.lanes // 2
            parts = []
            for start in (0, half):
                order = ", ".join(f"i32 {start + i}" for i in range(half))
                ssa = math.once(f"shufflevector {value.type} {value.ssa}, {value.type} poison, <{half} x i32> <{order}>")
                parts.append(SsaValue(ssa, value.dtype, half))
            value = self.combine(op, *parts)
        return value if value.lanes == 1 else self.combine(op, math.element(value, 0), math.element(value, 1))

    def value(self, e: Term, operands: Operands) -> SsaValue:
        """Emits an expression, and returns its value: a scalar, or a vector if it differs between lanes."""
        if self._body.once is not None and id(e) in self._body.module.once:
            return self._once(e, self._body.once, operands)
        return self._operation(e, operands)

    def _once(self, e: Term, at: BasicBlock, operands: Operands) -> SsaValue:
        """Returns the value of an expression that is the same in the whole call. at: the block that computes it, once."""
        known, key = self._body.scopes[0].known, ("once", id(e))
        if key not in known:
            self._body.once = None  # its operands are computed with it
            value, self._body.once = self._body.math.at_end_of(at, lambda: self._operation(e, operands))
            known[key] = value.ssa
        return SsaValue(known[key], _type_of(e))

    def _operation(self, e: Term, operands: Operands) -> SsaValue:
        """Emits an expression where its instance runs, and returns its value."""
        math = self._body.math
        if isinstance(e, Load):
            return self.load(e.access, operands)
        if isinstance(e, Index):
            return self._index(e, operands.instance)
        if isinstance(e, ScalarArg):
            return self._number(e)
        if (masked := _masked(e)) is not None:
            return math.logical("and", self._lowest_bits(masked[0], operands), self.constant(masked[1], PYINT))
        if isinstance(e, Gather):
            return self._body.memory.gather(e, [self.value(i, operands) for i in e.indices], operands.instance.copy)
        if isinstance(e, syntax.Const):
            return self.constant(cast(float, e.value), _type_of(e))  # after inference: a bool, an int or a float
        if isinstance(e, syntax.Cast):
            return self._cast(e, operands)
        if isinstance(e, syntax.Unary):
            return self._unary(e, self.value(e.operand, operands))
        if (power := _power_of_all(e)) is not None:
            return elementary.power_of_all(math, *(self.value(operand, operands) for operand in power))
        if isinstance(e, syntax.Binary):
            self._body.rough |= e.dtype == PYINT and self._makes_ints(operands.instance.statement)
            if counted(e, operands.instance.statement, self._body.module.counters):
                return math.plain(e.op, *math.broadcast(self.value(e.left, operands), self.value(e.right, operands)))
            return self._binary(e.op, _type_of(e), self.value(e.left, operands), self.value(e.right, operands))
        if isinstance(e, syntax.Compare):
            return math.compare(e.op, self.value(e.left, operands), self.value(e.right, operands))
        if isinstance(e, syntax.Logical):
            return self._logical(e, operands)
        if isinstance(e, syntax.IfExp):
            return self._choice(e, operands)
        if isinstance(e, syntax.Call):
            return self._call(e, operands)
        raise TypeError(f"not a value: {e!r}")

    # -- leaves --------------------------------------------------------------------------------------------------

    def load(self, number: int, operands: Operands) -> SsaValue:
        """Returns the value of the statement's read at this position, which is loaded once."""
        known = operands.loads.get(number)
        if known is None:
            copy, reduction = operands.instance.copy, operands.reduction
            operator = reduction.operator if reduction is not None and number == reduction.access else None
            location = self._locations.of(operands.instance, number, operator)
            scanned = self.scanned.get((location, copy.part)) if copy.scans else None
            known = self._body.load(location) if scanned is None else scanned
            self._fetch(operands.instance, number)
            operands.loads[number] = known
        return known

    def _fetch(self, instance: InstanceCopy, number: int) -> None:
        """Emits a prefetch of what the read at this position will access in a later iteration, if the program has one
        (`Program.prefetches`).
        """
        iterator, distance = self._body.module.program.prefetches.get(instance.statement.name, {}).get(number, ("", 0))
        if iterator:
            later = {**instance.iterators, iterator: instance.iterators[iterator] + distance}
            self._body.fetch(self._locations.of(replace(instance, iterators=later), number))

    def _index(self, e: Index, instance: InstanceCopy) -> SsaValue:
        """Emits an affine integer, and returns it: a scalar, or a vector if it differs between lanes."""
        body, copy = self._body, instance.copy
        value = body.module.table.affine(e.value).substitute(instance.iterators)
        first = SsaValue(body.integer(value.substitute(copy.values)), e.dtype)
        if copy.lane_var is None or copy.lane_var not in value.names:
            return first
        step = value.coefficient(copy.lane_var)
        if step is None:
            lanes = []
            for lane in range(copy.lanes):
                at = {**copy.values, copy.lane_var: copy.values[copy.lane_var] + lane}
                lanes.append(SsaValue(body.integer(value.substitute(at)), e.dtype))
            return body.math.vector(lanes)
        ramp = ", ".join(f"i64 {step * lane}" for lane in range(copy.lanes))
        return body.math.plain("+", first, SsaValue(f"<{ramp}>", e.dtype, copy.lanes))

    def _number(self, e: ScalarArg) -> SsaValue:
        """Returns the value of a scalar argument, which is loaded once from the words in which the kernel gets its arguments
        (`SlotMap`).
        """
        body, scope = self._body, self._body.scopes[0]
        key = ("number", e.name, e.dtype)
        if key not in scope.known:
            index = body.module.slots.number(e.name)
            kind = register_type(e.dtype)
            if e.dtype.is_float:
                word = body.word(index, kind)
            else:
                word = body.word(index)
                if kind != "i64":
                    word = body.fn.emit(f"trunc i64 {word} to {kind}", scope.entry)
            scope.known[key] = word
        return SsaValue(scope.known[key], e.dtype)

    def _lowest_bits(self, e: Term, operands: Operands) -> SsaValue:
        """Emits a Python int of which the lowest bits alone count, so that sums, products and shifts may leave 64 bits, and returns it."""
        if isinstance(e, syntax.Binary) and e.dtype == PYINT and e.op in _POINTWISE and e.op != "/":
            return self._body.math.plain(e.op, self._lowest_bits(e.left, operands), self._lowest_bits(e.right, operands))
        if isinstance(e, syntax.Binary) and e.dtype == PYINT and _is_short_shift(e):
            left, by = self._body.math.broadcast(self._lowest_bits(e.left, operands), self.value(e.right, operands))
            return SsaValue(self._body.fn.emit(f"shl {left.type} {left.ssa}, {by.ssa}"), PYINT, left.lanes)
        return self.value(e, operands)

    # -- operations ----------------------------------------------------------------------------------------------

    def _makes_ints(self, statement: Statement) -> bool:
        """Returns whether a statement in a loop assigns Python ints, whose chain from one iteration to the next LLVM's passes shorten."""
        made = any(self._body.scop.arrays[access.array].element == PYINT for access in statement.writes)
        return made and any(isinstance(node, Loop) for node in self._body.path)

    def _logical(self, e: syntax.Logical, operands: Operands) -> SsaValue:
        """Emits `and` or `or`, and returns its truth value; all operands are computed."""
        math = self._body.math
        total = math.truth(self.value(e.operands[0], operands))
        for operand in e.operands[1:]:
            with self._checks.only_if(total if e.op == "and" else math.invert(total)):
                total = math.logical(e.op, total, math.truth(self.value(operand, operands)))
        return total

    def _choice(self, e: syntax.IfExp, operands: Operands) -> SsaValue:
        """Emits a conditional expression, and returns its value; both sides are computed."""
        math = self._body.math
        test = math.truth(self.value(e.condition, operands))
        with self._checks.only_if(test):
            then = self.value(e.then, operands)
        with self._checks.only_if(math.invert(test)):
            orelse = self.value(e.orelse, operands)
        return math.select(test, then, orelse)

    def _call(self, e: syntax.Call, operands: Operands) -> SsaValue:
        """Emits a call of a function of the language, and returns its result."""
        math = self._body.math
        given = [self.value(a, operands) for a in e.args]
        if e.function == "pow":
            return self._binary("**", _type_of(e), *given)
        args = math.broadcast(*given)
        if e.function in elementary.FUNCTIONS and args[0].dtype.is_float:
            return elementary.function(math, e.function, *args)
        return numpy_functions.call(math, e.function, args)

    def _cast(self, e: syntax.Cast, operands: Operands) -> SsaValue:
        """Emits the conversion of a value to another type, and returns it. Python ints are compiled in 64 bits, and only
        conversions from and to them are checked. The overflow flag is set by a Python int that does not fit the NumPy integer type
        that it becomes, and by a float or an unsigned integer that becomes a Python int but does not fit 64 bits.
        """
        math, halves = self._body.math, _half_operands(e)
        if math.halves and halves is not None and isinstance(e.operand, syntax.Binary):
            return math.plain(e.operand.op, *(self.value(half, operands) for half in halves))
        value, source = self.value(e.operand, operands), _type_of(e.operand)
        if source == PYINT and e.to.is_integer and e.to != PYINT and not _is_known_to_fit(e):
            self._checks.fits_type(value, e.to)
        if e.to == PYINT and value.dtype.is_float:
            self._checks.fits_float(value)
        if e.to == PYINT and value.dtype.kind == "u" and value.dtype.bits == 64:
            self._checks.flag(math.compare("<", SsaValue(value.ssa, I64, value.lanes), self.constant(0, I64)))
        return math.convert(value, e.to)

    def _unary(self, e: syntax.Unary, value: SsaValue) -> SsaValue:
        """Emits an operator with one operand, and returns its result. value: the operand's."""
        math = self._body.math
        if e.op == "-":
            return self._checks.plain("-", self.constant(0, PYINT), value) if e.dtype == PYINT else math.negate(value)
        if e.op == "~":
            return math.invert(value)
        if e.op == "not":
            return math.invert(math.truth(value))
        return value

    def _binary(self, op: str, dtype: DType, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits an operator with two operands, and returns its result. dtype: the result's type."""
        math = self._body.math
        left, right = math.broadcast(left, right)
        if op in ("min", "max"):
            return math.minimum(op, left, right)
        if op in _POINTWISE:
            return self._checks.plain(op, left, right) if dtype == PYINT and op in "+-*" else math.plain(op, left, right)
        if op in ("//", "%"):
            if dtype == PYINT and op == "//":
                self._checks.fits_floor_division(left, right)
            return numpy_functions.floor_divide(math, left, right, op == "%")
        if op in ("<<", ">>"):
            shifted = math.shift(op, left, right)
            if dtype == PYINT and op == "<<":
                self._checks.fits_shift(shifted, left, right)
            return shifted
        if op == "**":
            return self._power(dtype, left, right)
        raise TypeError(f"not an operator: {op}")

    def _power(self, dtype: DType, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits a power, and returns it. A constant exponent of integers becomes multiplications, by repeated squaring. dtype: the
        result's type.
        """
        math = self._body.math
        if dtype.is_float:
            return elementary.function(math, "pow", left, right)
        exponent = _constant_exponent(right)
        if exponent is None:
            return self._integer_power(dtype, left, right)
        result, square = None, left
        while exponent:
            if exponent & 1:
                result = square if result is None else self._binary("*", dtype, result, square)
            exponent >>= 1
            if exponent:
                square = self._binary("*", dtype, square, square)
        return math.splat(self.constant(1, dtype), left.lanes) if result is None else result

    def _integer_power(self, dtype: DType, left: SsaValue, right: SsaValue) -> SsaValue:
        """Emits an integer power whose exponent is known only at run time, and returns it: a call of a function for each lane."""
        math = self._body.math
        self._body.declared[integer_power.NAME] = integer_power.DEFINITION
        checked = "true" if dtype == PYINT else "false"
        numbers = []
        for lane in range(left.lanes):
            base = math.convert(math.element(left, lane), I64)
            exponent = math.convert(math.element(right, lane), I64)
            ssa = self._body.fn.emit(
                f"call i64 @{integer_power.NAME}(i64 {base.ssa}, i64 {exponent.ssa}, i1 {checked}, ptr {self._body.overflow})"
            )
            numbers.append(math.convert(SsaValue(ssa, I64), dtype))
        return numbers[0] if left.lanes == 1 else math.vector(numbers)


def _type_of(e: Term) -> DType:
    """Returns the type that inference gave the node. Raises TypeError if it has none."""
    if isinstance(e, (syntax.Part, syntax.Function)) or e.dtype is None:
        raise TypeError(f"not a typed value: {e!r}")
    return e.dtype


def _power_of_all(e: Term) -> tuple[Term, Term] | None:
    """Returns base and exponent of a power of floats whose exponent is one number in the whole call; None for any other expression."""
    is_power = isinstance(e, syntax.Binary) and e.op == "**" or isinstance(e, syntax.Call) and e.function == "pow"
    if not is_power or not _type_of(e).is_float:
        return None
    base, exponent = children(e)
    return (base, exponent) if is_same_in_call(exponent) else None


def _half_operands(e: syntax.Cast) -> tuple[Value, Value] | None:
    """Returns the two float16 operands of a sum, difference, product or quotient that is computed in float32 and rounded to float16;
    None for any other value. The operation in float16 gives the same: float32 has more than twice as many digits and two more, so
    rounding twice is as good as once (Figueroa, "When is double rounding innocuous?", 1995).
    """
    operation = e.operand
    if e.to != F16 or not isinstance(operation, syntax.Binary) or operation.op not in ("+", "-", "*", "/"):
        return None
    wide = (operation.left, operation.right)
    found = [v.operand for v in wide if isinstance(v, syntax.Cast) and v.to == F32 and v.operand.dtype == F16]
    return (found[0], found[1]) if len(found) == 2 else None


def _is_known_to_fit(e: syntax.Cast) -> bool:
    """Returns whether the converted value fits its new type without a check: it was checked at entry, or when the kernel was
    compiled.
    """
    return isinstance(e.operand, (Index, syntax.Const)) or always_fits(e.operand, e.to)


def _constant_exponent(value: SsaValue) -> int | None:
    """Returns the exponent if it is a constant integer that is not negative and is the same in all lanes, else None."""
    text = value.ssa
    if value.lanes > 1 and text.startswith("<"):
        text = text[1:].split(",")[0].split()[-1]
    return int(text) if text.lstrip("-").isdigit() and not text.startswith("-") else None


def _is_short_shift(e: syntax.Binary) -> bool:
    """Returns whether a Python int is shifted to the left by a constant below 64."""
    return e.op == "<<" and isinstance(e.right, syntax.Const) and 0 <= int(e.right.value) < 64


def _may_be_masked(e: syntax.Expr) -> TypeGuard[syntax.Binary]:
    """Returns whether the lowest bits of an expression are made of those of its operands."""
    return isinstance(e, syntax.Binary) and (e.op in ("+", "-", "*") or _is_short_shift(e))


def _masked(e: Term) -> tuple[syntax.Expr, int] | None:
    """Returns (a Python int, a mask) for an expression that has the lowest bits of a sum, product or shift alone; None for any other."""
    if not isinstance(e, syntax.Binary) or e.dtype != PYINT:
        return None
    for one, other in ((e.left, e.right), (e.right, e.left)):
        if isinstance(other, syntax.Const) and _may_be_masked(one):
            value = int(other.value)
            if e.op == "&" and 0 <= value < 2**63:
                return one, value
            if e.op == "%" and other is e.right and value > 0 and value & (value - 1) == 0:
                return one, value - 1
    return None
