"""NumPy's functions that make arrays: of numbers, of triangles, and of other arrays joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyml.dtypes import F64, I64
from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.selecting.ranges import computed_range
from polyml.frontend.arrays.sequences import written
from polyml.frontend.arrays.shapes import Extent, Linear, checked_axis, strided
from polyml.frontend.arrays.views import Elements, Point, require_equal, with_axis
from polyml.frontend.syntax import Expr
from polyml.source import Loc

MOST_PARTS = 16  # how many copies and borders are written out at most
ZERO, ONE = syntax.Const(0), syntax.Const(1)


def arange(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array that np.arange makes: here that of integers with a constant step."""
    start, stop = (args[0], args[1]) if len(args) > 1 else (ZERO, args[0])
    step = args[2] if len(args) > 2 else ONE
    if not all(map(builder.is_integer, (start, stop, step))) or not isinstance(step, syntax.Const) or step.value == 0:
        return computed_range(builder, start, stop, step, options.get("dtype"), loc)
    length = (Linear.of(stop) - Linear.of(start)) * (1 if step.value > 0 else -1)
    length = strided(length, abs(step.value))
    to = options.get("dtype") or I64

    def at(point: Point) -> Expr:
        return syntax.Cast((Linear.of(point[0]) * step.value + Linear.of(start)).expr, to, loc=loc)

    return Elements((Extent(length),), at)


