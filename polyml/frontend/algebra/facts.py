"""What is known of array expressions before they become loops: their shapes and the types of their elements.

A fact is certain or it is missing: an expression of which nothing is known is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from polyml.dtypes import BOOL, BY_NUMPY_NAME, F64, I64, OF_PYTHON, PYINT, U64, DType
from polyml.frontend import syntax
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.elementwise_functions import COMPARISONS, TESTS
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import ArgType, ArrayType, Expr, Stmt

_ARITHMETIC = ("+", "-", "*", "/")


@dataclass(frozen=True)
class Fact:
    """A fact is the shape of an expression's value and the type of its elements.

    shape: the size of each dimension; () for a number.
    dtype: None where it is not known.
    """

    shape: tuple[Linear, ...]
    dtype: DType | None

    @property
    def rank(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)


@dataclass
class Facts:
    """Facts hold what is known of the names of a kernel at one of its statements.

    names: {name: its fact}, of arrays and numbers.
    middles: {loop variable: its value in the middle of its loop}, by which the sizes of slices are estimated.
    sizes: {name: its value as an expression of sizes}, of names that stand for one.
    """

    names: dict[str, Fact] = field(default_factory=dict)
    middles: dict[str, Expr] = field(default_factory=dict)
    sizes: dict[str, Expr] = field(default_factory=dict)

    @staticmethod
    def of(kernel: syntax.Kernel, types: Sequence[ArgType]) -> Facts:
        """Returns what is known where a kernel begins, for arguments of these types."""
        found = Facts()
        for param, kind in zip(kernel.params, types):
            if isinstance(kind, ArrayType):
                known = dict(kind.sizes)
                found.names[param.name] = Fact(
                    tuple(_size(param.name, dim, known.get(dim)) for dim in range(kind.ndim)), kind.element
                )
            else:
                found.names[param.name] = Fact((), kind.dtype)
        return found

    def copy(self) -> Facts:
        """Returns facts that change apart from these."""
        return Facts(dict(self.names), dict(self.middles), dict(self.sizes))

    def forget(self, body: Iterable[Stmt]) -> None:
        """Forgets the names that statements bind."""
        for stmt in statements(tuple(body)):
            match stmt:
                case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name), in_place=False):
                    self.names.pop(name, None)
                    self.sizes.pop(name, None)

    def inside(self, loop: syntax.For | syntax.While) -> Facts:
        """Returns what is known where the body of a loop begins."""
        found = self.copy()
        found.forget(loop.body)
        if isinstance(loop, syntax.While):
            return found
        found.names[loop.var] = Fact((), PYINT)
        found.middles[loop.var] = syntax.Binary("//", syntax.Binary("+", loop.start, loop.stop), syntax.Const(2))
        return found

    def after(self, stmt: Stmt) -> None:
        """Takes in what a statement binds."""
        match stmt:
            case syntax.For() | syntax.While() | syntax.If() | syntax.Block():
                self.forget((stmt,))
            case syntax.Alloc(name=name, shape=shape):
                like = self.names.get(shape.array) if isinstance(shape, syntax.Like) else None
                extents = tuple(map(self.linear, shape)) if isinstance(shape, tuple) else None
                extents = like.shape if like is not None else extents
                kind = stmt.element if isinstance(stmt.element, DType) else None
                if isinstance(stmt.element, syntax.Like) and stmt.element.array in self.names:
                    kind = self.names[stmt.element.array].dtype
                self.names.pop(name, None)
                if extents is not None:
                    self.names[name] = Fact(extents, kind)
            case syntax.Assign(target=syntax.Name(name=name), in_place=False):
                found = self.fact(stmt.value)
                self.names.pop(name, None)
                self.sizes.pop(name, None)
                if found is not None:
                    self.names[name] = found
                    if found == Fact((), PYINT):
                        self.sizes[name] = self.linear(stmt.value).expr

    def linear(self, size: Expr) -> Linear:
        """Returns a size, with the sizes of arguments in the place of names that stand for them."""
        if isinstance(size, syntax.Name) and size.name in self.sizes:
            return Linear.of(self.sizes[size.name])
        if isinstance(size, syntax.Shape):
            shape = self.names[size.array].shape if size.array in self.names else ()
            known = -len(shape) <= size.dim < len(shape)
            return shape[size.dim] if known else Linear.of(syntax.Name(f"{size.array}.shape[{size.dim}]"))
        if isinstance(size, syntax.Binary):
            return Linear.of(replace(size, left=self.linear(size.left).expr, right=self.linear(size.right).expr))
        return Linear.of(size)

    def fact(self, expr: Expr) -> Fact | None:
        """Returns what is known of an expression; None where that is not enough to rewrite it."""
        match expr:
            case syntax.Const(value=value):
                kind = BY_NUMPY_NAME.get(value.dtype.name) if isinstance(value, np.generic) else OF_PYTHON.get(type(value))
                return Fact((), kind)
            case syntax.Name(name=name):
                return self.names.get(name)
            case syntax.Shape():
                return Fact((), PYINT)
            case syntax.Subscript(array=array, indices=indices, part=""):
                return self._indexed(self.names.get(array), indices)
            case syntax.Part(base=base, indices=indices):
                return self._indexed(self.fact(base), indices)
            case syntax.Cast(operand=operand, to=to):
                inner = self.fact(operand)
                return None if inner is None else Fact(inner.shape, to)
            case syntax.Unary(op="-", operand=operand):
                inner = self.fact(operand)
                return inner if inner is not None and inner.dtype not in (None, BOOL) else None
            case syntax.Binary(op=op, left=left, right=right):
                return _binary(op, self.fact(left), self.fact(right))
            case syntax.Call():
                return self._call(expr)
            case syntax.Function():
                given = [self.fact(arg) for arg in expr.args]
                known = [each for each in given if each is not None]
                return of_function(expr, known) if len(known) == len(given) else None
        return None

    def _call(self, call: syntax.Call) -> Fact | None:
        given = [self.fact(arg) for arg in call.args]
        if call.module != "numpy" or not given or any(each is None for each in given):
            return None
        first, *rest = (each for each in given if each is not None)
        if call.function in (*TESTS, *COMPARISONS, "complex") or call.function.startswith("logical_"):
            return None
        for other in rest:
            joined = _binary("+", first, other)
            if joined is None:
                return None
            first = joined
        return first if first.dtype is not None and first.dtype.is_float else Fact(first.shape, None)

    def _indexed(self, base: Fact | None, indices: Sequence) -> Fact | None:
        if base is None:
            return None
        count = len([i for i in indices if not isinstance(i, (syntax.NewAxis, syntax.Dots))])
        given: list = []
        for index in indices:
            given += [syntax.Slice(None, None)] * (base.rank - count) if isinstance(index, syntax.Dots) else [index]
        shape: list[Linear] = []
        left = list(base.shape)
        for index in given:
            if isinstance(index, syntax.NewAxis):
                shape.append(Linear((), 1))
            elif not left:
                return None
            elif isinstance(index, syntax.Slice):
                shape.append(self._sliced(left.pop(0), index))
            else:
                if self.fact(index) not in (Fact((), PYINT), Fact((), I64)):
                    return None
                left.pop(0)
        return Fact((*shape, *left), base.dtype)

    def _sliced(self, size: Linear, index: syntax.Slice) -> Linear:
        ends = []
        for bound, otherwise in ((index.start, Linear((), 0)), (index.stop, size)):
            end = otherwise if bound is None else self.linear(bound)
            ends.append(size + end if end.is_constant and end.constant < 0 else end)
        whole = index.start is None and index.stop is None
        length = size if whole else ends[1] - ends[0]
        if abs(index.step) == 1:
            return length
        return Linear.of(syntax.Binary("//", length.expr, syntax.Const(abs(index.step))))


def _size(array: str, dim: int, known: int | None) -> Linear:
    return Linear.of(syntax.Shape(array, dim) if known is None else syntax.Const(known))


def promoted(one: DType | None, other: DType | None) -> DType | None:
    """Returns the type of an arithmetic operation on two types, by NumPy's rules; None where it is not certain."""
    if one is None or other is None or one == other:
        return one if one == other else None
    if one.weak or other.weak:
        if one.weak and other.weak:
            return None
        weak, fixed = (one, other) if one.weak else (other, one)
        ranks = "biufc".replace("u", "i")
        return fixed if fixed != BOOL and ranks.index(_class(weak)) <= ranks.index(_class(fixed)) else None
    if any(each.name == "bf16" for each in (one, other)):
        return None
    return BY_NUMPY_NAME.get(np.result_type(one.numpy_name, other.numpy_name).name)


