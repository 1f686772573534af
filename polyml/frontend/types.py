"""Type inference: the types of the arguments -> the type of every expression, with each conversion written as a Cast.

The rules are NumPy 2's promotion (NEP 50), asked of NumPy itself (`promotion`); Python's numbers are weak. What follows from them:

* A typed expression has a fixed type or PYINT. Both operands of Binary, Compare and Call have one type, except that a condition
  (of If, IfExp, Logical and `not`) is BOOL. Subscripts, bounds and shapes are PYINT. Python floats are F64, Python bools BOOL.
* A Cast from PYINT to an integer type must be checked: NumPy raises OverflowError for a Python int that does not fit. So must a Cast from a
  float or U64 to PYINT. A Cast between fixed types wraps.
* Python raises where a plain float is divided by zero and where math.sqrt gets a negative number or math.exp overflows; the language takes
  IEEE's result, as NumPy does. A Python int divided by zero by // or % gives 0, as NumPy's ints do. A Python int that meets a Python float,
  in / and in comparisons too, is converted to it first.
* The right operand of ** on integers is unsigned or a constant that is not negative.
* A number that is a Python float on one path and float32 on another (`s = 0.0`, then `s += A[i]`) is held in float32 where the Python number is a
  constant that float32 holds exactly; arithmetic on it is float32's, also in a call whose loop does not run at all.
  Two different fixed types on two paths are held in a type that contains both, and arithmetic on them is refused where the type of its
  result would depend on the path.
* A whole call is refused, never a part: PolymlTypeError for an operation NumPy does not have or whose type the language lacks
  (float16), PolymlOverflowError for a constant that does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT, U64, DType
from polyml.errors import PolymlError, PolymlOverflowError, PolymlTypeError
from polyml.frontend import promotion, syntax, walk, webs
from polyml.frontend.names import statements
from polyml.frontend.promotion import NoRule
from polyml.frontend.syntax import ArrayType, ArgType, ScalarType, Stmt
from polyml.frontend.values import (
    Value, constant, converted, embedded, held, integer_range, representation, spelled, stored, truth,
)  # fmt: skip
from polyml.source import Loc

_UNKNOWN = Value(syntax.Const(0), frozenset())
_TESTS = ("isnan", "isinf", "isfinite")
_ROUNDINGS = ("floor", "ceil", "trunc")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def infer(kernel: syntax.Kernel, types: Sequence[ArgType]) -> syntax.Kernel:
    """The kernel for arguments of these types, typed throughout.

    Raises PolymlTypeError or PolymlOverflowError, with the place and what would be accepted.
    """
    if len(types) != len(kernel.params):
        names = ", ".join(p.name for p in kernel.params)
        raise PolymlTypeError(
            f"{kernel.name} takes {len(kernel.params)} arguments, not {len(types)}",
            notes=[f"accepted: {kernel.name}({names})"],
        )
    return _Inference(webs.split(kernel), tuple(types)).kernel()


class _Inference:
    def __init__(self, kernel: syntax.Kernel, types: tuple[ArgType, ...]):
        self._untyped, self._types = kernel, types
        self._params = {p.name: t for p, t in zip(kernel.params, types)}
        self._loops = {s.var for s in statements(kernel.body) if isinstance(s, syntax.For)}
        self._scalars: dict[str, dict[DType, Loc | None]] = {}  # kind -> the first assignment of that kind
        self._arrays = {name: t for name, t in self._params.items() if isinstance(t, ArrayType)}
        self._final = False

    def kernel(self) -> syntax.Kernel:
        growing = True
        while growing:
            before = {name: frozenset(kinds) for name, kinds in self._scalars.items()}
            self._body(self._untyped.body)
            growing = before != {name: frozenset(kinds) for name, kinds in self._scalars.items()}
        self._final = True
        body = self._body(self._untyped.body)
        scalars = tuple((name, representation(held(frozenset(kinds)))) for name, kinds in self._scalars.items())
        _check_constants(body)
        return dataclasses.replace(self._untyped, body=body, types=self._types, scalars=scalars)

    # Statements

    def _body(self, stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(map(self._stmt, stmts))

    def _stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case syntax.For():
                start, stop = (
                    self._integer(stmt.start, "a bound of range"),
                    self._integer(stmt.stop, "a bound of range"),
                )
                return dataclasses.replace(stmt, start=start, stop=stop, body=self._body(stmt.body))
            case syntax.If():
                condition = self._condition(stmt.condition)
                return dataclasses.replace(
                    stmt, condition=condition, then=self._body(stmt.then), orelse=self._body(stmt.orelse)
                )
            case syntax.Assign(target=syntax.Name()):
                return self._assign_name(stmt)
            case syntax.Assign():
                value, target = self._value(stmt.value), self._value(stmt.target)
                if not value.known or not target.known:
                    return stmt
                return dataclasses.replace(stmt, target=target.expr, value=stored(value, target.expr.dtype))
            case syntax.Alloc():
                return self._alloc(stmt)
            case syntax.Return():
                return self._return(stmt)
        raise TypeError(f"not a statement: {stmt!r}")

    def _assign_name(self, stmt: syntax.Assign) -> syntax.Assign:
        name, value = stmt.target.name, self._value(stmt.value)
        kinds = self._scalars.setdefault(name, {})
        for kind in value.kinds:
            kinds.setdefault(kind, stmt.loc)
        if not self._final:
            return stmt
        dtype = held(frozenset(kinds))
        if dtype is None:
            raise self._no_common_type(name, kinds, stmt.loc)
        expr = embedded(value, dtype)
        if expr is None:
            raise self._inexact(name, value, dtype, kinds)
        target = dataclasses.replace(stmt.target, dtype=representation(dtype))
        return dataclasses.replace(stmt, target=target, value=expr)

    def _no_common_type(self, name: str, kinds: dict[DType, Loc | None], loc: Loc | None) -> PolymlError:
        places = [f"`{name}` is {spelled(frozenset((kind,)))} by {where}" for kind, where in kinds.items()]
        return PolymlTypeError(
            f"`{_source_name(name)}` has no one type: {spelled(frozenset(kinds))}",
            loc=loc,
            notes=[*places, "accepted: a name for each type, or a conversion such as np.float64(x)"],
        )

    def _inexact(self, name: str, value: Value, dtype: DType, kinds: dict[DType, Loc | None]) -> PolymlError:
        where = next((loc for kind, loc in kinds.items() if representation(kind) == representation(dtype)), None)
        because = [f"`{_source_name(name)}` is {spelled(frozenset((dtype,)))} by {where}"] if where else []
        return _inexact(value, dtype, f"`{_source_name(name)}`", because)

    def _alloc(self, stmt: syntax.Alloc) -> syntax.Alloc:
        shape = self._shape(stmt)
        fill = None if stmt.fill is None else self._value(stmt.fill)
        element = self._element(stmt, fill)
        if element is None or fill is not None and not fill.known:
            return stmt
        self._arrays[stmt.name] = ArrayType(element, len(shape))
        return dataclasses.replace(
            stmt, shape=shape, element=element, fill=None if fill is None else _filled(fill, element)
        )

    def _shape(self, stmt: syntax.Alloc) -> tuple[syntax.Expr, ...]:
        if isinstance(stmt.shape, tuple):
            return tuple(self._integer(s, "a size") for s in stmt.shape)
        like, array = stmt.shape, self._array(stmt.shape.array, stmt.shape.loc)
        ndim = array.ndim if array else 0
        return tuple(syntax.Shape(like.array, dim, dtype=PYINT, loc=like.loc) for dim in range(ndim))

    def _element(self, stmt: syntax.Alloc, fill: Value | None) -> DType | None:
        if isinstance(stmt.element, syntax.Like):
            array = self._array(stmt.element.array, stmt.element.loc)
            return array and array.element
        if stmt.element is not None:
            return stmt.element
        elements = {I64 if kind == PYINT else representation(kind) for kind in fill.kinds}
        if len(elements) > 1:
            raise PolymlTypeError(
                f"the element type of `{_source_name(stmt.name)}` is not known: the fill value is {fill}",
                loc=stmt.loc,
                notes=["accepted: np.full with dtype="],
            )
        return next(iter(elements), None)

    def _return(self, stmt: syntax.Return) -> syntax.Return:
        values, python = [], []
        for value in stmt.values:
            if isinstance(value, syntax.ArrayName) or isinstance(value, syntax.Name) and value.name in self._arrays:
                values.append(syntax.ArrayName(value.name, loc=value.loc))
                python.append(False)
                continue
            typed = self._value(value)
            values.append(typed.expr)
            python.append(typed.known and typed.is_weak)
        return dataclasses.replace(stmt, values=tuple(values), python=tuple(python))

    # Expressions

    def _value(self, expr: syntax.Expr) -> Value:
        match expr:
            case syntax.Const():
                return _constant(expr)
            case syntax.Name():
                return self._name(expr)
            case syntax.Shape():
                return self._shape_of(expr)
            case syntax.Subscript():
                return self._subscript(expr)
            case syntax.Unary(op="not"):
                return Value(
                    syntax.Unary("not", self._condition(expr.operand), dtype=BOOL, loc=expr.loc), frozenset((PYBOOL,))
                )
            case syntax.Unary():
                return _unary(expr, self._value(expr.operand))
            case syntax.Binary(op="min" | "max"):
                return self._extremum(expr)
            case syntax.Binary():
                return _binary(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Compare():
                return _compare(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Logical():
                return self._logical(expr)
            case syntax.IfExp():
                return self._choice(
                    expr, self._condition(expr.condition), self._value(expr.then), self._value(expr.orelse)
                )
            case syntax.Call():
                return _call(expr, tuple(map(self._value, expr.args)))
            case syntax.Cast():
                return _cast(expr, self._value(expr.operand))
        raise TypeError(f"not an expression: {expr!r}")

    def _name(self, expr: syntax.Name) -> Value:
        if expr.name in self._arrays:
            raise PolymlTypeError(
                f"`{_source_name(expr.name)}` is an array ({self._arrays[expr.name]}), not a number",
                loc=expr.loc,
                notes=["accepted: an element; NumPy array expressions are not part of the language yet"],
            )
        if expr.name in self._loops:
            kinds = frozenset((PYINT,))
        elif expr.name in self._params:
            kinds = frozenset((self._params[expr.name].dtype,))
        else:
            kinds = frozenset(self._scalars.get(expr.name, ()))
        dtype = held(kinds) if kinds else None
        if dtype is None:
            if self._final:
                raise self._no_common_type(expr.name, self._scalars[expr.name], expr.loc)
            return _UNKNOWN
        return Value(dataclasses.replace(expr, dtype=representation(dtype)), kinds)

    def _array(self, name: str, loc: Loc | None) -> ArrayType | None:
        """The type of an array, None while it is not known."""
        if isinstance(self._params.get(name), ScalarType):
            raise PolymlTypeError(
                f"`{name}` is a number ({spelled(frozenset((self._params[name].dtype,)))}), not an array",
                loc=loc,
                notes=["accepted: a NumPy array"],
            )
        return self._arrays.get(name)

    def _shape_of(self, expr: syntax.Shape) -> Value:
        array = self._array(expr.array, expr.loc)
        if array is None:
            return _UNKNOWN
        name = f"`{_source_name(expr.array)}`"
        if expr.ndim is not None and expr.ndim != array.ndim:
            raise PolymlTypeError(
                f"{name} has {_dimensions(array)}, and its shape is unpacked into {expr.ndim}",
                loc=expr.loc, notes=[f"accepted: {array.ndim} targets"],
            )  # fmt: skip
        if not -array.ndim <= expr.dim < array.ndim:
            raise PolymlTypeError(
                f"{name} has {_dimensions(array)}, so no dimension {expr.dim}",
                loc=expr.loc,
                notes=[
                    f"accepted: {-array.ndim} to {array.ndim - 1}"
                    if array.ndim
                    else "accepted: an array with dimensions"
                ],
            )
        typed = dataclasses.replace(expr, dim=expr.dim % array.ndim, ndim=None, dtype=PYINT)
        return Value(typed, frozenset((PYINT,)))

    def _subscript(self, expr: syntax.Subscript) -> Value:
        indices = tuple(self._integer(i, "a subscript") for i in expr.indices)
        array = self._array(expr.array, expr.loc)
        if array is None:
            return _UNKNOWN
        if len(indices) != array.ndim:
            given = f"{len(indices)} subscript{'s are' if len(indices) != 1 else ' is'}"
            raise PolymlTypeError(
                f"`{_source_name(expr.array)}` has {_dimensions(array)}, and {given} given",
                loc=expr.loc,
                notes=[
                    "accepted: one subscript per dimension; NumPy array expressions are not part of the language yet"
                ],
            )
        return Value(dataclasses.replace(expr, indices=indices, dtype=array.element), frozenset((array.element,)))

    def _integer(self, expr: syntax.Expr, what: str) -> syntax.Expr:
        """As PYINT: what Python's __index__ takes."""
        value = self._value(expr)
        if not value.known:
            return expr
        if not all(k.is_integer for k in value.kinds):
            raise PolymlTypeError(
                f"{what} must be an integer, not {value}", loc=expr.loc, notes=["accepted: an int, or int(x)"]
            )
        return converted(value, PYINT)

    def _condition(self, expr: syntax.Expr) -> syntax.Expr:
        """As BOOL: what `if` makes of it. Only truth counts here, so `and` and `or` need no common type."""
        match expr:
            case syntax.Logical():
                return dataclasses.replace(expr, operands=tuple(map(self._condition, expr.operands)), dtype=BOOL)
            case syntax.Unary(op="not"):
                return dataclasses.replace(expr, operand=self._condition(expr.operand), dtype=BOOL)
        value = self._value(expr)
        return truth(value) if value.known else expr

    def _logical(self, expr: syntax.Logical) -> Value:
        """`a and b` is b if a else a: one of the operands, not a truth value."""
        values = tuple(map(self._value, expr.operands))
        if not all(v.known for v in values):
            return _UNKNOWN
        if all(v.held.kind == "b" for v in values):
            kinds = frozenset().union(*(v.kinds for v in values))
            return Value(dataclasses.replace(expr, operands=tuple(v.expr for v in values), dtype=BOOL), kinds)
        *before, result = values
        for value in reversed(before):
            then, orelse = (result, value) if expr.op == "and" else (value, result)
            result = self._choice(expr, truth(value), then, orelse)
        return result

    def _choice(self, expr: syntax.Expr, condition: syntax.Expr, then: Value, orelse: Value) -> Value:
        parts = self._common(expr, (then, orelse))
        if parts is None:
            return _UNKNOWN
        kinds, (then_expr, orelse_expr) = parts
        dtype = representation(held(kinds))
        return Value(syntax.IfExp(condition, then_expr, orelse_expr, dtype=dtype, loc=expr.loc), kinds)

    def _extremum(self, expr: syntax.Binary) -> Value:
        parts = self._common(expr, (self._value(expr.left), self._value(expr.right)))
        if parts is None:
            return _UNKNOWN
        kinds, (left, right) = parts
        return Value(dataclasses.replace(expr, left=left, right=right, dtype=representation(held(kinds))), kinds)

    def _common(
        self, expr: syntax.Expr, values: tuple[Value, ...]
    ) -> tuple[frozenset[DType], list[syntax.Expr]] | None:
        """The values in one type that holds each exactly. While types still grow, what does not fit yet is left unknown."""
        kinds = frozenset().union(*(v.kinds for v in values))
        if not all(v.known for v in values):
            return None
        dtype = held(kinds)
        if dtype is None:
            if not self._final:
                return None
            raise PolymlTypeError(
                f"the result is {' or '.join(map(str, values))}: no type holds both",
                loc=expr.loc,
                notes=["accepted: operands of one type; convert one, for instance np.float64(x)"],
            )
        typed = [embedded(v, dtype) for v in values]
        for value, result in zip(values, typed):
            if result is None:
                if not self._final:
                    return None
                raise _inexact(value, dtype, "the result", [])
        return kinds, typed


