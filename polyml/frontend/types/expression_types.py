"""Type inference of expressions: a typed expression for an untyped one, with the set of types that its value may have."""

from __future__ import annotations

import dataclasses

from polyml.dtypes import BOOL, F32, HALVES, I64, PYBOOL, PYINT
from polyml.errors import CompileError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.arrays.shapes import checked_dim, dimensions
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType
from polyml.frontend.types import function_rules, rules
from polyml.frontend.types.conversions import UNKNOWN, TypedValue, converted, narrowed, truth, widened
from polyml.frontend.types.list_elements import ListElements
from polyml.frontend.types.local_numbers import LocalNumbers, source_name
from polyml.frontend.types.type_sets import (
    TypeSet,
    held_in,
    holds,
    of_type,
    representation,
    spelled,
    union,
)
from polyml.source import Loc


class ExpressionInference:
    """An ExpressionInference types the expressions of one kernel, while passes over its statements find the types of names.

    untyped: the kernel
    types: the types of its arguments, in order
    params: the types of its arguments, by parameter
    arrays: the types of all arrays that are known so far, by name
    numbers: the types of local numbers
    state: the definitions that reach the statement that is typed now
    around: the loops around that statement, outermost first
    final: whether this is the last pass, in which all types are known
    """

    def __init__(self, kernel: syntax.Kernel, types: tuple[ArgType, ...]):
        self.untyped, self.types = kernel, types
        self.params = {p.name: t for p, t in zip(kernel.params, types, strict=True)}
        self.arrays = {name: t for name, t in self.params.items() if isinstance(t, ArrayType)}
        self.numbers = LocalNumbers(kernel, self.params)
        self.lists = ListElements(kernel)
        self.state = self.numbers.start
        self.around: tuple[syntax.For, ...] = ()
        self.final = False

    def value(self, expr: syntax.Expr) -> TypedValue:
        """Returns the typed expression; as long as the types of a number or array that it reads are not known, a value without
        types.
        """
        match expr:
            case syntax.Const():
                return rules.literal(expr)
            case syntax.Name():
                return self._name(expr)
            case syntax.Shape():
                return self._shape_of(expr)
            case syntax.Subscript():
                return self._subscript(expr)
            case syntax.Unary(op="not"):
                return TypedValue(syntax.Unary("not", self.condition(expr.operand), dtype=BOOL, loc=expr.loc), of_type(PYBOOL))
            case syntax.Unary():
                return rules.unary(expr, self.value(expr.operand))
            case syntax.Binary(op="min" | "max"):
                return self._extremum(expr)
            case syntax.Binary():
                return rules.binary(expr, self.value(expr.left), self.value(expr.right))
            case syntax.Compare():
                return rules.compare(expr, self.value(expr.left), self.value(expr.right))
            case syntax.Logical():
                return self._logical(expr)
            case syntax.IfExp():
                return self._choice(expr, self.condition(expr.condition), self.value(expr.then), self.value(expr.orelse))
            case syntax.Call(function="where"):
                return self._where(expr)
            case syntax.Call(function="clip"):
                return self._clip(expr)
            case syntax.Call(function="wide"):
                return self._wide(self.value(expr.args[0]))
            case syntax.Call(function="least" | "greatest"):
                return rules.limit(expr, self.value(expr.args[0]))
            case syntax.Call():
                return function_rules.call(expr, tuple(map(self.value, expr.args)))
            case syntax.Cast():
                return rules.cast(expr, self.value(expr.operand))
        raise TypeError(f"not an expression: {expr!r}")

    def _name(self, expr: syntax.Name) -> TypedValue:
        if expr.name in self.arrays:
            raise PolymlTypeError(
                f"`{source_name(expr.name)}` is an array ({self.arrays[expr.name]}), not a number",
                loc=expr.loc,
                notes=["accepted: an element"],
            )
        given = self.params.get(expr.name)
        if isinstance(given, ScalarType):
            return TypedValue(dataclasses.replace(expr, dtype=representation(given.dtype)), of_type(given.dtype))
        read = self.numbers.read(expr.name, self.state)
        if read is None:
            return TypedValue(dataclasses.replace(expr, dtype=PYINT), of_type(PYINT))
        if self.final and read.needs_loops:
            self.numbers.require_loops(read.definitions, self.around)
        here = held_in(read.types) if read.types else None
        dtype = held_in(self.numbers.types_of(expr.name)) if here is not None else None
        if dtype is None or here == PYINT and dtype.is_float and not holds(dtype, PYINT, read.types[PYINT]):
            if self.final:
                raise self.numbers.no_common_type(expr.name, expr.loc)
            return UNKNOWN
        typed: syntax.Expr = dataclasses.replace(expr, dtype=dtype)
        if typed.dtype == I64 and read.may_overflow:
            typed = syntax.Cast(typed, PYINT, True, dtype=PYINT, loc=expr.loc)  # it may not fit, which raises when the program runs
        return narrowed(typed, read.types)

    def array(self, name: str, loc: Loc | None) -> ArrayType | None:
        """Returns the type of an array, or None while it is not known.

        Raises PolymlTypeError for the name of a number.
        """
        given = self.params.get(name)
        if isinstance(given, ScalarType):
            raise PolymlTypeError(
                f"`{name}` is a number ({spelled([given.dtype])}), not an array",
                loc=loc,
                notes=["accepted: a NumPy array"],
            )
        if self.final and name not in self.arrays:
            raise CompileError(f"type inference: `{name}` has no type", loc=loc)
        return self.arrays.get(name)

    def _shape_of(self, expr: syntax.Shape) -> TypedValue:
        array = self.array(expr.array, expr.loc)
        if array is None:
            return UNKNOWN
        dim = checked_dim(expr, array.ndim, source_name(expr.array))
        typed = dataclasses.replace(expr, dim=dim, ndim=None, dtype=PYINT)
        return TypedValue(typed, of_type(PYINT))

    def _subscript(self, expr: syntax.Subscript) -> TypedValue:
        indices = tuple(self.integer(i, "a subscript") for i in expr.indices)
        array = self.array(expr.array, expr.loc)
        if array is None:
            return UNKNOWN
        if len(indices) != array.ndim:
            given = f"{len(indices)} subscript{'s are' if len(indices) != 1 else ' is'}"
            raise PolymlTypeError(
                f"`{source_name(expr.array)}` has {dimensions(array.ndim)}, and {given} given",
                loc=expr.loc,
                notes=["accepted: one subscript per dimension"],
            )
        read = dataclasses.replace(expr, indices=indices, part="", dtype=array.element)
        whole = self.lists.read(read) if expr.array in self.lists else TypedValue(read, of_type(array.element))
        return function_rules.call(syntax.Call(expr.part, (expr,), loc=expr.loc), (whole,)) if expr.part else whole

    def integer(self, expr: syntax.Expr, what: str) -> syntax.Expr:
        """Returns an expression converted to a Python int, as a subscript, a size or a bound has to be; untyped if its type is not
        known.

        what: what the expression is, in the message of the PolymlTypeError that refuses other types
        """
        value = self.value(expr)
        if not value.known:
            return expr
        if not all(k.is_integer for k in value.types):
            raise PolymlTypeError(f"{what} must be an integer, not {value}", loc=expr.loc, notes=["accepted: an int, or int(x)"])
        return converted(value, PYINT)

    def condition(self, expr: syntax.Expr) -> syntax.Expr:
        """Returns an expression typed as a BOOL, by its truth as in `if`; untyped while its type is not known.

        Only truth counts here, so the operands of `and` and `or` need no common type.
        """
        match expr:
            case syntax.Logical():
                return dataclasses.replace(expr, operands=tuple(map(self.condition, expr.operands)), dtype=BOOL)
            case syntax.Unary(op="not"):
                return dataclasses.replace(expr, operand=self.condition(expr.operand), dtype=BOOL)
        value = self.value(expr)
        return truth(value.expr) if value.known else expr

    def _logical(self, expr: syntax.Logical) -> TypedValue:
        """Returns the typed `a and b`, which is b if a else a, or `a or b`: one of the operands, not a truth value."""
        values = tuple(map(self.value, expr.operands))
        if not all(v.known for v in values):
            return UNKNOWN
        if all(v.dtype == BOOL for v in values):
            typed = dataclasses.replace(expr, operands=tuple(v.expr for v in values), dtype=BOOL)
            return TypedValue(typed, union(v.types for v in values))
        *before, result = values
        for value in reversed(before):
            then, orelse = (result, value) if expr.op == "and" else (value, result)
            result = self._choice(expr, truth(value.expr), then, orelse)
            if not result.known:
                return UNKNOWN
        return result

    def _choice(self, expr: syntax.Expr, condition: syntax.Expr, then: TypedValue, orelse: TypedValue) -> TypedValue:
        parts = self._common(expr, (then, orelse))
        if parts is None:
            return UNKNOWN
        typed, types = parts
        return TypedValue(syntax.IfExp(condition, *typed, dtype=typed[0].dtype, loc=expr.loc), types)

    def _where(self, expr: syntax.Call) -> TypedValue:
        """Returns np.where as a typed conditional expression, in the type to which NumPy promotes both values."""
        condition, then, orelse = self.condition(expr.args[0]), self.value(expr.args[1]), self.value(expr.args[2])
        if not then.known or not orelse.known:
            return UNKNOWN
        common = function_rules.call(syntax.Call("where", expr.args[1:], loc=expr.loc), (then, orelse))
        typed = tuple(converted(v, common.dtype) for v in (then, orelse))
        return TypedValue(syntax.IfExp(condition, *typed, dtype=common.dtype, loc=expr.loc), common.types)

    def _clip(self, expr: syntax.Call) -> TypedValue:
        """Returns np.clip as typed calls of maximum and minimum, in the type to which NumPy promotes all three operands."""
        common = function_rules.call(expr, tuple(map(self.value, expr.args)))
        if not common.known or not isinstance(common.expr, syntax.Call):
            return UNKNOWN
        number, low, high = (TypedValue(part, common.types) for part in common.expr.args)
        least = function_rules.call(syntax.Call("maximum", expr.args[:2], loc=expr.loc), (number, low))
        return function_rules.call(syntax.Call("minimum", expr.args[1:], loc=expr.loc), (least, high))

    def _wide(self, value: TypedValue) -> TypedValue:
        """Returns a value converted to float32 if it is certainly a float16 or bfloat16, else the value itself."""
        is_half = len(value.types) == 1 and value.dtype in HALVES
        return TypedValue(converted(value, F32), of_type(F32)) if is_half else value

    def _extremum(self, expr: syntax.Binary) -> TypedValue:
        left, right = self.value(expr.left), self.value(expr.right)
        parts = self._common(expr, (left, right))
        return UNKNOWN if parts is None else rules.extremum(expr, left, right, *parts)

    def _common(
        self, expr: syntax.Expr, values: tuple[TypedValue, TypedValue]
    ) -> tuple[tuple[syntax.Expr, syntax.Expr], TypeSet] | None:
        """Returns two values as expressions of one type that holds each exactly, and the set of types that they had before.

        None is returned while the types are not known. Raises PolymlTypeError where no type holds both.

        expr: the expression that has the two as operands, at whose place the error is reported
        """
        if not all(v.known for v in values):
            return None
        types = union(v.types for v in values)
        dtype = held_in(types)
        if dtype is None:
            if not self.final:
                return None
            raise PolymlTypeError(
                f"the result is {' or '.join(map(str, values))}: no type holds both",
                loc=expr.loc,
                notes=["accepted: operands of one type; convert one, for instance np.float64(x)"],
            )
        left, right = values
        return (widened(left, dtype), widened(right, dtype)), types