def _class(kind: DType) -> str:
    return "i" if kind.kind == "u" else kind.kind


def broadcast(one: tuple[Linear, ...], other: tuple[Linear, ...]) -> tuple[Linear, ...]:
    """Returns the shape of an elementwise operation on operands of two shapes that fit."""
    rank, result = max(len(one), len(other)), []
    for dim in range(1, rank + 1):
        a, b = (shape[-dim] if dim <= len(shape) else Linear((), 1) for shape in (one, other))
        result.append(b if a == Linear((), 1) else a)
    return tuple(reversed(result))


def _binary(op: str, left: Fact | None, right: Fact | None) -> Fact | None:
    if left is None or right is None:
        return None
    kind = promoted(left.dtype, right.dtype) if op in (*_ARITHMETIC, "//", "%") else None
    if op == "/" and kind is not None and not (kind.is_float or kind.is_complex):
        kind = F64 if kind.bits > 8 and not kind.weak else None
    if op in ("//", "%") and kind is not None and kind.is_complex or kind == BOOL:
        kind = None
    return Fact(broadcast(left.shape, right.shape), kind)


def of_function(call: syntax.Function, given: Sequence[Fact]) -> Fact | None:
    """Returns what is known of the call of a function of arrays, from what is known of its operands."""
    if not given:
        return None
    options = dict(call.options)
    one = given[0]
    if call.function in ("matmul", "dot") and given[0].rank and given[1].rank:
        return _product(given[0], given[1]) if max(given[0].rank, given[1].rank) <= 2 else None
    if call.function == "outer" and (given[0].rank, given[1].rank) == (1, 1):
        return Fact((*given[0].shape, *given[1].shape), promoted(given[0].dtype, given[1].dtype))
    if call.function == "transpose" and options.get("axes") is None:
        return Fact(one.shape[::-1], one.dtype)
    if call.function == "copy":
        return one
    if call.function == "sum" and set(options) <= {"axis"} and one.rank:
        return _summed(one, options.get("axis"))
    if call.function in ("trace", "diagonal") and not options and one.rank == 2:
        return Fact((one.shape[:1] if call.function == "diagonal" else ()), summed_type(one.dtype, call.function == "trace"))
    return None


