"""Elementwise functions that need more than the element: np.where, np.clip, and those of complex numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from polyml.errors import NotAffineError, PolymlTypeError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.functions.array_operands import as_array, map_elements
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.shapes import dimensions
from polyml.frontend.arrays.views import Elements, Point, is_truth
from polyml.frontend.elementwise_functions import ASKED, OUTER
from polyml.frontend.library.whole_arrays import marks
from polyml.frontend.syntax import Expr
from polyml.numpy_dtypes import numpy_dtype
from polyml.source import Loc


def _where(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    made = map_elements(builder, args, lambda *parts: syntax.Call("where", parts, loc=loc), loc)
    return as_array(made, loc)  # np.where of numbers is an array without dimensions


def _select(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the array of np.select. args: the conditions, as many choices, and the default

    Each element has the type that all choices and the default have in common: that of arrays, which numbers of Python's take on.
    """
    count = len(args) // 2
    numbers = [arg for arg in args[count:] if not isinstance(arg, Elements) and not isinstance(arg, syntax.Const)]
    is_array = any(isinstance(arg, Elements) and arg.rank for arg in args)
    has_type = len(numbers) < 2 or any(isinstance(arg, Elements) for arg in args[count:])
    if (
        not is_array
        or not has_type
        or not all(isinstance(arg, Elements) and is_truth(arg.sample, builder.truths) for arg in args[:count])
    ):
        known = "polyml compiles: np.select with conditions that are arrays of truth values"
        raise NotAffineError("np.select of numbers, or of conditions that may be none", loc=loc, notes=[known])
    order = sorted(
        range(count, len(args)), key=lambda k: 0 if isinstance(args[k], Elements) else 1 + isinstance(args[k], syntax.Const)
    )

    def at(*parts: Expr) -> Expr:
        common = builder.promoted([_of_any_size(parts[k]) for k in order], loc)
        value: Expr = syntax.Call("default", (parts[-1], common), loc=loc)
        for k in reversed(range(count)):
            choice = parts[count + k]
            is_number = not isinstance(args[count + k], Elements)
            value = syntax.Call(
                "where", (parts[k], syntax.Call("choice", (choice, common), loc=loc) if is_number else choice, value), loc=loc
            )
        return value

    return map_elements(builder, args, at, loc)


def as_power(expr: Expr, operands: tuple[Value, ...]) -> tuple[Expr, tuple[Value, ...]]:
    """Returns an operation and its lowered operands, a power of an array or of np.power with a number as its exponent in the form that NumPy has
    for it: the square, or the call `root_power`, which is a square root where the exponent is 0.5. All others are returned as they are.
    """
    is_call = isinstance(expr, syntax.Call) and (expr.function, expr.module) == ("pow", "numpy")
    if not is_call and not (isinstance(expr, syntax.Binary) and expr.op == "**") or isinstance(operands[1], Elements):
        return expr, operands
    base, exponent = operands
    if not is_call and not isinstance(base, Elements):
        return expr, operands
    if isinstance(exponent, syntax.Const) and exponent.value != 0.5:
        is_two = not is_call and type(exponent.value) is int and exponent.value == 2
        return (syntax.Call("square", traversal.operands(expr)[:1], loc=expr.loc), (base,)) if is_two else (expr, operands)
    return syntax.Call("root_power", traversal.operands(expr), "numpy" if is_call else "builtins", loc=expr.loc), operands


def _of_any_size(number: Expr) -> Expr:
    """Returns a number of the same type, which any type of integers has where it is an int."""
    return syntax.Const(0) if isinstance(number, syntax.Const) and type(number.value) is int else number


