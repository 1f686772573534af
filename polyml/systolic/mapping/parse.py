"""Space-time mappings as users write them, in terms of a nest's loops: `t = i + j + k, x = i, y = j`.

Where a nest has more loops than an array and time have dimensions, those that are not named run one after another around the
others, or several go together as one axis of the recurrence: `t = 9*c + 3*r + s + i + f`. A loop along which statements are
interleaved has the name that `axis_names` gives it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from polyml.errors import ConfigError, IllegalSchedule
from polyml.reading.input_limits import excess, shown
from polyml.systolic.folding.folds import fold, obstacle
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import Plan, dataflow_of
from polyml.systolic.mapping.proof import prove
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.recurrence import UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector, linear
from polyml.systolic.recurrences.systolic_nest import SystolicNest

_COORDINATES = "txy"
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what Python's parser raises
_LONGEST, _DEEPEST = 1_000, 20  # characters and nesting of a mapping that is read
_LARGEST = 2**40  # magnitude of a coefficient


def parse(text: str, loops: Sequence[str]) -> tuple[Vector, ...]:
    """Returns a mapping that is written as text, as the coefficients of the loops in t, in x, and in y where there is one.

    >>> parse("t = i + 2*j, x = -j", ("i", "j"))
    ((1, 2), (0, -1))

    Raises: ConfigError for text that is no such mapping.
    """
    if excess(text, _LONGEST, _DEEPEST):
        raise _unreadable(text, loops)
    found: dict[str, Vector] = {}
    for part in text.split(","):
        coordinate, equals, value = (each.strip() for each in part.partition("="))
        if not equals or coordinate not in (*_COORDINATES,) or coordinate in found:
            raise _unreadable(text, loops)
        terms = _read(value, text, loops)
        if terms.pop("", 0):
            raise _unreadable(text, loops)
        if any(abs(number) > _LARGEST for number in terms.values()):
            raise ConfigError(f"{shown(text)} has coefficients beyond {_LARGEST:,}")
        found[coordinate] = tuple(terms.get(loop, 0) for loop in loops)
    names = _COORDINATES[: len(found)]
    if len(found) < 2 or any(coordinate not in found for coordinate in names):
        raise _unreadable(text, loops)
    return tuple(found[coordinate] for coordinate in names)


def _read(value: str, text: str, loops: Sequence[str]) -> dict[str, int]:
    """Returns the coefficient of each loop in one right-hand side of a mapping; "" stands for the constant.

    value: the right-hand side; text: the whole mapping, for the message.
    Raises: ConfigError for what is no sum of multiples of the loops.
    """
    try:
        return _terms(ast.parse(value, mode="eval").body, text, loops)
    except _UNREADABLE:
        raise _unreadable(text, loops) from None


def _terms(node: ast.expr, text: str, loops: Sequence[str]) -> dict[str, int]:
    """Returns the coefficient of each loop in an expression; "" stands for the constant.

    text: the whole mapping, for the message.
    Raises: ConfigError for what is no sum of multiples of the loops.
    """
    match node:
        case ast.Name(id=loop) if loop in loops:
            return {loop: 1}
        case ast.Constant(value=number) if type(number) is int:
            return {"": number}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_terms(operand, text, loops), -1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            first, second = _terms(left, text, loops), _terms(right, text, loops)
            second = _scaled(second, -1) if isinstance(op, ast.Sub) else second
            return {key: first.get(key, 0) + second.get(key, 0) for key in {**first, **second}}
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _terms(left, text, loops), _terms(right, text, loops)
            if not set(first) - {""}:
                return _scaled(second, first.get("", 0))
            if not set(second) - {""}:
                return _scaled(first, second.get("", 0))
    raise _unreadable(text, loops)


def _scaled(terms: Mapping[str, int], factor: int) -> dict[str, int]:
    """Returns the coefficients of a linear function, by loop, times a factor."""
    return {key: factor * value for key, value in terms.items()}


def _unreadable(text: str, loops: Sequence[str]) -> ConfigError:
    """Returns the error for text that is no mapping of the loops with these names."""
    expected = f"expected t and x, and y of an array of two dimensions, as sums of multiples of {', '.join(loops)}"
    quoted = f"`{text}`" if len(text) <= _LONGEST else shown(text)
    return ConfigError(f"{quoted} is no mapping", notes=[f'{expected}, as in "t = i + j + k, x = i, y = j"'])


def by_nest(texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Returns the text of the mapping of each nest, by the nest's name: `S1: t = ...` names its nest, `t = ...` belongs to the only
    one.

    names: the names of all nests.
    Raises: ConfigError for an unknown nest, for two mappings of one, and for a mapping without a name where there are several
        nests.
    """
    found: dict[str, str] = {}
    for text in texts:
        nest, colon, mapping = (each.strip() for each in text.partition(":"))
        if not colon:
            nest, mapping = names[0], text.strip()
            if len(names) > 1:
                expected = f'expected one of {", ".join(names)}, as in "{nest}: {mapping}"'
                raise ConfigError(f"which nest is `{mapping}` of?", notes=[expected])
        if nest not in names:
            raise ConfigError(f"there is no nest {shown(nest)}", notes=[f"nests: {', '.join(names)}"])
        if nest in found:
            raise ConfigError(f"there are two mappings of {nest}")
        found[nest] = mapping
    return found


