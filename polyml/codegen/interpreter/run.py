"""Runs a Program on NumPy arrays: the check of every schedule that needs no LLVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyml.codegen.interpreter import call, scalars
from polyml.codegen.interpreter.order import Env, Visit, evaluate, integer_code, threads, tuple_code, walk
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Program
from polyml.dtypes import PYINT, DType
from polyml.errors import BoundsError
from polyml.frontend import syntax
from polyml.model.core import call_interface
from polyml.model.core.nest import children
from polyml.model.core.scop import Access, Gather, Index, Load, ScalarArg, Scop, Statement, Value
from polyml.numpy_dtypes import numpy_dtype

Element = tuple[np.ndarray, tuple[int, ...]]  # an array, and subscripts
Seen = dict[int, Any]  # by identity of a sub-tree, what it is for an instance: a NumPy scalar or a number of Python
ValueFunction = Callable[[Env, Seen], Any]  # such a value in an instance


def run(program: Program, arguments: Mapping[str, object], *, order: str = "source", seed: int = 0) -> object:
    """Runs a program on the arguments of a call, whose arrays it changes in place, and returns what the kernel returns.

    arguments: by the names of the kernel's parameters.
    order, seed: of iterations whose order is free; see `walk`.

    An element that was not written reads as NaN, as True, or as an integer whose bytes are all 0xA5, according to its type.
    Raises BoundsError, UncertainBounds, ValueError or PolymlOverflowError for a violated check, before anything is written;
    PolymlOverflowError for a Python int that leaves 64 bits; BoundsError for an access outside its array.
    """
    scop = program.scop
    team = {program.threads: threads(order)} if program.threads else {}
    sizes, arrays = call.begin(scop, arguments, team)
    with np.errstate(all="ignore"):
        found = _effects(scop, arrays, arguments, sizes)
        visit, together = (lambda name, point: found[name].run(point)), (lambda name, points: found[name].run_together(points))
        walk(program, sizes, visit, together=together, order=order, seed=seed)
    return call.result(scop, arrays, arguments)


def effects(scop: Scop, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object], sizes: Env) -> Visit:
    """Returns a function that runs an instance, given by its statement's name and its point: it computes the value and writes it to
    the arrays.

    arrays: by name.
    arguments: by the names of the kernel's parameters.
    sizes: the values of the SCoP's parameters.
    """
    found = _effects(scop, arrays, arguments, sizes)
    return lambda name, point: found[name].run(point)


def _effects(scop: Scop, arrays: Mapping[str, np.ndarray], arguments: Mapping[str, object], sizes: Env) -> dict[str, _Effect]:
    """Returns {statement: what runs its instances}. The parameters are those of `effects`."""
    memory = _CallMemory(arrays, arguments, sizes, AccessTable(scop.context))
    return {name: _Effect(s, scop.arrays[s.write.array].element, memory) for name, s in scop.statements.items()}


@dataclass(frozen=True)
class _CallMemory:
    """The memory that statements read and write in one call.

    arrays: by name.
    arguments: by the names of the kernel's parameters.
    sizes: the values of the SCoP's parameters.
    table: the SCoP's subscripts as expressions.
    """

    arrays: Mapping[str, np.ndarray]
    arguments: Mapping[str, object]
    sizes: Env
    table: AccessTable


class _Effect:
    """An effect runs the instances of one statement.

    The value is turned into functions of the instance once. A sub-tree that occurs several times is computed once per instance:
    values share sub-trees, so that following every path would take exponential time.
    """

    def __init__(self, statement: Statement, element: DType, memory: _CallMemory):
        self._statement, self._element, self._memory = statement, element, memory
        self._shared = _shared(statement.value)
        self._functions: dict[int, ValueFunction] = {}
        self._reads = [self._element_of(access) for access in statement.reads]
        self._write = self._element_of(statement.write)
        self._value = self._function(statement.value)

    def run(self, point: tuple[int, ...]) -> None:
        """Computes the statement's value at a point of its domain and writes it to the array."""
        self.run_together([point])

    def run_together(self, points: Sequence[tuple[int, ...]]) -> None:
        """Computes the statement's values at points of its domain, then writes them to the array."""
        envs = [{**self._memory.sizes, **dict(zip(self._statement.iterators, point, strict=True))} for point in points]
        values = [self._value(env, {}) for env in envs]
        for env, value in zip(envs, values):
            array, subscripts = self._write(env)
            array[subscripts] = scalars.typed(value, self._element)

    def _element_of(self, access: Access) -> Callable[[Env], Element]:
        """Returns a function that gives the element which an instance accesses, as the array and the subscripts. The function
        raises BoundsError for subscripts outside the array.
        """
        array = self._memory.arrays[access.array]
        code = tuple_code(self._memory.table.subscripts(access))

        def element(env: Env) -> Element:
            subscripts = evaluate(code, env)
            if not all(0 <= s < n for s, n in zip(subscripts, array.shape, strict=True)):
                raise BoundsError(f"{access.array}{list(subscripts)} is outside shape {array.shape}", loc=access.loc)
            return array, subscripts

        return element

    def _function(self, value: Value) -> ValueFunction:
        """Returns a function that computes a value in an instance; sub-trees that are shared are computed once per instance."""
        known = self._functions.get(id(value))
        if known is None:
            plain = self._operation(value) if children(value) else self._leaf(value)
            known = self._functions[id(value)] = _remember(value, plain) if id(value) in self._shared else plain
        return known

    def _leaf(self, value: Value) -> ValueFunction:
        """Returns a function that gives the value of a leaf in an instance: an element, an affine integer, an argument or a
        constant.
        """
        if isinstance(value, Load):
            element, dtype = self._reads[value.access], value.dtype
            return lambda env, seen: _loaded(*element(env), dtype)
        if isinstance(value, Index):
            code, dtype = integer_code(self._memory.table.affine(value.value)), value.dtype
            return lambda env, seen: scalars.cast(scalars.python_int(evaluate(code, env)), dtype)
        if isinstance(value, ScalarArg):
            number = argument(call_interface.number(value.name, self._memory.arguments), value.dtype)
        elif isinstance(value, syntax.Const):
            number = scalars.constant(value)
        else:
            raise TypeError(f"{type(value).__name__} is not a leaf of a value")
        return lambda env, seen: number

    def _operation(self, value: Value) -> ValueFunction:
        """Returns a function that computes an operation from its operands in an instance."""
        operands = [self._function(child) for child in children(value)]
        if isinstance(value, Gather):
            array, dtype = self._memory.arrays[value.array], value.dtype
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
    """Returns a function that computes an operation from its operands' values."""
    if isinstance(value, syntax.Unary):
        return lambda a: scalars.unary(value.op, a)
    if isinstance(value, syntax.Binary):
        return lambda a, b: scalars.binary(value.op, a, b)
    if isinstance(value, syntax.Compare):
        return lambda a, b: scalars.compare(value.op, a, b)
    if isinstance(value, syntax.Cast):
        return lambda a: scalars.cast(a, value.to)
    if isinstance(value, syntax.Call):
        return lambda *args: scalars.call(value.function, value.module, args)
    raise TypeError(f"{type(value).__name__} is not an operation on numbers")