# Rules of the operations: untyped expression and typed operands -> typed expression


def _constant(expr: syntax.Const) -> Value:
    value = expr.value
    if isinstance(value, (bool, int, float)) and type(value) in (bool, int, float):
        dtype = {bool: PYBOOL, int: PYINT, float: PYFLOAT}[type(value)]
        return constant(value, dtype, expr.loc)
    return constant(value.item(), promotion.BY_NUMPY_NAME[value.dtype.name], expr.loc)


def _unary(expr: syntax.Unary, operand: Value) -> Value:
    if not operand.known:
        return _UNKNOWN
    kinds = _results(expr, [_rule(expr, promotion.unary, expr.op, kind)[1] for kind in operand.kinds])
    typed = converted(operand, held(kinds))
    if expr.op == "+":
        return Value(typed, kinds)
    return Value(dataclasses.replace(expr, operand=typed, dtype=representation(held(kinds))), kinds)


def _binary(expr: syntax.Binary, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return _UNKNOWN
    op = expr.op
    rules = [_rule(expr, promotion.binary, op, a, b) for a in left.kinds for b in right.kinds]
    results = [result for _, result in rules]
    if op == "**" and any(r.is_integer for r in results) and _negative_power(expr, left, right):
        results = [PYFLOAT]
    kinds = _results(expr, results)
    dtype = held(kinds)
    if op in ("<<", ">>") and dtype == PYINT and right.is_weak_constant and right.expr.value < 0:
        raise PolymlOverflowError(
            "a Python int is shifted by a negative count", loc=expr.loc, notes=["accepted: a count from 0"]
        )
    operands = (converted(left, dtype), converted(right, dtype))
    return Value(syntax.Binary(op, *operands, dtype=representation(dtype), loc=expr.loc), kinds)


def _negative_power(expr: syntax.Binary, left: Value, right: Value) -> bool:
    """True for a Python int to a constant negative power, which is a float. Refuses exponents whose sign is not known."""
    if right.is_weak_constant and right.expr.value >= 0 or all(k.kind in "ub" for k in right.kinds):
        return False
    if right.is_weak_constant and left.is_weak:
        return True
    if isinstance(right.expr, syntax.Const):
        if right.expr.value >= 0:
            return False
        raise PolymlTypeError(
            "an integer to a negative power",
            loc=expr.loc,
            notes=["accepted: a float base, for instance float(x) ** -1"],
        )
    raise PolymlTypeError(
        "the exponent of an integer power may be negative",
        loc=expr.loc,
        notes=["accepted: a constant, an unsigned exponent, or a float base, for instance float(x) ** n"],
    )


def _compare(expr: syntax.Compare, left: Value, right: Value) -> Value:
    if not left.known or not right.known:
        return _UNKNOWN
    rules = [_rule(expr, promotion.comparison, a, b) for a in left.kinds for b in right.kinds]
    kinds = frozenset(result for _, result in rules)
    if all(k.kind in "iub" for k in left.kinds | right.kinds):
        return Value(_compare_integers(expr, left, right), kinds)
    dtype = held(_results(expr, [compared for compared, _ in rules]))
    typed = dataclasses.replace(expr, left=converted(left, dtype), right=converted(right, dtype), dtype=BOOL)
    return Value(typed, kinds)


def _compare_integers(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """By value, whatever the types: np.uint8(5) < 300, np.int64(-1) < np.uint64(1)."""
    if left.is_weak_constant and not right.is_weak_constant:
        expr = dataclasses.replace(expr, op=_FLIPPED[expr.op], left=expr.right, right=expr.left)
        left, right = right, left
    if right.is_weak_constant and not left.is_weak_constant:
        limits = integer_range(left.expr.dtype)
        if left.expr.dtype == BOOL and not left.is_weak and right.expr.value not in integer_range(I64):
            raise PolymlOverflowError(
                "NumPy's bool is compared with an int beyond 64 bits", loc=expr.loc, notes=["accepted: -2**63 to 2**63 - 1"]
            )
        if right.expr.value in limits:
            return _compared(expr, left.expr, converted(right, left.held))
        above = right.expr.value > limits[-1]
        return syntax.Const(
            expr.op == "!=" or expr.op in ("<", "<=") and above or expr.op in (">", ">=") and not above,
            dtype=BOOL,
            loc=expr.loc,
        )
    common = promotion.comparison(left.held, right.held)[0]
    if common is not None:
        return _compared(expr, converted(left, common), converted(right, common))
    if left.expr.dtype == U64:
        expr, left, right = dataclasses.replace(expr, op=_FLIPPED[expr.op]), right, left
    return _compare_signed_with_u64(expr, left, right)


def _compare_signed_with_u64(expr: syntax.Compare, left: Value, right: Value) -> syntax.Expr:
    """s < u  is  s < 0 or u64(s) < u;  s > u  is  s >= 0 and u64(s) > u."""
    signed = converted(left, I64)
    zero = syntax.Const(0, dtype=I64, loc=expr.loc)
    unsigned = syntax.Cast(signed, U64, True, dtype=U64, loc=signed.loc)
    smaller = expr.op in ("<", "<=", "!=")
    sign = syntax.Compare("<" if smaller else ">=", signed, zero, dtype=BOOL, loc=expr.loc)
    rest = _compared(expr, unsigned, right.expr)
    return syntax.Logical("or" if smaller else "and", (sign, rest), dtype=BOOL, loc=expr.loc)


def _compared(expr: syntax.Compare, left: syntax.Expr, right: syntax.Expr) -> syntax.Compare:
    return syntax.Compare(expr.op, left, right, dtype=BOOL, loc=expr.loc)


def _cast(expr: syntax.Cast, operand: Value) -> Value:
    if not operand.known:
        return _UNKNOWN
    kinds = frozenset((expr.to,))
    if expr.to.kind == "b":
        return Value(truth(operand), kinds)
    return Value(converted(operand, expr.to, implicit=False), kinds)


def _call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    if not all(a.known for a in args):
        return _UNKNOWN
    if expr.module == "math":
        return _math_call(expr, args)
    if expr.module == "builtins":
        return _absolute(expr, args[0])
    return _numpy_call(expr, args)


def _math_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    """Functions of math take float(x) and give a Python float, bool, or for the roundings int."""
    name = expr.function
    if name in _ROUNDINGS and args[0].is_weak and args[0].held != PYFLOAT:
        return Value(converted(args[0], PYINT), frozenset((PYINT,)))
    if name == "trunc" and any(not k.weak and k != F64 for k in args[0].kinds):
        raise PolymlTypeError(f"math.trunc has no rule for {args[0]}", loc=expr.loc, notes=["accepted: int(x)"])
    floats = tuple(converted(a, F64) for a in args)
    if name == "pow":
        return Value(syntax.Binary("**", *floats, dtype=F64, loc=expr.loc), frozenset((PYFLOAT,)))
    result = PYBOOL if name in _TESTS else PYFLOAT
    typed = dataclasses.replace(expr, args=floats, module="numpy", dtype=representation(result))
    if name in _ROUNDINGS:
        return Value(syntax.Cast(typed, PYINT, dtype=PYINT, loc=expr.loc), frozenset((PYINT,)))
    return Value(typed, frozenset((result,)))


def _absolute(expr: syntax.Call, operand: Value) -> Value:
    kinds = _results(expr, [_rule(expr, promotion.unary, "abs", kind)[1] for kind in operand.kinds])
    if held(kinds) == PYINT:  # affine where the operand is; -x is checked for leaving 64 bits
        typed = converted(operand, PYINT)
        return Value(syntax.Binary("max", typed, syntax.Unary("-", typed, dtype=PYINT, loc=expr.loc), dtype=PYINT, loc=expr.loc), kinds)
    return Value(_of_one_type(expr, "abs", (operand,), held(kinds)), kinds)


def _numpy_call(expr: syntax.Call, args: tuple[Value, ...]) -> Value:
    name = expr.function
    combinations = (
        [(k,) for k in args[0].kinds] if len(args) == 1 else [(a, b) for a in args[0].kinds for b in args[1].kinds]
    )
    if name in _TESTS:
        for combination in combinations:
            _rule(expr, promotion.function, name, combination)
        floats = converted(args[0], args[0].held if args[0].held.is_float else F64)
        return Value(dataclasses.replace(expr, args=(floats,), dtype=BOOL), frozenset((BOOL,)))
    kinds = _results(expr, [_rule(expr, promotion.function, name, c)[1] for c in combinations])
    dtype = held(kinds)
    if name in ("reciprocal", "fmod") and not dtype.is_float:
        raise PolymlTypeError(
            f"np.{name} of integers is not part of the language", loc=expr.loc, notes=["accepted: floats, or // and %"]
        )
    if name == "pow" and dtype.is_integer:
        _negative_power(expr, Value(args[0].expr, kinds), args[1])
    return Value(_of_one_type(expr, name, args, dtype), kinds)


def _of_one_type(expr: syntax.Call, name: str, args: tuple[Value, ...], dtype: DType) -> syntax.Expr:
    """The call in type `dtype`, as a simpler operation where that is the same."""
    operands, result = tuple(converted(a, dtype) for a in args), representation(dtype)
    if name in _ROUNDINGS and not result.is_float or name == "abs" and result.kind in "ub":
        return operands[0]
    if name == "pow":
        return syntax.Binary("**", *operands, dtype=result, loc=expr.loc)
    if not result.is_float:
        name = {"fmin": "minimum", "fmax": "maximum"}.get(name, name)  # they differ for NaN alone
    if result == BOOL and name in ("minimum", "maximum"):
        return syntax.Binary("&" if name == "minimum" else "|", *operands, dtype=BOOL, loc=expr.loc)
    name = "abs" if name == "fabs" else name
    return dataclasses.replace(expr, function=name, args=operands, module="numpy", dtype=result)


def _rule(expr: syntax.Expr, rule: Callable, *operands):
    try:
        return rule(*operands)
    except NoRule as problem:
        raise PolymlTypeError(
            str(problem),
            loc=expr.loc,
            notes=["accepted: operands of other types; convert them, for instance np.float64(x)"],
        ) from problem


def _results(expr: syntax.Expr, results: Sequence[DType]) -> frozenset[DType]:
    """The types a result may have. One of them, beside weak ones of no higher kind, is what the program computes in."""
    kinds = frozenset(results)
    fixed = [k for k in kinds if not k.weak]
    if len(fixed) <= 1 and all(_rank(w) <= _rank(f) for f in fixed for w in kinds):
        return kinds
    raise PolymlTypeError(
        f"the type of this depends on the path the program takes: {spelled(kinds)}",
        loc=expr.loc,
        notes=[
            "an operand may be of several types here",
            "accepted: a conversion of that operand, for instance np.float64(x)",
        ],
    )


def _rank(dtype: DType) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


def _filled(fill: Value, element: DType) -> syntax.Expr:
    """np.full converts as astype does, but for Python ints, which must fit."""
    if fill.held == PYFLOAT and element.is_integer:
        fill = Value(fill.expr, frozenset((F64,)))
    return converted(fill, element)


def _inexact(value: Value, dtype: DType, what: str, because: Sequence[str]) -> PolymlError:
    spelled_dtype = spelled(frozenset((dtype,)))
    written = value.expr.loc.text if value.expr.loc else "x"
    conversion = "float" if dtype == PYFLOAT else f"np.{dtype.numpy_name}"
    return PolymlTypeError(
        f"{what} is held in {spelled_dtype}, which does not hold {value} exactly",
        loc=value.expr.loc,
        notes=[*because, f"accepted: {conversion}({written})"],
    )


def _dimensions(array: ArrayType) -> str:
    return f"{array.ndim} dimension{'' if array.ndim == 1 else 's'}"


def _source_name(name: str) -> str:
    return name.partition(".")[0]


def _check_constants(body: Sequence[Stmt]) -> None:
    """A Python int that stays one is held in 64 bits."""
    for stmt in statements(body):
        targets = (stmt.target,) if isinstance(stmt, syntax.Assign) else ()
        for expr in (*walk.expressions(stmt), *targets):
            for node in walk.nodes(expr):
                if isinstance(node, syntax.Const) and node.dtype == PYINT and node.value not in integer_range(PYINT):
                    raise PolymlOverflowError(
                        "this Python int does not fit 64 bits", loc=node.loc, notes=["accepted: -2**63 to 2**63 - 1"]
                    )