def plan(nest: SystolicNest, sizes: Mapping[str, int], shape: Sequence[int], links: str, text: str) -> Plan:
    """Returns the plan of a mapping that a user has written, after a proof that it is legal.

    shape: the rows and columns of the array; mappings of one dimension take its longest row or column.
    links: "manhattan", "diagonal" or "broadcast".
    text: the mapping, such as `t = i + j + k, x = i, y = j`.
    Raises: IllegalSchedule, with a pair of instances, where the mapping is not legal; ConfigError where it does not fit the nest.
    """
    rows, loc = parse(text, axis_names(nest)), nest.statement.loc
    dims = len(rows) - 1
    if dims > len(shape):
        raise ConfigError(f"`{text}` is of an array of two dimensions, this one has one", notes=["expected t and x"])
    for recurrence, mapping in _readings(nest, sizes, rows):
        try:
            problem = obstacle(recurrence, dims)
            if problem:
                raise IllegalSchedule(problem)
            prove(recurrence, mapping, links)
            folds = fold(recurrence, mapping, shape if dims == len(shape) else (max(shape),), units=prod(shape))
        except IllegalSchedule as refused:
            others = [note for note in refused.notes if not note.startswith("mapping ")]
            raise IllegalSchedule(refused.message, loc=loc, notes=[*others, f"mapping {recurrence.text(mapping)}"]) from None
        return Plan(dataflow_of(recurrence, mapping), folds)
    ways = dict.fromkeys(_axes(recurrence) for recurrence in layouts(nest, sizes, dims))
    raise ConfigError(f"`{text}` takes the loops of {nest.name} as no axes that it has", notes=[f"axes: {'; '.join(ways)}"])


def _readings(
    nest: SystolicNest, sizes: Mapping[str, int], rows: Sequence[Vector]
) -> Iterator[tuple[UniformRecurrence, SpaceTime]]:
    """Yields (recurrence, mapping) for each recurrence of the nest on whose axes the mapping with these rows can be written.

    Recurrences differ in what their axes are: each is a loop, or several loops as one. Those with one axis more than the array has
    dimensions come first.

    rows: the coefficients of the nest's loops in t, x, and y, one row for each.
    """
    named = [loop for loop in range(len(nest.loops)) if any(row[loop] for row in rows)]
    for dims in dict.fromkeys((len(rows) - 1, max(len(named), len(rows)) - 1)):
        for recurrence in layouts(nest, sizes, dims):
            if not set(recurrence.outer) & set(named):
                found = [axes for row in rows if (axes := _by_axes(recurrence, row)) is not None]
                if len(found) == len(rows):
                    yield recurrence, SpaceTime(found[0], tuple(found[1:]))


def _by_axes(recurrence: UniformRecurrence, row: Vector) -> Vector | None:
    """Returns the coefficients of the recurrence's axes, each a loop or several as one, in a linear function of the nest's loops.

    None where the function cannot be written with axes.

    row: the coefficients of the loops.
    """
    found = []
    for axis in recurrence.axes:
        last = axis.loops[-1]  # its coefficient in the axis is 1
        if any(row[loop] != row[last] * axis.coefficients[loop] for loop in axis.loops):
            return None
        found.append(row[last])
    return tuple(found)


def _axes(recurrence: UniformRecurrence) -> str:
    """Returns the axes of a recurrence as text, with the loops outside them: `i, j for each k`."""
    loops = axis_names(recurrence.nest)
    axes = ", ".join(linear(axis.coefficients, loops) for axis in recurrence.axes)
    around = ", ".join(loops[loop] for loop in recurrence.outer)
    return f"{axes} for each {around}" if around else axes
