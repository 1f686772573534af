"""Values of statements as C expressions, which compute what NumPy and Python do.

Halves are computed in float, as on CPUs. What several operands share is a constant before the statement, unless it loads under
a condition or may fail; `?:` and `&&` keep everything else from being computed where it is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.functions import suffix
from polyml.codegen.gpu.text.integers import Rename, condition, integer
from polyml.codegen.gpu.text.names import number_name
from polyml.codegen.gpu.text.shared_values import shared
from polyml.codegen.ir.accesses import AccessTable
from polyml.dtypes import BF16, F16, F32, F64, HALVES, PYINT, DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import MATH_NAMES
from polyml.model.core.nest import always_fits
from polyml.model.core.scop import Access, Gather, Index, Load, ScalarArg, Scop, Statement, Value
from polyml.quasi_affine.affine import Affine, Condition

Address = Callable[[str, Sequence[str], tuple[Affine, ...]], str]  # an array and its subscripts -> the element, as C names it

# how tightly C binds, the tightest last
_CHOICE, _OR, _AND, _BIT_OR, _BIT_XOR, _BIT_AND, _EQUAL, _LESS, _SUM, _PRODUCT, _PREFIX, _ATOM = range(12)
_BINDS = {
    "|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND, "==": _EQUAL, "!=": _EQUAL, "<": _LESS, "<=": _LESS, ">": _LESS, ">=": _LESS,
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT,
}  # fmt: skip
_CHECKED = {
    "+": "checked_add", "-": "checked_subtract", "*": "checked_multiply", "//": "checked_floor_divide", "<<": "checked_shift_left",
    "**": "checked_power",
}  # fmt: skip
_NAMED = {"//": "floor_divide", "%": "remainder", "<<": "shift_left", ">>": "shift_right", "min": "first_min", "max": "first_max"}
_WRAPS = "+-*"
_UPDATES = ("+", "-", "*", "/")
_SAME_IN_C = frozenset(
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor ceil trunc rint erf erfc tgamma lgamma cbrt fmod hypot copysign".split()
)
_EXTREMES = {"minimum": "minimum", "maximum": "maximum", "fmin": "least", "fmax": "greatest"}


@dataclass(frozen=True)
class Text:
    """A Text is the C text of an expression.

    binds: how tightly its outermost operator binds: one of this module's levels, from _CHOICE (`?:`) to _ATOM (a name or call).
    """

    text: str
    binds: int = _ATOM

    def within(self, binds: int) -> str:
        """Returns the text, in parentheses unless it binds at least as tightly as `binds`."""
        return self.text if self.binds >= binds else f"({self.text})"


@dataclass
class Needs:
    """A Needs collects what the text of a kernel refers to.

    functions: names of device functions, in the order of their first use.
    numbers: arguments that are numbers, with their types.
    status: whether the kernel may find that the call fails, which it reports through a pointer, its parameter `status`.
    """

    functions: dict[str, None] = field(default_factory=dict)
    numbers: dict[str, DType] = field(default_factory=dict)
    status: bool = False

    def function(self, name: str) -> str:
        """Returns the name of a device function, and notes that the kernel calls it."""
        self.functions[name] = None
        return name


class Values:
    """A Values writes the statements of one kernel in C."""

    def __init__(self, scop: Scop, dialect: Dialect, needs: Needs, element: Address, rename: Rename):
        self.scop, self.dialect, self._needs, self._element, self._rename = scop, dialect, needs, element, rename
        self._table = AccessTable(scop.context)

    def assignment(self, statement: Statement, point: Sequence[Affine]) -> list[str]:
        """Returns the lines of C that run one instance of the statement. point: the values of its iterators."""
        instance = _StatementText(self, statement, dict(zip(statement.iterators, point, strict=True)))
        target = instance.access(statement.write)
        element = self.scop.arrays[statement.write.array].element
        added = instance.added_to(target, element)
        if added:
            return [*instance.constants, f"{added};"]
        value = instance.value(statement.value)
        stored = self.stored(value, element)
        return [*instance.constants, f"{target} = {stored};"]

    def stored(self, value: Text, element: DType) -> str:
        """Returns the C text of the value as an element in memory; halves are converted to their bits."""
        if element == F16:
            return f"{self._needs.function('f16_bits')}({value.text})"
        return f"{self._needs.function('bf16_bits')}({value.text})" if element == BF16 else value.text

    def loaded(self, text: str, element: DType) -> Text:
        """Returns the C text of an element in memory as a value; halves are converted from their bits."""
        if element not in HALVES:
            return Text(text)
        return Text(f"{self._needs.function(f'{element.name}_value')}({text})")

    def of_texts(self, value: Value, loads: Sequence[str]) -> str:
        """Returns the C text of a value whose loads are these texts, by their numbers."""
        return _TextOfLoads(self, loads).value(value).text

    def test(self, where: Condition) -> str:
        """Returns the C text of a condition, given in names of the program."""
        return condition(self._rename(where), self._needs.function)

    def call(self, function: str, *operands: Text | str, checked: bool = False) -> Text:
        """Returns the C text of a call of a device function. checked: whether the pointer `status` is its last argument."""
        texts = [each if isinstance(each, str) else each.text for each in operands]
        if checked:
            self._needs.status = True
            texts.append("status")
        return Text(f"{self._needs.function(function)}({', '.join(texts)})")

    def number(self, name: str, dtype: DType) -> str:
        """Returns the C name of an argument that is a number, and notes that the kernel refers to it."""
        self._needs.numbers[name] = dtype
        return number_name(name)

    def index(self, value: Affine) -> str:
        """Returns the C text of an integer expression, given in names of the program."""
        return integer(self._rename(value), self._needs.function)

    def subscripts(self, access: Access) -> tuple[Affine, ...]:
        """Returns the access's subscripts as expressions of the statement's iterators."""
        return self._table.subscripts(access)

    def affine(self, value: isl.PwAff) -> Affine:
        """Returns { S[i, j] -> [(e)] } as an expression of i and j."""
        return self._table.affine(value)

    def element(self, array: str, texts: Sequence[str], subscripts: tuple[Affine, ...] = ()) -> str:
        """Returns the C text of an element of an array.

        texts: the C texts of its subscripts.
        subscripts: the same as expressions, () where data decide them.
        """
        return self._element(array, texts, subscripts)


class _StatementText:
    """A _StatementText writes the value of one instance of a statement in C.

    constants: the lines that define constants, which stand before the statement, for values that several operands share.
    """

    def __init__(self, values: Values, statement: Statement, point: Mapping[str, Affine]):
        self._values, self._statement, self._point = values, statement, point
        self._shared = shared(statement)
        self._known: dict[int, Text] = {}
        self.constants: list[str] = []

    def access(self, access: Access) -> str:
        """Returns the C text of the element that the access refers to."""
        subscripts = tuple(e.substitute(self._point) for e in self._values.subscripts(access))
        return self._values.element(access.array, [self._values.index(each) for each in subscripts], subscripts)

    def added_to(self, target: str, element: DType) -> str:
        """Returns the C text of the statement as `target += value`, with any of the operators + - * and / on floats; "" where it
        is no such update of its element.
        """
        e = self._statement.value
        if not isinstance(e, syntax.Binary) or e.op not in _UPDATES or e.dtype != element or element not in (F32, F64):
            return ""
        if not isinstance(e.left, Load) or self.value(e.left).text != target:
            return ""
        return f"{target} {e.op}= {self.value(e.right).text}"

    def value(self, e: Value) -> Text:
        """Returns the C text of a value; where several operands share the value, this is the name of a constant."""
        known = self._known.get(id(e))
        if known is not None:
            return known
        text = self._made(e)
        if id(e) in self._shared and text.binds < _ATOM:
            name = f"v{len(self.constants)}"
            self.constants.append(f"const {self._values.dialect.register_type(e.dtype)} {name} = {text.text};")
            text = Text(name)
            self._known[id(e)] = text
        return text

    def _made(self, e: Value) -> Text:
        if isinstance(e, Load):
            access = self._statement.reads[e.access]
            return self._values.loaded(self.access(access), self._values.scop.arrays[access.array].element)
        if isinstance(e, Index):
            return self._index(e)
        if isinstance(e, ScalarArg):
            return self._values.loaded(self._values.number(e.name, e.dtype), e.dtype)
        if isinstance(e, Gather):
            subscripts = [self.value(each).within(_SUM) for each in e.indices]
            return self._values.loaded(self._values.element(e.array, subscripts), self._values.scop.arrays[e.array].element)
        if isinstance(e, syntax.Const):
            return self._constant(e.value, e.dtype)
        if isinstance(e, syntax.Cast):
            return self._cast(e)
        if isinstance(e, syntax.Unary):
            return self._unary(e)
        if isinstance(e, syntax.Binary):
            return self._binary(e)
        if isinstance(e, syntax.Compare):
            return self._operator(e.op, self.value(e.left), self.value(e.right))
        if isinstance(e, syntax.Logical):
            binds, op = (_AND, "&&") if e.op == "and" else (_OR, "||")
            return Text(f" {op} ".join(self.value(each).within(binds + 1) for each in e.operands), binds)
        if isinstance(e, syntax.IfExp):
            test, then, orelse = (self.value(each) for each in (e.condition, e.then, e.orelse))
            return Text(f"{test.within(_OR)} ? {then.within(_OR)} : {orelse.within(_CHOICE)}", _CHOICE)
        if isinstance(e, syntax.Call):
            return self._call(e)
        raise TypeError(f"not a value: {e!r}")

    def _index(self, e: Index) -> Text:
        value = self._values.affine(e.value).substitute(self._point)
        if value.is_constant:
            return self._constant(value.constant, e.dtype)
        text = self._values.index(value)
        return Text(text, _ATOM if text.isidentifier() else _SUM)

    def _constant(self, value: object, dtype: DType) -> Text:
        if dtype.is_float:
            return _float(float(value), dtype not in HALVES and dtype.bits == 64)  # type: ignore[arg-type]  # a number, which inference has typed
        if dtype.kind == "b":
            return Text("1" if value else "0")
        number = int(value)  # type: ignore[call-overload]  # the same
        kind = self._values.dialect.register_type(dtype)
        if number == -(2**63):
            return Text(f"({kind})((({self._values.dialect.unsigned(64)})1) << 63)", _PREFIX)
        if dtype.bits == 32 and dtype.kind == "i" and number != -(2**31):
            return Text(str(number), _ATOM if number >= 0 else _PREFIX)
        if dtype.bits == 64:
            ending = "ll" if self._values.dialect.name == "cuda" else "l"
            return Text(f"{number}{'u' if dtype.kind == 'u' else ''}{ending}", _ATOM if number >= 0 else _PREFIX)
        return Text(f"({kind}){number}" if number >= 0 else f"({kind})({number}l)", _PREFIX)

    def _operator(self, op: str, left: Text, right: Text) -> Text:
        binds = _BINDS[op]
        return Text(f"{left.within(binds)} {op} {right.within(binds + 1)}", binds)

    def _unary(self, e: syntax.Unary) -> Text:
        operand = self.value(e.operand)
        if e.op == "-":
            if e.dtype == PYINT:
                return self._values.call("checked_subtract", "0", operand, checked=True)
            return (
                self._wrapped(f"0 - ({self._unsigned(e.dtype)}){operand.within(_PREFIX)}", e.dtype)
                if e.dtype.is_integer
                else Text(f"-{operand.within(_PREFIX + 1)}", _PREFIX)
            )
        if e.op == "not" or e.op == "~" and e.dtype.kind == "b":
            return Text(f"!{operand.within(_PREFIX)}", _PREFIX)
        return self._wrapped(f"~{operand.within(_PREFIX)}", e.dtype) if e.op == "~" else operand

    def _unsigned(self, dtype: DType) -> str:
        return self._values.dialect.unsigned(max(dtype.bits, 32))

    def _wrapped(self, text: str, dtype: DType) -> Text:
        """Returns `text`, which computes in unsigned numbers since signed overflow is undefined in C, converted to the type."""
        return Text(f"({self._values.dialect.register_type(dtype)})({text})", _PREFIX)

    def _binary(self, e: syntax.Binary) -> Text:
        left, right, dtype = self.value(e.left), self.value(e.right), e.dtype
        if e.op == "**":
            return self._power(e, left, right)
        if dtype == PYINT and e.op in _CHECKED:
            return self._values.call(_CHECKED[e.op], left, right, checked=True)
        if e.op in _NAMED:
            if dtype in HALVES:
                raise TypeError("halves are computed in float")
            of = suffix(e.left.dtype if e.left.dtype.kind != "b" else dtype)
            return self._values.call(f"{_NAMED[e.op]}_{of}", left, right)
        if dtype.kind == "b":
            return self._operator({"+": "|", "*": "&"}.get(e.op, e.op), left, right)
        if dtype.is_integer and e.op in _WRAPS:
            kind = self._unsigned(dtype)
            both = [f"({kind}){operand.within(_PREFIX)}" for operand in (left, right)]
            return self._wrapped(f"{both[0]} {e.op} {both[1]}", dtype)
        made = self._operator(e.op, left, right)
        return (
            made
            if dtype.is_float or dtype.bits >= 32
            else Text(f"({self._values.dialect.register_type(dtype)})({made.text})", _PREFIX)
        )

    def _power(self, e: syntax.Binary, left: Text, right: Text) -> Text:
        if e.dtype.is_float:
            return Text(f"pow({left.text}, {right.text})")
        if e.dtype == PYINT:
            return self._values.call("checked_power", left, right, checked=True)
        return self._values.call(f"power_{suffix(e.dtype)}", left, right, checked=True)

    def _cast(self, e: syntax.Cast) -> Text:
        value, source, to = self.value(e.operand), e.operand.dtype, e.to
        values = self._values
        if (
            source == PYINT
            and to.is_integer
            and to != PYINT
            and not (isinstance(e.operand, (Index, syntax.Const)) or always_fits(e.operand, to))
        ):
            low = -(1 << (to.bits - 1)) if to.kind == "i" else 0
            high = min((1 << (to.bits - (to.kind == "i"))) - 1, 2**63 - 1)
            if (low, high) != (-(2**63), 2**63 - 1):
                value = values.call("checked_within", value, f"{low}l", f"{high}l", checked=True)
        if to == PYINT and source.is_float:
            return values.call("checked_whole", value, checked=True)
        if to == PYINT and source.kind == "u" and source.bits == 64:
            return values.call("checked_unsigned", value, checked=True)
        if to in HALVES:
            if source == to:
                return value
            return values.call(f"rounded_{to.name}", value)
        if source in HALVES and to.is_float and to.bits == 32:
            return value
        if values.dialect.register_type(source) == values.dialect.register_type(to) and source.kind == to.kind:
            return value
        kind = values.dialect.register_type(to)
        if source.is_float and to.is_integer:
            if to.kind == "u" and to.bits == 64:
                return values.call("u64_of_float", value)
            wide = values.dialect.types["i", 64 if to.bits == 64 or to.kind == "u" and to.bits == 32 else 32]
            if wide != kind:
                return Text(f"({kind})({wide}){value.within(_PREFIX)}", _PREFIX)
        return Text(f"({kind}){value.within(_PREFIX)}", _PREFIX)

    def _call(self, e: syntax.Call) -> Text:
        operands = [self.value(each) for each in e.args]
        texts, dtype, name = [each.text for each in operands], e.args[0].dtype, e.function
        if "." in name:
            function, _, part = name.partition(".")  # of a complex number, given and found as parts
            return Text(f"{self._values.call(f'complex_{function}', *operands).text}.{part}")
        if name == "pow":
            return self._power(syntax.Binary("**", *e.args, dtype=e.dtype), *operands)
        if name in ("abs", "fabs"):
            if dtype.is_float:
                return Text(f"fabs({texts[0]})")
            return self._values.call(f"absolute_{suffix(dtype)}", operands[0]) if dtype.kind == "i" else operands[0]
        if name in ("isnan", "isinf", "isfinite"):
            return self._classified(name, operands[0], dtype)
        if name == "square":
            return self._binary(syntax.Binary("*", e.args[0], e.args[0], dtype=e.dtype))
        if name == "reciprocal":
            one = self._constant(1, dtype)
            return (
                self._operator("/", one, operands[0])
                if dtype.is_float
                else self._values.call(f"floor_divide_{suffix(dtype)}", one, operands[0])
            )
        if name == "sign":
            return self._values.call(f"sign_{suffix(dtype)}", operands[0])
        if name in _EXTREMES:
            of = _EXTREMES[name] if dtype.is_float else {"minimum": "first_min", "fmin": "first_min"}.get(name, "first_max")
            if dtype.kind == "b":
                return self._operator("&" if "min" in name else "|", *operands)
            return self._values.call(f"{of}_{suffix(dtype)}", *operands)
        if name in _SAME_IN_C or name in MATH_NAMES:
            return Text(f"{MATH_NAMES.get(name, name)}({', '.join(texts)})")
        raise NotAffineError(f"`{name}` has no code for GPUs", loc=e.loc or self._statement.loc)

    def _classified(self, name: str, operand: Text, dtype: DType) -> Text:
        if not dtype.is_float:
            return Text("1" if name == "isfinite" else "0")
        return Text(f"({name}({operand.text}) != 0)")


class _TextOfLoads(_StatementText):
    """A _TextOfLoads writes a value whose loads are given texts, in place of elements of arrays."""

    def __init__(self, values: Values, loads: Sequence[str]):
        self._values, self._loads, self._shared, self._known = values, loads, set(), {}

    def _made(self, e: Value) -> Text:
        return Text(self._loads[e.access]) if isinstance(e, Load) else super()._made(e)


def _float(value: float, is_double: bool) -> Text:
    """Returns the shortest C text that reads back to the number: a double's or, if not `is_double`, a float's, which ends in f."""
    if not math.isfinite(value):
        text = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        if is_double:  # C's are floats, which no function takes together with a double in OpenCL
            return Text(f"(double){text}", _PREFIX)
        return Text(text, _PREFIX if text.startswith("-") else _ATOM)
    text = repr(value)
    return Text(text + ("" if is_double else "f"), _PREFIX if text.startswith("-") else _ATOM)