def linspace(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array that np.linspace makes of numbers for which it computes in float64: start + k * step, the last one exactly stop.

    Raises NotAffineError where an argument is an array, or the number of elements may not be an integer.
    """
    start, stop = args[:2]
    count = args[2] if len(args) > 2 else syntax.Const(50)
    if any(isinstance(arg, Elements) for arg in (start, stop, count)) or not builder.is_integer(count):
        known = "polyml compiles: numbers, of which the number of elements is a size, an int or a constant"
        raise NotAffineError("np.linspace of arrays, or of what may be no integer", loc=loc, notes=[known])
    number = Linear.of(count)
    steps = number - 1 if options.get("endpoint", True) else number
    builder.require(syntax.Compare(">=", steps.expr, ONE), "np.linspace of one number", loc)
    first, last = (builder.held_number(syntax.Call("float64", (end,), loc=end.loc), loc) for end in (start, stop))
    delta = builder.held_number(syntax.Binary("-", last, first), loc)
    step, to = builder.held_number(syntax.Binary("/", delta, steps.expr), loc), options.get("dtype") or F64

    def at(point: Point) -> Expr:
        small = syntax.Binary("*", syntax.Binary("/", point[0], steps.expr), delta)
        moved = syntax.IfExp(syntax.Compare("==", step, syntax.Const(0)), small, syntax.Binary("*", point[0], step))
        value: Expr = syntax.Binary("+", moved, first, loc=loc)
        if steps != number:
            value = syntax.IfExp(syntax.Compare("==", point[0], steps.expr), last, value)
        return syntax.Cast(syntax.Call("floor", (value,)) if to.is_integer else value, to, loc=loc)

    return Elements((Extent(number),), at)


def ones(op: str):
    """Returns the function that lowers np.eye, with ones where column - row == k, or np.tri, with ones where it is <= k.

    op: the comparison, "==" or "<="
    """

    def made(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        to, k = options.get("dtype") or F64, syntax.Const(options.get("k", 0))
        shape = tuple(Extent(Linear.of(size)) for size in (args[0], args[-1]))
        return Elements(shape, lambda p: syntax.Cast(syntax.Compare(op, syntax.Binary("-", p[1], p[0]), k), to, loc=loc))

    return made


def triangle(op: str):
    """Returns the function that lowers np.tril, which keeps elements with column - row <= k, or np.triu, which keeps those >= k.

    op: the comparison, "<=" or ">="
    """

    def made(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        array = _array(args[0], loc, 2)
        k = syntax.Const(options.get("k", 0))

        def at(point: Point) -> Expr:
            distance = syntax.Binary("-", point[-1], point[-2])
            return builder.or_zero(syntax.Compare(op, distance, k), array.at(point), loc)

        return Elements(array.shape, at)

    return made


def diag(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.diag: the diagonal matrix of a vector, or the diagonal of a matrix."""
    array = _array(args[0], loc, 1)
    if array.rank == 1:
        size = array.shape[0]

        def at(point: Point) -> Expr:
            return builder.or_zero(syntax.Compare("==", point[0], point[1]), array.at(point[:1]), loc)

        return Elements((size, size), at)
    if array.rank > 2:
        raise PolymlTypeError("np.diag of more than two dimensions", loc=loc, notes=["accepted: a vector or a matrix"])
    rows, columns = array.shape
    require_equal(rows, columns, "the diagonal of a matrix that is not square", builder.require, loc)
    return Elements((rows,), lambda point: array.at((point[0], point[0])), may_be_view_of=array.storage)


def take(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.take: a[..., indices, ...] along one axis."""
    array, axis = _array(args[0], loc, 1), options.get("axis")
    if axis is None and array.rank > 1:
        raise NotAffineError("np.take of a flattened array", loc=loc, notes=["polyml compiles: np.take with axis="])
    axis = checked_axis(0 if axis is None else axis, array.rank, loc)
    before = (syntax.Slice(None, None),) * axis
    return builder.taken_part(array, (*before, builder.index(args[1], loc)), loc)


def roll(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.roll; raises NotAffineError unless the shift is a constant, along one axis."""
    array, shift, axis = _array(args[0], loc, 1), options.get("shift"), options.get("axis")
    if type(shift) is not int or axis is None and array.rank > 1 or not isinstance(axis, (int, type(None))):
        raise NotAffineError(
            "np.roll along several axes at once", loc=loc, notes=["polyml compiles: a constant shift along one axis"]
        )
    axis = checked_axis(0 if axis is None else axis, array.rank, loc)
    size = array.shape[axis].length
    least = syntax.Compare(">=", size.expr, syntax.Const(max(1, abs(shift))))
    builder.require(least, "a shift that goes around more than once", loc)

    def at(point: Point) -> Expr:
        index = Linear.of(point[axis])

        def moved(by: Linear | int) -> Expr:
            return array.at((*point[:axis], (index + by).expr, *point[axis + 1 :]))

        if shift >= 0:
            return syntax.IfExp(syntax.Compare("<", point[axis], syntax.Const(shift)), moved(size - shift), moved(-shift))
        inside = syntax.Compare("<", point[axis], (size + shift).expr)
        return syntax.IfExp(inside, moved(-shift), moved(size * -1 - shift))

    return Elements(array.shape, at)


def tile(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.tile: the operand several times along each dimension."""
    array, times = _array(args[0], loc, 1), options.get("reps")
    times = times if isinstance(times, tuple) else (times,)
    if not all(type(n) is int and 0 < n <= MOST_PARTS for n in times):
        known = f"polyml compiles: constants from 1 to {MOST_PARTS}"
        raise NotAffineError("np.tile that often", loc=loc, notes=[known])
    for _ in range(len(times) - array.rank):
        array = with_axis(array, 0)
    times = (1,) * (array.rank - len(times)) + times
    for axis, n in enumerate(times):
        if n > 1:
            array = concatenate(builder, [array] * n, {"axis": axis}, loc)
    return array if array.storage is None else builder.memory(array, "_tiled", loc)


@dataclass(frozen=True)
class _Padding:
    """A _Padding says how np.pad fills the border of an array with the array's own elements.

    widths: (before, behind) of each dimension
    mode: NumPy's word for which elements the border gets: "edge", "reflect", "symmetric" or "wrap"
    loc: the place of the call
    """

    widths: Sequence[tuple[int, int]]
    mode: str
    loc: Loc | None


def pad(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.pad: an array with a border of a constant number or of the array's own elements."""
    array, mode = _array(args[0], loc, 1), options.get("mode", "constant")
    widths = _pad_widths(options.get("pad_width"), array.rank)
    if widths is None or mode not in _PADDED_FROM and mode != "constant":
        modes = ", ".join(repr(known) for known in ("constant", *_PADDED_FROM))
        known = f"polyml compiles: constant widths from 0 to {MOST_PARTS}, the modes {modes}"
        raise NotAffineError("np.pad in this way", loc=loc, notes=[known])
    fill = options.get("constant_values", 0)
    if isinstance(fill, tuple) or mode != "constant" and "constant_values" in options:
        raise NotAffineError("np.pad with these values", loc=loc, notes=["polyml compiles: one number, for `mode='constant'`"])
    shape = tuple(Extent(e.length + (b + a), e.positive or b + a > 0) for e, (b, a) in zip(array.shape, widths))
    start = syntax.Const(fill) if mode == "constant" else None
    result = builder.allocated("_padded", shape, syntax.TypeOf(array.sample), start, loc)

    def inside(point: Point) -> list[syntax.Stmt]:
        index = tuple((Linear.of(i) + before).expr for i, (before, _) in zip(point, widths))
        return [syntax.Assign(result.lvalue(index), array.at(point), whole=True, loc=loc)]

    builder.loops(array.shape, inside, loc)
    for axis in range(len(widths)) if mode != "constant" else ():
        _pad_axis(builder, result, array.shape, _Padding(widths, mode, loc), axis)
    return result


def _pad_axis(builder: LoopBuilder, result: Elements, shape: Sequence[Extent], padding: _Padding, axis: int) -> None:
    """Adds a loop that fills both ends of one dimension of a padded array with the array's own elements.

    The dimensions before `axis` are filled over their whole size already; along those behind it only the array's own part is.

    result: the padded array
    shape: the shape of the array without padding
    """
    size, (before, after) = shape[axis].length, padding.widths[axis]
    least = syntax.Const(max(1, before, after) if padding.mode != "reflect" else max(before, after) + 1)
    builder.require(syntax.Compare(">=", size.expr, least), "an array that is padded by more than it has", padding.loc)
    others = tuple(result.shape[d] if d < axis else shape[d] for d in range(len(shape)) if d != axis)
    ends = [(Linear((), k), k - before) for k in range(before)] + [(size + (before + k), k) for k in range(after)]

    def body(point: Point) -> list[syntax.Stmt]:
        made: list[syntax.Stmt] = []
        for index, k in ends:
            source = _PADDED_FROM[padding.mode](k, size) + before
            rest = [i if d < axis else (Linear.of(i) + padding.widths[d + 1][0]).expr for d, i in enumerate(point)]
            target, read = (result.lvalue((*rest[:axis], at.expr, *rest[axis:])) for at in (index, source))
            made.append(syntax.Assign(target, read, whole=True, loc=padding.loc))
        return made

    builder.loops(others, body, padding.loc)


# the index, in an array of that size, of what stands k places before its start (k < 0) or behind its end
_PADDED_FROM = {
    "edge": lambda k, size: Linear((), 0) if k < 0 else size - 1,
    "reflect": lambda k, size: Linear((), -k) if k < 0 else size - (k + 2),
    "symmetric": lambda k, size: Linear((), -k - 1) if k < 0 else size - (k + 1),
    "wrap": lambda k, size: size + k if k < 0 else Linear((), k),
}


def _pad_widths(given: object, rank: int) -> list[tuple[int, int]] | None:
    """Returns how many elements np.pad adds to each dimension, as pairs (before the first, behind the last), from its argument
    pad_width.

    None is returned where the argument does not fit the rank, or a width is not a constant int from 0 to `MOST_PARTS`, a limit on
    the code that is written out.
    """
    given = given if isinstance(given, tuple) else (given,)
    pairs = [pair for pair in given if isinstance(pair, tuple)]
    if len(pairs) < len(given):
        pairs = [given]
    if any(type(n) is not int or not 0 <= n <= MOST_PARTS for pair in pairs for n in pair):
        return None
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        return None
    ends = [(pair[0], pair[-1]) for pair in pairs]
    return ends * rank if len(ends) == 1 else ends


def concatenate(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Elements:
    """Returns the array of np.concatenate: the operands stored one after the other, in the type to which NumPy promotes theirs."""
    parts = [_array(arg, loc, 1) for arg in args]
    axis = checked_axis(options.get("axis", 0), parts[0].rank, loc)
    if len({part.rank for part in parts}) != 1:
        raise PolymlTypeError("arrays of different ranks are put together", loc=loc, notes=["accepted: one rank"])
    for part in parts[1:]:
        for dim, (one, other) in enumerate(zip(parts[0].shape, part.shape)):
            if dim != axis:
                require_equal(one, other, "a concatenation of arrays that do not fit together", builder.require, loc)
    total = Linear((), 0)
    for part in parts:
        if not part.shape[axis].positive:
            builder.require(syntax.Compare(">=", part.shape[axis].length.expr, ZERO), "a part that is empty", loc)
        total += part.shape[axis].length
    shape = (*parts[0].shape[:axis], Extent(total, True), *parts[0].shape[axis + 1 :])
    kind = syntax.TypeOf(builder.promoted([p.sample for p in parts], loc))
    result = builder.allocated("_joined", shape, kind, None, loc)
    first = Linear((), 0)
    for part in parts:

        def body(point: Point, part: Elements = part, first: Linear = first) -> list[syntax.Stmt]:
            lvalue = result.lvalue((*point[:axis], (Linear.of(point[axis]) + first).expr, *point[axis + 1 :]))
            return [syntax.Assign(lvalue, part.at(point), whole=True, loc=loc)]

        builder.loops(part.shape, body, loc)
        first += part.shape[axis].length
    return result


def stack(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.stack: the operands along a new axis."""
    parts = [_array(arg, loc, 1) for arg in args]
    axis = checked_axis(options.get("axis", 0), parts[0].rank + 1, loc)
    return concatenate(builder, [with_axis(part, axis) for part in parts], {"axis": axis}, loc)


def hstack(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.hstack: the operands one after the other along the second axis, vectors along the first."""
    parts = [_row(builder, arg, loc) for arg in args]
    return concatenate(builder, parts, {"axis": 0 if parts[0].rank == 1 else 1}, loc)


def vstack(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.vstack: the operands one after the other along the first axis, vectors as rows."""
    parts = [_row(builder, arg, loc) for arg in args]
    return concatenate(builder, [with_axis(p, 0) if p.rank == 1 else p for p in parts], {"axis": 0}, loc)


def column_stack(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.column_stack: the operands beside each other, vectors as columns."""
    parts = [_row(builder, arg, loc) for arg in args]
    return concatenate(builder, [with_axis(p, 1) if p.rank == 1 else p for p in parts], {"axis": 1}, loc)


def append(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.append: the second operand behind the first, along an axis or both as vectors."""
    if options.get("axis") is not None:
        return concatenate(builder, args, options, loc)
    rows = [_row(builder, arg, loc) for arg in args]
    if any(row.rank > 1 for row in rows):
        raise NotAffineError("np.append of matrices as vectors", loc=loc, notes=["polyml compiles: vectors and numbers, or axis="])
    return concatenate(builder, rows, {}, loc)


def _row(builder: LoopBuilder, value: Value, loc: Loc | None) -> Elements:
    """Returns an array of at least one dimension; a number becomes an array of one element."""
    if isinstance(value, Elements) and value.rank:
        return value
    return written.array(builder, [value], {"shape": (1,)}, loc)


def _array(value: Value, loc: Loc | None, least: int) -> Elements:
    if not isinstance(value, Elements) or value.rank < least:
        raise NotAffineError(
            f"an array of at least {least} dimension{'s' if least > 1 else ''} is needed", loc=loc,
            notes=["polyml compiles: arrays, not numbers"],
        )  # fmt: skip
    return value


FUNCTIONS = {
    "arange": arange, "linspace": linspace, "eye": ones("=="), "tri": ones("<="), "tril": triangle("<="), "triu": triangle(">="), "diag": diag, "roll": roll, "take": take,
    "tile": tile, "pad": pad, "concatenate": concatenate, "stack": stack, "hstack": hstack, "vstack": vstack, "column_stack": column_stack, "append": append,
}  # fmt: skip
