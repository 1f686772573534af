"""Space-time mappings as users write them: `t = i + j + k, x = i, y = j`, of a nest's loops.

Of a nest with more loops than an array and time have dimensions, those that are not named run one after another around the
others, or several go together as one axis of `recurrence.layouts`: `t = 9*c + 3*r + s + i + f`. A loop along which statements
take turns is called as `axes` has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from polyml.errors import ConfigError, IllegalSchedule
from polyml.reading.input_limits import excess, shown
from polyml.systolic.folding.folds import fold, obstacle
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import Plan, name, prove
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.nests import Nest
from polyml.systolic.recurrences.recurrence import Recurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector, linear

_COORDINATES = "txy"
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # of Python's parser
_LONGEST, _DEEPEST = 1_000, 20  # of a mapping
_LARGEST = 2**40  # coefficient


def parse(text: str, loops: Sequence[str]) -> tuple[Vector, ...]:
    """The coefficients of the loops in t, in x, and in y where there is one.

    >>> parse("t = i + 2*j, x = -j", ("i", "j"))
    ((1, 2), (0, -1))

    Raises ConfigError for anything else.
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
    try:
        return _terms(ast.parse(value, mode="eval").body, text, loops)
    except _UNREADABLE:
        raise _unreadable(text, loops) from None


def _terms(node: ast.expr, text: str, loops: Sequence[str]) -> dict[str, int]:
    """Coefficients by loop; of "" the number that is added."""
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
    return {key: factor * value for key, value in terms.items()}


def _unreadable(text: str, loops: Sequence[str]) -> ConfigError:
    expected = f"expected t and x, and y of an array of two dimensions, as sums of multiples of {', '.join(loops)}"
    told = f"`{text}`" if len(text) <= _LONGEST else shown(text)
    return ConfigError(f"{told} is no mapping", notes=[f'{expected}, as in "t = i + j + k, x = i, y = j"'])


def by_nest(texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Mappings by nest: of `S1: t = ...`, and of `t = ...` where there is only one nest. Raises ConfigError for others."""
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


def plan(nest: Nest, sizes: Mapping[str, int], shape: Sequence[int], links: str, text: str) -> Plan:
    """The mapping that was written, onto an array of rows and columns, or onto one of its rows, proved by `spacetime.check`.

    Raises IllegalSchedule, with a pair of instances, where it is not legal, ConfigError where it is none of this nest.
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
        return Plan(name(recurrence, mapping), folds)
    ways = dict.fromkeys(_axes(recurrence) for recurrence in layouts(nest, sizes, dims))
    raise ConfigError(f"`{text}` takes the loops of {nest.name} as no axes that it has", notes=[f"axes: {'; '.join(ways)}"])


def _readings(nest: Nest, sizes: Mapping[str, int], rows: Sequence[Vector]) -> Iterator[tuple[Recurrence, SpaceTime]]:
    """The ways to see the nest in which the rows are sums of its axes; first those with as many as the array and time have."""
    named = [loop for loop in range(len(nest.loops)) if any(row[loop] for row in rows)]
    for dims in dict.fromkeys((len(rows) - 1, max(len(named), len(rows)) - 1)):
        for recurrence in layouts(nest, sizes, dims):
            if not set(recurrence.outer) & set(named):
                found = [_by_axes(recurrence, row) for row in rows]
                if None not in found:
                    yield recurrence, SpaceTime(found[0], tuple(found[1:]))


def _by_axes(recurrence: Recurrence, row: Vector) -> Vector | None:
    """The coefficients of the axes that give those of the loops."""
    found = []
    for axis in recurrence.axes:
        last = axis.loops[-1]  # its coefficient in the axis is 1
        if any(row[loop] != row[last] * axis.coefficients[loop] for loop in axis.loops):
            return None
        found.append(row[last])
    return tuple(found)


def _axes(recurrence: Recurrence) -> str:
    loops = axis_names(recurrence.nest)
    axes = ", ".join(linear(axis.coefficients, loops) for axis in recurrence.axes)
    around = ", ".join(loops[loop] for loop in recurrence.outer)
    return f"{axes} for each {around}" if around else axes
