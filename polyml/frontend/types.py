"""Type inference: the types of the arguments -> the type of every expression, with each conversion written as a Cast.

The rules are NumPy 2's promotion (NEP 50), asked of NumPy itself (`promotion`); Python's numbers are weak. What
follows from them:

* A typed expression has a fixed type or PYINT. Both operands of Binary, Compare and Call have one type, except that a
  condition (of If, IfExp, Logical and `not`) is BOOL. Subscripts, bounds and shapes are PYINT. Python floats are F64,
  Python bools BOOL.
* A Cast from PYINT to an integer type must be checked: NumPy raises OverflowError for a Python int that does not fit.
  So must a Cast from a float or U64 to PYINT. A Cast between fixed types wraps.
* Python raises where a plain float is divided by zero and where math.sqrt gets a negative number or math.exp
  overflows; the language takes IEEE's result, as NumPy does. A Python int divided by zero by // or % gives 0, as
  NumPy's ints do. A Python int that meets a Python float, in / and in comparisons too, is converted to it first.
* The right operand of ** on integers is unsigned or a constant that is not negative.
* A number that is a Python float on one path and float32 on another (`s = 0.0`, then `s += A[i]`) is held in float32
  where the Python number is a constant that float32 holds exactly; arithmetic on it is float32's, also in a call
  whose loop does not run at all. Two different fixed types on two paths are held in a type that contains both, and
  arithmetic on them is refused where the type of its result would depend on the path.
* A whole call is refused, never a part: PolymlTypeError for an operation NumPy does not have or whose type the
  language lacks (float16), PolymlOverflowError for a constant that does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from polyml.dtypes import BOOL, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.errors import CompileError, PolymlError, PolymlOverflowError, PolymlTypeError
from polyml.frontend import operations, syntax, walk, webs
from polyml.frontend.names import statements
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType, Stmt
from polyml.frontend.values import (
    UNKNOWN,
    Value,
    converted,
    embedded,
    held,
    integer_range,
    representation,
    spelled,
    stored,
    truth,
)
from polyml.source import Loc


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
            stmt, shape=shape, element=element, fill=None if fill is None else operations.filled(fill, element)
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
                return operations.literal(expr)
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
                return operations.unary(expr, self._value(expr.operand))
            case syntax.Binary(op="min" | "max"):
                return self._extremum(expr)
            case syntax.Binary():
                return operations.binary(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Compare():
                return operations.compare(expr, self._value(expr.left), self._value(expr.right))
            case syntax.Logical():
                return self._logical(expr)
            case syntax.IfExp():
                return self._choice(
                    expr, self._condition(expr.condition), self._value(expr.then), self._value(expr.orelse)
                )
            case syntax.Call():
                return operations.call(expr, tuple(map(self._value, expr.args)))
            case syntax.Cast():
                return operations.cast(expr, self._value(expr.operand))
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
            return UNKNOWN
        return Value(dataclasses.replace(expr, dtype=representation(dtype)), kinds)

    def _array(self, name: str, loc: Loc | None) -> ArrayType | None:
        """The type of an array, None while it is not known."""
        if isinstance(self._params.get(name), ScalarType):
            raise PolymlTypeError(
                f"`{name}` is a number ({spelled(frozenset((self._params[name].dtype,)))}), not an array",
                loc=loc,
                notes=["accepted: a NumPy array"],
            )
        if self._final and name not in self._arrays:
            raise CompileError(f"type inference: `{name}` has no type", loc=loc)
        return self._arrays.get(name)

    def _shape_of(self, expr: syntax.Shape) -> Value:
        array = self._array(expr.array, expr.loc)
        if array is None:
            return UNKNOWN
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
            return UNKNOWN
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
            return UNKNOWN
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
            return UNKNOWN
        kinds, (then_expr, orelse_expr) = parts
        dtype = representation(held(kinds))
        return Value(syntax.IfExp(condition, then_expr, orelse_expr, dtype=dtype, loc=expr.loc), kinds)

    def _extremum(self, expr: syntax.Binary) -> Value:
        parts = self._common(expr, (self._value(expr.left), self._value(expr.right)))
        if parts is None:
            return UNKNOWN
        kinds, (left, right) = parts
        dtype = representation(held(kinds))
        op = operations.BOOL_FORMS[expr.op] if dtype == BOOL else expr.op
        return Value(syntax.Binary(op, left, right, dtype=dtype, loc=expr.loc), kinds)

    def _common(
        self, expr: syntax.Expr, values: tuple[Value, ...]
    ) -> tuple[frozenset[DType], list[syntax.Expr]] | None:
        """The values in one type that holds each exactly; None while types still grow and that is not known."""
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
