"""How far two float results may lie apart that add the same terms in different orders.

A value made by n roundings along its longest path, of terms whose absolute values sum to m, is within n eps m of the exact one
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sec. 3.1); two such values are within twice that. m is what the
kernel computes of absolute values with every difference made a sum:

    C[i, j] -= A[i, k] * B[k, j]   ->   C[i, j] += A[i, k] * B[k, j]       of |A|, |B|, |C|
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from polyml import polyhedra
from polyml.dtypes import BF16, F16, F32, F64, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.argument_types import arg_type
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import ArrayType, ScalarType
from polyml.frontend.types.infer import infer
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Scop, Statement, Value
from polyml.performance.variants import KernelCall
from polyml.pipeline import compile as pipeline
from polyml.runtime.calling.arguments import layouts
from polyml.runtime.calling.entry import bind
from polyml.runtime.loading import load
from polyml.systolic.mapping.dataflows import Plan

EPS = {F64: 2.0**-52, F32: 2.0**-23, F16: 2.0**-10, BF16: 2.0**-7}  # from 1 to the next number
_EXTREMES = ("minimum", "maximum", "fmin", "fmax")


class NoBound(Exception):
    """A NoBound is raised for a kernel whose rounding errors this module cannot bound by the magnitudes of the terms that it adds
    up; the exception's text says what in the kernel is the reason.
    """


def roundings(scop: Scop, plans: Sequence[Plan]) -> int:
    """Returns a bound on how many rounded operations come one after another on the way to any result.

    The bound is the sum over all statements. A statement of a sum counts its operations once and one addition for each term; one
    whose instances use each other's values counts its operations once for each cycle.
    """
    plan_of = {name: plan for plan in plans for name in plan.recurrence.statements}
    return sum(_steps(statement, plan_of.get(name)) for name, statement in scop.statements.items())


def _steps(statement: Statement, plan: Plan | None) -> int:
    """Returns a bound on how many rounded operations of one statement come one after another on the way to a result.

    plan: the plan of the statement's nest; None where it is in no nest.
    """
    own = sum(_rounds(value) for value in subvalues(statement.value)) + 1  # to store it
    if plan is None:
        return own
    cycles, streams = plan.folds.cycles, plan.recurrence.streams
    if any(stream.use.kind == "value" for stream in streams):
        return own * cycles
    if any(plan.mapping.displacement(d)[0] == 0 for stream in streams if stream.use.kind == "result" for d in stream.directions):
        cycles *= max(plan.folds.shape)  # units of a line add up at once
    written = plan.recurrence.nest.written
    along = [loop for loop in range(len(plan.recurrence.nest.loops)) if not written.depends_on(loop)]
    domain = polyhedra.at_sizes(statement.domain, dict(plan.recurrence.sizes))
    ranges = polyhedra.ranges(domain)
    terms = prod(ranges[loop][1] - ranges[loop][0] + 1 for loop in along)
    rows = [row for row in written.rows if sum(map(bool, row)) == 1]
    return own + (min(terms, cycles) if len(rows) == len(ranges) - len(along) else cycles)


def _rounds(value: Value) -> bool:
    """Returns whether a value is the rounded result of a floating-point operation."""
    operation = isinstance(value, (syntax.Binary, syntax.Call, syntax.Cast))
    return operation and value.dtype is not None and value.dtype.is_float


def eps(scop: Scop) -> float:
    """Returns the distance from 1.0 to the next number, in the least precise floating-point type that the kernel uses."""
    every = [array.element for array in scop.arrays.values()]
    every += [value.dtype for s in scop.statements.values() for value in subvalues(s.value) if getattr(value, "dtype", None)]
    return max((EPS.get(_fixed(dtype), 0.0) for dtype in every), default=0.0)


def _fixed(dtype: DType) -> DType:
    """Returns the type in which values of a type are computed: float64 for floats whose type is weak, as is that of Python's own
    numbers, which take the type of what they are combined with; else the type itself.
    """
    return F64 if dtype.is_float and dtype.weak else dtype


def magnitudes(call: KernelCall, arguments: Mapping[str, object]) -> tuple[dict[str, object], object]:
    """Compiles and runs a variant of the kernel that computes with absolute values, and adds where the kernel subtracts.

    Returns (copies of the arguments after the call, what it returns). Each result is at least as large as any term or partial sum
    that goes into the kernel's own result. Raises NoBound for kernels that have no such variant.
    """
    typed = infer(call.kernel, call.types)
    body = tuple(map(_Absolute(typed).statement, typed.body))
    kernel = replace(typed, body=body, types=(), scalars=())
    values = {name: _absolute(value) for name, value in arguments.items()}
    given = tuple(_type(kind, value, name) for kind, (name, value) in zip(call.types, values.items()))
    known = tuple(layouts(value)[0] for value in values.values() if isinstance(value, np.ndarray))
    artifact = pipeline.compile(kernel, pipeline.CompileRequest(given, known, call.options)).artifact
    entry = bind(artifact, load.load(artifact.object_code, artifact.entry), threads=1, check_overlap=False)
    return values, entry(*values.values())


def _absolute(value: object) -> object:
    """Returns a copy of an argument with absolute values in float64; integers as they are."""
    if isinstance(value, np.ndarray):
        wide = np.complex128 if value.dtype.kind == "c" else np.float64
        return value.copy() if value.dtype.kind in "biu" else np.abs(value.astype(wide))
    if isinstance(value, (complex, np.complexfloating)):
        return abs(complex(value))
    return float(value) if isinstance(value, (float, np.floating)) else value


def _type(kind: syntax.ArgType, value: object, name: str) -> syntax.ArgType:
    """Returns the type of an argument once its values are replaced by absolute ones.

    kind: the argument's type in the given call; the sizes or the value that are constants in it are so in the returned type.
    value: the argument with absolute values.
    """
    found = arg_type(value, name)
    if isinstance(found, ArrayType) and isinstance(kind, ArrayType):
        return replace(found, sizes=kind.sizes)
    if isinstance(found, ScalarType) and isinstance(kind, ScalarType):
        return replace(found, value=kind.value)
    raise TypeError(f"{name} is no {type(kind).__name__}")


class _Absolute:
    """An _Absolute turns the statements of a typed kernel into those that add up absolute values in float64. Integers stay as they
    are.
    """

    def __init__(self, kernel: syntax.Kernel):
        targets = [s.target for s in statements(kernel.body) if isinstance(s, syntax.Assign)]
        written = {t.array for t in targets if isinstance(t, syntax.Subscript)} | {
            t.name for t in targets if isinstance(t, syntax.Name)
        }
        self._exact = {p.name for p in kernel.params} - written

    def statement(self, stmt: syntax.Stmt) -> syntax.Stmt:
        """Returns the statement with each float or complex expression in it replaced by one of absolute values. Raises NoBound
        where there is none, as where an `if` depends on floats.
        """
        match stmt:
            case syntax.For():
                return replace(stmt, body=tuple(map(self.statement, stmt.body)))
            case syntax.While():
                raise NoBound("loops that data end")
            case syntax.Block():
                return replace(stmt, body=tuple(map(self.statement, stmt.body)))
            case syntax.If():
                self._no_floats(stmt.condition)
                return replace(stmt, then=tuple(map(self.statement, stmt.then)), orelse=tuple(map(self.statement, stmt.orelse)))
            case syntax.Assign(target=syntax.Subscript(part="real" | "imag")):
                raise NoBound("parts of complex numbers that are assigned")
            case syntax.Assign():
                return replace(stmt, value=self._value(stmt.value))
            case syntax.Alloc(element=DType() as element):
                fill = None if stmt.fill is None else self._value(stmt.fill)
                return replace(stmt, fill=fill, element=F64 if element.kind in "fc" else element)
            case syntax.Return():
                values = tuple(v if isinstance(v, syntax.ArrayName) else self._value(v) for v in stmt.values)
                return replace(stmt, values=values, python=())
        return stmt

    def _value(self, expr: syntax.Expr) -> syntax.Expr:
        """Returns an expression whose value is at least the absolute value of the given one, and of each partial sum in it. Integer
        expressions are returned as they are. Raises NoBound where there is no such expression.
        """
        if expr.dtype.kind not in "fc":
            self._no_floats(expr)
            return expr
        match expr:
            case syntax.Const():
                return syntax.Const(float(abs(expr.value)), loc=expr.loc)
            case syntax.Name() if expr.name in self._exact:
                return syntax.Call("abs", (expr,), loc=expr.loc)
            case syntax.Name():
                return expr
            case syntax.Subscript():
                return replace(expr, part="")
            case syntax.Unary(op="-" | "+"):
                return self._value(expr.operand)
            case syntax.Cast():
                if expr.operand.dtype.kind in "fc":
                    return self._value(expr.operand)
                self._no_floats(expr.operand)
                return syntax.Call("abs", (syntax.Cast(expr.operand, F64, loc=expr.loc),), loc=expr.loc)
            case syntax.Binary(op="+" | "-" | "*"):
                op = "+" if expr.op == "-" else expr.op
                return replace(expr, op=op, left=self._value(expr.left), right=self._value(expr.right))
            case syntax.Binary(op="min" | "max") if expr.dtype.is_float:
                return replace(expr, op="max", left=self._value(expr.left), right=self._value(expr.right))
            case syntax.Binary(op="/") if self._is_exact(expr.right):
                return replace(expr, left=self._value(expr.left), right=syntax.Call("abs", (expr.right,), loc=expr.loc))
            case syntax.IfExp():
                self._no_floats(expr.condition)
                return replace(expr, then=self._value(expr.then), orelse=self._value(expr.orelse))
            case syntax.Call(function="abs" | "fabs" | "real" | "imag" | "conj"):
                return self._value(expr.args[0])
            case syntax.Call(function="complex"):
                return syntax.Binary("+", *map(self._value, expr.args), loc=expr.loc)
            case syntax.Call(function=function) if function in _EXTREMES and expr.dtype.is_float:
                return replace(expr, function="maximum", args=tuple(map(self._value, expr.args)))
            case syntax.Binary(op="/"):
                raise NoBound("quotients by what it computes")
        raise NoBound(f"`{getattr(expr, 'op', None) or getattr(expr, 'function', type(expr).__name__)}`")

    def _is_exact(self, expr: syntax.Expr) -> bool:
        """Returns whether an expression certainly has the same value in whatever order sums are added. Then a quotient by it is
        bounded by the dividend's bound over its absolute value.
        """
        match expr:
            case syntax.Subscript():
                return expr.array in self._exact
            case syntax.Cast():
                return self._is_exact(expr.operand)
            case syntax.Binary(op="+" | "-" | "*" | "/") if expr.dtype.is_float:
                return self._is_number(expr.left) and self._is_number(expr.right)
        return self._is_number(expr)

    def _is_number(self, expr: syntax.Expr) -> bool:
        """Returns whether an expression is a constant, an argument that the kernel does not write, or an integer made without
        floats.
        """
        match expr:
            case syntax.Const():
                return True
            case syntax.Name() if expr.name in self._exact:
                return True
            case syntax.Cast():
                return self._is_number(expr.operand)
        return expr.dtype.is_integer and not _has_floats(expr)

    def _no_floats(self, expr: syntax.Expr) -> None:
        """Raises NoBound where an expression has floats in it; for conditions and integers, which must not depend on rounded
        values.
        """
        if _has_floats(expr):
            raise NoBound("choices that depend on floats")


def _has_floats(expr: syntax.Expr) -> bool:
    """Returns whether some part of an expression is a float or a complex number."""
    return any(node.dtype is not None and node.dtype.kind in "fc" for node in traversal.nodes(expr))
