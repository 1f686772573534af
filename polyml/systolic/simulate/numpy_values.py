"""The values of statements, for all PEs at once, with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from polyml.codegen.interpreter import scalars
from polyml.frontend import syntax
from polyml.model.core import call_interface
from polyml.model.core.nest import children
from polyml.model.core.scop import Load, ScalarArg, Value
from polyml.numpy_dtypes import numpy_dtype
from polyml.systolic.program.fold_program import Datapath

Vector = np.ndarray
Term = np.ndarray | np.generic  # a value in all PEs
Evaluator = Callable[[Sequence[Vector], Vector], None]  # computes a vector from registers
Operation = Callable[[Sequence[Term], Vector], None]  # computes a vector from operands

_BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "**": np.power, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip
_COMPARE = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
_UNARY = {"-": np.negative, "+": np.positive, "~": np.invert, "not": np.logical_not}


def evaluator(datapath: Datapath, arguments: Mapping[str, object], units: int) -> Evaluator:
    """Returns a function that computes a statement's values in all PEs with NumPy: from the vectors of its registers into a vector
    of results. Equal sub-trees are computed once.

    arguments: the values of scalar arguments, by name.
    units: how many PEs there are.
    """
    steps: list[Callable[[], None]] = []
    registers: list[Vector] = [np.empty(0)] * len(datapath.types)
    known: dict[int, Callable[[], Term]] = {}

    def operand(value: Value) -> Callable[[], Term]:
        """Returns a function that gives the value of an operand. The steps that compute it are added to the list of steps, and have
        to run before.
        """
        if id(value) not in known:
            known[id(value)] = inner(value) if children(value) else leaf(value)
        return known[id(value)]

    def leaf(value: Value) -> Callable[[], Term]:
        """Returns a function that gives the vector of a register, or a number."""
        if isinstance(value, Load):
            return partial(registers.__getitem__, value.access)
        number = _number(value, arguments)
        return lambda: number

    def inner(value: Value) -> Callable[[], Term]:
        """Adds the step that computes an operation to the list of steps, and returns a function that gives its result."""
        operands, apply = [operand(child) for child in children(value)], _operation(value)
        out = np.zeros(units, numpy_dtype(value.dtype))
        steps.append(lambda: apply([each() for each in operands], out))
        return lambda: out

    last = [operand(child) for child in children(datapath.value)] or [leaf(datapath.value)]
    finish = _operation(datapath.value) if children(datapath.value) else lambda operands, out: np.copyto(out, operands[0])

    def run(own: Sequence[Vector], result: Vector) -> None:
        """Computes the statement's values from the vectors of its registers, `own`, into `result`."""
        registers[:] = own
        for step in steps:
            step()
        finish([each() for each in last], result)

    return run


def _number(value: Value, arguments: Mapping[str, object]) -> np.generic:
    """Returns a constant of the source or a scalar argument of the call as a NumPy number of its type."""
    if isinstance(value, ScalarArg):
        return numpy_dtype(value.dtype).type(call_interface.number(value.name, arguments))
    if not isinstance(value, syntax.Const):
        raise TypeError(f"{type(value).__name__} is no constant")
    return numpy_dtype(value.dtype).type(scalars.constant(value))


def _operation(value: Value) -> Operation:
    """Returns a function that computes one operation of an expression: it takes the values of the operands and writes the results
    into a vector.
    """
    if isinstance(value, syntax.Unary):
        return _ufunc(_UNARY[value.op])
    if isinstance(value, syntax.Compare):
        return _ufunc(_COMPARE[value.op])
    if isinstance(value, syntax.Cast):
        return lambda operands, out: np.copyto(out, operands[0], casting="unsafe")
    if isinstance(value, syntax.Logical):
        combine = np.logical_and if value.op == "and" else np.logical_or
        return lambda operands, out: np.copyto(out, combine.reduce(np.broadcast_arrays(*operands)))
    if isinstance(value, syntax.IfExp):
        return lambda operands, out: np.copyto(out, np.where(*operands))
    if isinstance(value, syntax.Call):
        return _call(value)
    if not isinstance(value, syntax.Binary):
        raise TypeError(f"{type(value).__name__} is no operation")
    if value.op in ("min", "max"):
        return partial(_extreme, np.less if value.op == "min" else np.greater)
    if value.op == "**" and value.dtype.is_integer:
        return _power
    return _ufunc(_BINARY[value.op])


def _ufunc(function: np.ufunc) -> Operation:
    """Returns an operation that calls a NumPy ufunc on the operands."""
    return lambda operands, out: function(*operands, out=out)


def _extreme(better: np.ufunc, operands: Sequence[Term], out: Vector) -> None:
    """Computes the minimum or maximum of two operands into `out`: by element, the second one where it is better, else the first
    one.

    better: np.less for the minimum, np.greater for the maximum.
    """
    first, second = operands
    np.copyto(out, np.where(better(second, first), second, first))


def _power(operands: Sequence[Term], out: Vector) -> None:
    """Computes a power of integers into `out`. PEs without an instance may have a negative exponent, which NumPy refuses; 0 stands
    for it.
    """
    base, exponent = operands
    np.power(base, np.maximum(exponent, 0), out=out)


def _call(value: syntax.Call) -> Operation:
    """Returns an operation that calls a function of Python's math module or of NumPy on the operands."""
    function = {"pow": "power", "abs": "absolute", "fabs": "fabs"}.get(value.function, value.function)
    known = getattr(np, function, None)
    if value.module == "numpy" and isinstance(known, np.ufunc):
        return _ufunc(known)
    otypes = [numpy_dtype(value.dtype)]
    each = np.vectorize(lambda *numbers: scalars.call(value.function, value.module, list(numbers)), otypes=otypes)
    return lambda operands, out: np.copyto(out, each(*operands))