def _shared(value: Value) -> set[int]:
    """Returns the identities of the value's sub-trees that are operands more than once."""
    uses, stack = Counter([id(value)]), [value]
    while stack:
        for child in children(stack.pop()):
            uses[id(child)] += 1
            if uses[id(child)] == 1:
                stack.append(child)
    return {key for key, count in uses.items() if count > 1}


def _remember(value: Value, function: ValueFunction) -> ValueFunction:
    """Returns a function of (environment, `seen`) that computes a value once per instance. `seen` is a dictionary, new for each
    instance, of what was computed so far by the id of the value; what it lacks is computed by `function` and added.
    """

    def once(env: Env, seen: Seen) -> Any:
        if id(value) not in seen:
            seen[id(value)] = function(env, seen)
        return seen[id(value)]

    return once


def _loaded(array: np.ndarray, subscripts: tuple[int, ...], dtype: DType) -> Any:
    """Returns an element of an array, which must be of the type already. Raises TypeError for another type."""
    return scalars.typed(array[subscripts], dtype)


def argument(number: Any, dtype: DType) -> Any:
    """Returns a number that was passed to the kernel, converted to the type that the kernel takes it for."""
    if dtype == PYINT:
        return scalars.python_int(number)
    return numpy_dtype(dtype).type(number)