def _clip(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return map_elements(builder, args, lambda *parts: syntax.Call("clip", parts, loc=loc), loc)


def _round(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    decimals = options.get("decimals", 0)
    if type(decimals) is not int:
        raise NotAffineError("np.round to decimals that are no int", loc=loc, notes=["polyml compiles: np.round(x, 2)"])
    to = (syntax.Const(decimals),) if decimals else ()
    return map_elements(builder, args, lambda part: syntax.Call("round", (part, *to), loc=loc), loc)


def conj(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the value of A.conj() or np.conj(A), which is the operand itself where it is known to be real.

    Raises NotAffineError for an array without dimensions of which it is not known whether it is real.
    """
    storage = args[0].storage if isinstance(args[0], Elements) else None
    is_complex = builder.complex.get(storage) if storage else None  # None: it is not known
    if is_complex is False:
        return args[0]
    if is_complex is None and isinstance(args[0], Elements) and not args[0].rank:
        known = "polyml compiles: np.conj, which makes a number of it"
        raise NotAffineError("conj of an array without dimensions, which is that array if it is real", loc=loc, notes=[known])
    made = map_elements(builder, args, lambda part: syntax.Call("conj", (part,), "method", loc=loc), loc)
    return dataclasses.replace(made, may_be_view_of=None if is_complex else storage) if isinstance(made, Elements) else made


def _outer(name: str) -> Callable[..., Value]:
    """Returns the function that lowers np.add.outer and its like, by the name of the function of two numbers.

    The result has the dimensions of the first operand, then those of the second one.
    """

    def outer(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        a, b = (as_array(arg, loc) for arg in args)

        def at(point: Point) -> Expr:
            return syntax.Call(name, (a.at(point[: a.rank]), b.at(point[a.rank :])), loc=loc)

        return Elements((*a.shape, *b.shape), at) if a.rank + b.rank else at(())

    return outer


def _angle(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    if options.get("deg"):
        raise NotAffineError("np.angle in degrees", loc=loc, notes=["polyml compiles: np.angle(z) * 180 / np.pi"])
    return map_elements(builder, args, lambda part: syntax.Call("angle", (part,), loc=loc), loc)


def _part(name: str):
    """Returns the function that lowers np.real or np.imag, by its name.

    The result is a view of a complex array in memory, to whose elements a kernel may assign; of anything else, it is new values.

    name: "real" or "imag"
    """

    def part(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        value = args[0]
        sample = value.sample if isinstance(value, Elements) and value.storage is not None else None
        if not isinstance(sample, syntax.Subscript) or sample.part:
            made = map_elements(builder, args, lambda number: syntax.Call(name, (number,), loc=loc), loc)
            return (
                as_array(made, loc) if isinstance(value, Elements) else made
            )  # that of an array is an array, also without dimensions
        return Elements(value.shape, lambda point: dataclasses.replace(value.lvalue(point), part=name), value.storage)

    return part


def _number(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the operand as one number: a number itself, or the element of an array without dimensions.

    Raises NotAffineError for any other array.
    """
    if isinstance(args[0], Elements) and args[0].rank:
        raise NotAffineError("an array stands where a number is needed", loc=loc, notes=["polyml compiles: a number"])
    return args[0].at(()) if isinstance(args[0], Elements) else args[0]


def _of_kind(name: str) -> Callable[..., Value]:
    """Returns the function that lowers a test of which kind the elements of an array are, or a number is, by its name."""

    def test(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
        return syntax.Call(name, tuple(arg.sample if isinstance(arg, Elements) else arg for arg in args), loc=loc)

    return test


def _of_constant(function: Callable[..., bool]) -> Callable[..., Value]:
    """Returns the function that lowers a test of constants: to its result."""
    return lambda builder, args, options, loc: syntax.Const(function(**options), loc=loc)


def _of_type(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the condition that an array is of the type in the options. Raises PolymlTypeError for other numbers of dimensions."""
    value, element, ndim = args[0], options["element"], options["ndim"]
    if not isinstance(value, Elements) or value.rank != ndim:
        given = dimensions(value.rank) if isinstance(value, Elements) else "a number"
        notes = [f"accepted: an array with {dimensions(ndim)}"]
        raise PolymlTypeError(f"{given} where a function was compiled for an array with {dimensions(ndim)}", loc=loc, notes=notes)
    return syntax.Call("of_type", (value.sample, syntax.Const(numpy_dtype(element).type(0))), loc=loc)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "where": _where,
    "select": _select,
    "clip": _clip,
    "round": _round,
    "conj": conj,
    "angle": _angle,
    "real": _part("real"),
    "imag": _part("imag"),
    "number": _number,
    "of_type": _of_type,
    **{name: _of_constant(function) for name, function in marks.OF_CONSTANTS.items()},
    **{name: _of_kind(name) for name in (*ASKED, "is_same_type")},
    **{f"{name}_outer": _outer(name) for name in OUTER},
}
