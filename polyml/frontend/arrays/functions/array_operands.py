"""What functions of arrays share: operands as arrays, axes and shapes of reductions, types of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from polyml.errors import PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.arrays import views
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import Extent, checked_axis
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.syntax import Expr
from polyml.source import Loc

ZERO = syntax.Const(0)


def as_array(value: Value, loc: Loc | None) -> Elements:
    """Returns a value as an array; a number becomes an array without dimensions."""
    return value if isinstance(value, Elements) else Elements((), lambda point: value)


def reduced_axes(value: Value, options: dict, loc: Loc | None) -> tuple[int, ...]:
    """Returns the axes of an operand that a call reduces, in ascending order: those of axis=, or all where it is not given.

    options: the call's arguments by name. Raises PolymlTypeError where an axis is given twice.
    """
    rank, given = as_array(value, loc).rank, options.get("axis")
    if given is None or rank == 0 and given in (0, -1):  # NumPy treats an array without dimensions as a number
        return tuple(range(rank))
    axes = [checked_axis(axis, rank, loc) for axis in (given if isinstance(given, tuple) else (given,))]
    if len(set(axes)) != len(axes):
        raise PolymlTypeError("an axis is given twice", loc=loc, notes=["accepted: each axis once"])
    return tuple(sorted(axes))


def reduced_shape(array: Elements, axes: Sequence[int], keep: bool) -> tuple[Extent, ...]:
    """Returns the shape of the result of a reduction of an array.

    axes: the axes that are reduced
    keep: whether they stay in the result, with size 1
    """
    one = Extent.constant(1)
    return tuple(one if dim in axes else size for dim, size in enumerate(array.shape) if keep or dim not in axes)


def reduced_point(point: Point, axes: Sequence[int], keep: bool) -> Point:
    """Returns the point (an index per dimension) of a reduction's result to which the element at `point` of the operand
    contributes.

    axes: the axes that are reduced
    keep: whether they stay in the result, with size 1
    """
    return tuple(ZERO if dim in axes else index for dim, index in enumerate(point) if keep or dim not in axes)


def with_axes(point: Point, axes: Sequence[int], index: Expr) -> Point:
    """Returns a point (an index per dimension) with `index` inserted for each of the axes.

    axes: the positions of the inserted indices in the result, in ascending order
    """
    result = list(point)
    for axis in axes:
        result.insert(axis, index)
    return tuple(result)


@overload
def each_element(value: Elements, make: Callable[[Expr], Expr]) -> Elements: ...


@overload
def each_element(value: Expr, make: Callable[[Expr], Expr]) -> Expr: ...


def each_element(value: Value, make: Callable[[Expr], Expr]) -> Value:
    """Returns the array of make(element) for each element of an array, or make(value) for a number."""
    if not isinstance(value, Elements):
        return make(value)
    return Elements(value.shape, lambda point: make(value.at(point)))


def map_elements(builder: LoopBuilder, args: list, make: Callable[..., Expr], loc: Loc | None) -> Value:
    """Returns the array of make(*elements) over the broadcast operands, or the number make(*args) where no operand is an array."""
    if not any(isinstance(arg, Elements) for arg in args):
        return make(*args)
    return views.elementwise(args, make, builder.require, loc)


def count(array: Elements, axes: Sequence[int], less: int) -> Expr:
    """Returns an expression for the number of elements along the axes minus `less`, but at least 0."""
    total: Expr | None = None
    for axis in axes:
        size = array.shape[axis].expr
        total = size if total is None else syntax.Binary("*", total, size)
    total = syntax.Const(1) if total is None else total
    return syntax.Binary("max", syntax.Binary("-", total, syntax.Const(less)), ZERO) if less else total


def element_type_of(builder: LoopBuilder, wanted: syntax.TypeOf, loc: Loc | None) -> syntax.TypeOf:
    """Returns the element type that `A.dtype` stands for in a kernel: that of an element of the array A.

    wanted: the type before A was evaluated; its field `of` is the expression A
    """
    return syntax.TypeOf(as_array(builder.value(wanted.of), loc).sample, loc=loc)


def element_type(sample: Expr, options: dict, typed: str, loc: Loc | None) -> syntax.TypeOf:
    """Returns the element type of a call's result: that of dtype=, or else the type that NumPy derives from the operand's.

    sample: an element of the operand
    options: the call's arguments by name
    typed: the rule by which NumPy derives the type, such as "sum"; `TypeOf.function` lists them
    """
    to = options.get("dtype")
    return syntax.TypeOf(sample, typed, loc=loc) if to is None else syntax.TypeOf(syntax.Cast(sample, to), loc=loc)


def rounded(builder: LoopBuilder, value: Value, kind: syntax.TypeOf, loc: Loc | None) -> Elements:
    """Returns a new array in memory with the value converted to the type `kind`, such as a float16 result that was computed in
    float32.
    """
    shape = value.shape if isinstance(value, Elements) else ()
    result = builder.allocated("_rounded", shape, kind, None, loc)

    def body(point: Point) -> list[syntax.Stmt]:
        return [syntax.Assign(result.lvalue(point), views.element(value, point), whole=True, loc=loc)]

    builder.loops(shape, body, loc)
    return result


def samples(*arrays: Elements) -> tuple[Expr, ...]:
    """Returns one element of each array, from which the type of a result is inferred."""
    return tuple(array.at((ZERO,) * array.rank) for array in arrays)
