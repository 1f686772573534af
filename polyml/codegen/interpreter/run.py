"""Runs a Program on NumPy arrays: the check of every schedule that needs no LLVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from polyml.codegen.interpreter import call, scalars
from polyml.codegen.interpreter.order import Env, evaluate, integer_code, threads, tuple_code, walk
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Program
from polyml.dtypes import PYINT, DType
from polyml.errors import BoundsError
from polyml.frontend import syntax
from polyml.model.core import call_interface
from polyml.model.core.nest import children
from polyml.model.core.scop import Access, Gather, Index, Load, ScalarArg, Statement, Value
from polyml.numpy_dtypes import numpy_dtype


def run(program: Program, arguments: Mapping[str, object], *, order: str = "source", seed: int = 0):
    """What the kernel returns for the arguments (by the names of its parameters), whose arrays it changes in place.

    Memory that was not written reads as NaN, as bytes of POISON, or as True. order, seed: see `walk`.
    Raises BoundsError, UncertainBounds, ValueError or PolymlOverflowError for a violated check, before anything is
    written; PolymlOverflowError for a Python int that leaves 64 bits; BoundsError for an access outside its array.
    """
    scop = program.scop
    team = {program.threads: threads(order)} if program.threads else {}
    sizes, arrays = call.begin(scop, arguments, team)
    table = AccessTable(scop.context)
    with np.errstate(all="ignore"):
        effects = {
            name: _Effect(s, scop.arrays[s.write.array].element, arrays, arguments, sizes, table)
            for name, s in scop.statements.items()
        }
        walk(program, sizes, lambda name, point: effects[name].run(point), order=order, seed=seed)
    return call.result(scop, arrays, arguments)


class _Effect:
    """What one instance of a statement does.

    The value is made into functions of the instance once. A sub-tree that occurs several times is computed once per
    instance: values share sub-trees, so that following every path would take exponential time.
    """

    def __init__(self, statement: Statement, element: DType, arrays, arguments, sizes: Env, table: AccessTable):
        self._statement, self._arrays, self._arguments = statement, arrays, arguments
        self._sizes, self._table, self._element = sizes, table, element
        self._shared = _shared(statement.value)
        self._functions: dict[int, Callable[[Env, dict], object]] = {}
        self._reads = [self._cell(access) for access in statement.reads]
        self._write = self._cell(statement.write)
        self._value = self._function(statement.value)

    def run(self, point: tuple[int, ...]) -> None:
        env = {**self._sizes, **dict(zip(self._statement.iterators, point, strict=True))}
        value = self._value(env, {})
        array, subscripts = self._write(env)
        array[subscripts] = scalars.typed(value, self._element)

    def _cell(self, access: Access) -> Callable[[Env], tuple[np.ndarray, tuple[int, ...]]]:
        """Where an access lands: the array and the subscripts, which are inside it."""
        array = self._arrays[access.array]
        code = tuple_code(self._table.subscripts(access))

        def cell(env: Env):
            subscripts = evaluate(code, env)
            if not all(0 <= s < n for s, n in zip(subscripts, array.shape, strict=True)):
                raise BoundsError(f"{access.array}{list(subscripts)} is outside shape {array.shape}", loc=access.loc)
            return array, subscripts

        return cell

    def _function(self, value: Value) -> Callable[[Env, dict], object]:
        known = self._functions.get(id(value))
        if known is None:
            plain = self._operation(value) if children(value) else self._leaf(value)
            known = self._functions[id(value)] = _remember(value, plain) if id(value) in self._shared else plain
        return known

    def _leaf(self, value: Value) -> Callable[[Env, dict], object]:
        if isinstance(value, Load):
            cell, dtype = self._reads[value.access], value.dtype
            return lambda env, seen: _loaded(*cell(env), dtype)
        if isinstance(value, Index):
            code, dtype = integer_code(self._table.affine(value.value)), value.dtype
            return lambda env, seen: scalars.cast(scalars.python_int(evaluate(code, env)), dtype)
        if isinstance(value, ScalarArg):
            number = argument(call_interface.number(value.name, self._arguments), value.dtype)
        else:
            number = scalars.constant(value)
        return lambda env, seen: number

    def _operation(self, value: Value) -> Callable[[Env, dict], object]:
        operands = [self._function(child) for child in children(value)]
        if isinstance(value, Gather):
            array, dtype = self._arrays[value.array], value.dtype
            return lambda env, seen: _loaded(array, tuple(int(operand(env, seen)) for operand in operands), dtype)
        if isinstance(value, syntax.IfExp):
            condition, then, orelse = operands
            return lambda env, seen: then(env, seen) if condition(env, seen) else orelse(env, seen)
        if isinstance(value, syntax.Logical):
            combine = all if value.op == "and" else any
            return lambda env, seen: np.bool_(combine(operand(env, seen) for operand in operands))
        apply, dtype = arithmetic(value), value.dtype
        return lambda env, seen: scalars.typed(apply(*(operand(env, seen) for operand in operands)), dtype)


def arithmetic(value: Value) -> Callable:
    """Returns the operation as a function of its operands' values."""
    if isinstance(value, syntax.Unary):
        return lambda a: scalars.unary(value.op, a)
    if isinstance(value, syntax.Binary):
        return lambda a, b: scalars.binary(value.op, a, b)
    if isinstance(value, syntax.Compare):
        return lambda a, b: scalars.compare(value.op, a, b)
    if isinstance(value, syntax.Cast):
        return lambda a: scalars.cast(a, value.to)
    return lambda *args: scalars.call(value.function, value.module, args)


def _shared(value: Value) -> set[int]:
    """The sub-trees that are operands more than once, by identity."""
    uses, stack = Counter([id(value)]), [value]
    while stack:
        for child in children(stack.pop()):
            uses[id(child)] += 1
            if uses[id(child)] == 1:
                stack.append(child)
    return {key for key, count in uses.items() if count > 1}


def _remember(value: Value, function):
    def once(env: Env, seen: dict):
        if id(value) not in seen:
            seen[id(value)] = function(env, seen)
        return seen[id(value)]

    return once


def _loaded(array: np.ndarray, subscripts: tuple[int, ...], dtype: DType):
    return scalars.typed(array[subscripts], dtype)


def argument(number, dtype: DType):
    """Returns a number argument as the type that the kernel takes it for."""
    if dtype == PYINT:
        return scalars.python_int(number)
    return numpy_dtype(dtype).type(number)
