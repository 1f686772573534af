"""Groups of instances: those of one iteration of a parallel loop, and those between two barriers.

for t:                            threads: the value of i
    parallel for i: S     ->      phases: one for each t
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import islpy as isl

from polyml.polyhedra.points import Instance, points
from polyml.schedule.replay.nests import Level, Order, Piece


def threads(order: Order, sizes: Mapping[str, int]) -> dict[Instance, int]:
    """Returns for each instance inside a parallel loop the iteration of the outermost one, numbered from 0 in each run of the loop.

    sizes: {parameter: value}.
    """
    keys: dict[Instance, tuple] = {}
    for piece in order.pieces.values():
        at = parallel_at(piece)
        if at is not None:
            for instance, values in _values(piece, piece.levels[: at + 1], sizes):
                keys[instance] = (*_run(piece, at, values), values[at])
    return _numbered(keys)


def phases(order: Order, sizes: Mapping[str, int], times: Mapping[Instance, tuple[int, ...]]) -> dict[Instance, int]:
    """Returns the number of the phase of each instance: a run of a parallel loop, or what runs before, between and behind such runs.

    sizes: {parameter: value}.
    times: of all instances.
    """
    keys: dict[Instance, tuple] = {}
    for piece in order.pieces.values():
        at = parallel_at(piece)
        if at is not None:
            for instance, values in _values(piece, piece.levels[:at], sizes):
                keys[instance] = _run(piece, at, values)
    found: dict[Instance, int] = {}
    number, last = -1, object()
    for instance in sorted(times, key=lambda each: (times[each], each)):
        key = keys.get(instance)
        number += key != last
        found[instance], last = number, key
    return found


def parallel_at(piece: Piece) -> int | None:
    """Returns the position of the outermost parallel loop around a piece; None where there is none."""
    return next((at for at, level in enumerate(piece.levels) if "parallel" in level.words), None)


def _run(piece: Piece, at: int, values: tuple[int, ...]) -> tuple:
    """Returns what tells one run of the loop at this position from others: where it stands, and the iteration of the loops around it."""
    return piece.betas[: at + 1], values[:at]


def _values(piece: Piece, levels: tuple[Level, ...], sizes: Mapping[str, int]) -> Iterator[tuple[Instance, tuple[int, ...]]]:
    """Yields each instance of a piece with the values of some of its loops."""
    if not levels:
        yield from ((instance, ()) for instance in points(piece.instances, **sizes))
        return
    values = reduce(isl.Map.flat_range_product, (isl.Map.from_pw_aff(level.value) for level in levels))
    for instance, (_, own) in points(values.intersect_domain(piece.instances), **sizes):
        yield instance, own


def _numbered(keys: Mapping[Instance, tuple]) -> dict[Instance, int]:
    """Returns for each instance the number of its iteration among those of its run, in their order. keys: run and iteration."""
    by_run: dict[tuple, set[tuple]] = {}
    for key in keys.values():
        by_run.setdefault(key[:-1], set()).add(key)
    numbers = {key: number for run in by_run.values() for number, key in enumerate(sorted(run))}
    return {instance: numbers[key] for instance, key in keys.items()}
