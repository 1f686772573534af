"""The definition of the language: a kernel's statements run one after another, on NumPy scalars and Python numbers.

The interpreter runs the untyped syntax tree with Python's operators, so NumPy itself promotes, wraps and raises. Where the language
departs from Python (see `frontend.types.infer`), the departure is spelled out here:

* A Python float divided by zero, or raised to a power Python refuses, gives IEEE's result; so do functions of math
  outside their domain.
* A Python int that leaves 64 bits raises PolymlOverflowError.
* A Python int that meets a Python float is converted to it first, also in comparisons; int / int divides two floats.
* A Python complex that meets a float64 is a complex128, as in an array; Python takes the float64 for its own. Complex
  numbers are ordered as in arrays; NumPy's scalars order some that have a NaN otherwise.

The values are typed Any: numbers and arrays, which know themselves what they can do. The interpreter shares nothing with type
inference or with the compiler, since it is what they are tested against.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyml.dtypes import BY_NUMPY_NAME
from polyml.errors import PolymlOverflowError
from polyml.frontend import syntax
from polyml.frontend.elementwise_functions import ASKED
from polyml.frontend.scalar_arithmetic import HALVES, binary, call, cast, unary
from polyml.numpy_dtypes import numpy_dtype
from polyml.reading import result_forms


@dataclass(frozen=True)
class TraceEvent:
    """A TraceEvent is one instance of a statement that reads or writes data, as the interpreter ran it.

    path: the position of the statement in the kernel's body, then in the body of the statement there, and so on; statements of an
        `else` are numbered after those of its `then`
    point: the values of the loop variables around the statement, outermost first; an Alloc that fills its array has one event per
        element, with the element's index appended
    reads: (array, index) of each element that was read, indices counted from 0; a local number is an array with index (). Arguments
        that are numbers and loop variables are not listed, nor is a read that a conditional expression skipped.
    write: (array, index) of the element that was written; None for the condition of an If and the bounds of a For, which have an
        event only where they read something, and for Return
    """

    path: tuple[int, ...]
    point: tuple[int, ...]
    reads: tuple[tuple[str, tuple[int, ...]], ...]
    write: tuple[str, tuple[int, ...]] | None


def interpret(kernel: syntax.Kernel, args: Sequence[object]) -> object:
    """Runs a kernel and returns what its Python function returns for the arguments; arrays among them are changed in place.

    args: one value per parameter
    """
    run = _Interpreter(kernel, args)
    for _ in run.body(kernel.body, (), ()):
        pass
    return run.result


def trace(kernel: syntax.Kernel, args: Sequence[object]) -> Iterator[TraceEvent]:
    """Runs the kernel, and yields a TraceEvent for each instance of a statement when it has run; arguments are changed in place.

    The events name local numbers as `kernel` does. To compare them with a typed kernel, in which each live range has a name of its
    own, trace the kernel that `live_ranges.split` returns.
    """
    yield from _Interpreter(kernel, args).body(kernel.body, (), ())


class Unspecialised(Exception):
    """The exception that says that a Require of the kernel does not hold, so that the call has to run as plain Python."""


class _Left(Exception):
    """A _Left ends the statements up to the end of the Block of a label."""

    def __init__(self, label: str):
        super().__init__(label)
        self.label = label


class _Interpreter:
    def __init__(self, kernel: syntax.Kernel, args: Sequence[object]):
        if len(args) != len(kernel.params):
            raise TypeError(f"{kernel.name} takes {len(kernel.params)} arguments, not {len(args)}")
        self._values: dict[str, Any] = {p.name: a for p, a in zip(kernel.params, args)}
        self._assigned: set[str] = set()
        self._reads: list[tuple[str, tuple[int, ...]]] = []
        self.result: object = None

    def body(self, stmts: Sequence[syntax.Stmt], path: tuple, point: tuple, first: int = 0) -> Iterator[TraceEvent]:
        for position, stmt in enumerate(stmts, first):
            self._reads = []
            yield from self._stmt(stmt, (*path, position), point)

    def _stmt(self, stmt: syntax.Stmt, path: tuple, point: tuple) -> Iterator[TraceEvent]:
        match stmt:
            case syntax.For():
                values = self._range(stmt)
                yield from self._control(path, point)
                for value in values:
                    self._values[stmt.var] = value
                    self._assigned.discard(stmt.var)
                    yield from self.body(stmt.body, path, (*point, value))
            case syntax.While():
                while True:
                    self._reads = []
                    condition = bool(self._expr(stmt.condition))
                    yield from self._control(path, point)
                    if not condition:
                        break
                    yield from self.body(stmt.body, path, point)
            case syntax.Block():
                try:
                    yield from self.body(stmt.body, path, point)
                except _Left as left:
                    if left.label != stmt.label:
                        raise
            case syntax.Leave():
                raise _Left(stmt.label)
            case syntax.Raise():
                raise getattr(builtins, stmt.exception)(*stmt.args)
            case syntax.If():
                condition = bool(self._expr(stmt.condition))
                yield from self._control(path, point)
                if condition:
                    yield from self.body(stmt.then, path, point)
                else:
                    yield from self.body(stmt.orelse, path, point, len(stmt.then))
            case syntax.Assign():
                write = self._assign(stmt)
                yield TraceEvent(path, point, tuple(self._reads), write)
            case syntax.Alloc():
                array = self._alloc(stmt)
                if stmt.fill is not None:
                    reads = tuple(self._reads)
                    yield from (TraceEvent(path, (*point, *i), reads, (stmt.name, i)) for i in np.ndindex(array.shape))
            case syntax.Require():
                if not self._expr(stmt.condition):
                    raise Unspecialised(stmt.what)
            case syntax.Return():
                results = tuple(map(self._expr, stmt.values))
                self.result = results if stmt.is_tuple else results[0] if results else None
                if stmt.form:
                    self.result = result_forms.result(stmt.form, results)
                yield from self._control(path, point)

    def _control(self, path: tuple, point: tuple) -> Iterator[TraceEvent]:
        if self._reads:
            yield TraceEvent(path, point, tuple(self._reads), None)

    def _range(self, stmt: syntax.For) -> range:
        return range(_index(self._expr(stmt.start)), _index(self._expr(stmt.stop)), stmt.step)

    def _assign(self, stmt: syntax.Assign) -> tuple[str, tuple[int, ...]]:
        value = self._expr(stmt.value)
        target = stmt.target
        if isinstance(target, syntax.Name):
            self._values[target.name] = value
            self._assigned.add(target.name)
            return target.name, ()
        if not isinstance(target, syntax.Subscript):
            raise TypeError(f"an array that is stored as a whole became loops before: {target!r}")
        index, array = self._element(target), self._values[target.array]
        array = getattr(array, target.part) if target.part else array
        with np.errstate(all="ignore"):
            array[index] = value.astype(array.dtype) if stmt.whole and isinstance(value, np.generic) else value
        return target.array, index

    def _alloc(self, stmt: syntax.Alloc) -> np.ndarray:
        if isinstance(stmt.shape, syntax.Like):
            shape = self._values[stmt.shape.array].shape
        else:
            shape = tuple(_index(self._expr(s)) for s in stmt.shape)
        dtype = None
        if isinstance(stmt.element, syntax.Like):
            dtype = self._values[stmt.element.array].dtype
        elif isinstance(stmt.element, syntax.TypeOf):
            dtype = self._type_of(stmt.element)
        elif stmt.element is not None:
            dtype = numpy_dtype(stmt.element)
        with np.errstate(all="ignore"):
            size = shape[:1] if stmt.late else shape
            array = np.empty(size, dtype) if stmt.fill is None else np.full(size, self._expr(stmt.fill), dtype)
            if stmt.late and len(shape) > 1:  # more memory for what was there
                array[: shape[1]] = self._values[stmt.name][: shape[1]]
        self._values[stmt.name] = array
        return array

    def _type_of(self, wanted: syntax.TypeOf) -> np.dtype:
        """Returns the NumPy dtype that a TypeOf means.

        Elements that its expression reads are taken to be ones, since there may be none.
        """
        if wanted.function == "listed":
            return np.dtype(object)
        if wanted.function == "array" and isinstance(wanted.of, syntax.Subscript):
            return np.array(self._values[wanted.of.array].ravel().tolist()).dtype
        kind = np.ones(1, _TypeSampler(self._values).dtype(wanted.of))
        if wanted.function == "truth":
            return np.dtype(bool)
        function = wanted.function.removeprefix("wide ")
        made = getattr(kind, function)().dtype if function else kind.dtype
        return np.dtype(np.float32) if function != wanted.function and made.name in HALVES else made

    def _element(self, expr: syntax.Subscript) -> tuple[int, ...]:
        """Returns the index of the element that a subscript names, counted from 0.

        Raises IndexError if it is outside the array.
        """
        shape, indices = self._values[expr.array].shape, tuple(_index(self._expr(i)) for i in expr.indices)
        if len(indices) != len(shape):
            raise IndexError(f"{expr.array} has {len(shape)} dimensions, and {len(indices)} subscripts are given")
        for index, size in zip(indices, shape):
            if not -size <= index < size:
                raise IndexError(f"index {index} is out of bounds for a dimension of {expr.array} with size {size}")
        return tuple(index % size for index, size in zip(indices, shape))

    def _expr(self, expr: syntax.Expr) -> Any:
        try:
            return self._value(expr)
        except PolymlOverflowError as problem:
            if problem.loc is not None:
                raise
            raise PolymlOverflowError(problem.message, loc=expr.loc, notes=problem.notes) from None

    def _value(self, expr: syntax.Expr) -> Any:
        match expr:
            case syntax.Const():
                return expr.value
            case syntax.Name():
                if expr.name in self._assigned:
                    self._reads.append((expr.name, ()))
                return self._values[expr.name]
            case syntax.ArrayName():
                part = tuple(slice(_index(self._expr(size))) for size in expr.sizes)
                return self._values[expr.name][part] if part else self._values[expr.name]
            case syntax.Shape():
                return self._shape(expr)
            case syntax.Subscript():
                index = self._element(expr)
                self._reads.append((expr.array, index))
                element = self._values[expr.array][index]
                return getattr(element, expr.part) if expr.part else element
            case syntax.Unary():
                return unary(expr.op, self._expr(expr.operand))
            case syntax.Binary() | syntax.Compare():
                return binary(expr.op, self._expr(expr.left), self._expr(expr.right))
            case syntax.Logical():
                return self._logical(expr)
            case syntax.IfExp():
                return self._expr(expr.then if self._expr(expr.condition) else expr.orelse)
            case syntax.Call(function="least" | "greatest"):
                kind = _TypeSampler(self._values).dtype(expr.args[0])
                return kind.type(BY_NUMPY_NAME[kind.name].limits[expr.function == "greatest"])
            case syntax.Call(function=asked) if asked in ASKED or asked == "is_same_type":
                kinds = {BY_NUMPY_NAME[_TypeSampler(self._values).dtype(arg).name] for arg in expr.args}
                return len(kinds) == 1 and all(map(ASKED.get(asked, bool), kinds))
            case syntax.Call(function="bound", args=(flag, _)) if not self._expr(flag):
                raise UnboundLocalError(syntax.unbound_text(expr))
            case syntax.Call(function="bound", args=(_, number)):
                return self._expr(number)
            case syntax.Call():
                return call(expr.module, expr.function, [self._expr(a) for a in expr.args])
            case syntax.Cast():
                return cast(expr.to, self._expr(expr.operand))
        raise TypeError(f"not an expression: {expr!r}")

    def _shape(self, expr: syntax.Shape) -> int:
        shape = self._values[expr.array].shape
        if expr.ndim is not None and expr.ndim != len(shape):
            raise ValueError(f"{expr.array} has {len(shape)} dimensions, not {expr.ndim}")
        return shape[expr.dim]

    def _logical(self, expr: syntax.Logical) -> Any:
        for operand in expr.operands:
            value = self._expr(operand)
            if bool(value) is (expr.op == "or"):
                return value
        return value


class _TypeSampler(_Interpreter):
    """A _TypeSampler evaluates an expression with a one in the place of every element, to find the type of the result."""

    def __init__(self, values: dict[str, Any]):
        self._values, self._assigned, self._reads = values, set(), []

    def dtype(self, expr: syntax.Expr) -> np.dtype:
        return np.asarray(self._expr(expr)).dtype

    def _value(self, expr: syntax.Expr) -> Any:
        if isinstance(expr, syntax.Subscript):
            element = self._values[expr.array].dtype.type(1)
            return getattr(element, expr.part) if expr.part else element
        return super()._value(expr)


def _index(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("a truth value is not a subscript, a size or a bound")
    return operator.index(value)
