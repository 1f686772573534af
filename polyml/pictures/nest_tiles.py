"""The tiles of an order: instances for which all loops over tiles have the same values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import reduce
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.pictures.nest_values import Tile
from polyml.polyhedra.points import Instance, points
from polyml.schedule.replay.nests import Order


def tiles_of(order: Order, sizes: Mapping[str, int], kept: Set[Instance] | None = None) -> Iterator[Tile]:
    """Yields the tiles of each piece of a statement that has loops over tiles around it.

    sizes: {parameter: value}.
    kept: the instances that are drawn, without which a tile is left out; None: all.
    """
    for piece in order.pieces.values():
        values = [level.value for level in piece.levels if level.is_tile]
        if not values:
            continue
        numbers_of = _product(values)
        found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for (_, point), (_, numbers) in points(numbers_of.intersect_domain(piece.instances), **sizes):
            found.setdefault(numbers, []).append(point)
        tiled = sorted({dim for value in values for dim in polyhedra.used_iterators(value)})
        whole = [single for value in values if (single := polyhedra.single(value)) is not None]
        complete = polyhedra.fix(_product(whole), sizes) if len(whole) == len(values) else None
        for numbers in sorted(found):
            drawn = tuple(sorted(point for point in found[numbers] if kept is None or (piece.statement, point) in kept))
            if drawn:
                own = {tuple(point[dim] for dim in tiled) for point in found[numbers]}
                is_full = complete is not None and len(own) == _count(complete, numbers, tuple(tiled))
                yield Tile(piece.statement, numbers, drawn, len(found[numbers]), is_full)


def _product(values: list[isl.PwAff]) -> isl.Map:
    return reduce(isl.Map.flat_range_product, map(isl.Map.from_pw_aff, values))


def _count(numbers_of: isl.Map, numbers: tuple[int, ...], tiled: tuple[int, ...]) -> int | None:
    """Returns how many values of the iterators `tiled` a tile has, whether the domain has them or not; None where they are not limited.

    numbers_of: { S[i] -> [e, f] }, from every point, also outside of the domain, to the numbers of its tile.
    """
    tile = numbers_of.intersect_range(isl.Set(f"{{ [{', '.join(map(str, numbers))}] }}")).domain()
    own = polyhedra.onto(tile, tiled, "tile")
    if not own.is_bounded():
        return None
    if polyhedra.is_box(own):
        return prod(high - low + 1 for low, high in polyhedra.ranges(own))
    return own.count_val().to_python()
