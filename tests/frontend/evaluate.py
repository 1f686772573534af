"""Runs a typed kernel literally: each node in its own type, each conversion only where a Cast stands.

It checks the promises of `types` on the way (operands of one type, BOOL conditions, PYINT subscripts), so running it
next to the interpreter tests type inference: a missing or wrong Cast shows as an assertion or as another value.
"""

from __future__ import annotations

import math

import numpy as np

from polyml.dtypes import BF16, BOOL, C128, F64, PYINT
from polyml.frontend import syntax
from polyml.frontend.scalar_arithmetic import binary, unary
from polyml.numpy_dtypes import numpy_dtype


def evaluate(kernel: syntax.Kernel, args):
    with np.errstate(all="ignore"):
        return _Evaluation(kernel, args).result


OF_THE_C_LIBRARY = {"erf": math.erf, "erfc": math.erfc, "tgamma": math.gamma, "lgamma": math.lgamma}


class _Evaluation:
    def __init__(self, kernel, args):
        self.kinds = dict(kernel.scalars)
        self.values = {}
        for param, kind, value in zip(kernel.params, kernel.types, args):
            scalar = isinstance(kind, syntax.ScalarType)
            self.values[param.name] = make(representation(kind.dtype), value) if scalar else value
        self.result = None
        self.body(kernel.body)

    def body(self, stmts):
        for stmt in stmts:
            self.stmt(stmt)

    def stmt(self, stmt):
        match stmt:
            case syntax.For():
                for value in range(self.integer(stmt.start), self.integer(stmt.stop), stmt.step):
                    self.values[stmt.var] = value
                    self.body(stmt.body)
            case syntax.If():
                self.body(stmt.then if self.condition(stmt.condition) else stmt.orelse)
            case syntax.Assign(target=syntax.Name(name=name)):
                assert stmt.value.dtype == stmt.target.dtype == self.kinds[name], stmt
                self.values[name] = self.expr(stmt.value)
            case syntax.Assign(target=target):
                assert stmt.value.dtype == target.dtype and self.values[target.array].dtype.name == target.dtype.numpy_name
                self.values[target.array][self.index(target)] = self.expr(stmt.value)
            case syntax.Alloc():
                shape = tuple(map(self.integer, stmt.shape))
                self.values[stmt.name] = np.empty(shape, numpy_dtype(stmt.element))
                if stmt.fill is not None:
                    assert stmt.fill.dtype == stmt.element
                    self.values[stmt.name][...] = self.expr(stmt.fill)
            case syntax.Return():
                values = tuple(map(self.returned, stmt.values, stmt.python))
                self.result = values if stmt.is_tuple else values[0] if values else None

    def returned(self, value, python):
        if isinstance(value, syntax.ArrayName):
            return self.values[value.name]
        result = self.expr(value)
        return result.item() if python and value.dtype != PYINT else result

    def integer(self, expr):
        assert expr.dtype == PYINT, expr
        return self.expr(expr)

    def condition(self, expr):
        assert expr.dtype == BOOL, expr
        return bool(self.expr(expr))

    def index(self, target):
        return tuple(map(self.integer, target.indices))

    def expr(self, expr):
        value = self.compute(expr)
        expected = int if expr.dtype == PYINT else numpy_dtype(expr.dtype).type
        assert type(value) is expected, (expr, value)
        return value

    def compute(self, expr):
        match expr:
            case syntax.Const(value=value):
                return make(expr.dtype, value)
            case syntax.Name(name=name):
                return self.values[name]
            case syntax.Shape(array=array, dim=dim):
                return self.values[array].shape[dim]
            case syntax.Subscript():
                return self.values[expr.array][self.index(expr)]
            case syntax.Unary(op="not"):
                return np.bool_(not self.condition(expr.operand))
            case syntax.Unary():
                assert expr.operand.dtype == expr.dtype, expr
                return unary(expr.op, self.expr(expr.operand))
            case syntax.Binary():
                assert expr.left.dtype == expr.right.dtype == expr.dtype, expr
                return binary(expr.op, self.expr(expr.left), self.expr(expr.right))
            case syntax.Compare():
                assert expr.left.dtype == expr.right.dtype, expr
                return np.bool_(binary(expr.op, self.expr(expr.left), self.expr(expr.right)))
            case syntax.Logical():
                values = [self.condition(o) for o in expr.operands]
                return np.bool_(all(values) if expr.op == "and" else any(values))
            case syntax.IfExp():
                assert expr.then.dtype == expr.orelse.dtype == expr.dtype, expr
                return self.expr(expr.then if self.condition(expr.condition) else expr.orelse)
            case syntax.Call():
                return self.call(expr)
            case syntax.Cast():
                return self.cast(expr)
        raise AssertionError(expr)

    def call(self, expr):
        assert expr.module == "numpy", expr
        tests = expr.function in ("isnan", "isinf", "isfinite")
        if expr.function in ("abs", "real", "imag", "norm", "complex"):
            assert all(a.dtype.part == expr.dtype.part for a in expr.args), expr
        else:
            assert all(a.dtype == expr.dtype or tests and a.dtype.kind in "cf" for a in expr.args), expr
        if expr.function in OF_THE_C_LIBRARY:
            return np.float64(OF_THE_C_LIBRARY[expr.function](self.expr(expr.args[0])))
        return getattr(np, expr.function)(*map(self.expr, expr.args))

    def cast(self, expr):
        assert expr.to == expr.dtype and expr.operand.dtype != expr.to and expr.to != BOOL, expr
        value = self.expr(expr.operand)
        if expr.to == PYINT:
            result = int(value)
            if not -(2**63) <= result < 2**63:
                raise OverflowError(result)
            return result
        if expr.operand.dtype == PYINT and expr.to.is_integer:
            return numpy_dtype(expr.to).type(value)  # raises OverflowError
        assert not (expr.operand.dtype == PYINT and expr.to.part not in (F64, BF16)), expr
        return np.asarray(value).astype(numpy_dtype(expr.to))[()]


def make(dtype, value):
    return int(value) if dtype == PYINT else numpy_dtype(dtype).type(value)


def representation(dtype):
    return {"float": F64, "complex": C128, "pybool": BOOL}.get(dtype.name, dtype)