def _product(left: Fact, right: Fact) -> Fact:
    return Fact((*left.shape[:-1], *(right.shape[1:] if right.rank == 2 else ())), promoted(left.dtype, right.dtype))


def _summed(array: Fact, axis: object) -> Fact | None:
    if axis is None:
        return Fact((), summed_type(array.dtype, True))
    if type(axis) is not int or not -array.rank <= axis < array.rank:
        return None
    kept = [size for dim, size in enumerate(array.shape) if dim != axis % array.rank]
    return Fact(tuple(kept), summed_type(array.dtype, True))


def summed_type(kind: DType | None, is_sum: bool) -> DType | None:
    """Returns the type of a sum of elements of a type: NumPy adds up small integers in 64 bits."""
    if kind is None or not is_sum or not (kind.is_integer or kind == BOOL):
        return kind
    return U64 if kind.kind == "u" else I64


def evaluated(size: Expr, extents: Mapping[tuple[str, int], int], middles: Mapping[str, Expr], otherwise: int) -> int:
    """Returns about how large a size is in a call.

    extents: {(array, dimension): extent} in the call
    middles: {loop variable: an expression for a typical value of it}
    otherwise: the value of what is not known
    """
    match size:
        case syntax.Const(value=value) if type(value) is int:
            return value
        case syntax.Shape(array=array, dim=dim):
            return extents.get((array, dim), otherwise)
        case syntax.Name(name=name) if name in middles:
            return evaluated(middles[name], extents, {}, otherwise)
        case syntax.Unary(op="-", operand=operand):
            return -evaluated(operand, extents, middles, otherwise)
        case syntax.Binary(op=op, left=left, right=right):
            a, b = (evaluated(each, extents, middles, otherwise) for each in (left, right))
            results = {"+": a + b, "-": a - b, "*": a * b, "//": a // b if b else 0, "%": a % b if b else 0}
            return results.get(op, otherwise)
    return otherwise
