"""Checks of passes from a Nest to a Nest: both run on the same arguments, and the caller must see the same bits.

Values of nests are not compared as terms, since these passes change them: they decide selects, substitute values, count in
another type, search for a maximum block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyml.checks.arguments import Arguments, copied, difference
from polyml.checks.symbolic.finding import Finding, element_text
from polyml.codegen.interpreter import scalars
from polyml.codegen.interpreter.call import as_pairs, fresh
from polyml.codegen.interpreter.run import argument, arithmetic
from polyml.errors import PolymlError
from polyml.frontend import syntax
from polyml.model.core import call_interface
from polyml.model.core.nest import ArrayInfo, Assign, Guard, Integer, Loop, Nest, Node, Read, Truth, Value, children
from polyml.model.core.scop import Gather, Role, ScalarArg
from polyml.quasi_affine.affine import Affine

Env = dict[str, int]


def check(before: Nest, after: Nest, arguments: Arguments) -> Finding | None:
    """Returns what a pass from nest to nest did wrong; None where both compute the same bits from the arguments when they are
    interpreted.

    arguments: by the names of the kernel's parameters; those of a call that passes the checks at entry.
    """
    if before is after:
        return None
    try:
        wanted = results(before, arguments)
    except (PolymlError, IndexError, ArithmeticError):
        return None  # a call that the entry refuses, or Python
    try:
        got = results(after, arguments)
    except (PolymlError, IndexError, ArithmeticError) as problem:
        return Finding(f"it raises {type(problem).__name__}: {problem}")
    for name, right in wanted.items():
        found = difference(got.get(name), right, name)
        if found:
            return Finding(found, element=found.partition(" is ")[0])
    return None


def results(nest: Nest, arguments: Arguments) -> Mapping[str, np.ndarray]:
    """Runs a nest and returns what the caller sees afterwards: arguments, returned arrays and numbers, by name.

    The arguments given stay unchanged.
    """
    run = _NestInterpreter(nest, copied(arguments))
    with np.errstate(all="ignore"):
        run.block(nest.body, dict(run.sizes))
    shown = {r.array for r in nest.results} | {name for name, a in nest.arrays.items() if a.role is not Role.LOCAL}
    return {name: run.arrays[name] for name in sorted(shown) if name in run.arrays}


class _NestInterpreter:
    """A _NestInterpreter runs a nest on NumPy arrays, node by node.

    sizes: the values of the parameters.
    arrays: all arrays, by name.
    """

    def __init__(self, nest: Nest, arguments: Arguments) -> None:
        self._arguments = arguments
        self.sizes: Env = {p.name: call_interface.value(p, arguments) for p in nest.parameters}
        self._elements = {name: info.element for name, info in nest.arrays.items()}
        self.arrays = {name: self._memory(name, info) for name, info in nest.arrays.items()}

    def _memory(self, name: str, info: ArrayInfo) -> np.ndarray:
        if info.role is Role.ARGUMENT:
            given = self._arguments[info.source_name or name]
            assert isinstance(given, np.ndarray)
            return as_pairs(given) if info.pairs else given
        return fresh(info.element, tuple(extent.evaluate(self.sizes) for extent in info.shape))

    def block(self, body: tuple[Node, ...], env: Env) -> None:
        """Runs nodes one after the other. env: the values of parameters and of the iterators around."""
        for node in body:
            if isinstance(node, Assign):
                self._assign(node, env)
            elif isinstance(node, Guard):
                if node.condition.evaluate(env):
                    self.block(node.body, env)
            else:
                self._loop(node, env)

    def _loop(self, node: Loop, env: Env) -> None:
        for value in range(node.start.evaluate(env), node.stop.evaluate(env), node.step):
            self.block(node.body, {**env, node.iterator: value})

    def _assign(self, node: Assign, env: Env) -> None:
        value = self._value(node.value, env, {})
        index = self._index(node.array, node.subscripts, env)
        array = self.arrays[node.array]
        array[index] = scalars.typed(value, self._elements[node.array])

    def _index(self, name: str, subscripts: tuple[Affine, ...], env: Env) -> tuple[int, ...]:
        """Returns an element's index, in which negative subscripts, which count from the end, are replaced. Raises IndexError where
        there is no such element.
        """
        index = tuple(s.evaluate(env) for s in subscripts)
        shape = self.arrays[name].shape
        if not all(-n <= s < n for s, n in zip(index, shape, strict=True)):
            raise IndexError(f"{element_text(name, index)} is outside shape {shape}")
        return tuple(s % n for s, n in zip(index, shape))

    def _value(self, value: Value, env: Env, seen: dict[int, object]) -> object:
        """Returns the value of an expression, a NumPy scalar or a number of Python.

        seen: {id of a sub-expression: its value}, so that one that occurs several times is computed once; new values are added.
        """
        if id(value) not in seen:
            seen[id(value)] = self._leaf(value, env) if not children(value) else self._operation(value, env, seen)
        return seen[id(value)]

    def _leaf(self, value: Value, env: Env) -> object:
        if isinstance(value, Integer):
            return scalars.cast(scalars.python_int(value.affine.evaluate(env)), value.dtype)
        if isinstance(value, Truth):
            return np.bool_(value.formula.evaluate(env))
        if isinstance(value, Read):
            return scalars.typed(self.arrays[value.array][self._index(value.array, value.subscripts, env)], value.dtype)
        if isinstance(value, ScalarArg):
            return argument(call_interface.number(value.name, self._arguments), value.dtype)
        assert isinstance(value, syntax.Const)
        return scalars.constant(value)

    def _operation(self, value: Value, env: Env, seen: dict[int, object]) -> object:
        def of(part: Value) -> Any:  # a NumPy scalar or a number of Python
            return self._value(part, env, seen)

        if isinstance(value, syntax.IfExp):
            return of(value.then if of(value.condition) else value.orelse)
        if isinstance(value, syntax.Logical):
            return np.bool_((all if value.op == "and" else any)(of(operand) for operand in value.operands))
        if isinstance(value, Gather):
            index = tuple(int(np.int64(of(each))) for each in value.indices)
            return scalars.typed(self.arrays[value.array][index], value.dtype)
        return scalars.typed(arithmetic(value)(*map(of, children(value))), value.dtype)
